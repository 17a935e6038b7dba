"""A reader's answers to suggestions made by the test: topics, learned weights, simultaneous answers."""

from datetime import timedelta

import pytest

from ranking.models import ConfigVersion, LearnedWeight
from ranking.selectors import config_effective
from suggestions.models import Outcome
from suggestions.preview import previews_of
from suggestions.proposals import Refusal, Resolved
from suggestions.services import resolve
from tests.suggestions.services.test_resolve import TOPIC, answer, edit, learn, weight
from tests.support.accepts import topic_set
from tests.support.browser import suggested
from tests.support.changes import change_applied
from tests.support.concurrency import at_once, database_on_disk, seen_by_writers
from tests.support.suggestion_worlds import LOVED, add_topic, boost, proposed, tastes

pytestmark = pytest.mark.django_db


def test_a_learned_delta_never_blurs_what_was_agreed(ada, now):
    tastes(ada)
    edit(ada, now, recency_by_day=False)
    learn(ada, now, 1.0, 1.15)
    suggestion = proposed(ada, boost(ada, "1.4"))
    assert suggestion.current_value == "1.15"
    answer(resolve.suggestion_accept, ada, suggestion, now)
    assert weight(ada) == 1.4
    assert config_effective(reader_id=ada.pk).deltas == {}
    outcome = Outcome.objects.get()
    assert outcome.config_before["learned"] == {LOVED: pytest.approx(0.15)}
    answer(resolve.suggestion_revert, ada, suggestion, now)
    assert weight(ada) == pytest.approx(1.15)


def test_a_topic_is_added_and_taken_back(ada, now):
    tastes(ada, topic=TOPIC)
    suggestion = proposed(ada, add_topic(ada, TOPIC))
    assert answer(resolve.suggestion_accept, ada, suggestion, now, value=1.0).code == "invalid_weight"
    assert answer(resolve.suggestion_accept, ada, suggestion, now).config_updated
    assert config_effective(reader_id=ada.pk).config.topics == (TOPIC,)
    answer(resolve.suggestion_revert, ada, suggestion, now)
    assert config_effective(reader_id=ada.pk).config.topics == ()


def test_a_topic_already_there_is_accepted_with_a_note(ada, now):
    tastes(ada, topic=TOPIC)
    suggestion = proposed(ada, add_topic(ada, TOPIC))
    # A change by hand would supersede it, but one accepted elsewhere does not.
    version = topic_set(reader_id=ada.pk, topic=TOPIC.upper(), present=True, ref="another", now=now)
    done = answer(resolve.suggestion_accept, ada, suggestion, now)
    assert (done.status, done.config_updated, done.config_version) == ("accepted", False, version)
    assert f"“{TOPIC}” is already one of your topics" in done.note


@pytest.mark.django_db(transaction=True)
def test_of_an_accept_and_a_reject_at_once_exactly_one_wins(ada, now, tmp_path):
    tastes(ada)
    suggestion = proposed(ada)
    verbs = [resolve.suggestion_accept, resolve.suggestion_reject]
    with database_on_disk(tmp_path / "shared.sqlite3"):
        answers = at_once(lambda n: answer(verbs[n % 2], ada, suggestion, now))
        outcome, agreed = seen_by_writers(lambda: (Outcome.objects.get().outcome, weight(ada)))
    (won,) = (a for a in answers if isinstance(a, Resolved))
    assert {a.code for a in answers if isinstance(a, Refusal)} == {"already_resolved"}
    assert outcome == won.status
    assert agreed == (1.3 if won.status == "accepted" else 1.0)


def test_taking_back_gives_the_learning_loop_back_what_it_had_learned(ada, now):
    tastes(ada)
    edit(ada, now, recency_by_day=False)
    LearnedWeight.objects.create(reader=ada, source_key=LOVED, delta=0.15, n=20, updated_at=now)
    suggestion = proposed(ada)
    resolve.suggestion_accept(reader_id=ada.pk, suggestion_id=suggestion.pk, now=now)
    assert LearnedWeight.objects.get(reader=ada, source_key=LOVED).delta == 0
    resolve.suggestion_revert(reader_id=ada.pk, suggestion_id=suggestion.pk, now=now)
    effective = config_effective(reader_id=ada.pk)
    assert (effective.deltas, dict(effective.config.source_weights)) == ({LOVED: 0.15}, {})


def test_what_ranking_refuses_is_the_answer_and_leaves_the_suggestion_waiting(ada, now):
    full = [f"topic {n}x" for n in range(100)]
    edit(ada, now, topics=full)
    topic = suggested(
        ada,
        0,
        suggestion_type="add_topic",
        field="topics",
        target_key="rust",
        label="Rust",
        suggested_value="Rust",
        config_version=1,
        created_at=now,
    )
    refusal = answer(resolve.suggestion_accept, ada, topic, now)
    assert (refusal.code, refusal.target) == ("invalid_setting", "Rust")
    assert "At most 100 topics" in refusal.message and refusal.data == {"suggestion_id": topic.pk}
    topic.refresh_from_db()
    assert (topic.status, Outcome.objects.count()) == ("pending", 0)


def test_the_preview_of_a_weight_out_of_reach_is_that_of_the_nearest_one(ada, now):
    tastes(ada, days=2)
    edit(ada, now, recency_by_day=False)
    suggestion = proposed(ada, boost(ada, "1.3"))
    learn(ada, now, 1.0, 0.85, 0.7, 0.55)
    before = config_effective(reader_id=ada.pk)
    after = change_applied(before, "reduce_source", LOVED, "0.85")
    (expected,) = previews_of(reader_id=ada.pk, before=before, afters=[after], now=now)
    assert expected.enters and expected.leaves
    refusal = answer(resolve.suggestion_accept, ada, suggestion, now)
    assert refusal.data == {
        "suggestion_id": suggestion.pk,
        "current_value": "0.55",
        "suggested_value": "1.3",
        "nearest_value": "0.85",
        "preview": {
            "enters": [item.title for item in expected.enters],
            "leaves": [item.title for item in expected.leaves],
        },
    }
    assert refusal.target == suggestion.label and "0.55" in refusal.message


def test_a_topic_taken_out_comes_back_in_its_own_spelling(ada, now):
    edit(ada, now, topics=["Electric cars", TOPIC])
    suggestion = suggested(
        ada,
        0,
        suggestion_type="remove_topic",
        field="topics",
        target_key="electric car",
        label="Electric cars",
        suggested_value="electric car",
        config_version=1,
        created_at=now,
    )
    done = answer(resolve.suggestion_accept, ada, suggestion, now)
    assert (done.config_updated, done.note) == (True, "")
    assert config_effective(reader_id=ada.pk).config.topics == (TOPIC,)
    answer(resolve.suggestion_revert, ada, suggestion, now)
    assert config_effective(reader_id=ada.pk).config.topics == (TOPIC, "Electric cars")
    assert ConfigVersion.objects.get(version=3).cause == "revert"


def test_all_are_accepted_in_the_order_they_were_made_and_only_ones_own(ada, ben, now):
    second = suggested(ada, 0, target_key="b.example", created_at=now - timedelta(days=1))
    first = suggested(ada, 0, target_key="a.example", created_at=now - timedelta(days=2))
    his = suggested(ben, 0, created_at=now - timedelta(days=30))
    done = resolve.suggestions_accept_all(reader_id=ada.pk, now=now)
    assert [one.suggestion_id for one in done] == [first.pk, second.pk]
    his.refresh_from_db()
    assert his.status == "pending", "his time ran out, but nobody looked"

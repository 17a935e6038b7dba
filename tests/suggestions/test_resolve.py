"""The person's door: what was agreed takes effect exactly, once, and for nobody else."""

from datetime import timedelta
from itertools import pairwise

import pytest

from ranking.entities import WeightChange
from ranking.models import ConfigVersion, LearnedWeight
from ranking.selectors import config_effective
from ranking.services import ConfigEdit, config_edit, topic_agree, weights_learn
from suggestions.entities import Refusal, Resolved
from suggestions.models import Outcome, PreferenceProfile, Suggestion
from suggestions.services import resolve
from suggestions.services.lifecycle import suggestions_sweep
from tests.at_once import at_once, database_on_disk, seen_by_writers
from tests.suggestions.worlds import HATED, LOVED, add_topic, boost, propose, proposed, reduce, tastes

pytestmark = pytest.mark.django_db

TOPIC = "Harbour"
VERBS = [
    resolve.suggestion_accept,
    resolve.suggestion_reject,
    resolve.suggestion_snooze,
    resolve.suggestion_never,
    resolve.suggestion_revert,
]


def weight(reader, source=LOVED) -> float:
    return config_effective(reader_id=reader.pk).weight(source)


def edit(reader, now, version=0, **change) -> int:
    return config_edit(reader_id=reader.pk, edit=ConfigEdit(**change), expected_version=version, now=now)


def learn(reader, now, *weights, source=LOVED) -> None:
    """The learning loop moves the source from the first of `weights` to the next, day by day."""
    for day, (before, after) in enumerate(pairwise(weights)):
        step = WeightChange(source, before, after, p_better=0.9, n=20, reason="liked_more_than_usual")
        weights_learn(reader_id=reader.pk, changes=[step], now=now + timedelta(days=day))


@pytest.fixture
def waiting(ada) -> Suggestion:
    """Ada may boost the source she loves."""
    tastes(ada)
    return proposed(ada)


def answer(verb, reader, suggestion, now, **extra):
    return verb(reader_id=reader.pk, suggestion_id=suggestion.pk, now=now, **extra)


def test_accepting_applies_exactly_what_was_agreed_and_remembers_it(ada, waiting, now):
    done = answer(resolve.suggestion_accept, ada, waiting, now, user_reason="sounds good")
    assert done == Resolved(waiting.pk, "accepted", done.outcome_id, True, 1)
    assert weight(ada) == 1.3
    outcome = Outcome.objects.get(pk=done.outcome_id)
    assert (outcome.kind, outcome.outcome, outcome.user_reason) == ("decision", "accepted", "sounds good")
    assert outcome.config_before["source_weights"] == {}
    assert outcome.config_after["source_weights"] == {LOVED: 1.3}
    assert {row["feedback"] for row in outcome.evidence_summary} == {"liked"}
    assert ConfigVersion.objects.get().cause_ref == str(waiting.pk)
    assert PreferenceProfile.objects.get().acceptance_stats["boost_source"]["accepted"] == 1


def test_a_learned_delta_never_blurs_what_was_agreed(ada, now):
    tastes(ada)
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


@pytest.mark.parametrize(
    "second", [resolve.suggestion_accept, resolve.suggestion_reject, resolve.suggestion_snooze]
)
def test_a_second_answer_is_refused_and_changes_nothing(ada, waiting, now, second):
    answer(resolve.suggestion_accept, ada, waiting, now)
    refusal = answer(second, ada, waiting, now)
    assert refusal.code == "already_resolved"
    assert Outcome.objects.count() == ConfigVersion.objects.count() == 1


@pytest.mark.parametrize("verb", VERBS)
def test_ben_cannot_answer_for_ada(ada, ben, waiting, now, verb):
    assert answer(verb, ben, waiting, now).code == "not_found"
    waiting.refresh_from_db()
    assert waiting.status == "pending"
    assert not Outcome.objects.exists()


def test_a_weight_out_of_reach_is_refused_with_a_fresh_preview_and_nothing_changed(ada, waiting, now):
    learn(ada, now, 1.0, 0.9, 0.8)
    refusal = answer(resolve.suggestion_accept, ada, waiting, now)
    assert refusal.code == "config_changed"
    assert refusal.data["current_value"] == "0.8"
    assert refusal.data["nearest_value"] == "1.1"
    assert set(refusal.data["preview"]) == {"enters", "leaves"}
    waiting.refresh_from_db()
    assert waiting.status == "pending"
    assert weight(ada) == pytest.approx(0.8)
    assert not ConfigVersion.objects.exists()
    assert not Outcome.objects.exists()


def test_a_weight_still_within_reach_is_applied_as_agreed(ada, waiting, now):
    learn(ada, now, 1.0, 1.1)
    assert isinstance(answer(resolve.suggestion_accept, ada, waiting, now), Resolved)
    assert weight(ada) == 1.3


@pytest.mark.parametrize("verb", [resolve.suggestion_accept, resolve.suggestion_reject])
def test_an_answer_that_comes_too_late_finds_it_expired(ada, waiting, now, verb):
    assert answer(verb, ada, waiting, now + timedelta(days=30)).code == "already_resolved"
    waiting.refresh_from_db()
    assert waiting.status == Outcome.objects.get().outcome == "expired"
    assert weight(ada) == 1.0


def test_what_the_reader_changed_by_hand_meanwhile_stands(ada, waiting, now):
    edit(ada, now, source_weights={LOVED: 1.1})
    assert answer(resolve.suggestion_accept, ada, waiting, now).code == "already_resolved"
    waiting.refresh_from_db()
    assert waiting.status == Outcome.objects.get().outcome == "superseded"
    assert weight(ada) == 1.1


def test_a_pause_that_is_over_needs_no_sweep_before_the_answer(ada, waiting, now):
    answer(resolve.suggestion_snooze, ada, waiting, now)
    assert isinstance(answer(resolve.suggestion_accept, ada, waiting, now + timedelta(days=7)), Resolved)


def test_the_reader_may_choose_another_weight_within_the_bounds(ada, waiting, now):
    answer(resolve.suggestion_accept, ada, waiting, now, value=1.15)
    assert weight(ada) == 1.15
    assert Outcome.objects.get().edited_value == "1.15"


@pytest.mark.parametrize("value", [1.31, 0.69, -1.0, float("nan"), float("inf"), True])
def test_a_chosen_weight_out_of_bounds_is_refused(ada, waiting, now, value):
    assert answer(resolve.suggestion_accept, ada, waiting, now, value=value).code == "invalid_weight"
    assert weight(ada) == 1.0


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
    # By hand would supersede it; what was agreed elsewhere does not.
    version = topic_agree(reader_id=ada.pk, topic=TOPIC.upper(), present=True, ref="another", now=now)
    done = answer(resolve.suggestion_accept, ada, suggestion, now)
    assert (done.status, done.config_updated, done.config_version) == ("accepted", False, version)
    assert "already one of your topics" in done.note


def test_rejecting_leaves_the_config_alone(ada, waiting, now):
    done = answer(resolve.suggestion_reject, ada, waiting, now, user_reason="I like it as it is")
    outcome = Outcome.objects.get(pk=done.outcome_id)
    assert (outcome.outcome, outcome.user_reason, outcome.config_after) == (
        "rejected",
        "I like it as it is",
        None,
    )
    assert not ConfigVersion.objects.exists()
    assert PreferenceProfile.objects.get().total_outcomes == 1


def test_never_pins_the_target_for_good(ada, waiting, now):
    answer(resolve.suggestion_never, ada, waiting, now)
    assert config_effective(reader_id=ada.pk).config.avoided == (LOVED,)
    assert Outcome.objects.get().user_reason == "never"
    assert propose(ada, boost(ada), now + timedelta(days=40)).code == "pinned"


def test_not_now_comes_back_after_a_week(ada, waiting, now):
    answer(resolve.suggestion_snooze, ada, waiting, now)
    assert not Outcome.objects.exists()
    assert suggestions_sweep(now=now + timedelta(days=6))["woken"] == 0
    assert suggestions_sweep(now=now + timedelta(days=7))["woken"] == 1
    assert isinstance(answer(resolve.suggestion_accept, ada, waiting, now + timedelta(days=8)), Resolved)


def test_reverting_puts_back_the_one_target_and_only_once(ada, waiting, now):
    answer(resolve.suggestion_accept, ada, waiting, now)
    edit(ada, now, version=1, source_weights={HATED: 0.5})
    done = answer(resolve.suggestion_revert, ada, waiting, now)
    assert (weight(ada), weight(ada, HATED)) == (1.0, 0.5)
    assert Outcome.objects.get(pk=done.outcome_id).kind == "revert"
    assert answer(resolve.suggestion_revert, ada, waiting, now).code == "already_resolved"
    assert propose(ada, boost(ada), now + timedelta(days=9)).code == "on_cooldown"


def test_only_what_was_accepted_can_be_reverted(ada, waiting, now):
    assert answer(resolve.suggestion_revert, ada, waiting, now).code == "already_resolved"
    answer(resolve.suggestion_reject, ada, waiting, now)
    assert answer(resolve.suggestion_revert, ada, waiting, now).code == "already_resolved"


def test_accept_all_answers_for_each_and_one_failure_stops_none(ada, waiting, now):
    other = proposed(ada, reduce(ada))
    learn(ada, now, 1.0, 0.9, 0.8)
    first, second = resolve.suggestions_accept_all(reader_id=ada.pk, now=now)
    assert isinstance(first, Refusal) and first.code == "config_changed"
    assert first.data["suggestion_id"] == waiting.pk
    assert second.suggestion_id == other.pk
    assert weight(ada, HATED) == 0.7


def test_accept_all_leaves_out_what_settled_itself(ada, waiting, now):
    other = proposed(ada, reduce(ada))
    edit(ada, now, source_weights={LOVED: 1.1})
    (only,) = resolve.suggestions_accept_all(reader_id=ada.pk, now=now)
    assert only.suggestion_id == other.pk


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
    LearnedWeight.objects.create(reader=ada, source_key=LOVED, delta=0.15, n=20, updated_at=now)
    suggestion = proposed(ada)
    resolve.suggestion_accept(reader_id=ada.pk, suggestion_id=suggestion.pk, now=now)
    assert LearnedWeight.objects.get(reader=ada, source_key=LOVED).delta == 0
    resolve.suggestion_revert(reader_id=ada.pk, suggestion_id=suggestion.pk, now=now)
    effective = config_effective(reader_id=ada.pk)
    assert (effective.deltas, dict(effective.config.source_weights)) == ({LOVED: 0.15}, {})

"""A reader's answer: an accepted change takes effect exactly, once, and for nobody else."""

from datetime import timedelta
from itertools import pairwise

import pytest
from structlog.testing import capture_logs

from digest.models import Reader
from ranking.entities import WeightChange
from ranking.models import ConfigVersion
from ranking.selectors import config_effective
from ranking.services import ConfigEdit, config_edit, weights_learn
from suggestions.models import Outcome, PreferenceProfile, Suggestion
from suggestions.proposals import Refusal, Resolved
from suggestions.services import resolve
from suggestions.services.lifecycle import suggestions_sweep
from tests.support.accepts import source_weight_set, topic_set
from tests.support.browser import suggested
from tests.support.suggestion_worlds import HATED, LOVED, boost, boost_waiting, propose, proposed, reduce

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
        weights_learn(changes={reader.pk: [step]}, now=now + timedelta(days=day))


@pytest.fixture(scope="module")
def stage(staged) -> int:
    return staged(boost_waiting)


@pytest.fixture
def ada(stage, db) -> Reader:
    return Reader.objects.get(username="ada")


@pytest.fixture
def waiting(stage, db) -> Suggestion:
    return Suggestion.objects.get(pk=stage)


def answer(verb, reader, suggestion, now, **extra):
    return verb(reader_id=reader.pk, suggestion_id=suggestion.pk, now=now, **extra)


def test_accepting_applies_exactly_what_was_agreed_and_remembers_it(ada, waiting, now):
    done = answer(resolve.suggestion_accept, ada, waiting, now, user_reason="sounds good")
    assert done == Resolved(waiting.pk, "accepted", done.outcome_id, True, 1)
    assert weight(ada) == 1.3
    outcome = Outcome.objects.get(pk=done.outcome_id)
    assert (outcome.kind, outcome.outcome, outcome.user_reason) == ("decision", "accepted", "sounds good")
    assert (outcome.edited_value, outcome.config_before["source_weights"]) == ("", {})
    assert outcome.config_after["source_weights"] == {LOVED: 1.3}
    assert {row["feedback"] for row in outcome.evidence_summary} == {"liked"}
    assert ConfigVersion.objects.get().cause_ref == str(waiting.pk)
    assert PreferenceProfile.objects.get().acceptance_stats["boost_source"]["accepted"] == 1


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


def test_more_is_never_agreed_as_less(ada, waiting, now):
    refused = answer(resolve.suggestion_accept, ada, waiting, now, value=0.9)
    assert refused.code == "invalid_weight" and "between 1.0 and 1.3" in refused.message
    assert weight(ada) == 1.0


@pytest.mark.parametrize("value", [1.31, 0.69, -1.0, float("nan"), float("inf"), True])
def test_a_chosen_weight_out_of_bounds_is_refused(ada, waiting, now, value):
    assert answer(resolve.suggestion_accept, ada, waiting, now, value=value).code == "invalid_weight"
    assert weight(ada) == 1.0


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


def test_a_reason_may_follow_a_no_once_and_the_profile_knows_it(ada, waiting, now):
    first = answer(resolve.suggestion_reject, ada, waiting, now)
    later = answer(resolve.suggestion_reject, ada, waiting, now, user_reason="Too soon to say")
    assert (later.status, later.outcome_id) == ("rejected", first.outcome_id)
    assert Outcome.objects.get().user_reason == "Too soon to say"
    assert PreferenceProfile.objects.get().total_outcomes == 1
    again = answer(resolve.suggestion_reject, ada, waiting, now, user_reason="It is fine as it is")
    assert again.code == answer(resolve.suggestion_reject, ada, waiting, now).code == "already_resolved"
    assert Outcome.objects.get().user_reason == "Too soon to say"


def test_never_may_follow_a_no(ada, waiting, now):
    answer(resolve.suggestion_reject, ada, waiting, now)
    assert answer(resolve.suggestion_never, ada, waiting, now).config_updated
    assert config_effective(reader_id=ada.pk).config.avoided == (LOVED,)
    assert answer(resolve.suggestion_undo, ada, waiting, now).status == "pending"
    assert config_effective(reader_id=ada.pk).config.avoided == ()


def test_no_reason_follows_a_no_that_was_taken_back(ada, waiting, now):
    answer(resolve.suggestion_reject, ada, waiting, now)
    answer(resolve.suggestion_undo, ada, waiting, now)
    late = answer(resolve.suggestion_reject, ada, waiting, now, user_reason="Too soon to say")
    assert late.code == "already_resolved"


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


# --- the message and the rows of each answer -------------------------------------------------------------


@pytest.mark.parametrize(
    ("verb", "status", "decides", "writes"),
    [
        (resolve.suggestion_accept, "accepted", True, True),
        (resolve.suggestion_reject, "rejected", True, False),
        (resolve.suggestion_never, "rejected", True, True),
        (resolve.suggestion_snooze, "snoozed", False, False),
    ],
)
def test_an_answer_says_what_it_did_and_when(ada, waiting, now, verb, status, decides, writes):
    version = edit(ada, now, source_weights={HATED: 0.5})
    done = answer(verb, ada, waiting, now)
    outcome = Outcome.objects.first()
    assert (outcome is not None) is decides
    assert done == Resolved(waiting.pk, status, outcome and outcome.pk, writes, version + writes)
    waiting.refresh_from_db()
    pause = None if decides else now + timedelta(days=7)
    assert (waiting.status, waiting.snoozed_until) == (status, pause)
    assert waiting.resolved_at == (now if decides else None)
    if decides:
        assert outcome.decided_at == now
        assert outcome.config_before["source_weights"] == {HATED: 0.5}
    if writes:
        row = ConfigVersion.objects.get(version=version + 1)
        assert (row.cause_ref, row.created_at) == (str(waiting.pk), now)
    assert PreferenceProfile.objects.get().computed_at == now


def test_taking_back_is_a_version_and_an_outcome_of_its_own(ada, waiting, now):
    later = now + timedelta(days=1)
    edit(ada, now, source_weights={HATED: 0.5})
    answer(resolve.suggestion_accept, ada, waiting, now)
    done = answer(resolve.suggestion_revert, ada, waiting, later)
    outcome = Outcome.objects.get(kind="revert")
    note = "Loved: more than usual → as usual."
    assert done == Resolved(waiting.pk, "accepted", outcome.pk, True, 3, note)
    assert (outcome.outcome, outcome.decided_at) == ("reverted", later)
    assert outcome.config_before["source_weights"] == {HATED: 0.5, LOVED: 1.3}
    assert outcome.config_after["source_weights"] == {HATED: 0.5}
    row = ConfigVersion.objects.get(version=3)
    assert (row.cause, row.cause_ref, row.created_at) == ("revert", f"revert:{waiting.pk}", later)


def test_each_answer_is_logged_by_ids_and_by_the_code_of_its_reason(ada, waiting, now):
    ids = {"user_id": str(ada.pk), "suggestion_id": waiting.pk, "type": "boost_source"}
    with capture_logs() as logged:
        answer(resolve.suggestion_snooze, ada, waiting, now)
        later = now + timedelta(days=7)
        answer(resolve.suggestion_accept, ada, waiting, later)
        answer(resolve.suggestion_accept, ada, waiting, later)
        answer(resolve.suggestion_revert, ada, waiting, later)
        answer(resolve.suggestion_reject, ada, suggested(ada), now, user_reason="n" * 201)
        answer(resolve.suggestion_never, ada, suggested(ada), now)
    told = [line for line in logged if line["event"].startswith("suggestion_")]
    assert [line["event"].removeprefix("suggestion_") for line in told] == (
        ["snoozed", "accepted", "reverted", "rejected", "rejected"]
    )
    assert ids.items() <= told[0].items() and "user_reason" not in told[0]
    assert [line["user_reason"] for line in told[3:]] == ["other", "never"]


def test_a_refusal_names_the_suggestion_and_why(ada, waiting, now):
    missing = resolve.suggestion_accept(reader_id=ada.pk, suggestion_id=0, now=now)
    assert (missing.code, missing.message) == ("not_found", "There is no such suggestion.")
    for value in (0.99, 1.31):
        refusal = answer(resolve.suggestion_accept, ada, waiting, now, value=value)
        assert "choose a number between 1.0 and 1.3" in refusal.message
        assert refusal.target == waiting.label and waiting.label in refusal.message
        assert refusal.data == {"suggestion_id": waiting.pk}
    answer(resolve.suggestion_reject, ada, waiting, now)
    settled = answer(resolve.suggestion_accept, ada, waiting, now)
    assert (settled.code, settled.target) == ("already_resolved", waiting.label)
    assert settled.message == "You said no." and settled.data == {"suggestion_id": waiting.pk}
    topic = suggested(ada, 0, suggestion_type="add_topic", field="topics", target_key="x", label="Rust")
    wrong = answer(resolve.suggestion_accept, ada, topic, now, value=1.0)
    assert (wrong.target, wrong.message) == ("Rust", "A topic has no number to choose.")


@pytest.mark.parametrize("value", [1.0, 1.3, 1.3 + 5e-7, 1.0 - 5e-7])
def test_the_bounds_themselves_can_be_chosen_though_weights_travel_as_text(ada, waiting, now, value):
    assert isinstance(answer(resolve.suggestion_accept, ada, waiting, now, value=value), Resolved)
    assert weight(ada) == pytest.approx(value)


def test_a_config_written_between_look_and_answer_is_refused(ada, waiting, now):
    agreed = resolve._agreement(waiting, None, now)
    topic_set(reader_id=ada.pk, topic=TOPIC, present=True, ref="another", now=now)
    with pytest.raises(resolve._Refused) as raised:
        resolve._apply(agreed, now)
    assert (raised.value.refusal.code, raised.value.refusal.target) == ("config_changed", waiting.label)
    assert "look again" in raised.value.refusal.message


def test_a_weight_already_agreed_elsewhere_is_accepted_with_a_note(ada, waiting, now):
    version = source_weight_set(reader_id=ada.pk, source=LOVED, weight=1.3, ref="another", now=now)
    done = answer(resolve.suggestion_accept, ada, waiting, now)
    assert (done.config_updated, done.config_version) == (False, version)
    assert done.note == "It was already as you agreed to."

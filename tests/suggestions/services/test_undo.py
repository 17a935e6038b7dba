"""Undoing an answer: the suggestion comes back, the settings are restored, and some undos are refused."""

from datetime import timedelta

import pytest
from django.db import IntegrityError, transaction
from django.utils import timezone

from digest.models import Reader
from ranking.selectors import config_effective
from suggestions.models import Outcome, PreferenceProfile, Suggestion
from suggestions.outcomes.selectors import outcomes_search
from suggestions.preview import outcomes_about
from suggestions.proposals import Refusal, Resolved
from suggestions.selectors import Acceptance, acceptance_history, answers_by_type, targets_decided
from suggestions.services.lifecycle import suggestions_sweep
from suggestions.services.resolve import (
    suggestion_accept,
    suggestion_never,
    suggestion_reject,
    suggestion_snooze,
    suggestion_undo,
)
from tests.support.browser import suggested

SOURCE = "gazette.example"


def undo(suggestion: Suggestion, reader: Reader, days: float = 0) -> Resolved | Refusal:
    now = timezone.now() + timedelta(days=days)
    return suggestion_undo(reader_id=reader.pk, suggestion_id=suggestion.pk, now=now)


def answered(decide, reader: Reader) -> Suggestion:
    """Return a suggestion to `reader` that `decide` has settled."""
    suggestion = suggested(reader)
    decide(reader_id=reader.pk, suggestion_id=suggestion.pk, now=timezone.now())
    return suggestion


def stats(reader: Reader) -> dict:
    """Return the acceptance by type in the reader's profile."""
    return PreferenceProfile.objects.get(reader=reader).acceptance_stats


def status(suggestion_id: int) -> str:
    return Suggestion.objects.get(pk=suggestion_id).status


MINUTE = 1 / 1440


def test_a_change_accepted_a_while_ago_is_put_back_and_counts_as_a_no(ada: Reader):
    suggestion = answered(suggestion_accept, ada)
    assert config_effective(reader_id=ada.pk).weight(SOURCE) == 1.2
    resolved = undo(suggestion, ada, days=11 * MINUTE)
    assert (resolved.suggestion_id, resolved.status) == (suggestion.pk, "accepted")
    assert config_effective(reader_id=ada.pk).weight(SOURCE) == 1.0
    assert stats(ada)["boost_source"]["reverted"] == 1
    assert not Suggestion.objects.filter(status="pending").exists()


def test_an_accept_taken_back_at_once_is_forgotten_and_the_suggestion_waits_again(ada: Reader):
    suggestion = answered(suggestion_accept, ada)
    resolved = undo(suggestion, ada, days=9 * MINUTE)
    copy = Suggestion.objects.get(pk=resolved.suggestion_id)
    assert (copy.status, copy.created_at) == ("pending", suggestion.created_at)
    assert copy.validation_notes == ["You said yes and took that back at once."]
    assert set(copy.evidence.values_list("url")) == set(suggestion.evidence.values_list("url"))
    assert resolved.config_updated and config_effective(reader_id=ada.pk).weight(SOURCE) == 1.0
    assert status(suggestion.pk) == "taken_back" and stats(ada) == {}
    assert answers_by_type(reader_id=ada.pk) == {} and targets_decided(reader_id=ada.pk) == {}
    reverted = Outcome.objects.get(suggestion=suggestion, kind="revert")
    assert reverted.config_before["source_weights"] == {SOURCE: 1.2}
    assert reverted.config_after["source_weights"] == {}


def test_the_advisor_hears_nothing_of_an_answer_that_was_taken_back(ada: Reader):
    soon = timezone.now() + timedelta(minutes=1)
    kept = answered(suggestion_accept, ada)
    assert [row["target"] for row in acceptance_history(reader_id=ada.pk, limit=5, now=soon).accepted] == [
        SOURCE
    ]
    assert outcomes_about(reader_id=ada.pk, keys={SOURCE}) and outcomes_search(reader_id=ada.pk, now=soon)
    undo(kept, ada)
    assert acceptance_history(reader_id=ada.pk, limit=5, now=soon) == Acceptance({}, [], [])
    assert outcomes_about(reader_id=ada.pk, keys={SOURCE}) == {}
    assert outcomes_search(reader_id=ada.pk, now=soon) == []


@pytest.mark.parametrize("decide", [suggestion_accept, suggestion_reject])
def test_what_was_answered_taken_back_and_answered_again_counts_once(ada: Reader, decide):
    copy_id = undo(answered(decide, ada), ada).suggestion_id
    decide(reader_id=ada.pk, suggestion_id=copy_id, now=timezone.now())
    counted = stats(ada)["boost_source"]
    assert counted["accepted"] + counted["rejected"] == 1 and "reverted" not in counted
    assert sum(answers_by_type(reader_id=ada.pk)["boost_source"]) == 1


def test_an_accept_is_taken_back_once_and_its_copy_again(ada: Reader):
    suggestion = answered(suggestion_accept, ada)
    copy_id = undo(suggestion, ada).suggestion_id
    assert undo(suggestion, ada).code == "already_resolved"
    suggestion_accept(reader_id=ada.pk, suggestion_id=copy_id, now=timezone.now())
    assert config_effective(reader_id=ada.pk).weight(SOURCE) == 1.2
    undo(Suggestion.objects.get(pk=copy_id), ada)
    assert config_effective(reader_id=ada.pk).weight(SOURCE) == 1.0
    assert Suggestion.objects.filter(status="pending").count() == 1


def test_an_accept_on_the_last_day_that_is_undone_at_once_waits_again(ada: Reader):
    suggestion = suggested(ada, created_at=timezone.now() - timedelta(days=14) + timedelta(minutes=2))
    suggestion_accept(reader_id=ada.pk, suggestion_id=suggestion.pk, now=timezone.now())
    assert undo(suggestion, ada, days=5 * MINUTE).status == "pending"
    assert config_effective(reader_id=ada.pk).weight(SOURCE) == 1.0
    assert Suggestion.objects.filter(status="pending").count() == 1


def test_a_topic_accepted_by_mistake_goes_again(ada: Reader):
    topic = {"suggestion_type": "add_topic", "field": "topics", "current_value": ""}
    suggestion = suggested(ada, **topic, target_key="climate", label="Climate", suggested_value="Climate")
    suggestion_accept(reader_id=ada.pk, suggestion_id=suggestion.pk, now=timezone.now())
    assert config_effective(reader_id=ada.pk).config.topics == ("Climate",)
    copy_id = undo(suggestion, ada).suggestion_id
    assert config_effective(reader_id=ada.pk).config.topics == () and status(copy_id) == "pending"
    suggestions_sweep(now=timezone.now(), reader_id=ada.pk)  # the reader's own change would settle it
    assert status(copy_id) == "pending"


def test_an_accept_is_taken_back_also_where_a_newer_suggestion_waits_already(ada: Reader):
    suggestion = answered(suggestion_accept, ada)
    newer = suggested(ada, evidence=0)
    assert undo(suggestion, ada).suggestion_id == newer.pk
    assert config_effective(reader_id=ada.pk).weight(SOURCE) == 1.0 and stats(ada) == {}
    assert Suggestion.objects.filter(status="pending").count() == 1


def test_one_put_off_waits_again_at_once(ada: Reader):
    suggestion = answered(suggestion_snooze, ada)
    assert undo(suggestion, ada).suggestion_id == suggestion.pk
    row = Suggestion.objects.get(pk=suggestion.pk)
    assert row.status == "pending" and row.snoozed_until <= timezone.now()


def test_a_rejected_one_comes_back_whole_and_the_rejection_stays_on_record(ada: Reader):
    suggestion = answered(suggestion_reject, ada)
    copy = Suggestion.objects.get(pk=undo(suggestion, ada).suggestion_id)
    assert copy.pk != suggestion.pk
    assert (copy.status, copy.created_at) == ("pending", suggestion.created_at)
    assert copy.validation_notes == ["You said no and took that back."]
    assert set(copy.evidence.values_list("url")) == set(suggestion.evidence.values_list("url"))
    assert suggestion.evidence.count() == 3
    kinds = set(Outcome.objects.filter(suggestion=suggestion).values_list("kind", "outcome"))
    assert kinds == {("decision", "rejected"), ("revert", "reverted")}


def test_what_came_back_can_be_accepted(ada: Reader):
    copy_id = undo(answered(suggestion_reject, ada), ada).suggestion_id
    suggestion_accept(reader_id=ada.pk, suggestion_id=copy_id, now=timezone.now())
    assert status(copy_id) == "accepted"
    assert config_effective(reader_id=ada.pk).weight(SOURCE) == 1.2


def test_never_is_lifted_with_it(ada: Reader):
    suggestion = answered(suggestion_never, ada)
    assert config_effective(reader_id=ada.pk).config.avoided == (SOURCE,)
    resolved = undo(suggestion, ada)
    config = config_effective(reader_id=ada.pk).config
    assert config.avoided == ()
    assert (resolved.config_updated, resolved.config_version) == (True, config.version)


def test_an_answer_is_taken_back_once(ada: Reader):
    suggestion = answered(suggestion_reject, ada)
    undo(suggestion, ada)
    assert undo(suggestion, ada).code == "already_resolved"
    assert Suggestion.objects.filter(status="pending").count() == 1


def test_an_old_card_answered_today_can_be_undone_and_waits_again(ada: Reader):
    suggestion = answered(suggestion_reject, ada)
    Suggestion.objects.filter(pk=suggestion.pk).update(created_at=timezone.now() - timedelta(days=60))
    copy_id = undo(suggestion, ada).suggestion_id
    suggestions_sweep(now=timezone.now(), reader_id=ada.pk)
    assert status(copy_id) == "pending"


def test_two_weeks_later_it_is_too_late(ada: Reader):
    assert undo(answered(suggestion_reject, ada), ada, days=14).code == "too_late"


@pytest.mark.parametrize("decide", [suggestion_reject, suggestion_snooze])
def test_it_does_not_come_back_beside_a_newer_one_on_the_same_target(ada: Reader, decide):
    suggestion = answered(decide, ada)
    Suggestion.objects.filter(pk=suggested(ada, evidence=0).pk).update(label="newer")
    refusal = undo(suggestion, ada)
    assert refusal.code == "already_resolved" and "newer" in refusal.message
    assert Suggestion.objects.filter(status="pending").count() == 1


def test_nothing_is_undone_for_someone_else_or_before_an_answer(ada: Reader, ben: Reader):
    waiting = suggested(ada)
    assert undo(waiting, ben).code == "not_found"
    assert undo(waiting, ada).code == "already_resolved"
    assert status(waiting.pk) == "pending"


def test_the_database_itself_keeps_one_waiting_per_target(ada: Reader):
    suggested(ada, evidence=0)
    with pytest.raises(IntegrityError), transaction.atomic():
        suggested(ada, evidence=0)


def test_answers_are_taken_back_fifty_times_a_day_at_most(ada: Reader, ben: Reader, client):
    """Each stores a copy with its evidence, and every later answer reads all earlier ones."""
    pending = suggested(ada)
    for _turn in range(50):
        suggestion_reject(reader_id=ada.pk, suggestion_id=pending.pk, now=timezone.now())
        pending = Suggestion.objects.get(pk=undo(pending, ada).suggestion_id)
    suggestion_reject(reader_id=ada.pk, suggestion_id=pending.pk, now=timezone.now())
    stored = Suggestion.objects.count()
    assert undo(pending, ada).code == "too_many_changes"
    client.force_login(ada)
    assert client.post(f"/api/suggestions/{pending.pk}/undo").status_code == 429
    assert Suggestion.objects.count() == stored == 51 and status(pending.pk) == "rejected"
    assert undo(answered(suggestion_reject, ben), ben).status == "pending"
    assert undo(pending, ada, days=1.1).status == "pending"

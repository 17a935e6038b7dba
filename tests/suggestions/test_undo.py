"""Taking an answer back: what comes back, what is put back, and what cannot be."""

from datetime import timedelta

import pytest
from django.db import IntegrityError, transaction
from django.utils import timezone

from digest.models import Reader
from ranking.selectors import config_effective
from suggestions.entities import Refusal, Resolved
from suggestions.models import Outcome, Suggestion
from suggestions.services.resolve import (
    suggestion_accept,
    suggestion_never,
    suggestion_reject,
    suggestion_snooze,
)
from suggestions.services.undo import suggestion_undo
from tests.pages import suggested

SOURCE = "gazette.example"


def undo(suggestion: Suggestion, reader: Reader, days: float = 0) -> Resolved | Refusal:
    now = timezone.now() + timedelta(days=days)
    return suggestion_undo(reader_id=reader.pk, suggestion_id=suggestion.pk, now=now)


def answered(decide, reader: Reader) -> Suggestion:
    """A suggestion to `reader` that `decide` has settled."""
    suggestion = suggested(reader)
    decide(reader_id=reader.pk, suggestion_id=suggestion.pk, now=timezone.now())
    return suggestion


def status(suggestion_id: int) -> str:
    return Suggestion.objects.get(pk=suggestion_id).status


def test_an_accepted_change_is_put_back(ada: Reader):
    suggestion = answered(suggestion_accept, ada)
    assert config_effective(reader_id=ada.pk).weight(SOURCE) == 1.2
    assert isinstance(undo(suggestion, ada), Resolved)
    assert config_effective(reader_id=ada.pk).weight(SOURCE) == 1.0


def test_one_put_off_waits_again_at_once(ada: Reader):
    suggestion = answered(suggestion_snooze, ada)
    assert undo(suggestion, ada).suggestion_id == suggestion.pk
    row = Suggestion.objects.get(pk=suggestion.pk)
    assert (row.status, row.snoozed_until) == ("pending", None)


def test_a_rejected_one_comes_back_whole_and_the_rejection_stays_on_record(ada: Reader):
    suggestion = answered(suggestion_reject, ada)
    copy = Suggestion.objects.get(pk=undo(suggestion, ada).suggestion_id)
    assert copy.pk != suggestion.pk
    assert (copy.status, copy.created_at) == ("pending", suggestion.created_at)
    assert copy.validation_notes == ["You turned this down and took that back."]
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

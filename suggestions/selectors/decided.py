"""What was answered, or ran out."""

from datetime import datetime, timedelta
from uuid import UUID

from django.db.models import F, Prefetch, QuerySet

from suggestions.entities import EXPIRE_DAYS, UNDO_MINUTES
from suggestions.models import Outcome, Suggestion


def suggestions_settled(*, reader_id: UUID) -> QuerySet[Suggestion]:
    """The reader's suggestions that no longer wait: those put off first, then the newest answer first.

    Their outcomes come without what only the audit needs. A lazy list: a page of it costs two queries.
    """
    waiting = (Suggestion.Status.PENDING, *Suggestion.UNSEEN)
    light = Outcome.objects.defer("config_after", "evidence_summary")
    rows = Suggestion.objects.filter(reader_id=reader_id).exclude(status__in=waiting)
    ordered = rows.order_by(F("resolved_at").desc(nulls_first=True), "-pk")
    return ordered.prefetch_related(Prefetch("outcomes", light))


def suggestions_decided(*, reader_id: UUID, limit: int = 5) -> list[Suggestion]:
    """The latest `limit` of the reader's settled suggestions: two queries."""
    return list(suggestions_settled(reader_id=reader_id)[:limit])


def suggestion_undo_open(*, suggestion: Suggestion, now: datetime) -> bool:
    """Whether `suggestion_undo` would take this answer back; outcomes prefetched."""
    if suggestion.status == Suggestion.Status.SNOOZED:
        return True
    if any(row.kind == Outcome.Kind.REVERT for row in suggestion.outcomes.all()):
        return False
    return suggestion.status == Suggestion.Status.ACCEPTED or (
        suggestion.status == Suggestion.Status.REJECTED
        and suggestion_still_open(suggestion=suggestion, now=now)
    )


def suggestion_still_open(*, suggestion: Suggestion, now: datetime) -> bool:
    """Whether the suggestion would still wait for an answer, had it none."""
    return now - suggestion.created_at < timedelta(days=EXPIRE_DAYS)


def suggestion_forgotten(*, suggestion: Suggestion, now: datetime) -> bool:
    """Whether taking back its accept now forgets the answer, rather than counting as a no."""
    answered = suggestion.resolved_at
    at_once = answered is not None and now - answered <= timedelta(minutes=UNDO_MINUTES)
    return (
        suggestion.status == Suggestion.Status.ACCEPTED
        and at_once
        and suggestion_still_open(suggestion=suggestion, now=now)
    )

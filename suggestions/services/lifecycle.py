"""Changes of a suggestion's status without an answer: expired, back from a snooze, or superseded."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from uuid import UUID

from django.db import transaction
from django.db.models import Exists, OuterRef, Q, QuerySet

from digest.models import Source
from ranking.common.text import topic_key
from ranking.config_body import effective_body
from ranking.selectors import config_changed_since, config_effective, config_effective_many
from suggestions.entities import EXPIRE_DAYS, SOURCE_WEIGHTS, TOPICS
from suggestions.models import Outcome, Suggestion
from suggestions.outcomes.services import Ending, outcome_draft, profile_lock, profile_update
from suggestions.rules import target_pinned
from suggestions.selectors import WAITING

Status = Suggestion.Status
_HAND_CAUSES = ("edit", "revert")


def suggestions_sweep(*, now: datetime, reader_id: UUID | None = None) -> dict[str, int]:
    """Settle what needs no answer, for one reader or all, and return how many of each; may run at any time.

    1. superseded: the reader changed the same target by hand (or went back to a version) or pinned it since
       then, or an operator merged or renamed its source
    2. woken: snoozed, and the 7 days are over
    3. expired: unanswered for 14 days since it was made, or since it came back
    """
    rows = Suggestion.objects.filter(status__in=WAITING)
    if reader_id is not None:
        rows = rows.filter(reader_id=reader_id)
    source_gone = ~Q(Exists(Source.objects.filter(pk=OuterRef("target_key"))))
    settled = Q(pk__in=_changed_by_hand(rows)) | Q(source_gone, field=SOURCE_WEIGHTS)
    superseded = _settle(rows.filter(settled), Status.SUPERSEDED, now)
    woken = _wake(rows, now)
    limit = now - timedelta(days=EXPIRE_DAYS)
    unanswered = Q(snoozed_until=None) | Q(snoozed_until__lte=limit)
    old = rows.filter(unanswered, status=Status.PENDING, created_at__lte=limit)
    return {"superseded": superseded, "woken": woken, "expired": _settle(old, Status.EXPIRED, now)}


def _wake(rows: QuerySet[Suggestion], now: datetime) -> int:
    """Bring back snoozed suggestions, unless a newer one about the same target is pending."""
    twin = Suggestion.objects.filter(
        reader_id=OuterRef("reader_id"),
        field=OuterRef("field"),
        target_key=OuterRef("target_key"),
        status=Status.PENDING,
    )
    due = rows.filter(status=Status.SNOOZED, snoozed_until__lte=now)
    return due.filter(~Exists(twin)).update(status=Status.PENDING)


def _changed_by_hand(rows: QuerySet[Suggestion]) -> list[int]:
    """Return the ids of those whose target the reader changed by hand, or pinned, after they were made."""
    open_ = list(rows.only("reader_id", "field", "target_key", "config_version"))
    current = config_effective_many(reader_ids=list({row.reader_id for row in open_}))
    stale = [row for row in open_ if row.config_version < current[row.reader_id].config.version]
    # One query per reader and version: suggestions of a run share it, so these are few.
    touched = {
        (reader_id, version): _targets(reader_id, version)
        for reader_id, version in {(row.reader_id, row.config_version) for row in stale}
    }
    return [
        row.pk
        for row in stale
        if (row.field, row.target_key) in touched[row.reader_id, row.config_version]
        or target_pinned((row.field, row.target_key), current[row.reader_id])
    ]


def _targets(reader_id: UUID, version: int) -> set[tuple[str, str]]:
    changed = config_changed_since(reader_id=reader_id, version=version, causes=_HAND_CAUSES)
    return {(field, topic_key(target) if field == TOPICS else target) for field, target in changed}


def _settle(rows: QuerySet[Suggestion], status: str, now: datetime) -> int:
    """Close these suggestions with an outcome each, in one transaction per reader."""
    readers = list(rows.order_by().values_list("reader_id", flat=True).distinct())
    return sum(_settle_reader(rows.filter(reader_id=reader), reader, status, now) for reader in readers)


def _settle_reader(rows: QuerySet[Suggestion], reader_id: UUID, status: str, now: datetime) -> int:
    with transaction.atomic():
        claimed: Sequence[Suggestion] = list(
            rows.select_for_update(of=("self",)).order_by("pk").prefetch_related("evidence")
        )
        if not claimed:
            return 0
        Suggestion.objects.filter(pk__in=[row.pk for row in claimed], status__in=WAITING).update(
            status=status, resolved_at=now
        )
        profile_lock(reader_id=reader_id, now=now)
        ending = Ending(outcome=status, before=effective_body(config_effective(reader_id=reader_id)))
        Outcome.objects.bulk_create(
            outcome_draft(suggestion=row, ending=ending, evidence=row.evidence.all(), now=now)
            for row in claimed
        )
        profile_update(reader_id=reader_id, now=now)
    return len(claimed)

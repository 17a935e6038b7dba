"""What happens to suggestions by themselves: time runs out, a pause ends, the reader decides by hand."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from uuid import UUID

from django.db import transaction
from django.db.models import Exists, OuterRef, Q, QuerySet

from digest.models import Source
from ranking.body import body_of
from ranking.matching import topic_key
from ranking.selectors import config_changed_since, config_effective_many
from suggestions.entities import EXPIRE_DAYS, SOURCE_WEIGHTS, TOPICS
from suggestions.models import Outcome, Suggestion
from suggestions.rules import target_pinned
from suggestions.services.outcomes import Ending, outcome_draft, profile_lock, profile_update

Status = Suggestion.Status
OPEN = (Status.PENDING, Status.SNOOZED)
HAND_CAUSES = ("edit", "revert")


def suggestions_sweep(*, now: datetime, reader_id: UUID | None = None) -> dict[str, int]:
    """Settle what settled itself, for one reader or all; returns how many of each, and may run at any time.

    1. superseded: the reader changed the same target by hand (or went back to a version) or pinned it since
       then, or an operator joined its source to another or gave it another key
    2. woken: put aside, and the 7 days are over
    3. expired: unanswered for 14 days since it was made, or since it came back
    """
    rows = Suggestion.objects.filter(status__in=OPEN)
    if reader_id is not None:
        rows = rows.filter(reader_id=reader_id)
    settled = Q(pk__in=_overtaken(rows)) | Q(_moved(), field=SOURCE_WEIGHTS)
    superseded = _settle(rows.filter(settled), Status.SUPERSEDED, now)
    woken = _wake(rows, now)
    limit = now - timedelta(days=EXPIRE_DAYS)
    unanswered = Q(snoozed_until=None) | Q(snoozed_until__lte=limit)
    old = rows.filter(unanswered, status=Status.PENDING, created_at__lte=limit)
    return {"superseded": superseded, "woken": woken, "expired": _settle(old, Status.EXPIRED, now)}


def _wake(rows: QuerySet[Suggestion], now: datetime) -> int:
    """Bring back what was put aside, unless something newer waits about the same target."""
    twin = Suggestion.objects.filter(
        reader_id=OuterRef("reader_id"),
        field=OuterRef("field"),
        target_key=OuterRef("target_key"),
        status=Status.PENDING,
    )
    due = rows.filter(status=Status.SNOOZED, snoozed_until__lte=now)
    return due.filter(~Exists(twin)).update(status=Status.PENDING)


def _moved() -> Q:
    """Holds for suggestions about a source that nobody is by that key any more."""
    return ~Q(Exists(Source.objects.filter(pk=OuterRef("target_key"))))


def _overtaken(rows: QuerySet[Suggestion]) -> list[int]:
    """The ids of those whose target the reader changed by hand, or pinned, after they were made."""
    open_ = list(rows.only("reader_id", "field", "target_key", "config_version"))
    current = config_effective_many(reader_ids=list({row.reader_id for row in open_}))
    stale = [row for row in open_ if row.config_version < current[row.reader_id].config.version]
    # One look per reader and version: suggestions of a run share it, so these are few.
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
    changed = config_changed_since(reader_id=reader_id, version=version, causes=HAND_CAUSES)
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
        Suggestion.objects.filter(pk__in=[row.pk for row in claimed], status__in=OPEN).update(
            status=status, resolved_at=now
        )
        profile_lock(reader_id=reader_id, now=now)
        current = config_effective_many(reader_ids=[reader_id])[reader_id]
        ending = Ending(outcome=status, before=body_of(current.config, current.deltas))
        Outcome.objects.bulk_create(
            outcome_draft(suggestion=row, ending=ending, evidence=row.evidence.all(), now=now)
            for row in claimed
        )
        profile_update(reader_id=reader_id, now=now)
    return len(claimed)

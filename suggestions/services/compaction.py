"""Compaction: long histories put their heavy fields away, and nothing is ever lost.

A reader with more than 100 decisions has those older than 30 days compacted: the two configs and the
evidence move, as they are, to `OutcomeArchive`; type, target, outcome, the reader's words and the dates
stay. Timelines, details and reverts read the archive in their place. The thresholds are those of the
original design; there the heavy fields were dropped, which an append-only audit forbids.

Each batch is a transaction of its own under the reader's profile, which whoever writes an outcome holds too:
a run that breaks off has compacted whole batches, and the next one goes on from there.
"""

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

import structlog
from django.db import transaction
from django.db.models import Count, Exists, OuterRef, QuerySet

from suggestions.models import Outcome, OutcomeArchive, PreferenceProfile
from suggestions.services.outcomes import profile_lock, profiles_update

log = structlog.get_logger(__name__)
DECISIONS_KEPT = 100
WHOLE_FOR = timedelta(days=30)
BATCH = 200
# A profile that no outcome has touched for so long is brought up to date, since its counts fade.
STALE_AFTER = timedelta(days=7)
Progress = Callable[[int, int], None]


def outcomes_compact(*, now: datetime, progress: Progress | None = None) -> dict[str, Any]:
    """Compact every long history and bring stale profiles up to date.

    Returns `{"readers", "archived", "profiles"}`: long histories looked at, rows archived by this run,
    profiles recomputed. A second run finds nothing left to do. `progress` gets (readers done, in all).
    """
    profiles = profiles_refresh(now=now)
    readers = _long_histories()
    archived = 0
    for done, reader_id in enumerate(readers, start=1):
        archived += reader_compact(reader_id=reader_id, now=now)
        if progress:
            progress(done, len(readers))
    log.info("outcomes_compacted", readers=len(readers), archived=archived)
    return {"readers": len(readers), "archived": archived, "profiles": profiles}


def reader_compact(*, reader_id: UUID, now: datetime) -> int:
    """Archive the heavy fields of one reader's old outcomes, whatever their number; returns how many."""
    archived = 0
    while count := _batch(reader_id, now):
        archived += count
    return archived


def profiles_refresh(*, now: datetime) -> int:
    """Recompute the profiles that are older than a week, a batch at a time; returns how many."""
    stale = PreferenceProfile.objects.filter(computed_at__lte=now - STALE_AFTER, total_outcomes__gt=0)
    refreshed = 0
    while True:
        with transaction.atomic():
            held = list(stale.select_for_update().order_by("pk")[:BATCH])
            profiles_update(reader_ids=[row.reader_id for row in held], now=now)
        refreshed += len(held)
        if len(held) < BATCH:
            return refreshed


def _long_histories() -> list[UUID]:
    """The readers with more than 100 decisions, in order of id; one query."""
    decisions = Outcome.objects.filter(kind=Outcome.Kind.DECISION).order_by()
    counted = decisions.values("reader_id").annotate(n=Count("pk")).filter(n__gt=DECISIONS_KEPT)
    return list(counted.order_by("reader_id").values_list("reader_id", flat=True))


def _due(reader_id: UUID, now: datetime) -> QuerySet[Outcome]:
    """The reader's old outcomes that are still whole, oldest first. Effects hold nothing heavy."""
    archived = OutcomeArchive.objects.filter(outcome_id=OuterRef("pk"))
    rows = Outcome.objects.filter(reader_id=reader_id, decided_at__lt=now - WHOLE_FOR)
    return rows.filter(~Exists(archived)).exclude(kind=Outcome.Kind.EFFECT).order_by("decided_at", "pk")


@transaction.atomic
def _batch(reader_id: UUID, now: datetime) -> int:
    """Archive the next 200; five queries."""
    profile_lock(reader_id=reader_id, now=now)
    rows = list(_due(reader_id, now)[:BATCH])
    if not rows:
        return 0
    OutcomeArchive.objects.bulk_create(
        OutcomeArchive(
            outcome=row,
            config_before=row.config_before,
            config_after=row.config_after,
            evidence_summary=row.evidence_summary,
            archived_at=now,
        )
        for row in rows
    )
    compacted = Outcome.objects.filter(pk__in=[row.pk for row in rows])
    compacted.update(config_before={}, config_after=None, evidence_summary=[])
    PreferenceProfile.objects.filter(reader_id=reader_id).update(compacted_through=rows[-1].decided_at)
    return len(rows)

"""Where memories come from: a reader's own are derived from rows, never written by a model.

Of a reader's own, most trusted first: `pattern`, `replay`, `profile`, `peer`, `bank` (`advisor.memory`);
`rule` and `insight` are people's. All of them are distilled as they are stored, and what was found for calls
before is dropped only where something changed.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

import structlog
from django.db.models import Exists, OuterRef

from advisor.guidance.distilling import ADMITTED, Draft
from advisor.guidance.packets import packets_invalidate
from advisor.guidance.versions import MEMORIES
from advisor.models import Memory, Run
from advisor.services.guidance_sources import reader_drafts
from advisor.services.guidance_store import Stored, memories_store
from digest.models import Feedback, Reader
from suggestions.models import Outcome

log = structlog.get_logger(__name__)
# What is derived from a reader's own rows; a row of another kind that is theirs is left alone.
DERIVED = (Memory.Kind.PATTERN, Memory.Kind.REPLAY, Memory.Kind.PROFILE, Memory.Kind.PEER, Memory.Kind.BANK)
ACTIVE_DAYS = 30


@dataclass(frozen=True, slots=True)
class Admitted:
    """What became of one draft: the row that says it, or `None` and the code of why not."""

    memory: Memory | None
    why: str = ADMITTED


def memories_refresh(*, reader_id: UUID, now: datetime) -> dict[str, int]:
    """Make the reader's derived memories what their rows say now; safe to repeat, and then changes nothing.

    Returns the counts `added`, `updated` (newer figures), `superseded` (another meaning), `retired`,
    `unchanged`, `refused`. A fixed number of queries whatever the history: about a dozen where nothing
    changed, eight more where the crowd of readers who share is read anew, and at most six to write.
    """
    drafts = reader_drafts(reader_id=reader_id, now=now)
    stored = memories_store(reader_id=reader_id, kinds=DERIVED, drafts=drafts, now=now)
    _tell(stored, reader_id, now)
    return stored.counts


def memory_admit(draft: Draft, *, reader_id: UUID | None, now: datetime) -> Admitted:
    """Store one memory, for a reader or for all, if distilling lets it in; others are left as they are.

    One that is there already, by its key, is renewed or superseded. `why` is `admitted`, a code of
    `distilling`, `duplicate`, or `key_taken` where a person's memory has the key.
    """
    kinds = (str(draft.kind),)
    stored = memories_store(reader_id=reader_id, kinds=kinds, drafts=[draft], now=now, retire=False)
    _tell(stored, reader_id, now)
    row = stored.rows.get((str(draft.kind), draft.key))
    return Admitted(row, ADMITTED if row else stored.refused[draft.key])


def memories_refresh_active(*, now: datetime) -> dict[str, int]:
    """Refresh every active reader who rated, answered or had a run in the last 30 days; one at a time.

    Returns `readers`, `failed` and the sums of `memories_refresh`. One reader's trouble stops no other's.
    """
    since = now - timedelta(days=ACTIVE_DAYS)
    own = OuterRef("pk")
    lately = (
        Exists(Feedback.objects.filter(reader=own, at__gt=since))
        | Exists(Outcome.objects.filter(reader=own, decided_at__gt=since))
        | Exists(Run.objects.filter(reader=own, created_at__gt=since))
    )
    # Whoever has memories keeps getting them put right, however long ago the last answer was.
    standing = Exists(Memory.objects.filter(reader=own, kind__in=DERIVED, retired_at=None))
    readers = Reader.objects.filter(lately | standing, is_active=True).order_by("pk")
    totals = {"readers": 0, "failed": 0}
    for reader_id in readers.values_list("pk", flat=True):
        try:
            counts = memories_refresh(reader_id=reader_id, now=now)
        except Exception:
            log.exception("memories_refresh_failed", user_id=str(reader_id))
            totals["failed"] += 1
            continue
        totals["readers"] += 1
        for name, count in counts.items():
            totals[name] = totals.get(name, 0) + count
    log.info("memories_refreshed", **totals)
    return totals


def _tell(stored: Stored, reader_id: UUID | None, now: datetime) -> None:
    """Drop what was found before, where something else may be said now."""
    if stored.audible:
        packets_invalidate(reader_id=reader_id, why=MEMORIES, now=now)

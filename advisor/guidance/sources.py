"""The rows that memories are derived from, and bringing the memories of one reader, or of all, up to date."""

from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import UUID

import structlog
from django.conf import settings
from django.db.models import Count, Exists, Max, OuterRef, Q, QuerySet, Subquery

from advisor.guidance.admission import REFUSALS, admit
from advisor.guidance.entities import Draft
from advisor.guidance.insight_files import BadInsight, insight_draft
from advisor.guidance.memories import (
    PATTERN_SPAN,
    REPLAY_SPAN,
    TAG_SPAN,
    Decided,
    Write,
    decision_drafts,
    flag_drafts,
    many_drafts,
    peer_drafts,
    reason_drafts,
    tag_drafts,
    write_drafts,
)
from advisor.guidance.situations import WRITE, target_of
from advisor.guidance.store import memories_store
from advisor.models import Memory, Run, Step
from digest.models import Feedback, FeedbackTag, Reader
from suggestions.models import Outcome, PreferenceProfile, Suggestion
from suggestions.outcomes.profile import reason_code
from suggestions.planner.evidence import deviations_for

log = structlog.get_logger(__name__)
FOLDER = Path(__file__).resolve().parent / "insights"
# What is derived from a reader's own rows; a row of another kind that is theirs is left alone.
DERIVED = (Memory.Kind.PATTERN, Memory.Kind.REPLAY, Memory.Kind.PROFILE, Memory.Kind.PEER, Memory.Kind.BANK)
# The newest that are read: more would only cost time.
OUTCOMES_MAX, WRITES_MAX, TAGGED_MAX, ACTIVE_DAYS = 2000, 300, 200, 30
MANY_SPAN = timedelta(days=365)
# What is no fault of a file: that its time is over, or that another says the same.
NO_FAULT = frozenset({"expired", "duplicate"})
NEVER = "never"
Kind, Result = Outcome.Kind, Outcome.Result


def memories_refresh(*, reader_id: UUID, now: datetime) -> dict[str, int]:
    """Make the reader's derived memories what their rows say now; safe to repeat, and then changes nothing.

    Returns the counts `added`, `updated` (newer figures), `superseded` (another meaning), `retired`,
    `unchanged`, `refused`. A fixed number of queries whatever the history.
    """
    drafts = reader_drafts(reader_id=reader_id, now=now)
    return memories_store(reader_id=reader_id, kinds=DERIVED, drafts=drafts, now=now).counts


def memories_refresh_active(*, now: datetime) -> dict[str, int]:
    """Refresh every active reader who rated, answered or had a run in the last 30 days, or has memories.

    Returns `readers`, `failed` and the sums of `memories_refresh`. One reader's trouble stops no other's.
    """
    since, own = now - timedelta(days=ACTIVE_DAYS), OuterRef("pk")
    lately = (
        Exists(Feedback.objects.filter(reader=own, at__gt=since))
        | Exists(Outcome.objects.filter(reader=own, decided_at__gt=since))
        | Exists(Run.objects.filter(reader=own, created_at__gt=since))
        | Exists(Memory.objects.filter(reader=own, kind__in=DERIVED, retired_at=None))
    )
    readers = Reader.objects.filter(lately, is_active=True).order_by("pk")
    totals = {"readers": 0, "failed": 0}
    for reader_id in readers.values_list("pk", flat=True):
        try:
            counts = {"readers": 1} | memories_refresh(reader_id=reader_id, now=now)
        except Exception:
            log.exception("memories_refresh_failed", user_id=str(reader_id))
            counts = {"failed": 1}
        for name, count in counts.items():
            totals[name] = totals.get(name, 0) + count
    log.info("memories_refreshed", **totals)
    return totals


def memories_sync(*, now: datetime, folder: Path = FOLDER) -> dict[str, Any]:
    """Sync insights from `folder` and patterns over many readers, each in a transaction of its own.

    Returns `{"insights": counts, "patterns": counts, "errors": [{"file", "code", "message"}]}` with the
    counts of `memories_refresh`. A bad file, or one that admission refuses, is listed, its memory left as it
    is, and the rest goes through; the memory of a file that is gone is retired.
    """
    drafts, errors = [], []
    for path in sorted(folder.glob("*.md")):
        try:
            draft = insight_draft(path.stem, path.read_bytes(), now=now)
            why = admit(draft, now=now).why
            if why in REFUSALS and why not in NO_FAULT:
                raise BadInsight(why, REFUSALS[why])
            drafts.append(draft)
        except BadInsight as bad:
            errors.append({"file": path.name, "code": bad.code, "message": bad.message})
        except OSError as error:
            message = error.strerror or "The file cannot be read."
            errors.append({"file": path.name, "code": "unreadable", "message": message})
    bad_keys = frozenset(Path(error["file"]).stem for error in errors)
    counts = _sync_kind(Memory.Kind.INSIGHT, drafts, now, spared=bad_keys)
    log.info("memories_synced", errors=len(errors), **counts)
    return {"insights": counts, "patterns": patterns_sync(now=now), "errors": errors}


def patterns_sync(*, now: datetime) -> dict[str, int]:
    """Sum up the readers who share; a pattern that too few stand behind is retired. Two queries to sum up."""
    found = list(many_drafts(_shares(now), now=now)) if settings.PEERS_ENABLED else []
    return _sync_kind(Memory.Kind.PATTERN, found, now)


def reader_drafts(*, reader_id: UUID, now: datetime) -> list[Draft]:
    """Return every memory that a reader's own rows bear out, most trusted source first."""
    decided = decisions_of(reader_id=reader_id, now=now)
    return [
        *decision_drafts(decided, now=now),
        *write_drafts(writes_of(reader_id=reader_id, now=now), now=now),
        *_profile_drafts(reader_id, now),
        *_peer_drafts(reader_id, now),
        *reason_drafts(decided, now=now),
        *tag_drafts(tagged_of(reader_id=reader_id, now=now)),
    ]


def decisions_of(*, reader_id: UUID, now: datetime) -> list[Decided]:
    """Return the reader's suggestions that ended and had an outcome of any kind lately, newest first; one
    query.

    An answer taken back at once is none. A reason is read only as the code of its words.
    """
    others, since = Outcome.objects.filter(suggestion=OuterRef("suggestion")), now - PATTERN_SPAN
    effects, reverts = others.filter(kind=Kind.EFFECT), others.filter(kind=Kind.REVERT)
    rows = (
        Outcome.objects.filter(reader_id=reader_id, kind=Kind.DECISION)
        .exclude(suggestion__status=Suggestion.Status.TAKEN_BACK)
        .annotate(
            reverted_at=Subquery(reverts.values("decided_at")[:1]),
            effect=Subquery(effects.values("outcome")[:1]),
            effect_at=Subquery(effects.values("decided_at")[:1]),
        )
        .filter(Q(decided_at__gt=since) | Q(reverted_at__gt=since) | Q(effect_at__gt=since))
        .order_by("-decided_at", "-pk")
    )
    columns = ("suggestion_type", "target_key", "outcome", "decided_at", "reverted_at", "effect", "effect_at")
    found = []
    for row in rows.values(*columns, "user_reason")[:OUTCOMES_MAX]:
        reason, row["effect"] = row.pop("user_reason"), row["effect"] or ""
        refused = row["outcome"] == Result.REJECTED and reason != NEVER
        found.append(Decided(**row, reason=reason_code(reason) if refused else ""))
    return found


def writes_of(*, reader_id: UUID, now: datetime) -> list[Write]:
    """Return the newest writes of the reader's runs in the last 90 days, whoever drove them; one query."""
    rows = Step.objects.filter(
        run__reader_id=reader_id, kind=Step.Kind.TOOL, tool=WRITE, at__gt=now - REPLAY_SPAN
    )
    found = []
    columns = ("run_id", "n", "arguments", "error_code", "at")
    for run_id, n, arguments, code, at in rows.order_by("-at", "-n").values_list(*columns)[:WRITES_MAX]:
        given = arguments if isinstance(arguments, dict) else {}
        kind = given.get("suggestion_type")
        kind = kind if isinstance(kind, str) else ""
        found.append(Write(str(run_id), n, kind, target_of(kind, given), code, at))
    return found


def tagged_of(*, reader_id: UUID, now: datetime) -> list[tuple[str, str, bool, int, datetime]]:
    """Return how often the reader named each reason about each source in the last 90 days; one query."""
    rows = (
        FeedbackTag.objects.filter(feedback__reader_id=reader_id, feedback__at__gt=now - TAG_SPAN)
        .values_list("feedback__item__source_id", "tag_id", "feedback__useful")
        .annotate(count=Count("pk"), last=Max("feedback__at"))
        .order_by("-count", "feedback__item__source_id", "tag_id", "feedback__useful")
    )
    return list(rows[:TAGGED_MAX])


def _profile_drafts(reader_id: UUID, now: datetime) -> Iterator[Draft]:
    row = PreferenceProfile.objects.filter(reader_id=reader_id).first()
    if row is not None:
        yield from flag_drafts(row.patterns, row.acceptance_stats, last_at=row.last_outcome_at, now=now)


def _peer_drafts(reader_id: UUID, now: datetime) -> Iterator[Draft]:
    """Yield hints about sources the reader rated, where the reader shares and others may be asked at all."""
    if deviations := deviations_for(reader_id=reader_id, now=now):
        rated = Feedback.objects.filter(reader_id=reader_id, item__source_id__in=deviations).order_by()
        sources = frozenset(rated.values_list("item__source_id", flat=True).distinct())
        yield from peer_drafts(deviations, sources, now=now)


def _sync_kind(
    kind: str, drafts: list[Draft], now: datetime, *, spared: frozenset[str] = frozenset()
) -> dict[str, int]:
    return memories_store(reader_id=None, kinds=(kind,), drafts=drafts, spared=spared, now=now).counts


def _shares(now: datetime) -> Iterator[tuple[str, str, int, int]]:
    """Yield each sharing reader's own figures of the last year, one row per reader, statistic and type."""
    rows = Outcome.objects.filter(
        reader__peers_enabled=True, reader__is_active=True, decided_at__gt=now - MANY_SPAN
    ).order_by()
    decided = rows.filter(kind=Kind.DECISION, outcome__in=[Result.ACCEPTED, Result.REJECTED])
    decided = decided.exclude(suggestion__status=Suggestion.Status.TAKEN_BACK)
    judged = rows.filter(kind=Kind.EFFECT, outcome__in=[Result.HELPED, Result.HARMED])
    yield from _counted(decided, Result.ACCEPTED)
    yield from _counted(judged, Result.HELPED)


def _counted(rows: QuerySet[Outcome], hit: str) -> Iterator[tuple[str, str, int, int]]:
    counted = rows.values_list("reader_id", "suggestion_type").annotate(
        hits=Count("pk", filter=Q(outcome=hit)), total=Count("pk")
    )
    for _, kind, hits, total in counted:
        yield str(hit), kind, hits, total

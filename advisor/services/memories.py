"""Bringing the memories of all readers up to date: the insight files, and what many readers decided.

A memory that is no longer in its source is retired, never deleted: what a run was told stays readable.
Insights that people wrote in the admin have no file, and are left alone.
"""

from datetime import UTC, datetime, time, timedelta
from pathlib import Path
from typing import Any

import structlog
from django.conf import settings
from django.db.models import Count, Q, QuerySet

from advisor.guidance.distilling import Draft, distil, why_words
from advisor.guidance.entities import Kind, Level
from advisor.guidance.packets import packets_invalidate
from advisor.guidance.versions import MEMORIES
from advisor.memory.insights import BadInsight, Insight, insight_parse
from advisor.memory.patterns import ACCEPTED, HELPED, Pattern, Share, patterns_of
from advisor.models import Memory
from advisor.services.guidance_store import memories_store
from suggestions.models import Outcome, Suggestion

log = structlog.get_logger(__name__)
FOLDER = Path(__file__).resolve().parent.parent / "memory" / "insights"
# Patterns speak of the last year, and lapse by themselves if nobody sums them up for a month.
PATTERN_SPAN, PATTERN_LIFE = timedelta(days=365), timedelta(days=30)
PATTERN_CONFIDENCE = 0.6
MANY = "many readers"
# What storing says of a good file: that its time is over, or that another says the same.
NO_FAULT = frozenset({"expired", "duplicate"})
Result = Outcome.Result


def memories_sync(*, now: datetime, folder: Path = FOLDER) -> dict[str, Any]:
    """Sync insights from `folder` and patterns from outcomes, each in a transaction of its own.

    Returns `{"insights": counts, "patterns": counts, "errors": [{"file", "code", "message"}]}` with the
    counts `added`, `updated`, `superseded`, `retired`, `unchanged`, `refused`. A bad file, or one that
    distilling refuses, is listed, its memory left as it is, and the rest goes through.
    """
    drafts, errors = _insights_read(folder, now)
    bad = frozenset(Path(error["file"]).stem for error in errors)
    counts = _stored(Memory.Kind.INSIGHT, drafts, now, kept=bad)
    log.info("memories_synced", errors=len(errors), **counts)
    return {"insights": counts, "patterns": patterns_sync(now=now), "errors": errors}


def patterns_sync(*, now: datetime) -> dict[str, int]:
    """Sum up the readers who share; a pattern that too few stand behind is retired. Two queries to sum up."""
    found = patterns_of(_shares(now)) if settings.PEERS_ENABLED else []
    return _stored(Memory.Kind.PATTERN, [_pattern_draft(pattern, now) for pattern in found], now)


def _stored(
    kind: str, drafts: list[Draft], now: datetime, *, kept: frozenset[str] = frozenset()
) -> dict[str, int]:
    """Make the shared memories of a kind what the drafts say; packets go if that changed anything."""
    stored = memories_store(reader_id=None, kinds=(kind,), drafts=drafts, kept=kept, now=now)
    if stored.audible:
        packets_invalidate(reader_id=None, why=MEMORIES, now=now)
    return stored.counts


def _insights_read(folder: Path, now: datetime) -> tuple[list[Draft], list[dict[str, str]]]:
    """The insights of a folder, and what is wrong with the other files."""
    drafts, errors = [], []
    for path in sorted(folder.glob("*.md")):
        try:
            drafts.append(_insight_draft(insight_parse(path.stem, path.read_bytes()), now))
        except BadInsight as bad:
            errors.append({"file": path.name, "code": bad.code, "message": bad.message})
        except OSError as error:
            message = error.strerror or "The file cannot be read."
            errors.append({"file": path.name, "code": "unreadable", "message": message})
    return drafts, errors


def _insight_draft(insight: Insight, now: datetime) -> Draft:
    """An insight as it would be stored. Raises `BadInsight` with the code that distilling refuses it by.

    Its file vouches for it each day anew, so it does not age.
    """
    draft = Draft(
        kind=Kind.INSIGHT,
        key=insight.id,
        title=insight.title,
        text=insight.text,
        suggestion_type=insight.suggestion_type,
        tool=insight.tool,
        phase=insight.phase,
        confidence=insight.confidence,
        shared=True,
        source_ref=f"{insight.id}.md",
        ceiling=Level.NOTE,
        valid_from=_midnight(now),
        expires_at=datetime.combine(insight.expires, time.min, UTC) if insight.expires else None,
    )
    admission = distil(draft, now=now, known=(), without=NO_FAULT)
    if not admission.admitted:
        raise BadInsight(admission.why, why_words(admission.why))
    return draft


def _pattern_draft(pattern: Pattern, now: datetime) -> Draft:
    # To the day, so that a second run on the same day changes nothing.
    today = _midnight(now)
    return Draft(
        kind=Kind.PATTERN,
        key=pattern.key,
        title=pattern.title,
        text=pattern.text,
        suggestion_type=pattern.suggestion_type,
        phase="hypothesize",
        polarity=pattern.polarity,
        evidence=pattern.readers,
        confidence=PATTERN_CONFIDENCE,
        shared=True,
        data={"rate": pattern.rate, "readers": pattern.readers},
        source_ref=MANY,
        ceiling=Level.NOTE,
        valid_from=today,
        expires_at=today + PATTERN_LIFE,
    )


def _midnight(now: datetime) -> datetime:
    return datetime.combine(now.astimezone(UTC).date(), time.min, UTC)


def _shares(now: datetime) -> list[Share]:
    """Each sharing reader's own figures of the last year, one row per reader, statistic and type."""
    rows = Outcome.objects.filter(
        reader__peers_enabled=True, reader__is_active=True, decided_at__gt=now - PATTERN_SPAN
    ).order_by()
    decided = rows.filter(kind=Outcome.Kind.DECISION, outcome__in=[Result.ACCEPTED, Result.REJECTED]).exclude(
        suggestion__status=Suggestion.Status.TAKEN_BACK
    )
    judged = rows.filter(kind=Outcome.Kind.EFFECT, outcome__in=[Result.HELPED, Result.HARMED])
    return [*_counted(ACCEPTED, decided, Result.ACCEPTED), *_counted(HELPED, judged, Result.HELPED)]


def _counted(statistic: str, rows: QuerySet[Outcome], hit: str) -> list[Share]:
    counted = rows.values_list("reader_id", "suggestion_type").annotate(
        hits=Count("pk", filter=Q(outcome=hit)), total=Count("pk")
    )
    return [Share(statistic, kind, hits, total) for _, kind, hits, total in counted]

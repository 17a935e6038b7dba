"""Bringing memories up to date with their sources: the insight files, and what many readers decided.

A memory that is no longer in its source is retired, never deleted: what a run was told stays readable.
"""

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, time, timedelta
from pathlib import Path
from typing import Any

import structlog
from django.conf import settings
from django.db import transaction
from django.db.models import Count, Q, QuerySet

from advisor.memory.insights import BadInsight, Insight, insight_parse
from advisor.memory.patterns import ACCEPTED, HELPED, Pattern, Share, patterns_of
from advisor.models import Memory
from suggestions.models import Outcome

log = structlog.get_logger(__name__)
FOLDER = Path(__file__).resolve().parent.parent / "memory" / "insights"
# Patterns speak of the last year, and lapse by themselves if nobody sums them up for a month.
PATTERN_SPAN, PATTERN_LIFE = timedelta(days=365), timedelta(days=30)
PATTERN_CONFIDENCE = 0.6
COMPARED = (
    "title",
    "text",
    "suggestion_type",
    "tool",
    "phase",
    "data",
    "confidence",
    "expires_at",
    "retired_at",
)
Fields = dict[str, Any]
Result = Outcome.Result


def memories_sync(*, now: datetime, folder: Path = FOLDER) -> dict[str, Any]:
    """Sync insights from `folder` and patterns from outcomes, each in a transaction of its own.

    Returns `{"insights": counts, "patterns": counts, "errors": [{"file", "code", "message"}]}` with the
    counts `added`, `updated`, `unchanged`, `retired`. A bad file is listed, its memory left as it is, and
    the rest goes through.
    """
    insights, errors, named = _insights_read(folder)
    counts = _store(Memory.Kind.INSIGHT, {i.id: _insight_fields(i) for i in insights}, named, now)
    log.info("memories_synced", errors=len(errors), **counts)
    return {"insights": counts, "patterns": patterns_sync(now=now), "errors": errors}


def patterns_sync(*, now: datetime) -> dict[str, int]:
    """Sum up the readers who share; a pattern that too few stand behind is retired. Two queries to sum up."""
    found = patterns_of(_shares(now)) if settings.PEERS_ENABLED else []
    return _store(Memory.Kind.PATTERN, {p.key: _pattern_fields(p, now) for p in found}, frozenset(), now)


def _insights_read(folder: Path) -> tuple[list[Insight], list[dict[str, str]], frozenset[str]]:
    """The insights of a folder, what is wrong with the other files, and the names of those."""
    insights, errors = [], []
    for path in sorted(folder.glob("*.md")):
        try:
            insights.append(insight_parse(path.stem, path.read_bytes()))
        except BadInsight as bad:
            errors.append({"file": path.name, "code": bad.code, "message": bad.message})
        except OSError as error:
            message = error.strerror or "The file cannot be read."
            errors.append({"file": path.name, "code": "unreadable", "message": message})
    return insights, errors, frozenset(Path(error["file"]).stem for error in errors)


def _insight_fields(insight: Insight) -> Fields:
    expires = insight.expires and datetime.combine(insight.expires, time.min, UTC)
    return {
        "title": insight.title,
        "text": insight.text,
        "suggestion_type": insight.suggestion_type,
        "tool": insight.tool,
        "phase": insight.phase,
        "data": {},
        "confidence": insight.confidence,
        "expires_at": expires,
    }


def _pattern_fields(pattern: Pattern, now: datetime) -> Fields:
    # To the day, so that a second run on the same day changes nothing.
    lapses = datetime.combine(now.date(), time.min, UTC) + PATTERN_LIFE
    return {
        "title": pattern.title,
        "text": pattern.text,
        "suggestion_type": pattern.suggestion_type,
        "tool": "",
        "phase": "hypothesize",
        "data": {"rate": pattern.rate, "readers": pattern.readers},
        "confidence": PATTERN_CONFIDENCE,
        "expires_at": lapses,
    }


@transaction.atomic
def _store(kind: str, wanted: Mapping[str, Fields], kept: Iterable[str], now: datetime) -> dict[str, int]:
    """Make the shared memories of a kind what is `wanted`, by key, leaving `kept` ones alone."""
    rows = {row.key: row for row in Memory.objects.select_for_update().filter(kind=kind, reader=None)}
    added = [
        Memory(kind=kind, key=key, valid_from=now, updated_at=now, **fields)
        for key, fields in wanted.items()
        if key not in rows
    ]
    updated = [
        rows[key] for key, fields in wanted.items() if key in rows and _changed(rows[key], fields, now)
    ]
    gone = rows.keys() - wanted.keys() - set(kept)
    retired = [row for key, row in rows.items() if key in gone and row.retired_at is None]
    for row in retired:
        row.retired_at = row.updated_at = now
    Memory.objects.bulk_create(added)
    Memory.objects.bulk_update([*updated, *retired], [*COMPARED, "updated_at"])
    unchanged = len(wanted) - len(added) - len(updated)
    return {
        "added": len(added),
        "updated": len(updated),
        "unchanged": unchanged,
        "retired": len(retired),
    }


def _changed(row: Memory, fields: Fields, now: datetime) -> bool:
    """Take over what differs; what came back is retired no longer."""
    wanted = fields | {"retired_at": None}
    if all(getattr(row, name) == value for name, value in wanted.items()):
        return False
    for name, value in wanted.items():
        setattr(row, name, value)
    row.updated_at = now
    return True


def _shares(now: datetime) -> list[Share]:
    """Each sharing reader's own figures of the last year, one row per reader, statistic and type."""
    rows = Outcome.objects.filter(
        reader__peers_enabled=True, reader__is_active=True, decided_at__gt=now - PATTERN_SPAN
    ).order_by()
    decided = rows.filter(kind=Outcome.Kind.DECISION, outcome__in=[Result.ACCEPTED, Result.REJECTED])
    judged = rows.filter(kind=Outcome.Kind.EFFECT, outcome__in=[Result.HELPED, Result.HARMED])
    return [*_counted(ACCEPTED, decided, Result.ACCEPTED), *_counted(HELPED, judged, Result.HELPED)]


def _counted(statistic: str, rows: QuerySet[Outcome], hit: str) -> list[Share]:
    counted = rows.values_list("reader_id", "suggestion_type").annotate(
        hits=Count("pk", filter=Q(outcome=hit)), total=Count("pk")
    )
    return [Share(statistic, kind, hits, total) for _, kind, hits, total in counted]

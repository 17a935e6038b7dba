"""The memories a reader's runs may use: the reader's own and the shared ones in force, never another's."""

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

from django.conf import settings
from django.db.models import Case, Exists, IntegerField, Q, QuerySet, Value, When

from advisor.guidance.admission import share_of
from advisor.guidance.entities import Kind, Level, Remembered
from advisor.models import Memory
from digest.models import Reader

# What ranking compares in Python: more rows would only cost time (500 take about 10 ms).
CANDIDATES_MAX, DETAILS_MAX, RECALLED_MAX = 500, 3, 3
# Figures over many readers are for those who share their own.
OVER_MANY = (Memory.Kind.PATTERN, Memory.Kind.PEER)
# Within `Memory.data`: the condition of a rule, and the values of arguments that a memory speaks for.
CONDITION, ADVISES = "when", "advises"
# What a recalled memory gains for being about a type that is in question.
ABOUT = 0.3
PLAIN = (
    *("id", "title", "text", "valid_from", "tool", "suggestion_type", "target_key", "phase", "polarity"),
    *("unified", "confidence", "helpful", "unhelpful", "evidence", "text_sig"),
)
COLUMNS = ("kind", "tokens", "ceiling", "data", "reader_id", *PLAIN)


def memories_in_force(*, reader_id: UUID, now: datetime) -> QuerySet[Memory]:
    """Return the rows a run of this reader may use: no other reader's, none expired, superseded or retired.

    Without figures over many readers for one who does not share.
    """
    sharing = Exists(Reader.objects.filter(pk=reader_id, peers_enabled=True))
    over_many = Q(reader=None, kind__in=OVER_MANY) | Q(kind=Memory.Kind.PEER)
    rows = Memory.objects.filter(
        Q(reader=None) | Q(reader_id=reader_id),
        Q(expires_at=None) | Q(expires_at__gt=now),
        retired_at=None,
        superseded_by=None,
        valid_from__lte=now,
    )
    return rows.filter(~over_many | Q(sharing)) if settings.PEERS_ENABLED else rows.exclude(over_many)


def memories_for(*, reader_id: UUID, now: datetime) -> list[Remembered]:
    """Return at most 500 memories of a reader's runs: operators' rules first, then the surest; one query."""
    first = Case(When(kind=Memory.Kind.RULE, then=Value(0)), default=Value(1), output_field=IntegerField())
    rows = memories_in_force(reader_id=reader_id, now=now).order_by(first, "-confidence", "-unified", "pk")
    return [remembered(row) for row in rows.values(*COLUMNS)[:CANDIDATES_MAX]]


def memories_detail(*, reader_id: UUID, ids: Sequence[int], now: datetime) -> list[dict[str, object]]:
    """Return the first three of `ids` in full, for whoever was shown their titles; one query."""
    wanted = list(dict.fromkeys(ids))[:DETAILS_MAX]
    rows = memories_in_force(reader_id=reader_id, now=now).filter(pk__in=wanted)
    found = {row.pk: row for row in rows.only("pk", "title", "text")}
    rows_found = [found[pk] for pk in wanted if pk in found]
    return [{"id": row.pk, "title": row.title, "text": row.text} for row in rows_found]


def memories_recall(*, reader_id: UUID, now: datetime, types: Collection[str] = ()) -> list[Memory]:
    """Return the three surest insights and patterns over many readers, those about `types` first; one query.

    What a reader's own rows bear out is the profile itself, and rules are for the calls they name: neither is
    in here.
    """
    rows = memories_in_force(reader_id=reader_id, now=now).filter(
        Q(kind=Memory.Kind.INSIGHT) | Q(kind=Memory.Kind.PATTERN, reader=None)
    )
    worth = {row: row.confidence + ABOUT * (row.suggestion_type in types) for row in rows}
    return sorted(worth, key=lambda row: (-worth[row], row.kind, row.key))[:RECALLED_MAX]


def remembered(row: Mapping[str, Any]) -> Remembered:
    """Return a stored memory, given by its `COLUMNS`, as ranking takes it."""
    data = row["data"] if isinstance(row["data"], dict) else {}
    predicate, advises = data.get(CONDITION), data.get(ADVISES)
    return Remembered(
        kind=Kind(row["kind"]),
        tokens=tuple(row["tokens"]),
        ceiling=Level(row["ceiling"]),
        predicate=predicate if isinstance(predicate, dict) else {},
        advises=advises if isinstance(advises, dict) else {},
        shared=row["reader_id"] is None,
        share=share_of(row["polarity"], data),
        **{name: row[name] for name in PLAIN},
    )

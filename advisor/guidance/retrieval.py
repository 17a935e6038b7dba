"""Which memories could matter to a call: the reader's own and the shared ones in force, by column."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from django.conf import settings
from django.db.models import Case, Exists, IntegerField, Q, QuerySet, Value, When

from advisor.guidance.consistency import share_of
from advisor.guidance.entities import Kind, Level, Remembered, Situation
from advisor.models import Memory
from digest.models import Reader

# What ranking compares in Python: more rows would only cost time (500 take about 10 ms).
CANDIDATES_MAX = 500
# Figures over many readers are for those who share their own.
OVER_MANY = (Memory.Kind.PATTERN, Memory.Kind.PEER)
# The condition of an operator's rule within `Memory.data`.
CONDITION = "when"
# The values of arguments that it speaks for, beside it.
ADVISES = "advises"
PLAIN = (
    *("title", "text", "valid_from", "tool", "suggestion_type", "target_key", "phase", "polarity"),
    *("unified", "confidence", "helpful", "unhelpful", "evidence", "text_sig", "expires_at"),
)
COLUMNS = ("id", "kind", "tokens", "ceiling", "data", "reader_id", *PLAIN)


@dataclass(slots=True)
class Memories:
    """What a reader's runs may be told, read at the first question and then answered from this process.

    `any_there`: whether there is a memory at all. Of a reader with more than 500 nothing is kept: each
    question is a query, as which 500 may matter depends on the call.
    """

    reader_id: UUID
    any_there: bool = True
    _kept: Sequence[Remembered] | None = None
    _too_many: bool = False

    def about(self, situation: Situation, *, now: datetime) -> list[Remembered]:
        """As `memories_for`, in no order; at most one query."""
        if not self._all(now):
            return memories_for(situation=situation, now=now) if self._too_many else []
        targets, types = ("", situation.target_key), ("", situation.suggestion_type)
        return [
            one
            for one in self._in_force(now)
            if (not situation.target_key or one.target_key in targets)
            and (not situation.suggestion_type or one.suggestion_type in types)
        ]

    def by_id(self, ids: Collection[int], *, now: datetime) -> dict[int, Remembered]:
        """Those of `ids` that may still be told, with all rules beside, by id; at most one query."""
        if not self._all(now):
            found = self._too_many and memories_by_id(reader_id=self.reader_id, ids=ids, now=now, rules=True)
            return found or {}
        wanted = frozenset(ids)
        return {one.id: one for one in self._in_force(now) if one.id in wanted or one.kind is Kind.RULE}

    def _all(self, now: datetime) -> bool:
        """Whether all are kept here, and there are any; one query the first time."""
        if self._kept is None:
            self._kept = ()
            if self.any_there:
                rows = _standing(self.reader_id, now).order_by("pk").values(*COLUMNS)
                read = list(rows[: CANDIDATES_MAX + 1])
                self._too_many = len(read) > CANDIDATES_MAX
                kept = () if self._too_many else read
                self._kept = [_remembered(row) for row in kept]
        return bool(self._kept)

    def _in_force(self, now: datetime) -> list[Remembered]:
        return [one for one in self._kept or () if one.so_at(now)]


def memories_for(*, situation: Situation, now: datetime) -> list[Remembered]:
    """At most 500 memories that may be about `situation`, likeliest first; one query.

    A memory about another target or another type of change is left out, one about none in particular is
    not. Never another reader's, none that is expired, superseded or retired, and no figures over many
    readers for one who does not share.
    """
    rows = in_force(reader_id=situation.reader_id, now=now)
    if situation.target_key:
        rows = rows.filter(target_key__in=("", situation.target_key))
    if situation.suggestion_type:
        rows = rows.filter(suggestion_type__in=("", situation.suggestion_type))
    ordered = rows.annotate(nearness=_nearness(situation)).order_by(
        "-nearness", "-unified", "-confidence", "pk"
    )
    return _read(ordered[:CANDIDATES_MAX])


def memories_by_id(
    *, reader_id: UUID, ids: Collection[int], now: datetime, rules: bool = False
) -> dict[int, Remembered]:
    """Those of `ids` that this reader's runs may still be told, by id, with all `rules` beside; one query."""
    wanted = Q(pk__in=ids) | Q(kind=Memory.Kind.RULE) if rules else Q(pk__in=ids)
    rows = in_force(reader_id=reader_id, now=now).filter(wanted)
    return {one.id: one for one in _read(rows)}


def memories_detail(*, reader_id: UUID, ids: Sequence[int], now: datetime) -> list[dict[str, object]]:
    """The first three of `ids` in full, for whoever was shown their titles; one query."""
    wanted = list(dict.fromkeys(ids))[:3]
    found = memories_by_id(reader_id=reader_id, ids=wanted, now=now)
    return [{"id": i, "title": found[i].title, "text": found[i].text} for i in wanted if i in found]


def rules_blocking(*, now: datetime) -> list[Remembered]:
    """Operators' rules that may stop a call: shared, in force, with a condition; one query."""
    rows = Memory.objects.filter(
        _unexpired(now), reader=None, kind=Memory.Kind.RULE, ceiling=Memory.Ceiling.BLOCK, retired_at=None
    )
    rules = _read(rows.filter(superseded_by=None, valid_from__lte=now).order_by("pk"))
    return [rule for rule in rules if rule.predicate]


def in_force(*, reader_id: UUID, now: datetime) -> QuerySet[Memory]:
    """The memories a run of this reader may be told."""
    return _standing(reader_id, now).filter(valid_from__lte=now)


def _standing(reader_id: UUID, now: datetime) -> QuerySet[Memory]:
    """The same with those that are not yet so."""
    sharing = Exists(Reader.objects.filter(pk=reader_id, peers_enabled=True))
    over_many = Q(reader=None, kind__in=OVER_MANY) | Q(kind=Memory.Kind.PEER)
    rows = Memory.objects.filter(
        Q(reader=None) | Q(reader_id=reader_id),
        _unexpired(now),
        retired_at=None,
        superseded_by=None,
    )
    return rows.filter(~over_many | Q(sharing)) if settings.PEERS_ENABLED else rows.exclude(over_many)


def remembered(row: Memory) -> Remembered:
    """A stored memory as ranking takes it."""
    return _remembered({name: getattr(row, name) for name in COLUMNS})


def _read(rows: QuerySet[Memory]) -> list[Remembered]:
    """Rows without the columns that no ranking asks for."""
    return [_remembered(row) for row in rows.values(*COLUMNS)]


def _remembered(row: Mapping[str, Any]) -> Remembered:
    data = row["data"] if isinstance(row["data"], dict) else {}
    predicate, advises = data.get(CONDITION), data.get(ADVISES)
    plain = {name: row[name] for name in PLAIN}
    return Remembered(
        id=row["id"],
        kind=Kind(row["kind"]),
        tokens=tuple(row["tokens"]),
        ceiling=Level(row["ceiling"]),
        predicate=predicate if isinstance(predicate, dict) else {},
        advises=advises if isinstance(advises, dict) else {},
        shared=row["reader_id"] is None,
        share=share_of(row["polarity"], data),
        **plain,
    )


def _unexpired(now: datetime) -> Q:
    return Q(expires_at=None) | Q(expires_at__gt=now)


def _nearness(situation: Situation) -> Case:
    """What decides which 500 of more: about the target, then the type, then the tool."""
    about = [
        When(target_key=situation.target_key, then=Value(3)) if situation.target_key else None,
        When(suggestion_type=situation.suggestion_type, then=Value(2)) if situation.suggestion_type else None,
        When(tool=situation.tool, then=Value(1)),
    ]
    return Case(*(when for when in about if when), default=Value(0), output_field=IntegerField())

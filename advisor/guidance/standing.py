"""What one run knows of its reader: read once, and a part of it again when that part has changed.

Within a run hardly anything changes but by its own writes, so that one small query at each call
(`versions.stamp_of`) tells whether something did: a decision on a page, a rule put right in the admin,
another config. Whatever the stamp says, memories and thumbs are read anew after `packet_ttl_s` and all the
rest, which is little, after `cache_ttl_s`.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, cast
from uuid import UUID

from advisor.guidance.blocking import rule_of
from advisor.guidance.entities import Remembered
from advisor.guidance.packets import Shelf
from advisor.guidance.predicates import Rule
from advisor.guidance.retrieval import Memories, rules_blocking
from advisor.guidance.tunables import Tunables
from advisor.guidance.versions import Stamp, Versions, stamp_of
from digest.models import Feedback
from ranking.entities import EffectiveConfig
from ranking.matching import fold
from ranking.selectors import config_effective
from suggestions.rules import Target
from suggestions.selectors.facts import answers_by_type, fields_written, suggestions_waiting, targets_cooling

# The newest thumbs, as the rules weigh evidence by (`suggestions.selectors.evidence`).
THUMBS_MAX = 500
# The parts that are many rows.
MEMORIES, THUMBS = MANY = ("memories", "thumbs")


@dataclass(frozen=True, slots=True)
class Suggested:
    """The reader's targets that wait and that rest, until when, and the fields this run wrote about."""

    waiting: frozenset[Target]
    cooling: Mapping[Target, datetime]
    written: Sequence[str]


@dataclass(slots=True)
class Standing:
    """The reader's side of one run. `renew` comes before each look; a part is read when it is asked for."""

    reader_id: UUID
    run_id: UUID
    shelf: Shelf = field(init=False)
    stamp: Stamp = field(init=False)
    now: datetime = field(init=False)
    _read_at: datetime | None = None
    _parts: dict[str, tuple[Any, datetime, Any]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.shelf = Shelf(self.reader_id)

    def renew(self, *, now: datetime, tunables: Tunables) -> None:
        """Look whether anything changed; one query. What was read too long ago is forgotten."""
        for name, (_, read_at, _) in list(self._parts.items()):
            ttl_s = tunables.packet_ttl_s if name in MANY else tunables.cache_ttl_s
            if _old(read_at, now, ttl_s):
                del self._parts[name]
        if self._read_at is None or _old(self._read_at, now, tunables.cache_ttl_s):
            self.shelf.forget()
            self._read_at = now
        self.now, self.stamp = now, stamp_of(reader_id=self.reader_id, run_id=self.run_id)

    @property
    def versions(self) -> Versions:
        """The versions that packets are compared by."""
        stamp = self.stamp
        key = (stamp.config, stamp.feedback, stamp.outcomes, stamp.rules, stamp.memories)
        return cast("Versions", self._part("versions", key, lambda: stamp.versions))

    @property
    def effective(self) -> EffectiveConfig:
        """The config in force; two queries once it changed."""
        read = lambda: config_effective(reader_id=self.reader_id)  # noqa: E731
        return cast("EffectiveConfig", self._part("effective", self.stamp.config, read))

    @property
    def memories(self) -> Memories:
        """What the reader's runs may be told."""
        key = (self.stamp.shares, self.stamp.rules, self.stamp.memories)
        return cast("Memories", self._part(MEMORIES, key, lambda: Memories(self.reader_id, *self._there)))

    @property
    def rules(self) -> tuple[Rule, ...]:
        """Operators' rules that may stop a call; a query once they changed, none where there are none."""
        if not self.stamp.rules[0]:
            return ()
        read = lambda: [(rule, rule_of(rule)) for rule in rules_blocking(now=self.now)]  # noqa: E731
        known = cast("list[tuple[Remembered, Rule]]", self._part("rules", self.stamp.rules, read))
        return tuple(rule for memory, rule in known if memory.so_at(self.now))

    @property
    def suggested(self) -> Suggested:
        """What stands in the way of targets; three queries once a suggestion was written or answered."""
        key = (self.stamp.suggestions, self.stamp.outcomes)
        return cast("Suggested", self._part("suggested", key, self._suggested))

    @property
    def answers(self) -> Mapping[str, tuple[int, int]]:
        """How many suggestions of each type were accepted and rejected; a query once one was answered."""
        if not self.stamp.suggestions[-1]:
            return {}
        key = (self.stamp.suggestions[-1], self.stamp.suggestions[2], self.stamp.outcomes)
        read = lambda: answers_by_type(reader_id=self.reader_id)  # noqa: E731
        return cast("Mapping[str, tuple[int, int]]", self._part("answers", key, read))

    @property
    def thumbs(self) -> Sequence[tuple[bool, str, str]]:
        """The newest 500 thumbs: whether liked, the source, the folded title; a query once one was given."""
        if self.stamp.feedback[0] is None:
            return ()
        read = self._thumbs
        return cast("Sequence[tuple[bool, str, str]]", self._part(THUMBS, self.stamp.feedback, read))

    @property
    def _there(self) -> tuple[bool]:
        return (bool(self.stamp.rules[0] or self.stamp.memories[0]),)

    def _part(self, name: str, key: object, read: Callable[[], object]) -> object:
        if name not in self._parts or self._parts[name][0] != key:
            self._parts[name] = (key, self.now, read())
        return self._parts[name][2]

    def _suggested(self) -> Suggested:
        return Suggested(
            suggestions_waiting(reader_id=self.reader_id),
            targets_cooling(reader_id=self.reader_id, now=self.now),
            fields_written(reader_id=self.reader_id, run_id=self.run_id),
        )

    def _thumbs(self) -> Sequence[tuple[bool, str, str]]:
        rows = Feedback.objects.filter(reader_id=self.reader_id).order_by("-at")
        newest = rows.values_list("useful", "item__source_id", "item__title")[:THUMBS_MAX]
        return [(useful, source, fold(title)) for useful, source, title in newest]


def _old(read_at: datetime, now: datetime, ttl_s: float) -> bool:
    return not 0 <= (now - read_at).total_seconds() < ttl_s

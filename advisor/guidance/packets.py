"""Packets: what was found and ranked for a situation, to be told again while it is fresh and still so."""

import hashlib
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from django.db.models import Case, F, Value, When

from advisor.guidance.entities import Facts, Remembered, Scored, Situation
from advisor.guidance.export import packets_exported
from advisor.guidance.ranking import rank
from advisor.guidance.retrieval import Memories
from advisor.guidance.signature import tokens_of
from advisor.guidance.situations import WRITE, intent_of
from advisor.guidance.tunables import Tunables
from advisor.guidance.versions import EXPIRED, Versions
from advisor.models import GuidancePacket

EXACT, RELAXED = "exact", "relaxed"
# What a packet for another situation has in common with this one (the published engine's weights): the same
# tool, the same intent, the same phase.
TOOL_SCORE, INTENT_SCORE, PHASE_SCORE, SCORE_MIN = 4, 3, 2, 3
PACKETS_MAX = 2000
LOOKED_AT_MAX = 50
# How many packets wait to be stored together.
TOGETHER_MAX = 50


@dataclass(frozen=True, slots=True)
class Found:
    """What a packet held for this situation: `how` it was found, and what it ranks now."""

    how: str
    ranked: list[Scored]
    packet: GuidancePacket


@dataclass(frozen=True, slots=True)
class Ask:
    """One call asking packets: `known` are the reader's memories, rules are ranked by `facts`."""

    situation: Situation
    facts: Facts
    versions: Versions
    known: Memories
    now: datetime
    tunables: Tunables

    def exact(self, packet: GuidancePacket) -> Found:
        """The stored ranking, without what is no longer in force and with the rules that hold now."""
        known = self._known(packet.ranked)
        stored = [_scored(known.pop(row["id"]), row) for row in packet.ranked if row["id"] in known]
        rules = self._ranked(memory for memory in known.values() if memory.predicate)
        both = sorted([*stored, *rules], key=lambda scored: -scored.score)
        return Found(EXACT, both[: self.tunables.items_max], packet)

    def relaxed(self, packet: GuidancePacket) -> Found:
        """The memories of a packet for a near situation, ranked for this one."""
        return Found(RELAXED, self._ranked(self._known(packet.ranked).values()), packet)

    def _known(self, rows: Iterable[dict[str, Any]]) -> dict[int, Remembered]:
        return self.known.by_id([row["id"] for row in rows], now=self.now)

    def _ranked(self, memories: Iterable[Remembered]) -> list[Scored]:
        return rank(self.situation, list(memories), now=self.now, tunables=self.tunables, facts=self.facts)


@dataclass(slots=True)
class Shelf:
    """A reader's fresh packets as one run sees them: read once, added to, stored together.

    What the run finds is stored when fifty wait and at its end; a run that dies loses no more than the
    shortcut. `marked` is when a packet of the reader was last found stale: another value reads anew.
    """

    reader_id: UUID
    _rows: dict[str, GuidancePacket] | None = None
    _marked: object = None
    _waiting: dict[str, GuidancePacket] = field(default_factory=dict)
    _used: Counter[str] = field(default_factory=Counter)

    def forget(self) -> None:
        """Read what is stored anew at the next question."""
        self._rows = None

    def find(self, ask: Ask, *, marked: object = None) -> Found | None:
        """A fresh packet for this situation, or one near enough, ranked anew; `None`: find it afresh.

        What is stored for an equal situation is told as it was ranked, what is stored for a near one is
        ranked for this one; rules are asked anew in either case, as they are about this very call.
        Only memories still in force are in it. Packets found stale on the way are marked with what changed.
        One query the first time; one more for each thing that changed.
        """
        rows = self._usable(ask.versions, ask.now, marked)
        exact = rows.get(packet_key(ask.situation, ask.versions))
        if exact is not None:
            return self._counted(ask.exact(exact), ask.now)
        order = lambda row: (nearness(row, ask.situation), row.made_at)  # noqa: E731
        best = max(rows.values(), key=order, default=None)
        if best is None or nearness(best, ask.situation) < SCORE_MIN:
            return None
        return self._counted(ask.relaxed(best), ask.now)

    def keep(self, ask: Ask, ranked: Sequence[Scored], *, stages: dict[str, float]) -> GuidancePacket:
        """Keep what was found for a situation, in the place of an older packet for the same."""
        situation, versions = ask.situation, ask.versions
        packet = GuidancePacket(
            reader_id=situation.reader_id,
            key=packet_key(situation, versions),
            tool=situation.tool,
            phase=situation.phase.value,
            suggestion_type=situation.suggestion_type,
            target_key=situation.target_key,
            config_version=versions.config,
            memory_version=versions.memory_version,
            ranked=[_row(scored) for scored in ranked if not scored.memory.predicate],
            stages=stages,
            made_at=ask.now,
            expires_at=ask.now + timedelta(seconds=ask.tunables.packet_ttl_s),
        )
        self._waiting[packet.key] = packet
        if self._rows is not None:
            self._rows[packet.key] = packet
        if len(self._waiting) >= TOGETHER_MAX:
            self.store(now=ask.now)
        return packet

    def store(self, *, now: datetime) -> None:
        """Store what waits, and how often what is stored was used; four queries at most, none for nothing.

        Of all packets the newest 2,000 are kept.
        """
        waiting, used = list(self._waiting.values()), self._used
        self._waiting, self._used, self._rows = {}, Counter(), None
        if waiting:
            _stored(waiting, now)
        if used:
            times = Case(*(When(key=key, then=Value(n)) for key, n in used.items()), default=Value(0))
            rows = GuidancePacket.objects.filter(key__in=list(used))
            rows.update(uses=F("uses") + times, used_at=now)

    def _counted(self, found: Found, now: datetime) -> Found:
        packet = found.packet
        if packet.key in self._waiting:
            packet.uses, packet.used_at = packet.uses + 1, now
        else:
            self._used[packet.key] += 1
        return found

    def _usable(self, versions: Versions, now: datetime, marked: object) -> dict[str, GuidancePacket]:
        """The packets that are fresh and of today's versions; the others are marked with what is wrong."""
        if self._rows is None or marked != self._marked:
            live = GuidancePacket.objects.filter(reader_id=self.reader_id, invalid_at=None)
            newest = live.order_by("-made_at", "-pk")[:LOOKED_AT_MAX]
            self._rows = {row.key: row for row in newest} | self._waiting
            self._marked = marked
        current = (versions.config, versions.memory_version)
        stale: dict[str, list[GuidancePacket]] = {}
        for row in self._rows.values():
            if (row.config_version, row.memory_version) != current or row.expires_at <= now:
                why = versions.why_stale(row.config_version, row.memory_version) or EXPIRED
                stale.setdefault(why, []).append(row)
        for why, rows in stale.items():
            _invalidate([row for row in rows if row.key not in self._waiting], why, now)
            for row in rows:
                del self._rows[row.key]
                self._waiting.pop(row.key, None)
        return self._rows


def packet_key(situation: Situation, versions: Versions) -> str:
    """A digest of all that decides what is found: the reader, the call and its words, and the versions."""
    parts = (
        situation.reader_id.hex,
        situation.tool,
        situation.phase.value,
        *intent_of(situation),
        " ".join(sorted(set(tokens_of(situation.words)))),
        str(versions.config),
        versions.memory_version,
    )
    return hashlib.sha1("\n".join(parts).encode("utf-8", "replace"), usedforsecurity=False).hexdigest()


def nearness(packet: GuidancePacket, situation: Situation) -> int:
    """How much a packet's situation has in common with another: 4 for the tool, 3 the intent, 2 the phase.

    0 where it could mislead: a packet about another change knows nothing of this one, and what was found
    for a look is not all there is to say to a write.
    """
    same_intent = (packet.suggestion_type, packet.target_key) == intent_of(situation)
    same_tool = packet.tool == situation.tool
    if not same_intent or (situation.tool == WRITE and not same_tool):
        return 0
    same_phase = packet.phase == situation.phase.value
    return TOOL_SCORE * same_tool + INTENT_SCORE + PHASE_SCORE * same_phase


def packets_invalidate(*, reader_id: UUID | None, why: str, now: datetime) -> int:
    """Mark the fresh packets of a reader, or of all, as no longer so; how many there were. Two queries.

    `why` is one of the words of `versions`. Notes exported of them are written anew.
    """
    rows = GuidancePacket.objects.filter(invalid_at=None, expires_at__gt=now)
    if reader_id is not None:
        rows = rows.filter(reader_id=reader_id)
    return _invalidate(list(rows.order_by("pk")[:PACKETS_MAX]), why, now)


def _stored(packets: Sequence[GuidancePacket], now: datetime) -> None:
    renewed = ["ranked", "stages", "uses", "made_at", "used_at", "expires_at", "invalid_at", "invalid_why"]
    GuidancePacket.objects.bulk_create(
        packets, update_conflicts=True, unique_fields=["key"], update_fields=renewed
    )
    beyond = GuidancePacket.objects.order_by("-made_at", "-pk").values_list("pk", flat=True)[PACKETS_MAX:]
    if surplus := list(beyond[:LOOKED_AT_MAX]):
        GuidancePacket.objects.filter(pk__in=surplus).delete()
    packets_exported(packets, now=now)


def _invalidate(rows: Sequence[GuidancePacket], why: str, now: datetime) -> int:
    if not rows:
        return 0
    waiting = GuidancePacket.objects.filter(pk__in=[row.pk for row in rows], invalid_at=None)
    marked = waiting.update(invalid_at=now, invalid_why=why[:40])
    for row in rows:
        row.invalid_at, row.invalid_why = now, why[:40]
    packets_exported(rows, now=now)
    return marked


def _scored(memory: Remembered, row: dict[str, Any]) -> Scored:
    return Scored(memory, row["relevance"], row["quality"], row["trust"], row["score"])


def _row(scored: Scored) -> dict[str, Any]:
    """A ranked memory as a packet stores it."""
    return {
        "id": scored.memory.id,
        "relevance": round(scored.relevance, 4),
        "quality": round(scored.quality, 4),
        "trust": round(scored.trust, 4),
        "score": round(scored.score, 4),
    }

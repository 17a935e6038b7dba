"""Packets: what was ranked for a situation, ready to be used again while the memories are the same."""

import hashlib
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from django.db.models import Case, F, Q, Value, When

from advisor.guidance.entities import Scored, Situation
from advisor.guidance.facts import RunContext
from advisor.guidance.ranking import ITEMS_MAX, tokens_of
from advisor.guidance.situations import intent_of
from advisor.models import GuidancePacket

PACKETS_MAX, READ_MAX = 2000, 50
EXACT, CHANGED, RULE_CHANGED = "exact", "memories_changed", "rule_changed"
RENEWED = ("ranked", "stages", "uses", "made_at", "used_at", "expires_at", "invalid_at", "invalid_why")


@dataclass(slots=True)
class PacketCache:
    """A reader's fresh packets as one run sees them: read once, added to, stored together at its end."""

    reader_id: UUID
    rows: dict[str, GuidancePacket] | None = None
    added: dict[str, GuidancePacket] = field(default_factory=dict)
    used: Counter[str] = field(default_factory=Counter)

    def find(self, situation: Situation, context: RunContext, *, now: datetime) -> list[Scored] | None:
        """Return what was ranked for an equal situation with the same memories; `None`: rank it."""
        if self.rows is None:
            live = GuidancePacket.objects.filter(
                reader_id=self.reader_id, invalid_at=None, expires_at__gt=now
            )
            self.rows = {row.key: row for row in live.order_by("-made_at", "-pk")[:READ_MAX]}
        key = packet_key(situation, context.fingerprint)
        packet = self.added.get(key) or self.rows.get(key)
        if packet is None or packet.expires_at <= now:
            return None
        self.used[key] += 1
        known = {memory.id: memory for memory in context.memories}
        return [
            Scored(known[row["id"]], row["relevance"], row["quality"], row["trust"], row["score"])
            for row in packet.ranked
            if row["id"] in known
        ][:ITEMS_MAX]

    def add(
        self,
        situation: Situation,
        context: RunContext,
        ranked: Sequence[Scored],
        *,
        now: datetime,
        ttl_s: float,
        stages: dict[str, float],
    ) -> None:
        """Add what was ranked, without rules: these are asked anew at each call."""
        packet = GuidancePacket(
            reader_id=self.reader_id,
            key=packet_key(situation, context.fingerprint),
            tool=situation.tool,
            phase=situation.phase.value,
            suggestion_type=situation.suggestion_type,
            target_key=situation.target_key,
            memory_version=context.fingerprint[:64],
            ranked=[_row(scored) for scored in ranked if not scored.memory.predicate],
            stages=stages,
            made_at=now,
            expires_at=now + timedelta(seconds=ttl_s),
        )
        self.added[packet.key] = packet

    def store(self, context: RunContext, *, now: datetime) -> list[GuidancePacket]:
        """Store what was added, count uses, mark what is no longer so; five queries at most, none for
        nothing.

        Of all packets the newest 2,000 remain. Returns those whose notes are to be written anew.
        """
        added, used, self.added, self.used = list(self.added.values()), self.used, {}, Counter()
        if not (added or used):
            return []
        if added:
            GuidancePacket.objects.bulk_create(
                added, update_conflicts=True, unique_fields=["key"], update_fields=list(RENEWED)
            )
            beyond = GuidancePacket.objects.order_by("-made_at", "-pk").values_list("pk", flat=True)
            GuidancePacket.objects.filter(pk__in=list(beyond[PACKETS_MAX : PACKETS_MAX + READ_MAX])).delete()
        if used:
            times = Case(*(When(key=key, then=Value(n)) for key, n in used.items()), default=Value(0))
            rows = GuidancePacket.objects.filter(key__in=list(used))
            rows.update(uses=F("uses") + times, used_at=now)
        other = ~Q(memory_version=context.fingerprint[:64])
        return added + packets_invalidate(other, reader_id=self.reader_id, why=CHANGED, now=now)


def packet_key(situation: Situation, fingerprint: str) -> str:
    """Return a digest of all that ranking depends on: the reader, the call and its words, the memories."""
    words = " ".join(sorted(set(tokens_of(situation.words))))
    call = (situation.tool, situation.phase.value, *intent_of(situation), words)
    parts = "\n".join((situation.reader_id.hex, *call, fingerprint))
    return hashlib.sha1(parts.encode("utf-8", "replace"), usedforsecurity=False).hexdigest()


def packets_invalidate(
    which: Q | None = None, *, reader_id: UUID | None = None, why: str, now: datetime
) -> list[GuidancePacket]:
    """Mark the fresh packets of a reader, or of all, as no longer so, and return them; two queries."""
    rows = GuidancePacket.objects.filter(which or Q(), invalid_at=None, expires_at__gt=now)
    rows = rows.filter(reader_id=reader_id) if reader_id is not None else rows
    found = list(rows.order_by("pk")[:PACKETS_MAX])
    if found:
        pks = [row.pk for row in found]
        GuidancePacket.objects.filter(pk__in=pks).update(invalid_at=now, invalid_why=why)
    for row in found:
        row.invalid_at, row.invalid_why = now, why
    return found


def _row(scored: Scored) -> dict[str, Any]:
    values = {name: round(getattr(scored, name), 4) for name in ("relevance", "quality", "trust", "score")}
    return {"id": scored.memory.id} | values

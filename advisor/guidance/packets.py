"""Packets: what was ranked for a call, to be used again while the reader's memories are the same."""

import hashlib
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from uuid import UUID

from django.db.models import Case, F, Q, Value, When

from advisor.guidance.admission import tokens_of
from advisor.guidance.entities import Situation
from advisor.guidance.facts import RunContext
from advisor.guidance.ranking import ITEMS_MAX
from advisor.guidance.wording import Scored
from advisor.models import GuidancePacket

PACKETS_MAX, READ_MAX = 2000, 50
EXACT, CHANGED = "exact", "memories_changed"
RENEWED = ("ranked", "uses", "made_at", "used_at", "expires_at", "invalid_at", "invalid_why")
FACTORS = ("relevance", "quality", "trust", "score")


@dataclass(slots=True)
class PacketCache:
    """A reader's fresh packets as one run sees them: read once, added to, stored together at its end."""

    reader_id: UUID
    rows: dict[str, GuidancePacket] | None = None
    added: dict[str, GuidancePacket] = field(default_factory=dict)
    used: Counter[str] = field(default_factory=Counter)

    def find(self, situation: Situation, context: RunContext, *, now: datetime) -> list[Scored] | None:
        """Return what was ranked for an equal call with the same memories; `None`: rank it."""
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
        rows = [row for row in packet.ranked if row["id"] in known]
        return [Scored(known[row["id"]], *(row[name] for name in FACTORS)) for row in rows][:ITEMS_MAX]

    def add(
        self,
        situation: Situation,
        context: RunContext,
        ranked: Sequence[Scored],
        *,
        now: datetime,
        ttl_s: float,
    ) -> None:
        """Add what was ranked, without rules: these are asked anew at each call."""
        plain = [one for one in ranked if not one.memory.predicate]
        packet = GuidancePacket(
            reader_id=self.reader_id,
            key=packet_key(situation, context.fingerprint),
            tool=situation.tool,
            phase=situation.phase.value,
            suggestion_type=situation.suggestion_type,
            target_key=situation.target_key,
            memory_version=context.fingerprint[:64],
            ranked=[
                {"id": one.memory.id, **{name: round(getattr(one, name), 4) for name in FACTORS}}
                for one in plain
            ],
            made_at=now,
            expires_at=now + timedelta(seconds=ttl_s),
        )
        self.added[packet.key] = packet

    def store(self, context: RunContext, *, now: datetime) -> list[GuidancePacket]:
        """Store what was added, count uses, and mark fresh packets of other memories as invalid."""
        added, used, self.added, self.used = list(self.added.values()), self.used, {}, Counter()
        if not (added or used):
            return []
        GuidancePacket.objects.bulk_create(
            added, update_conflicts=True, unique_fields=["key"], update_fields=list(RENEWED)
        )
        times = Case(*(When(key=key, then=Value(n)) for key, n in used.items()), default=Value(0))
        GuidancePacket.objects.filter(key__in=list(used)).update(uses=F("uses") + times, used_at=now)
        own = GuidancePacket.objects.filter(reader_id=self.reader_id)
        stale = own.filter(~Q(memory_version=context.fingerprint[:64]), invalid_at=None, expires_at__gt=now)
        stale.update(invalid_at=now, invalid_why=CHANGED)
        return added + list(own.filter(invalid_at=now))


def packet_key(situation: Situation, fingerprint: str) -> str:
    """Return a digest of all that ranking depends on: the reader, the call and its words, the memories."""
    call = (situation.tool, situation.phase.value, situation.suggestion_type, situation.target_key)
    words = " ".join(sorted(set(tokens_of(situation.words))))
    parts = "\n".join((situation.reader_id.hex, *call, words, fingerprint))
    return hashlib.sha1(parts.encode("utf-8", "replace"), usedforsecurity=False).hexdigest()

"""What the notes tell, read in a fixed number of queries, however many packets there are."""

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any

from django.db.models import Count, Q

from advisor.guidance.dashboard import Dashboard, LedgerLine
from advisor.guidance.notes import NotedMemory, PacketNote
from advisor.guidance.observability import LOUD, Observed, events_between, guidance_observed
from advisor.models import GuidanceEvent, GuidancePacket, Memory
from suggestions.entities import TOPIC_TYPES

LEDGER_LINES = 30
PART_ROWS = 12
PARTS = {"tool": "tool", "phase": "phase", "type": "suggestion_type"}
A_TOPIC = "(a topic)"


def notes_of(packets: Iterable[GuidancePacket]) -> list[PacketNote]:
    """The packets as notes tell of them; one query for the memories of all, besides that of the packets."""
    rows = list(packets)
    memories = _memories({memory_id for row in rows for memory_id, _ in _ranked(row)})
    return [_noted(row, memories) for row in rows]


def dashboard_of(*, now: datetime) -> Dashboard:
    """All that the dashboard shows; nine queries."""
    seen = guidance_observed(now=now)
    events = events_between(seen.days[0], now)
    return Dashboard(
        days=seen.days,
        summary=summary_of(seen),
        reasons=seen.reasons,
        kept_back=seen.kept_back,
        parts={what: _part(events, column) for what, column in PARTS.items()},
        stages=seen.stages,
        absent=seen.absent,
        ledger=_ledger(),
    )


def summary_of(seen: Observed) -> list[tuple[str, object]]:
    """The window in a few figures, each with its name."""
    packets = seen.packets
    return [
        ("Calls looked at", seen.calls),
        ("Told something (block, warning or note)", _share(seen.told, seen.calls)),
        ("Held out at random", seen.held_out),
        ("Guidance failed, the run went on", _share(seen.failed, seen.calls)),
        ("95th percentile", "no data yet" if seen.p95_ms is None else f"{seen.p95_ms:.0f} ms"),
        ("Packets", f"{packets.ready} ready, {packets.stale} stale, {packets.invalid} invalid"),
        ("Uses of packets", packets.uses),
    ]


def _share(part: int, whole: int) -> str:
    return f"{part} ({part / whole:.1%})" if whole else "0"


def _memories(wanted: set[int]) -> Mapping[int, Memory]:
    """The memories of these ids that are in force; those retired since are left out. One query.

    At most 2,000 packets of 8 memories: 16,000 ids, half of what SQLite binds.
    """
    rows = Memory.objects.filter(pk__in=wanted, retired_at=None, superseded_by=None)
    return {row.pk: row for row in rows.only("pk", "kind", "title", "text")}


def _ranked(row: GuidancePacket) -> list[tuple[int, float]]:
    """The memories of a packet with their scores, best first; what has another form is left out."""
    found = (one for one in row.ranked if isinstance(one, dict) and isinstance(one.get("id"), int))
    return [(one["id"], float(one.get("score") or 0)) for one in found]


def _noted(row: GuidancePacket, memories: Mapping[int, Memory]) -> PacketNote:
    told = [(memories[pk], score) for pk, score in _ranked(row) if pk in memories]
    return PacketNote(
        key=row.key,
        reader=str(row.reader_id),
        tool=row.tool,
        phase=row.phase,
        suggestion_type=row.suggestion_type,
        target=A_TOPIC if row.suggestion_type in TOPIC_TYPES and row.target_key else row.target_key,
        made_at=row.made_at,
        expires_at=row.expires_at,
        used_at=row.used_at,
        uses=row.uses,
        invalid_at=row.invalid_at,
        invalid_why=row.invalid_why,
        stages=row.stages,
        memories=tuple(NotedMemory(one.kind, one.title, one.text, score) for one, score in told),
    )


def _part(events: Any, column: str) -> list[tuple[str, int, int]]:
    """Calls by one column, most frequent first: the value, the calls, those told something."""
    loud = Q(level__in=LOUD, held_out=False)
    rows = (
        events.order_by()
        .values(column)
        .annotate(calls=Count("pk"), told=Count("pk", filter=loud))
        .order_by("-calls", column)
        .values_list(column, "calls", "told")[:PART_ROWS]
    )
    return list(rows)


def _ledger() -> list[LedgerLine]:
    rows = GuidanceEvent.objects.filter(n__gt=0).order_by("-at", "-id")[:LEDGER_LINES]
    return [
        LedgerLine(
            at=row.at,
            reader=str(row.reader_id),
            tool=row.tool,
            phase=row.phase,
            suggestion_type=row.suggestion_type,
            level=row.level,
            why=row.why,
            told=len(row.told),
            ms=row.ms,
        )
        for row in rows
    ]

"""Packets and figures as Markdown notes with front matter: `packets/<key>.md`, `packets/index.md`,
`guidance.md`.

Off unless the tunable `export` is set. Each file is written whole or not at all, and only files that begin
with our mark are ever replaced or removed. A note holds the texts of admitted memories and nothing else that
a reader wrote: readers go by their id, and topics, which readers may have typed, are not named.
"""

import html
import os
import re
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple

import structlog
import yaml
from django.conf import settings
from django.db.models import Count, Q

from advisor.guidance.audit import EXPORT_FAILED, LOUD, Observed, day_start, guidance_observed
from advisor.guidance.entities import Level, Why
from advisor.guidance.packets import PACKETS_MAX
from advisor.guidance.tunables import tunables
from advisor.models import GuidanceEvent, GuidancePacket, Memory
from suggestions.entities import TOPIC_TYPES

log = structlog.get_logger(__name__)
MARK = "---\nmade_by: tidings-guidance\n"
DASHBOARD, PACKETS, INDEX = "guidance.md", "packets", "index.md"
PARTS = {"tool": "tool", "phase": "phase", "type": "suggestion_type"}
A_TOPIC, TREND_DAYS, LEDGER_LINES, PART_ROWS = "(a topic)", 7, 30, 12
_KEY = re.compile(r"[0-9a-zA-Z_-]{1,40}")
_MARKUP = re.compile(r"([\\`*_{}\[\]|#~^$%=])")


class NotOurs(OSError):
    """A file of somebody else's stands where ours should go."""


class Exported(NamedTuple):
    """What an export did: notes of packets written, files of ours removed, and where to."""

    folder: Path
    packets: int
    removed: int


def export_folder() -> Path:
    """Return where notes go: the tunable `export_dir`, else `guidance` in the data folder."""
    named = tunables().export_dir
    return Path(named).expanduser() if named else Path(settings.VAR_DIR) / "guidance"


def packets_noted(packets: Sequence[GuidancePacket], *, now: datetime) -> int:
    """Write the notes of packets that were made or have become invalid, if notes are written; how many.

    A failure ends it, is stored with the first packet's reader, and raises no `OSError`.
    """
    if not (packets and tunables().export):
        return 0
    try:
        return _packets_write(export_folder(), packets, now)
    except OSError as error:
        log.warning("guidance_export_failed", error=type(error).__name__)
        code = f"{EXPORT_FAILED}{type(error).__name__}"[:60]
        event = GuidanceEvent(reader_id=packets[0].reader_id, n=0, level=Level.SILENT, why=Why.FAILED, at=now)
        event.error_code = code
        event.save()
        return 0


def guidance_export(*, now: datetime) -> Exported:
    """Write all notes anew, the newest 2,000 packets; remove those of packets that are gone.

    The number of queries does not grow with the packets. Raises `OSError` where the folder cannot be written,
    or holds another's file under a name of ours (`NotOurs`).
    """
    folder = export_folder()
    packets = list(GuidancePacket.objects.order_by("-made_at", "-id")[:PACKETS_MAX])
    written = _packets_write(folder, packets, now)
    _write(folder / PACKETS / INDEX, _index(packets, now))
    wanted = {f"{one.key}.md" for one in packets} | {INDEX}
    stale = [path for path in _ours(folder / PACKETS) if path.name not in wanted]
    for path in stale:
        path.unlink(missing_ok=True)
    _write(folder / DASHBOARD, _dashboard(guidance_observed(now=now), len(packets), now))
    return Exported(folder, written, len(stale))


def exported_states(folder: Path) -> dict[str, str]:
    """Return the packets that have a note, by key, each with the state its note tells. Raises `OSError`."""
    states = {}
    for path in _ours(folder / PACKETS):
        found = re.search(r"^state: (\w+)$", path.read_text("utf-8")[:1000], re.MULTILINE)
        states[path.stem] = found[1] if found else ""
    return {key: state for key, state in states.items() if key != Path(INDEX).stem}


def is_ours(path: Path) -> bool:
    """Return whether a file begins with our mark."""
    with path.open("rb") as file:
        return file.read(len(MARK)) == MARK.encode()


def plain(text: object) -> str:
    """Return `text` on one line, with nothing in it that Markdown or HTML would take for mark-up."""
    line = " ".join(str(text).split())
    return _MARKUP.sub(r"\\\1", html.escape(line, quote=False))


def packet_state(packet: GuidancePacket, now: datetime) -> str:
    """Return `ready` (fresh and valid), `stale` (past its time) or `invalid`."""
    return "invalid" if packet.invalid_at else "ready" if packet.expires_at > now else "stale"


def _ours(folder: Path) -> Iterable[Path]:
    return [path for path in sorted(folder.glob("*.md")) if path.is_file() and is_ours(path)]


def _packets_write(folder: Path, packets: Sequence[GuidancePacket], now: datetime) -> int:
    # Folders we make are their owner's alone, as the notes are; one that is there keeps its rights.
    made = [one for one in (folder, folder / PACKETS) if not one.exists()]
    (folder / PACKETS).mkdir(parents=True, exist_ok=True)
    for one in made:
        one.chmod(0o700)
    wanted = {row["id"] for packet in packets for row in packet.ranked}
    rows = Memory.objects.filter(pk__in=wanted, retired_at=None, superseded_by=None)
    memories = {row.pk: row for row in rows.only("pk", "kind", "title", "text")}
    safe = [packet for packet in packets if _KEY.fullmatch(packet.key)]
    for packet in safe:
        _write(folder / PACKETS / f"{packet.key}.md", _packet(packet, memories, now))
    return len(safe)


def _write(path: Path, text: str) -> None:
    """Replace a file of ours, or make it: whole, or not at all. Raises `OSError`."""
    if path.exists() and not is_ours(path):
        raise NotOurs(f"{path.name} is not a note of ours, so it is left alone. Export to another folder.")
    handle, temporary = tempfile.mkstemp(prefix=f".{path.stem}.", suffix=".tmp", dir=path.parent)
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
        os.replace(temporary, path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


def _note(front: Mapping[str, Any], title: str, lines: Sequence[str]) -> str:
    matter = yaml.safe_dump(dict(front), sort_keys=False, allow_unicode=True, width=1000)
    return "\n".join([f"{MARK}{matter}---", "", f"# {plain(title)}", "", *lines, ""])


def _table(title: str, head: Sequence[str], rows: Sequence[Sequence[object]]) -> list[str]:
    """Return a titled table; one line in words where there are no rows."""
    if not rows:
        return [f"## {title}", "", "None yet.", ""]
    lines = [f"| {' | '.join(head)} |", f"|{' --- |' * len(head)}"]
    return [f"## {title}", "", *lines, *(f"| {' | '.join(map(str, row))} |" for row in rows), ""]


def _packet(packet: GuidancePacket, memories: Mapping[int, Memory], now: datetime) -> str:
    state = packet_state(packet, now)
    columns = ("made_at", "used_at", "expires_at", "invalid_at")
    front = {
        "type": "packet",
        "key": packet.key,
        "reader": str(packet.reader_id),
        **{name: getattr(packet, name) for name in ("tool", "phase", "suggestion_type")},
        "target": _target(packet),
        "state": state,
        "ready": state == "ready",
        "fresh": packet.expires_at > now,
        "invalid": packet.invalid_at is not None,
        "invalid_why": packet.invalid_why,
        "uses": packet.uses,
        "seconds_left": _left_s(packet, now),
        **{name: _moment(getattr(packet, name)) for name in columns},
    }
    found = [(memories[row["id"]], row["score"]) for row in packet.ranked if row["id"] in memories]
    rows = [(one.kind, plain(one.title), plain(one.text), f"{score:.2f}") for one, score in found]
    stages = [(plain(name), f"{ms:.1f}") for name, ms in packet.stages.items()]
    why = f" ({plain(packet.invalid_why)})" if packet.invalid_why else ""
    lines = [f"{state.capitalize()}{why}; {_left_s(packet, now)} s left; used {packet.uses} times.", ""]
    held = _table("Memories", ("Kind", "Title", "Text", "Score"), rows)
    return _note(front, _title(packet), [*lines, *held, *_table("Stages", ("Stage", "ms"), stages)])


def _index(packets: Sequence[GuidancePacket], now: datetime) -> str:
    rows = [
        (
            f"[{plain(_title(one))}]({one.key}.md)",
            packet_state(one, now) + (f" ({plain(one.invalid_why)})" if one.invalid_why else ""),
            *(one.uses, _left_s(one, now), _moment(one.made_at)),
        )
        for one in packets
    ]
    front = {"type": "index", "packets": len(packets), "exported_at": _moment(now)}
    head = ("Packet", "State", "Uses", "Seconds left", "Made")
    return _note(front, "Packets", ["[Guidance](../guidance.md)", "", *_table("All packets", head, rows)])


def _dashboard(seen: Observed, packets: int, now: datetime) -> str:
    """Return the dashboard: summary, silence and its trend, calls by part, stages, decisions."""
    front = {"type": "dashboard", "packets": packets, "exported_at": _moment(now)}
    trend = []
    for why, course in seen.reasons.items():
        late, early = sum(course[-TREND_DAYS:]), sum(course[-2 * TREND_DAYS : -TREND_DAYS])
        trend.append(
            (plain(why), sum(course), early, late, "↑" if late > early else "↓" if late < early else "→")
        )
    stages = [
        (
            plain(one.name) + (" (missing)" if one.missing else ""),
            *(f"{one.share:.0%}", f"{one.p50:.1f}", f"{one.p95:.1f}", one.heat),
        )
        for one in seen.stages
    ]
    columns = ("at", "reader_id", "tool", "phase", "suggestion_type", "level", "why", "ms")
    newest = GuidanceEvent.objects.filter(n__gt=0).order_by("-at", "-id").values_list(*columns)[:LEDGER_LINES]
    ledger = [(f"{at:%Y-%m-%d %H:%M:%S}", *map(plain, rest)) for at, *rest in newest]
    lines = [
        f"[Packets](packets/index.md): {packets}. {len(seen.days)} days to {now:%Y-%m-%d %H:%M} UTC.",
        "",
        *_table("Summary", ("Figure", "Value"), [(name, plain(value)) for name, value in seen.summary]),
        *_table("Silence and its reasons", ("Why", "Calls", "Week before", "Last week", "Trend"), trend),
        *_table("Memories left out", ("Why", "Memories"), [(plain(w), n) for w, n in seen.left_out.items()]),
        *_parts(seen, now),
        *_table("Stages", ("Stage", "Ran in", "p50 ms", "p95 ms", "Heat"), stages),
        *_table(
            "The last decisions", ("At", "Reader", "Tool", "Phase", "Type", "Level", "Why", "ms"), ledger
        ),
    ]
    return _note(front, "Guidance", lines)


def _parts(seen: Observed, now: datetime) -> list[str]:
    events = GuidanceEvent.objects.filter(at__gte=day_start(seen.days[0]), at__lte=now, n__gt=0).order_by()
    lines = []
    for what, column in PARTS.items():
        loud = Count("pk", filter=Q(level__in=LOUD, held_out=False))
        counted = events.values(column).annotate(calls=Count("pk"), loud=loud).order_by("-calls", column)
        rows = [
            (plain(name or "none"), calls, n)
            for name, calls, n in counted.values_list(column, "calls", "loud")
        ]
        lines += _table(f"Calls by {what}", (what.capitalize(), "Calls", "Spoken to"), rows[:PART_ROWS])
    return lines


def _title(packet: GuidancePacket) -> str:
    about = " ".join(word for word in (packet.suggestion_type, _target(packet)) if word)
    return f"{packet.tool} in {packet.phase}" + (f": {about}" if about else "")


def _target(packet: GuidancePacket) -> str:
    return A_TOPIC if packet.suggestion_type in TOPIC_TYPES and packet.target_key else packet.target_key


def _left_s(packet: GuidancePacket, now: datetime) -> int:
    ready = packet_state(packet, now) == "ready"
    return max(0, int((packet.expires_at - now).total_seconds())) if ready else 0


def _moment(at: datetime | None) -> str:
    return at.strftime("%Y-%m-%d %H:%M:%S UTC") if at else ""

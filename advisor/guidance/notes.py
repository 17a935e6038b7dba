"""Packets and figures as Markdown notes with front matter: `packets/<key>.md`, `packets/index.md`,
`guidance.md`.

Off unless the tunable `export` is set. Each file is written whole or not at all, and only files that begin
with our mark are ever replaced or removed. A note holds the texts of memories and nothing that a reader
wrote: readers go by their id, and topics, which readers may have typed, are not named.
"""

import html
import os
import re
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple

import yaml
from django.conf import settings

from advisor.guidance.figures import Observed, guidance_observed
from advisor.guidance.packets import PACKETS_MAX
from advisor.guidance.tunables import tunables
from advisor.models import GuidancePacket, Memory
from suggestions.entities import TOPIC_TYPES

MARK = "---\nmade_by: tidings-guidance\n"
DASHBOARD, PACKETS, INDEX = "guidance.md", "packets", "index.md"
A_TOPIC = "(a topic)"
_MARKUP = re.compile(r"([\\`*_{}\[\]|#~^$%=])")


class NotOurs(OSError):
    """A file of somebody else's is where ours should go."""


class Exported(NamedTuple):
    """What an export did: notes of packets written, and files of ours removed."""

    packets: int
    removed: int


def export_folder() -> Path:
    """Return where notes go: the tunable `export_dir`, else `guidance` in the data folder."""
    named = tunables().export_dir
    return Path(named).expanduser() if named else Path(settings.VAR_DIR) / "guidance"


def packets_write(folder: Path, packets: Sequence[GuidancePacket], now: datetime) -> int:
    """Write the notes of packets; how many. Raises `OSError`."""
    # Folders we make are their owner's alone, as the notes are; one that is there keeps its rights.
    made = [one for one in (folder, folder / PACKETS) if not one.exists()]
    (folder / PACKETS).mkdir(parents=True, exist_ok=True)
    for one in made:
        one.chmod(0o700)
    wanted = {row["id"] for packet in packets for row in packet.ranked}
    memories = Memory.objects.filter(retired_at=None, superseded_by=None).in_bulk(wanted)
    for packet in packets:
        _write(folder / PACKETS / f"{packet.key}.md", _packet(packet, memories, now))
    return len(packets)


def guidance_export(*, now: datetime) -> Exported:
    """Write all notes anew, the newest 2,000 packets; remove those of packets that are gone.

    The number of queries does not grow with the packets. Raises `OSError` where the folder cannot be written,
    or holds another's file under a name of ours (`NotOurs`).
    """
    folder = export_folder()
    packets = list(GuidancePacket.objects.order_by("-made_at", "-id")[:PACKETS_MAX])
    written = packets_write(folder, packets, now)
    rows = [
        (f"[{plain(_title(one))}]({one.key}.md)", packet_state(one, now), one.uses, _moment(one.made_at))
        for one in packets
    ]
    front = {"type": "index", "packets": len(packets), "exported_at": _moment(now)}
    lines = [
        "[Guidance](../guidance.md)",
        "",
        *_table("All packets", ("Packet", "State", "Uses", "Made"), rows),
    ]
    _write(folder / PACKETS / INDEX, _note(front, "Packets", lines))
    wanted = {f"{one.key}.md" for one in packets} | {INDEX}
    stale = [path for path in _ours(folder / PACKETS) if path.name not in wanted]
    for path in stale:
        path.unlink(missing_ok=True)
    _write(folder / DASHBOARD, _dashboard(guidance_observed(now=now), len(packets), now))
    return Exported(written, len(stale))


def exported_states(folder: Path) -> dict[str, str]:
    """Return the packets that have a note, by key, each with its note's state. Raises `OSError`."""
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
    return _MARKUP.sub(r"\\\1", html.escape(" ".join(str(text).split()), quote=False))


def packet_state(packet: GuidancePacket, now: datetime) -> str:
    """Return `ready` (fresh and valid), `stale` (past its time) or `invalid`."""
    return "invalid" if packet.invalid_at else "ready" if packet.expires_at > now else "stale"


def _ours(folder: Path) -> Iterable[Path]:
    return [path for path in sorted(folder.glob("*.md")) if path.is_file() and is_ours(path)]


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


def _table(title: str, head: Sequence[str], rows: Iterable[Sequence[object]]) -> list[str]:
    """Return a titled table; one line in words where there are no rows."""
    body = [f"| {' | '.join(map(str, row))} |" for row in rows]
    lines = [f"| {' | '.join(head)} |", f"|{' --- |' * len(head)}", *body] if body else ["None yet."]
    return [f"## {title}", "", *lines, ""]


def _packet(packet: GuidancePacket, memories: Mapping[int, Memory], now: datetime) -> str:
    state = packet_state(packet, now)
    left_s = max(0, int((packet.expires_at - now).total_seconds())) if state == "ready" else 0
    front = {
        "type": "packet",
        "key": packet.key,
        "reader": str(packet.reader_id),
        **{name: getattr(packet, name) for name in ("tool", "phase", "suggestion_type")},
        "target": _target(packet),
        "state": state,
        "invalid_why": packet.invalid_why,
        "uses": packet.uses,
        "seconds_left": left_s,
        **{
            name: _moment(getattr(packet, name))
            for name in ("made_at", "used_at", "expires_at", "invalid_at")
        },
    }
    found = [(memories[row["id"]], row["score"]) for row in packet.ranked if row["id"] in memories]
    rows = [(one.kind, plain(one.title), plain(one.text), f"{score:.2f}") for one, score in found]
    return _note(front, _title(packet), _table("Memories", ("Kind", "Title", "Text", "Score"), rows))


def _dashboard(seen: Observed, packets: int, now: datetime) -> str:
    """Return the dashboard: summary, silence by its reasons, stages."""
    front = {"type": "dashboard", "packets": packets, "exported_at": _moment(now)}
    stages = [
        (plain(one.name), f"{one.share:.0%}", f"{one.p50:.1f}", f"{one.p95:.1f}") for one in seen.stages
    ]
    lines = [
        f"[Packets](packets/index.md): {packets}. {len(seen.days)} days to {now:%Y-%m-%d %H:%M} UTC.",
        "",
        *_table("Summary", ("Figure", "Value"), [(name, plain(value)) for name, value in seen.summary]),
        *_table("Silence", ("Why", "Calls"), [(plain(why), sum(days)) for why, days in seen.reasons.items()]),
        *_table("Stages", ("Stage", "Ran in", "p50 ms", "p95 ms"), stages),
    ]
    return _note(front, "Guidance", lines)


def _title(packet: GuidancePacket) -> str:
    about = " ".join(word for word in (packet.suggestion_type, _target(packet)) if word)
    return f"{packet.tool} in {packet.phase}" + (f": {about}" if about else "")


def _target(packet: GuidancePacket) -> str:
    return A_TOPIC if packet.suggestion_type in TOPIC_TYPES and packet.target_key else packet.target_key


def _moment(at: datetime | None) -> str:
    return at.strftime("%Y-%m-%d %H:%M:%S UTC") if at else ""

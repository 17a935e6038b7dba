"""Packets and figures as Markdown notes with front matter, for any folder of notes. Pure.

A note holds the texts of admitted memories and nothing else that a reader wrote: readers go by their id, and
topics, which readers may have typed, are not named.
"""

import html
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import yaml

# The first lines of each note of ours: what lacks them is somebody else's, and left alone.
MADE_BY = "tidings-guidance"
MARK = f"---\nmade_by: {MADE_BY}\n"
_MARKUP = re.compile(r"([\\`*_{}\[\]|#~^$%=])")


@dataclass(frozen=True, slots=True)
class NotedMemory:
    """One memory of a packet: its words, and its score in that situation, 0 to 1."""

    kind: str
    title: str
    text: str
    score: float


@dataclass(frozen=True, slots=True)
class PacketNote:
    """A packet as its note tells of it. `memories` are those of its memories that are still in force."""

    key: str
    reader: str
    tool: str
    phase: str
    suggestion_type: str
    target: str
    made_at: datetime
    expires_at: datetime
    used_at: datetime | None
    uses: int
    invalid_at: datetime | None
    invalid_why: str
    stages: Mapping[str, float]
    memories: tuple[NotedMemory, ...]

    def state(self, now: datetime) -> str:
        """`ready` (fresh and valid), `stale` (past its time) or `invalid`."""
        if self.invalid_at:
            return "invalid"
        return "ready" if self.expires_at > now else "stale"

    def left_s(self, now: datetime) -> int:
        """Seconds it may still be told; 0 once stale or invalid."""
        return max(0, int((self.expires_at - now).total_seconds())) if self.state(now) == "ready" else 0


def plain(text: object) -> str:
    """`text` on one line, with nothing in it that Markdown or HTML would take for markup."""
    line = " ".join(str(text).split())
    return _MARKUP.sub(r"\\\1", html.escape(line, quote=False))


def note(front: Mapping[str, Any], title: str, lines: Sequence[str]) -> str:
    """A whole note: front matter that begins with our mark, a title, and the lines."""
    matter = yaml.safe_dump(dict(front), sort_keys=False, allow_unicode=True, width=1000)
    return "\n".join([f"{MARK}{matter}---", "", f"# {plain(title)}", "", *lines, ""])


def table(head: Sequence[str], rows: Sequence[Sequence[object]]) -> list[str]:
    """A table, with an empty line after it; one line in words where there are no rows."""
    if not rows:
        return ["None yet.", ""]
    lines = [f"| {' | '.join(head)} |", f"|{' --- |' * len(head)}"]
    return [*lines, *(f"| {' | '.join(str(cell) for cell in row)} |" for row in rows), ""]


def packet_note(packet: PacketNote, now: datetime) -> str:
    """The note of one packet as it stands at `now`."""
    state = packet.state(now)
    front = {
        "type": "packet",
        "key": packet.key,
        "reader": packet.reader,
        "tool": packet.tool,
        "phase": packet.phase,
        "suggestion_type": packet.suggestion_type,
        "target": packet.target,
        "state": state,
        "ready": state == "ready",
        "fresh": packet.expires_at > now,
        "invalid": packet.invalid_at is not None,
        "invalid_why": packet.invalid_why,
        "uses": packet.uses,
        "seconds_left": packet.left_s(now),
        "made_at": _moment(packet.made_at),
        "used_at": _moment(packet.used_at),
        "expires_at": _moment(packet.expires_at),
        "invalid_at": _moment(packet.invalid_at),
    }
    return note(
        front, packet_title(packet), [_standing(packet, now), "", *_memories(packet), *_stages(packet)]
    )


def packet_title(packet: PacketNote) -> str:
    """What a packet is for, in a few words."""
    about = " ".join(word for word in (packet.suggestion_type, packet.target) if word)
    return f"{packet.tool} in {packet.phase}" + (f": {about}" if about else "")


def index_note(packets: Sequence[PacketNote], now: datetime) -> str:
    """The list of all packets, each with a link to its note."""
    rows = [
        (
            f"[{plain(packet_title(one))}]({one.key}.md)",
            one.state(now) + (f" ({plain(one.invalid_why)})" if one.invalid_why else ""),
            one.uses,
            one.left_s(now),
            _moment(one.made_at),
        )
        for one in packets
    ]
    head = ("Packet", "State", "Uses", "Seconds left", "Made")
    front = {"type": "index", "packets": len(packets), "exported_at": _moment(now)}
    return note(front, "Packets", ["[Guidance](../guidance.md)", "", *table(head, rows)])


def _standing(packet: PacketNote, now: datetime) -> str:
    state, uses = packet.state(now), f"used {packet.uses} {'time' if packet.uses == 1 else 'times'}"
    if state == "invalid":
        return f"Invalid since {_moment(packet.invalid_at)} ({plain(packet.invalid_why)}); {uses}."
    if state == "stale":
        return f"Stale since {_moment(packet.expires_at)}; {uses}."
    return f"Ready until {_moment(packet.expires_at)}, {packet.left_s(now)} s left; {uses}."


def _memories(packet: PacketNote) -> list[str]:
    rows = [(one.kind, plain(one.title), plain(one.text), f"{one.score:.2f}") for one in packet.memories]
    return ["## What it holds", "", *table(("Kind", "Title", "Text", "Score"), rows)]


def _stages(packet: PacketNote) -> list[str]:
    rows = [(plain(name), f"{ms:.1f}") for name, ms in packet.stages.items()]
    return ["## How long finding it took", "", *table(("Stage", "ms"), rows)]


def _moment(at: datetime | None) -> str:
    return at.strftime("%Y-%m-%d %H:%M:%S UTC") if at else ""

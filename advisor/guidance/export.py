"""Packets and figures as files: `packets/<key>.md`, `packets/index.md` and the dashboard `guidance.md`.

Off unless the tunable `export` is set. Each file is written whole or not at all, and only files that begin
with our mark are ever replaced or removed. A folder that cannot be written is stored as a failure, for
`guidance_health` and the page of figures to show, and costs the run nothing.
"""

import os
import re
import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

import structlog
from django.conf import settings

from advisor.guidance.dashboard import dashboard_note
from advisor.guidance.entities import Level, Why
from advisor.guidance.gathering import dashboard_of, notes_of
from advisor.guidance.notes import MARK, PacketNote, index_note, packet_note
from advisor.guidance.observability import EXPORT_FAILED
from advisor.guidance.tunables import tunables
from advisor.models import GuidanceEvent, GuidancePacket

log = structlog.get_logger(__name__)
DASHBOARD, PACKETS, INDEX = "guidance.md", "packets", "index.md"
_KEY = re.compile(r"[0-9a-zA-Z_-]{1,40}")


class NotOurs(OSError):
    """A file of somebody else's stands where ours should go."""


@dataclass(frozen=True, slots=True)
class Exported:
    """What an export did: notes of packets written, files of ours removed, and where to."""

    folder: Path
    packets: int
    removed: int


def export_folder() -> Path:
    """Where notes go: the tunable `export_dir`, else `guidance` in the data folder."""
    named = tunables().export_dir
    return Path(named).expanduser() if named else Path(settings.VAR_DIR) / "guidance"


def packet_exported(packet: GuidancePacket, *, now: datetime) -> bool:
    """Write the note of one packet, if notes write themselves; whether it was. Raises no `OSError`."""
    return packets_exported([packet], now=now) == 1


def packets_exported(packets: Sequence[GuidancePacket], *, now: datetime) -> int:
    """Write the notes of packets that were made or have become invalid; how many. One query, or none.

    Nothing is written unless both `export` and `export_automatic` are set. A failure ends it, is stored with
    the first packet's reader, and raises nothing.
    """
    wanted = tunables()
    if not (packets and wanted.export and wanted.export_automatic):
        return 0
    try:
        return _packets_written(export_folder(), notes_of(packets), now)
    except OSError as error:
        log.warning("guidance_export_failed", error=type(error).__name__)
        GuidanceEvent.objects.create(
            reader_id=packets[0].reader_id,
            n=0,
            level=Level.SILENT,
            why=Why.FAILED,
            error_code=f"{EXPORT_FAILED}{type(error).__name__}"[:60],
            at=now,
        )
        return 0


def guidance_export(*, now: datetime) -> Exported:
    """Write all notes anew, the newest `export_max` packets; remove those of packets that are no more.

    The number of queries does not grow with the packets. Raises `OSError` where the folder cannot be
    written, or holds another's file under a name of ours (`NotOurs`).
    """
    folder = export_folder()
    notes = notes_of(GuidancePacket.objects.order_by("-made_at", "-id")[: tunables().export_max])
    written = _packets_written(folder, notes, now)
    _write(folder / PACKETS / INDEX, index_note(notes, now))
    removed = _stale_removed(folder / PACKETS, {f"{one.key}.md" for one in notes} | {INDEX})
    _write(folder / DASHBOARD, dashboard_note(dashboard_of(now=now), len(notes), now))
    return Exported(folder, written, removed)


def exported_keys(folder: Path) -> dict[str, str]:
    """The packets that have a note, by key, each with the state its note tells. Raises `OSError`."""
    return {path.stem: state_noted(path) for path in _ours(folder / PACKETS) if path.name != INDEX}


def state_noted(path: Path) -> str:
    """The state that the note of a packet tells: `ready`, `stale`, `invalid`; empty where it tells none."""
    with path.open(encoding="utf-8") as file:
        found = re.search(r"^state: (\w+)$", file.read(1000), re.MULTILINE)
    return found[1] if found else ""


def is_ours(path: Path) -> bool:
    """Whether a file begins with our mark."""
    with path.open("rb") as file:
        return file.read(len(MARK)) == MARK.encode()


def _ours(folder: Path) -> Iterable[Path]:
    return (path for path in sorted(folder.glob("*.md")) if path.is_file() and is_ours(path))


def _packets_written(folder: Path, notes: Sequence[PacketNote], now: datetime) -> int:
    safe = [one for one in notes if _KEY.fullmatch(one.key)]
    # Folders we make are their owner's alone, as the notes are; one that is there keeps its rights.
    ours = [made for made in (folder, folder / PACKETS) if not made.exists()]
    (folder / PACKETS).mkdir(parents=True, exist_ok=True)
    for made in ours:
        made.chmod(0o700)
    for one in safe:
        _write(folder / PACKETS / f"{one.key}.md", packet_note(one, now))
    return len(safe)


def _stale_removed(folder: Path, wanted: set[str]) -> int:
    stale = [path for path in _ours(folder) if path.name not in wanted]
    for path in stale:
        path.unlink(missing_ok=True)
    return len(stale)


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

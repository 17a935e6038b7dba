"""What processes tell one another about hosts: who is at one, and until when nobody shall be.

With Redis the notes are in the cache, for all machines that share it. Without it they are files in a folder
of this machine, read and written under a lock of the operating system, so that the site and its worker, two
processes, know of each other. Wherever notes cannot be kept, each process is polite by itself.
"""

import fcntl
import json
import math
import os
import time
from hashlib import sha256
from pathlib import Path
from typing import IO, Final, Protocol
from uuid import uuid4

import structlog
from django.conf import settings
from django.core.cache import cache

log = structlog.get_logger(__name__)
# Hosts share so many files. What is over goes whenever a file is written, so that none grows.
FILES: Final = 64
# Nobody is told to stay away for longer: a note beyond it was written by a clock that was set back since.
NOTE_MAX_S: Final = 25 * 3600.0
_US: Final = uuid4().hex
Notes = dict[str, tuple[str, float]]


class Board(Protocol):
    """Where the notes are. A host is ours or nobody's until its note ends."""

    def take(self, host: str, seconds: float) -> bool:
        """Note that we are at `host` for at most `seconds`; False, and nothing noted, where others are."""

    def hold(self, host: str, seconds: float) -> None:
        """Note that others shall stay away from `host` for `seconds`."""


class CacheBoard:
    """Notes in the cache, which counts in whole seconds: a pause is up to a second longer, never shorter."""

    def take(self, host: str, seconds: float) -> bool:
        """One `add`, which the cache decides; a note of our own is renewed."""
        if cache.add(key(host), _us(), math.ceil(seconds)):
            return True
        if cache.get(key(host)) != _us():
            return False
        cache.set(key(host), _us(), math.ceil(seconds))
        return True

    def hold(self, host: str, seconds: float) -> None:
        """The note, over whatever was there."""
        cache.set(key(host), _us(), math.ceil(seconds))


class FileBoard:
    """Notes in `folder`, by the clock of this machine. Raises `OSError` where it cannot be written."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def take(self, host: str, seconds: float) -> bool:
        """The host, under its file's lock."""
        return self._note(host, seconds, ours_only=True)

    def hold(self, host: str, seconds: float) -> None:
        """The note, over whatever was there."""
        self._note(host, seconds, ours_only=False)

    def _note(self, host: str, seconds: float, *, ours_only: bool) -> bool:
        name = key(host)
        self._folder.mkdir(exist_ok=True)
        path = self._folder / f"{int(sha256(name.encode()).hexdigest(), 16) % FILES:02}.json"
        with os.fdopen(os.open(path, os.O_RDWR | os.O_CREAT, 0o600), "r+") as file:
            fcntl.flock(file, fcntl.LOCK_EX)  # freed when the file is closed, and when the process dies
            now = time.time()
            notes = {other: note for other, note in _read(file).items() if now < note[1] < now + NOTE_MAX_S}
            if ours_only and notes.get(name, (_us(), 0.0))[0] != _us():
                return False
            notes[name] = (_us(), now + seconds)
            _write(file, notes)
        return True


def board() -> Board:
    """The cache where it is shared (`REDIS_URL`), else the folder `hosts` below `VAR_DIR`."""
    return CacheBoard() if settings.REDIS_URL else FileBoard(settings.VAR_DIR / "hosts")


def host_take(host: str, seconds: float) -> bool:
    """Whether no other process is at `host` or has just been; it is ours then, for at most `seconds`."""
    try:
        return board().take(host, seconds)
    except Exception as error:  # whatever a cache or a disk raises: a host unasked for ever would be worse
        log.warning("host_gate.notes_failed", error=str(error)[:200])
        return True


def host_hold(host: str, seconds: float) -> None:
    """Keep other processes from `host` for `seconds`."""
    try:
        board().hold(host, seconds)
    except Exception as error:
        log.warning("host_gate.notes_failed", error=str(error)[:200])


def key(host: str) -> str:
    """Some caches refuse long keys and odd characters, and a host is whatever stood in an address."""
    return f"fetch:host:{sha256(host.encode('utf-8', 'replace')).hexdigest()[:32]}"


def _us() -> str:
    """This process; one that was forked from it is another."""
    return f"{_US}:{os.getpid()}"


def _read(file: IO[str]) -> Notes:
    """The notes; none where a process died while it wrote them."""
    try:
        return {host: (str(who), float(until)) for host, (who, until) in json.load(file).items()}
    except (ValueError, TypeError, AttributeError):
        return {}


def _write(file: IO[str], notes: Notes) -> None:
    file.seek(0)
    file.truncate()
    json.dump(notes, file)
    file.flush()

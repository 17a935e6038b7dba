"""A cache of fetched pictures: files in one folder, up to a size limit."""

import os
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from hashlib import sha256
from pathlib import Path
from typing import Final

import structlog

# After this time a picture is fetched again, because its publisher may have replaced it.
FRESH: Final = timedelta(days=30)
# A sweep runs after this share of the limit was written. It deletes files down to the second share.
SWEEP_SHARE, LEFT_SHARE = 0.05, 0.9
# A file takes whole blocks of its disk. Six million pictures of 43 bytes are 256 MB by their bytes, but 25 GB
# on the disk, and few disks have room for as many files.
BLOCK_BYTES: Final = 4096

log = structlog.get_logger(__name__)


@dataclass(slots=True)
class PictureCache:
    """Files in `folder` that take at most `max_bytes` of the disk together; with 0 nothing is stored.

    The limit may be exceeded by the bytes that processes wrote since their last sweep. A file is named after
    the hash of its picture's name, and its date is when the picture was fetched.
    """

    folder: Path
    max_bytes: int
    _unswept: float = field(default=float("inf"), init=False)

    def get(self, name: str, *, now: datetime) -> bytes | None:
        """Return the picture; `None` if it is not stored or older than 30 days."""
        try:
            return self._path(name).read_bytes() if self.has(name, now=now) else None
        except OSError:
            return None

    def has(self, name: str, *, now: datetime) -> bool:
        """Return whether the picture is stored and at most 30 days old."""
        try:
            return self._path(name).stat().st_mtime > (now - FRESH).timestamp()
        except OSError:
            return False

    def put(self, name: str, body: bytes, *, now: datetime) -> None:
        """Store the picture. The pictures fetched longest ago make room. Failures are logged."""
        if not self.max_bytes:
            return
        try:
            self.folder.mkdir(mode=0o700, exist_ok=True)
            # Renamed into place, so a reader never sees half a file.
            with tempfile.NamedTemporaryFile(dir=self.folder, prefix="new-", delete=False) as file:
                file.write(body)
            os.utime(file.name, (now.timestamp(), now.timestamp()))
            os.replace(file.name, self._path(name))
            self._unswept += size_on_disk(len(body))
            if self._unswept > SWEEP_SHARE * self.max_bytes:
                self._unswept = 0.0
                self._sweep(now)
        except OSError as error:
            log.warning("picture_cache_write_failed", error=str(error)[:200])

    def prune(self, *, now: datetime) -> int:
        """Delete old files and those beyond the limit; return how many. Failures are logged."""
        try:
            return self._sweep(now) if self.folder.exists() else 0
        except OSError as error:
            log.warning("picture_cache.prune_failed", error=str(error)[:200])
            return 0

    def _path(self, name: str) -> Path:
        return self.folder / sha256(name.encode("utf-8", "replace")).hexdigest()

    def _sweep(self, now: datetime) -> int:
        """Delete files older than 30 days and, beyond the limit, the oldest ones; return how many."""
        files = sorted(self._files(), reverse=True)
        there = len(files)
        oldest = (now - FRESH).timestamp()
        total = sum(size for _, size, _ in files)
        room = LEFT_SHARE * self.max_bytes if total > self.max_bytes else total
        while files and (files[-1][0] < oldest or total > room):
            _, size, path = files.pop()
            Path(path).unlink(missing_ok=True)
            total -= size
        return there - len(files)

    def _files(self) -> Iterator[tuple[float, int, str]]:
        with os.scandir(self.folder) as entries:
            for entry in entries:
                try:
                    found = entry.stat()
                except FileNotFoundError:
                    continue  # Another process deleted it.
                yield found.st_mtime, size_on_disk(found.st_size), entry.path


def size_on_disk(size: int) -> int:
    """Return the bytes that a file of `size` bytes takes of the disk."""
    return -(-size // BLOCK_BYTES) * BLOCK_BYTES

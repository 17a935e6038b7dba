"""The pulse of the embedded worker: a file in `TIDINGS_VAR_DIR`. `serve` watches it, and /readyz reads it."""

import os
import socket
import time
from contextlib import suppress
from pathlib import Path
from threading import Event, Thread

BEAT_S = 5.0
# A worker without a pulse for this long is hung. With a beat more, /readyz says so within a minute.
HUNG_S = 45.0
# A worker may take this long to its first beat: it loads the site, perhaps on a small and busy machine.
START_S = 300.0
PREFIX = "worker-"


def pulse_file(folder: Path, pid: int) -> Path:
    """Return the file that the worker `pid` of this machine touches."""
    return folder / f"{PREFIX}{socket.gethostname()}-{pid}.pulse"


def pulse_ages(folder: Path) -> dict[str, float]:
    """Return for each worker with a file in `folder` the seconds since its last beat.

    A beat from the future counts as endlessly old: its worker died before the clock was set back.
    """
    ages: dict[str, float] = {}
    for path in folder.glob(f"{PREFIX}*.pulse"):
        with suppress(FileNotFoundError):  # it has just ended
            age = time.time() - path.stat().st_mtime
            ages[path.stem.removeprefix(PREFIX)] = age if age >= -HUNG_S else float("inf")
    return ages


def worker_has_pulse(folder: Path) -> bool:
    """Return whether a worker with a file in `folder` has a pulse, busy or not."""
    return any(age <= HUNG_S for age in pulse_ages(folder).values())


class Pulse:
    """The pulse of this process while the block runs.

    A thread touches the file, so a busy worker has a pulse, and a stopped one has none. Neither has one whose
    job takes longer than `allow` gave it.
    """

    def __init__(self, folder: Path) -> None:
        self._path = pulse_file(folder, os.getpid())
        self._ended, self._until = Event(), float("inf")
        self._thread = Thread(target=self._beat, daemon=True, name="pulse")

    def allow(self, seconds: float) -> None:
        """Give the work that begins now this long."""
        self._until = time.monotonic() + seconds

    def __enter__(self) -> "Pulse":
        """Delete the files of dead workers, and begin."""
        for name, age in pulse_ages(self._path.parent).items():
            if age > HUNG_S:
                (self._path.parent / f"{PREFIX}{name}.pulse").unlink(missing_ok=True)
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._ended.set()
        self._thread.join()
        self._path.unlink(missing_ok=True)

    def _beat(self) -> None:
        while True:
            if time.monotonic() < self._until:
                with suppress(OSError):
                    self._path.touch(mode=0o600)
            if self._ended.wait(BEAT_S):
                return


class PulseWatch:
    """Whether a worker of this machine is hung, as seen by the process that started it.

    It counts by the monotonic clock, which stands still while the machine sleeps.
    """

    def __init__(self, folder: Path, pid: int, hung_s: float = HUNG_S) -> None:
        self._path, self._hung_s = pulse_file(folder, pid), hung_s
        self._seen, self._since = self._beat(), time.monotonic()

    def is_hung(self) -> bool:
        """Return whether the file has not changed for `hung_s` seconds, or was not made in five minutes.

        Ask it every few seconds.
        """
        now = time.monotonic()
        if (beat := self._beat()) != self._seen:
            self._seen, self._since = beat, now
        return now - self._since > (self._hung_s if self._seen else START_S)

    def end(self) -> None:
        """Delete the file of a worker that was killed."""
        self._path.unlink(missing_ok=True)

    def _beat(self) -> int:
        try:
            return self._path.stat().st_mtime_ns
        except OSError:
            return 0

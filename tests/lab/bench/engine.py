"""A Tidings for a benchmark: an empty SQLite database in a folder that is deleted afterwards."""

import os
import platform
import resource
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path


@contextmanager
def engine(*, database: str = "") -> Iterator[Path]:
    """Set Django up on a fresh SQLite, or on `database`, a URL; gives a folder. Once in a process."""
    with tempfile.TemporaryDirectory(prefix="tidings-bench-") as folder:
        os.environ |= {
            "TIDINGS_VAR_DIR": folder,
            "DATABASE_URL": database,
            "REDIS_URL": "",
            "LOG_LEVEL": "CRITICAL",
            "DJANGO_SETTINGS_MODULE": "config.settings",
        }
        import django  # noqa: PLC0415 - reads the environment as it is imported
        from django.core.management import call_command  # noqa: PLC0415

        django.setup()
        call_command("migrate", verbosity=0)
        yield Path(folder)


def where() -> dict[str, object]:
    """Return the machine and the time, for the head of a report."""
    return {
        "at": datetime.now(UTC).isoformat(timespec="seconds"),
        "python": platform.python_version(),
        "cpus": os.cpu_count(),
        "load": round(os.getloadavg()[0], 1),
    }


def peak_mb(pid: int | str = "self") -> int:
    """Return the largest size a process had, in MB.

    Not `ru_maxrss`, which a process takes over from the one that started it.
    """
    return _memory(pid, "VmHWM")


def resident_mb(pid: int) -> int:
    """How large a process is now, in MB, pages shared with others included."""
    return _memory(pid, "VmRSS")


class Clock:
    """Seconds on the wall and of the processor (children included) since it was made."""

    def __init__(self) -> None:
        self._wall, self._cpu = time.perf_counter(), _cpu()

    def read(self) -> dict[str, float]:
        """Both, so far."""
        return {"wall_s": time.perf_counter() - self._wall, "cpu_s": _cpu() - self._cpu}


def _memory(pid: int | str, key: str) -> int:
    for line in Path(f"/proc/{pid}/status").read_text(encoding="ascii").splitlines():
        if line.startswith(f"{key}:"):
            return round(int(line.split()[1]) / 1024)
    return 0  # the process is gone


def _cpu() -> float:
    uses = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(use.ru_utime + use.ru_stime for use in uses)

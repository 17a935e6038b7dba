"""What `/metrics` tells of the machinery: the version that answers, the broker, all web processes."""

import os
import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import structlog
from django.conf import settings
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector
from redis.exceptions import RedisError

from config.queues import QUEUES
from config.readiness import broker

log = structlog.get_logger(__name__)
PROC = Path("/proc")
# Fields of /proc/PID/stat after the name, counted from 0 (proc(5) counts from 3).
UTIME, STIME, CUTIME, CSTIME = 11, 12, 13, 14


class Machinery(Collector):
    """The version, and with a broker whether it answers and what waits in its queues."""

    def collect(self) -> Iterator[Metric]:
        """A family at a time."""
        build = GaugeMetricFamily(
            "tidings_build_info", "1, with the version that answers.", labels=("version",)
        )
        build.add_metric((version(),), 1.0)
        yield build
        if settings.REDIS_URL:
            yield from _broker()


class WebProcesses(Collector):
    """Memory and processor of all processes of this server, under the names a single process would use.

    The processor's time is that of the parent, its living children, and those that it has buried, so that it
    never falls while one process takes over from another.
    """

    def __init__(self, parent: int | None = None, proc: Path = PROC) -> None:
        self.parent, self.proc = parent or os.getppid(), proc

    def collect(self) -> Iterator[Metric]:
        """Nothing where the system has no /proc."""
        parent = self.proc / str(self.parent)
        try:
            children = (parent / "task" / str(self.parent) / "children").read_text(encoding="ascii").split()
            seconds = sum(_ticks(parent, (UTIME, STIME, CUTIME, CSTIME))) / os.sysconf("SC_CLK_TCK")
            held = _resident(parent)
        except OSError:
            return
        for child in children:
            try:
                own = sum(_ticks(self.proc / child, (UTIME, STIME))) / os.sysconf("SC_CLK_TCK")
                held += _resident(self.proc / child)
            except OSError:  # it ended in between: the parent's figures have it next time
                continue
            seconds += own
        yield GaugeMetricFamily("process_resident_memory_bytes", "Memory of all web processes.", value=held)
        yield CounterMetricFamily(
            "process_cpu_seconds", "Processor time of all web processes.", value=seconds
        )


@cache
def version() -> str:
    """The version of the code this process has loaded."""
    told = tomllib.loads((settings.BASE_DIR / "pyproject.toml").read_text(encoding="utf-8"))
    return str(told["project"]["version"])


def _broker() -> Iterator[Metric]:
    lengths: dict[str, int] = {}
    try:
        with broker() as redis:
            lengths = {name: redis.llen(name) for name in QUEUES}
    except RedisError as error:
        log.warning("broker_down", error=" ".join(str(error).split())[:200])
    yield GaugeMetricFamily("tidings_broker_up", "1 where the broker answers.", value=float(bool(lengths)))
    waiting = GaugeMetricFamily("tidings_queue_messages", "Messages nobody has taken.", labels=("queue",))
    for name, length in lengths.items():
        waiting.add_metric((name,), float(length))
    yield waiting


def _ticks(process: Path, fields: tuple[int, ...]) -> list[int]:
    """Clock ticks; the process's name, in brackets, may hold anything."""
    told = (process / "stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
    return [int(told[field]) for field in fields]


def _resident(process: Path) -> float:
    pages = (process / "statm").read_text(encoding="ascii").split()[1]
    return float(int(pages) * os.sysconf("SC_PAGE_SIZE"))

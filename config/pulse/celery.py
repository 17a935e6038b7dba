"""The pulse of Celery workers: each tells the broker that it lives, and replaces its hung processes."""

import json
import os
import signal
import struct
import time
from collections.abc import Collection
from mmap import mmap
from threading import Thread
from typing import Any

import structlog
from billiard.process import current_process
from celery import bootsteps
from celery.signals import worker_process_init

from config.pulse.broker import KEY, broker_client
from config.pulse.files import BEAT_S, HUNG_S

log = structlog.get_logger(__name__)

# The last beat of each process of this worker, by its place in the pool, in seconds of the monotonic clock.
BEAT = struct.Struct("d")
PROCESSES_MAX = 1024
_BEATS = mmap(-1, BEAT.size * PROCESSES_MAX)


class PulseStep(bootsteps.StartStopStep):
    """The pulse of a worker: a timer of its main process, which no task can hold up."""

    requires = ("celery.worker.consumer:Tasks",)

    def start(self, c: Any) -> None:
        """Begin."""
        self._timer = c.timer.call_repeatedly(BEAT_S, self._beat, (c,))
        self._beat(c)

    def stop(self, c: Any) -> None:
        """Pause, because the broker was lost or the worker stops."""
        self._timer.cancel()

    def shutdown(self, c: Any) -> None:
        """Say goodbye, so that nobody misses this worker."""
        _tell(lambda redis: redis.hdel(KEY, c.hostname))

    def _beat(self, c: Any) -> None:
        processes_kill_hung(getattr(getattr(c.pool, "_pool", None), "_pool", ()))
        value = json.dumps({"at": time.time(), "queues": sorted(c.app.amqp.queues.consume_from)})
        _tell(lambda redis: redis.hset(KEY, c.hostname, value))


def _tell(say: Any) -> None:
    from redis.exceptions import RedisError  # noqa: PLC0415 - a tenth of a second, for workers only

    try:
        with broker_client() as redis:
            say(redis)
    except RedisError:
        log.warning("pulse_lost", exc_info=True)


@worker_process_init.connect
def process_pulse_start(**kwargs: Any) -> None:
    """Start the pulse of a process that runs tasks."""
    place: int = current_process().index  # type: ignore[attr-defined]  # in processes of a pool

    def beat() -> None:
        while True:
            BEAT.pack_into(_BEATS, place * BEAT.size, time.monotonic())
            time.sleep(BEAT_S)

    if place < PROCESSES_MAX:
        Thread(target=beat, daemon=True, name="pulse").start()


def processes_kill_hung(processes: Collection[Any], hung_s: float = HUNG_S) -> None:
    """Kill the processes of the pool without a pulse. Celery replaces them and repeats their messages."""
    now = time.monotonic()
    for process in processes:
        if process.index >= PROCESSES_MAX:
            continue
        (last,) = BEAT.unpack_from(_BEATS, process.index * BEAT.size)
        if last and now - last > hung_s:
            log.error("worker_process_hung", pid=process.pid, seconds=round(now - last))
            BEAT.pack_into(_BEATS, process.index * BEAT.size, 0.0)
            os.kill(process.pid, signal.SIGKILL)

"""What the broker knows about the pulse of Celery workers."""

import json
import time
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

from django.conf import settings

from config.pulse.files import HUNG_S

if TYPE_CHECKING:
    from redis import Redis

# A hash: a worker's name -> the time of its last beat, and its queues.
KEY = "tidings:workers"
# A worker that has been silent for this long is not expected any more.
FORGOTTEN_S = 3600.0
BROKER_TIMEOUT_S = 1.0


def broker_client() -> "Redis":
    """Return a client of the broker with a short timeout and without retries. Use it in a `with` block."""
    # The import takes a tenth of a second, which installations without a broker save.
    from redis import Redis  # noqa: PLC0415
    from redis.backoff import NoBackoff  # noqa: PLC0415
    from redis.retry import Retry  # noqa: PLC0415

    return Redis.from_url(
        settings.REDIS_URL,
        socket_connect_timeout=BROKER_TIMEOUT_S,
        socket_timeout=BROKER_TIMEOUT_S,
        retry=Retry(NoBackoff(), 0),
    )


@dataclass(frozen=True, slots=True)
class CeleryWorker:
    """A worker, the seconds since its last beat, and the queues that it serves."""

    name: str
    age_s: float
    queues: frozenset[str]


def workers_known() -> list[CeleryWorker]:
    """Return the workers of the last hour that did not say goodbye."""
    with broker_client() as redis:
        rows = cast(Mapping[bytes, bytes], redis.hgetall(KEY))
    now, workers = time.time(), []
    for name, value in rows.items():
        row = json.loads(value)
        workers.append(CeleryWorker(name.decode(), now - row["at"], frozenset(row["queues"])))
    # A beat from the future is a dead worker's of before the clock was set back.
    return [worker for worker in workers if -HUNG_S <= worker.age_s < FORGOTTEN_S]


def queues_unserved(workers: Collection[CeleryWorker]) -> list[str]:
    """Return the queues that no living worker serves."""
    served = {queue for worker in workers if worker.age_s <= HUNG_S for queue in worker.queues}
    return [queue for queue in settings.CELERY_TASK_QUEUES if queue not in served]

"""Which queue carries which task, and how long each may take on a Celery worker. Pure.

A worker that names no queues serves all of them; `celery worker -Q fetch` serves one, so that a slow night
keeps nobody waiting for advice.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from config.schedule import CELERY_BEAT_SCHEDULE

DEFAULT, FETCH, RANK, MAIL, ADVISE = "default", "fetch", "rank", "mail", "advise"
QUEUES = (DEFAULT, FETCH, RANK, MAIL, ADVISE)
QUEUE_OF: Mapping[str, str] = {
    "digest.feeds_fetch": FETCH,
    "config.nightly": RANK,
    "config.mornings": MAIL,
    "advisor.run_execute": ADVISE,
}
# Redis gives a message that nobody acknowledged to another worker after this long.
VISIBILITY_S = 600
# A task that names no limit of its own is asked to stop, then killed, before its message comes round again.
SOFT_S, HARD_S = 540, 570
# What may outlive that: its rows are claimed with leases, so the message that comes round finds nothing left.
HARD_OF: Mapping[str, int] = {
    "digest.feeds_fetch": 1800,
    "config.nightly": 6 * 3600,
    "config.mornings": 6 * 3600,
}
# Seconds that a soft limit comes before the hard one.
WARNING_S = 30
# After the hard limit of a run by this: the lease of a run ends in between.
RUN_MARGIN_S = 60


# Told to stop at once, a worker still has the time a run may take before what it does goes back.
SOFT_SHUTDOWN_S = 270.0
# Whoever wakes a worker tries once more at most: by kombu's default a page waits six seconds for a broker
# that is down, and the reconciler wakes again anyway. Workers reconnect by rules of their own.
PATIENCE = {"max_retries": 1, "interval_start": 0, "interval_step": 0.2}
# Without the throttle, a dead worker's message comes back a hundred seconds later than it might (measured:
# 111 s against 16 s at a timeout of 10).
REDELIVERY = {"visibility_timeout": VISIBILITY_S, "unacked_restore_throttle": 1}


def celery_settings(broker: str, folder: Path, *, run_timeout_s: float) -> dict[str, Any]:
    """Everything Celery is told, by the names of Django's settings.

    `broker` is Redis's address, empty for none; beat notes in `folder` when it sent what; `run_timeout_s` is
    the deadline of a scheduled run. Messages are acknowledged late, and go back when their worker is lost:
    nothing is lost with a process, and the rows see to it that nothing is done twice.
    """
    told = {
        "BROKER_URL": broker or "memory://",
        "BROKER_TRANSPORT_OPTIONS": REDELIVERY | PATIENCE if broker else {},
        "BROKER_CONNECTION_RETRY_ON_STARTUP": True,
        # For ever: by default a worker ends after a hundred tries, and nobody may be there to start it again.
        "BROKER_CONNECTION_MAX_RETRIES": None,
        "BEAT_SCHEDULE": CELERY_BEAT_SCHEDULE,
        "BEAT_SCHEDULE_FILENAME": str(folder / "celerybeat-schedule"),
        "TASK_QUEUES": {name: {"exchange": name, "routing_key": name} for name in QUEUES},
        "TASK_DEFAULT_QUEUE": DEFAULT,
        "TASK_ROUTES": {name: {"queue": queue} for name, queue in QUEUE_OF.items()},
        "TASK_ANNOTATIONS": _limits({**HARD_OF, "advisor.run_execute": run_timeout_s + RUN_MARGIN_S}),
        "TASK_SOFT_TIME_LIMIT": SOFT_S,
        "TASK_TIME_LIMIT": HARD_S,
        "TASK_IGNORE_RESULT": True,
        "TASK_ACKS_LATE": True,
        "TASK_REJECT_ON_WORKER_LOST": True,
        "WORKER_PREFETCH_MULTIPLIER": 1,
        "WORKER_SOFT_SHUTDOWN_TIMEOUT": SOFT_SHUTDOWN_S,
    }
    return {f"CELERY_{name}": value for name, value in told.items()}


def _limits(hard: Mapping[str, float]) -> dict[str, dict[str, float]]:
    return {name: {"time_limit": s, "soft_time_limit": s - WARNING_S} for name, s in hard.items()}

"""Define the schedule of all jobs, and Celery's queues, time limits and settings.

By default a worker serves all queues. `celery worker -Q fetch` serves one, so that a slow nightly run does
not delay advice. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from ranking.common.clocks import is_ahead

# --- Queues ---
DEFAULT, FETCH, RANK, MAIL, ADVISE = "default", "fetch", "rank", "mail", "advise"
QUEUES = (DEFAULT, FETCH, RANK, MAIL, ADVISE)
QUEUE_BY_TASK: Mapping[str, str] = {
    "digest.feeds_fetch": FETCH,
    "digest.first_round": FETCH,
    "config.nightly": RANK,
    "config.night_share": RANK,
    "config.daily_builds": MAIL,
    "advisor.run_execute": ADVISE,
}

# --- Time limits, in seconds ---
# After this long without an acknowledgement, Redis gives a message to another worker.
VISIBILITY_S = 600
# Limits for other tasks: they are asked to stop, then killed, before their message is delivered again.
SOFT_LIMIT_S, HARD_LIMIT_S = 540, 570
# Tasks that may run longer. Their rows are claimed with leases, so a repeated message finds no work.
HARD_LIMIT_BY_TASK: Mapping[str, int] = {
    "digest.feeds_fetch": 1800,
    "config.nightly": 6 * 3600,
    "config.night_share": 6 * 3600,
    "config.daily_builds": 6 * 3600,
}
# The time from a soft limit to the hard one.
SOFT_LIMIT_MARGIN_S = 30
# The time from a run's own deadline to its hard limit. Its lease ends in between.
RUN_MARGIN_S = 60
# A worker that is stopped has this long to finish a run before its messages go back to the queue.
SOFT_SHUTDOWN_S = 270.0

# --- Connection to Redis --- A publisher retries at most once. By kombu's default a page would wait six
# seconds for a broker that is down, and the reconciler publishes again anyway. Workers have their own rules
# for reconnecting.
PUBLISH_RETRY = {"max_retries": 1, "interval_start": 0, "interval_step": 0.2}
# Without the throttle, a dead worker's message comes back a hundred seconds later than necessary (measured:
# 111 s instead of 16 s with a timeout of 10).
REDELIVERY = {"visibility_timeout": VISIBILITY_S, "unacked_restore_throttle": 1}
# Messages for short jobs expire after this long, so that they do not pile up behind an hour of work.
MESSAGE_LIFETIME = timedelta(minutes=10)


@dataclass(frozen=True, slots=True)
class Job:
    """A scheduled Celery task. A `stoppable` one takes `stopping` and calls it between its parts."""

    name: str
    task: str
    interval: timedelta
    stoppable: bool = False


# Jobs that are due together run in this order.
JOBS = (
    # Leases last 20 seconds, so another worker takes over from a dead one within a minute.
    Job("reconcile", "advisor.runs_reconcile", timedelta(seconds=15)),
    Job("fetch", "digest.feeds_fetch", timedelta(minutes=5), stoppable=True),
    # After `fetch`, so that a worker that was off does not raise an alert when it comes back.
    Job("feeds_watch", "advisor.feeds_watch", timedelta(minutes=15)),
    # Checked often but run once a day, so that it continues within two minutes after a crash or a stop.
    Job("nightly", "config.nightly", timedelta(seconds=30), stoppable=True),
    # In some time zone a day begins, or mail is due, at any quarter of an hour.
    Job("daily-builds", "config.daily_builds", timedelta(minutes=10), stoppable=True),
    Job("answers", "config.idempotency_keys_prune", timedelta(hours=1)),
    Job("sweep", "suggestions.suggestions_sweep", timedelta(hours=1)),
    Job("compact", "suggestions.outcomes_compact", timedelta(days=7)),
    Job("memories", "advisor.memories_sync", timedelta(days=1)),
    Job("guidance_learn", "advisor.guidance_learn", timedelta(days=1)),
    Job("guidance_notes", "advisor.guidance_notes", timedelta(days=1)),
)

CELERY_BEAT_SCHEDULE: dict[str, dict[str, Any]] = {
    job.name: {
        "task": job.task,
        "schedule": job.interval.total_seconds(),
        "options": {
            "expires": max(job.interval, MESSAGE_LIFETIME).total_seconds(),
            "headers": {"scheduled": job.name},
        },
    }
    for job in JOBS
}


def jobs_due(now: datetime, last: Mapping[str, datetime]) -> list[Job]:
    """Return the jobs to run at `now`. `last` has the last start of each job; one that never ran is due.

    So is one that began in the future: the clock was ahead, and nothing would run until then.
    """
    return [
        job
        for job in JOBS
        if job.name not in last or now - last[job.name] >= job.interval or is_ahead(last[job.name], now)
    ]


def night_has_begun(now: datetime, hour: int) -> bool:
    """Return whether the nightly run of `now`'s UTC day may begin (from `hour`, 0 to 23)."""
    return now.astimezone(UTC).hour >= hour


def time_limit_s(task: str) -> int:
    """Return how long a task may take. A run of the advisor has its own limit."""
    return HARD_LIMIT_BY_TASK.get(task, HARD_LIMIT_S)


def celery_settings(broker: str, folder: Path, *, run_timeout_s: float) -> dict[str, Any]:
    """Return Celery's configuration under the names of Django's settings.

    `broker` is Redis's address, or empty. Beat stores its last messages in `folder`. `run_timeout_s` is the
    deadline of a scheduled run. Messages are acknowledged late and go back to the queue if their worker is
    lost, so none is lost with a process. Claimed rows prevent that work is done twice.
    """
    hard_limits = {**HARD_LIMIT_BY_TASK, "advisor.run_execute": run_timeout_s + RUN_MARGIN_S}
    values = {
        "BROKER_URL": broker or "memory://",
        "BROKER_TRANSPORT_OPTIONS": REDELIVERY | PUBLISH_RETRY if broker else {},
        "BROKER_CONNECTION_RETRY_ON_STARTUP": True,
        # Retry for ever. By default a worker gives up after a hundred tries and must be restarted.
        "BROKER_CONNECTION_MAX_RETRIES": None,
        "BEAT_SCHEDULE": CELERY_BEAT_SCHEDULE,
        "BEAT_SCHEDULE_FILENAME": str(folder / "celerybeat-schedule"),
        "TASK_QUEUES": {name: {"exchange": name, "routing_key": name} for name in QUEUES},
        "TASK_DEFAULT_QUEUE": DEFAULT,
        "TASK_ROUTES": {name: {"queue": queue} for name, queue in QUEUE_BY_TASK.items()},
        "TASK_ANNOTATIONS": {
            name: {"time_limit": limit, "soft_time_limit": limit - SOFT_LIMIT_MARGIN_S}
            for name, limit in hard_limits.items()
        },
        "TASK_SOFT_TIME_LIMIT": SOFT_LIMIT_S,
        "TASK_TIME_LIMIT": HARD_LIMIT_S,
        "TASK_IGNORE_RESULT": True,
        "TASK_ACKS_LATE": True,
        "TASK_REJECT_ON_WORKER_LOST": True,
        "WORKER_PREFETCH_MULTIPLIER": 1,
        "WORKER_SOFT_SHUTDOWN_TIMEOUT": SOFT_SHUTDOWN_S,
    }
    return {f"CELERY_{name}": value for name, value in values.items()}

"""What runs when: one list, for Celery beat and for the embedded worker alike. Pure.

Every job is idempotent and looks up for itself what is due, so that an hour too early or a second time
does no harm.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any


@dataclass(frozen=True, slots=True)
class Job:
    """A Celery task, by name, and how often it runs."""

    name: str
    task: str
    every: timedelta
    # Asks between its parts whether to stop: its task takes `stopping`.
    long: bool = False


# In the order in which jobs that are due together run: the world first, then what is made of it.
JOBS = (
    # After a lease of 20 seconds, and where a worker dies at a turn: what was held is taken up in a minute.
    Job("reconcile", "advisor.runs_reconcile", timedelta(seconds=15)),
    Job("fetch", "digest.feeds_fetch", timedelta(minutes=5)),
    # Right after a round, so that a worker that was off does not raise the alarm as it comes back.
    Job("feeds_watch", "advisor.feeds_watch", timedelta(minutes=15)),
    # Looked for often and done once a day: what a crash or a stop left is taken up within two minutes.
    Job("nightly", "config.nightly", timedelta(seconds=30), long=True),
    # Days begin and mail is due at any quarter of an hour, somewhere.
    Job("mornings", "config.mornings", timedelta(minutes=10), long=True),
    Job("answers", "config.answers_forget", timedelta(hours=1)),
    Job("sweep", "suggestions.suggestions_sweep", timedelta(hours=1)),
    Job("compact", "suggestions.outcomes_compact", timedelta(days=7)),
    Job("memories", "advisor.memories_sync", timedelta(days=1)),
    Job("guidance_learn", "advisor.guidance_learn", timedelta(days=1)),
    Job("guidance_notes", "advisor.guidance_export", timedelta(days=1)),
)

# A worker that was busy for an hour finds some of the messages that call for short jobs, not a heap of them.
MESSAGE_LASTS = timedelta(minutes=10)

CELERY_BEAT_SCHEDULE: dict[str, dict[str, Any]] = {
    job.name: {
        "task": job.task,
        "schedule": job.every.total_seconds(),
        "options": {
            "expires": max(job.every, MESSAGE_LASTS).total_seconds(),
            "headers": {"scheduled": job.name},
        },
    }
    for job in JOBS
}


def due(now: datetime, last: Mapping[str, datetime]) -> list[Job]:
    """The jobs to run at `now`, given when each last began; one that never ran is due."""
    return [job for job in JOBS if job.name not in last or now - last[job.name] >= job.every]


def night_begun(now: datetime, hour: int) -> bool:
    """Whether the night of the UTC day of `now` has begun: from `hour` (0 to 23) on."""
    return now.astimezone(UTC).hour >= hour

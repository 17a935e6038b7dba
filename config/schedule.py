"""What runs when: one list, for Celery beat and for the embedded worker alike. Pure.

Every job is idempotent and looks up for itself what is due, so that an hour too early or a second time
does no harm.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any


@dataclass(frozen=True, slots=True)
class Job:
    """A Celery task, by name, and how often it runs."""

    name: str
    task: str
    every: timedelta


# In the order in which jobs that are due together run: the world first, then what is made of it.
JOBS = (
    Job("reconcile", "advisor.runs_reconcile", timedelta(minutes=1)),
    Job("fetch", "digest.feeds_fetch", timedelta(minutes=5)),
    # Right after a round, so that a worker that was off does not raise the alarm as it comes back.
    Job("feeds_watch", "advisor.feeds_watch", timedelta(minutes=15)),
    Job("learn", "digest.weights_update", timedelta(days=7)),
    Job("digests", "digest.digests_build", timedelta(days=1)),
    Job("sweep", "suggestions.suggestions_sweep", timedelta(hours=1)),
    # Before the advisor runs: what a change did is what the next suggestion learns from.
    Job("effects", "suggestions.effects_check", timedelta(days=1)),
    Job("compact", "suggestions.outcomes_compact", timedelta(days=7)),
    Job("memories", "advisor.memories_sync", timedelta(days=1)),
    # Looked for each day; a reader is due a week after the last run.
    Job("advise", "advisor.readers_advise", timedelta(days=1)),
)

CELERY_BEAT_SCHEDULE: dict[str, dict[str, Any]] = {
    job.name: {"task": job.task, "schedule": job.every.total_seconds()} for job in JOBS
}


def due(now: datetime, last: Mapping[str, datetime]) -> list[Job]:
    """The jobs to run at `now`, given when each last began; one that never ran is due."""
    return [job for job in JOBS if job.name not in last or now - last[job.name] >= job.every]

"""A night's report in plain values, for scripts and for operators, and which of its steps are due again."""

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

from config.models import NightlyReport

Step = dict[str, Any]
# In the order in which they run; `config.nightly_steps` does them.
STEP_NAMES = ("fetch", "cluster", "summarise", "learn", "digests", "deliver", "advise")
# A step that failed is tried three times a night by itself: 10 minutes after the night ended, then 30.
TRIES_MAX = 3
RETRY_AFTER, RETRY_GROWS = timedelta(minutes=10), 3
# A step that takes its process along is given up after the second time: it costs the others their worker.
CRASHES_MAX = 2


def nightly_as_dict(row: NightlyReport) -> dict[str, Any]:
    """The report as scripts get it: `{"day", "status", "steps": [{"name", …}], "seconds"}`."""
    steps = [{"name": name, **row.steps[name]} for name in STEP_NAMES if name in row.steps]
    seconds = round(sum(step.get("seconds", 0.0) for step in steps), 3)
    return {"day": row.day.isoformat(), "status": row.status, "steps": steps, "seconds": seconds}


def night_held(row: NightlyReport, now: datetime) -> bool:
    """Whether a worker holds the night at `now`: one that showed itself lately."""
    return (
        row.status == NightlyReport.Status.RUNNING and row.lease_until is not None and row.lease_until >= now
    )


def steps_again(
    steps: Mapping[str, Step], *, ended_at: datetime | None, now: datetime, by_hand: bool = False
) -> dict[str, Step]:
    """The steps of a night that is over which are to be done again at `now`, as they wait for it.

    A step that failed is due some time after the night ended, three times in all; `by_hand` it is due at
    once, however often it was tried, and though it had been given up.
    """
    failed = {name: step for name, step in steps.items() if step["status"] == "failed"}
    if by_hand:
        return {name: _waiting(step, crashes=0) for name, step in failed.items()}
    return {
        name: _waiting(step, crashes=step.get("crashes", 0))
        for name, step in failed.items()
        if (at := retry_at(step, ended_at)) is not None and at <= now
    }


def retry_at(step: Step, ended_at: datetime | None) -> datetime | None:
    """When a failed step of a night that ended at `ended_at` is tried again by itself; `None` for never."""
    tries: int = step.get("tries", 1)
    if ended_at is None or tries >= TRIES_MAX or step.get("crashes", 0) >= CRASHES_MAX:
        return None
    return ended_at + RETRY_AFTER * float(RETRY_GROWS ** (tries - 1))


def night_retry_at(row: NightlyReport) -> datetime | None:
    """When the first failed step of a night that is over is tried again by itself; `None` for never."""
    failed = [step for step in row.steps.values() if step["status"] == "failed"]
    return min(filter(None, (retry_at(step, row.finished_at) for step in failed)), default=None)


def _waiting(step: Step, *, crashes: int) -> Step:
    return {**step, "status": "waiting", "crashes": crashes}

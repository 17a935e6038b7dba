"""A night's report in plain values, for scripts and for operators."""

from typing import Any

from config.models import NightlyReport

# In the order in which they run; `config.nightly_steps` does them.
STEP_NAMES = ("fetch", "cluster", "summarise", "learn", "digests", "deliver", "advise")


def nightly_as_dict(row: NightlyReport) -> dict[str, Any]:
    """The report as scripts get it: `{"day", "status", "steps": [{"name", …}], "seconds"}`."""
    steps = [{"name": name, **row.steps[name]} for name in STEP_NAMES if name in row.steps]
    seconds = round(sum(step.get("seconds", 0.0) for step in steps), 3)
    return {"day": row.day.isoformat(), "status": row.status, "steps": steps, "seconds": seconds}

"""Traces of runs, the calls they made and what was decided around them, kept for a while and then let go."""

from datetime import datetime

from advisor.models import Decision, Step
from ranking.pruning import kept_since, rows_delete


def traces_prune(*, now: datetime) -> int:
    """Delete steps of runs, and decisions, whose term (`traces` in `KEEP_DAYS`) is over; how many.

    Runs, votes, judgments, suggestions and their outcomes stay: the autonomy report and the profiles rest on
    them.
    """
    since = kept_since("traces", now)
    if since is None:
        return 0
    return sum(rows_delete(rows.all(), at="at", before=since) for rows in (Step.objects, Decision.objects))

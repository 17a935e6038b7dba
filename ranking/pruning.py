"""Letting go of old rows: a bounded batch at a time, oldest first, and so many a night at most."""

from datetime import date, datetime, timedelta
from typing import TypeVar

from django.conf import settings
from django.db.models import Model, QuerySet

from ranking.models import WeightSnapshot

# Rows of one DELETE: SQLite takes 32,766 parameters, and nobody waits for its lock for long.
BATCH = 2_000
# Rows of one kind in one night: what a changed setting leaves over is let go in the nights after.
NIGHT_MAX = 200_000
Row = TypeVar("Row", bound=Model)


def kept_since(kind: str, now: datetime) -> datetime | None:
    """From when on rows of that kind of `KEEP_DAYS` are kept; `None`: all of them are."""
    days: int = settings.KEEP_DAYS[kind]
    return now - timedelta(days=days) if days else None


def rows_delete(rows: QuerySet[Row], *, at: str, before: date, batch: int = BATCH) -> int:
    """Delete those of `rows` whose `at` lies before `before`; how many, `NIGHT_MAX` or so at most.

    `before` is a moment where `at` is one, and a day where it is a day.

    Rows are written in order of time, so the oldest are found by their keys; no table is read through.
    What hangs on a row goes with it, uncounted.
    """
    last, gone = None, 0
    while gone < NIGHT_MAX:
        left = rows if last is None else rows.filter(pk__gt=last)
        some = list(left.order_by("pk").values_list("pk", at)[:batch])
        old = [pk for pk, moment in some if moment is not None and moment < before]
        if not old:
            break
        rows.model._default_manager.filter(pk__in=old).delete()
        last, gone = some[-1][0], gone + len(old)
    return gone


def snapshots_prune(*, now: datetime) -> int:
    """Delete the learning loop's snapshots whose term (`snapshots`) is over; how many."""
    since = kept_since("snapshots", now)
    if since is None:
        return 0
    return rows_delete(WeightSnapshot.objects.all(), at="cycle", before=since.date())

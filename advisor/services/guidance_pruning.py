"""What of guidance nobody needs any longer goes: calls of long ago, packets long stale, old counts."""

from collections.abc import Iterator
from datetime import datetime, timedelta

from django.db.models import QuerySet

from advisor.guidance.days import day_start
from advisor.guidance.tunables import tunables
from advisor.models import GuidanceDay, GuidanceEvent, GuidancePacket
from ranking.pruning import kept_since

# How far back days are counted, and the default of `guidance` in `KEEP_DAYS`.
# Twice the 90 days in which answers are still credited and told is held against held out; a preview looks
# back 30, the page of figures 28.
EVENTS_KEPT = timedelta(days=180)
# A stale packet shows why guidance was found afresh; for that a day is enough.
STALE_KEPT = timedelta(days=1)
# A year and a month, so that a month can be held against the same one of the year before.
DAYS_KEPT = timedelta(days=400)
# Rows of one DELETE: SQLite takes 32,766 parameters, and nobody waits for its lock for long.
BATCH = 2_000


def guidance_prune(*, now: datetime) -> dict[str, int]:
    """Delete what has had its time: how many `events`, `packets` and `days`. Safe to repeat.

    Events go after the days that `guidance` in `KEEP_DAYS` gives them, never before their day is counted;
    packets a day after they went stale, the newest `export_max` apart, as those have notes; counts of days
    after 400. Readers' memories stay, and so does what they were credited with.
    """
    since = kept_since("guidance", now)
    counted = GuidanceDay.objects.order_by("-day").values_list("day", flat=True).first()
    events = 0
    if counted and since is not None:
        before = min(since, day_start(counted + timedelta(days=1)))
        events = sum(_deleted(GuidanceEvent.objects.filter(at__lt=before).order_by("at")))
    days, _ = GuidanceDay.objects.filter(day__lt=(now - DAYS_KEPT).date()).delete()
    return {"events": events, "packets": _packets_prune(now), "days": days}


def _packets_prune(now: datetime) -> int:
    noted = GuidancePacket.objects.order_by("-made_at", "-pk").values_list("pk", flat=True)
    kept = set(noted[: tunables().export_max])
    stale = GuidancePacket.objects.filter(expires_at__lt=now - STALE_KEPT).values_list("pk", flat=True)
    surplus = [pk for pk in stale if pk not in kept]
    for start in range(0, len(surplus), BATCH):
        GuidancePacket.objects.filter(pk__in=surplus[start : start + BATCH]).delete()
    return len(surplus)


def _deleted(rows: QuerySet[GuidanceEvent]) -> Iterator[int]:
    while batch := list(rows.values_list("pk", flat=True)[:BATCH]):
        GuidanceEvent.objects.filter(pk__in=batch).delete()
        yield len(batch)

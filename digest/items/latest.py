"""The latest posts of feeds that are new to a reader and quiet: older than a digest's window, and few."""

from datetime import datetime, timedelta
from typing import Any, Final

from django.db.models import Exists, F, OuterRef, Q, QuerySet, Window
from django.db.models.functions import RowNumber

from digest.entities import ITEM_WINDOW_DAYS
from digest.models import Feed, Item, Subscription

# For so long after a reader began to read a feed, its latest posts compete though they are older than a week.
NEW_FOR: Final = timedelta(days=3)
LATEST_MAX: Final = 5


def subscriptions_new(*, now: datetime) -> QuerySet[Subscription]:
    """Return the subscriptions of the three days up to `now`.

    A feed that took the place of one that moved is not new to the readers of that one.
    """
    moved_here = Subscription.objects.filter(
        reader=OuterRef("reader"), feed__state=Feed.State.MOVED, feed__moved_url=OuterRef("feed__url")
    )
    recent = Subscription.objects.filter(created_at__gt=now - NEW_FOR, created_at__lte=now)
    return recent.filter(~Exists(moved_here))


def items_latest(
    *, subscriptions: QuerySet[Subscription], now: datetime, seen_by: datetime | None = None
) -> QuerySet[Item, Any]:
    """Return the newest five items of each of these feeds that has none in the week up to `now`.

    Newest first, with those first seen after `seen_by` left out.
    """
    start = now - timedelta(days=ITEM_WINDOW_DAYS)
    seen = Q() if seen_by is None else Q(first_seen_at__lte=seen_by)
    in_window = Item.objects.filter(seen, feed=OuterRef("pk"), dated_at__gt=start, dated_at__lte=now)
    quiet = Feed.objects.filter(~Exists(in_window), pk__in=subscriptions.values("feed"))
    place = Window(RowNumber(), partition_by=F("feed"), order_by=[F("dated_at").desc(), F("pk")])
    older = Item.objects.filter(seen, feed__in=quiet, dated_at__lte=start)
    return older.annotate(place=place).filter(place__lte=LATEST_MAX).order_by("-dated_at", "id")

"""Whether feeds are fetched at all: the question behind the alarm."""

from datetime import datetime, timedelta

from django.conf import settings
from django.db.models import Count, Q

from digest.health import RoundFacts, stalled_words
from digest.models import Feed


def fetching_trouble(*, now: datetime) -> str:
    """Why a person should look, or "": feeds are due and none was fetched for FETCH_WATCHDOG_MINUTES.

    One query. Zero minutes switch the watch off.
    """
    minutes = settings.FETCH_WATCHDOG_MINUTES
    if minutes <= 0:
        return ""
    since = now - timedelta(minutes=minutes)
    lately = Q(last_fetched_at__gte=since)
    sums = Feed.objects.filter(state=Feed.State.ACTIVE).aggregate(
        overdue=Count("pk", filter=Q(next_check_at__lte=since) | Q(next_check_at=None)),
        read=Count("pk", filter=lately & Q(failures=0)),
        failed=Count("pk", filter=lately & Q(failures__gt=0)),
    )
    return stalled_words(RoundFacts(**sums), minutes=minutes)

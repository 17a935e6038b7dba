"""The pauses that servers ask for: when a feed may be asked again, although a person wants it now."""

from collections.abc import Iterable
from datetime import datetime, timedelta

from django.db.models import Case, F, Value, When

from digest.feeds.fetch import host_of
from digest.feeds.polling import WAIT_LIMIT
from digest.feeds.rate_limit import host_pauses_s
from digest.models import Feed


def due_at(*, now: datetime) -> Case:
    """Return the expression for when a feed that was asked for is due: now, or when its own pause ends."""
    lasting = When(pause_until__gt=now, pause_until__lte=now + WAIT_LIMIT, then=F("pause_until"))
    return Case(lasting, default=Value(now))


def feed_pauses(*, feeds: Iterable[Feed], now: datetime) -> dict[int, datetime]:
    """Return, by feed, until when its server asked for a pause. Feeds without one are left out. No query.

    The server asked it of the feed itself, or of another feed of the same host minutes ago.
    """
    listed = list(feeds)
    hosts = host_pauses_s({host_of(feed.address) for feed in listed})
    ends: dict[int, datetime] = {}
    for feed in listed:
        pauses = [until for until in (feed.pause_until,) if until and now < until <= now + WAIT_LIMIT]
        if wait := hosts.get(host_of(feed.address)):
            pauses.append(now + timedelta(seconds=wait))
        if pauses:
            ends[feed.pk] = max(pauses)
    return ends

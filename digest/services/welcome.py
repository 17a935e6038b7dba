"""The first visit's answer."""

from collections.abc import Sequence
from datetime import datetime

from django.db import transaction

from digest.identity import canonical_url, source_key
from digest.models import Feed, Reader, Source, Subscription
from digest.starters import StarterFeed


def welcome_answer(*, reader: Reader, feeds: Sequence[StarterFeed], now: datetime) -> int:
    """Subscribe the reader to `feeds` and ask no more; returns how many of them are new to the reader.

    An empty `feeds` puts the question aside. Nothing is fetched here: feeds that nobody read before are due
    at once. A constant number of statements; doing it again changes nothing but the moment.
    """
    wanted = {canonical_url(feed.url) or feed.url: feed for feed in feeds}
    with transaction.atomic():
        Source.objects.bulk_create(
            [Source(key=_key(url), title=feed.publisher) for url, feed in wanted.items()],
            ignore_conflicts=True,
        )
        Feed.objects.bulk_create(
            [
                Feed(url=url, source_id=_key(url), title=feed.title, next_check_at=now)
                for url, feed in wanted.items()
            ],
            ignore_conflicts=True,
        )
        mine = Subscription.objects.filter(reader=reader, feed__url__in=wanted)
        before = mine.count()
        ids = Feed.objects.filter(url__in=wanted).values_list("pk", flat=True)
        Subscription.objects.bulk_create(
            [Subscription(reader=reader, feed_id=pk, created_at=now) for pk in ids], ignore_conflicts=True
        )
        reader.welcomed_at = now
        reader.save(update_fields=["welcomed_at"])
        return mine.count() - before


def _key(url: str) -> str:
    """The source of a feed at `url`."""
    return source_key(url) or "unknown"

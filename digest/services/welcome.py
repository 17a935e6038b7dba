"""The first visit's answer."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from django.db import transaction

from digest.identity import canonical_url, source_key
from digest.models import Feed, Reader, Source, Subscription
from digest.starters import StarterFeed


@dataclass(frozen=True, slots=True)
class Answered:
    """How many feeds are new to the reader, and the titles of those that their publishers took down."""

    added: int
    gone: tuple[str, ...]


def welcome_answer(*, reader: Reader, feeds: Sequence[StarterFeed], now: datetime) -> Answered:
    """Subscribe the reader to `feeds` and ask no more; a feed given up is refused, as by an import of a list.

    An empty `feeds` puts the question aside. Nothing is fetched here: feeds that nobody read before are due
    at once. A constant number of statements, but that SQLite takes only so many parameters at a time: many
    feeds are more than one insert there. Doing it again changes nothing but the moment.
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
        had = set(mine.values_list("feed_id", flat=True))
        found = [feed for feed in Feed.objects.filter(url__in=wanted) if feed.pk not in had]
        alive = [feed for feed in found if feed.state != Feed.State.GONE]
        Subscription.objects.bulk_create(
            [Subscription(reader=reader, feed=feed, created_at=now) for feed in alive], ignore_conflicts=True
        )
        reader.welcomed_at = now
        reader.save(update_fields=["welcomed_at"])
        gone = tuple(sorted(wanted[feed.url].title for feed in found if feed.state == Feed.State.GONE))
        return Answered(mine.count() - len(had), gone)


def _key(url: str) -> str:
    """The source of a feed at `url`."""
    return source_key(url) or "unknown"

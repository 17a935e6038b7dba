"""The simulated world's stream as feed documents: RSS for the real ingest, one a source and day."""

from collections import defaultdict
from datetime import datetime, timedelta
from email.utils import format_datetime
from html import escape

from digest.feeds.ingest import feed_get_or_create
from digest.models import Feed, Reader
from digest.sources.subscriptions import subscription_add
from tests.lab.world.words import SOURCES
from tests.lab.world.world import World
from tests.support.ingest import document_ingest


def feed_url(source: str) -> str:
    """Return the address of a source's feed."""
    return f"https://{source}/feed"


def item_url(source: str, number: int) -> str:
    """Return the address of item `number` of the stream."""
    return f"https://{source}/items/{number}"


def item_number(url: str) -> int:
    """Return the number of the item at `url`."""
    return int(url.rpartition("/")[2])


def feeds_open(*, now: datetime) -> dict[str, Feed]:
    """Return the sources' feeds, by source."""
    return {
        source: feed_get_or_create(url=feed_url(source), now=now, title=source.split(".")[0])
        for source in SOURCES
    }


def readers_subscribe(reader: Reader, *, now: datetime) -> None:
    """Subscribe a reader to every feed of the world."""
    for source in SOURCES:
        subscription_add(reader=reader, url=feed_url(source), now=now)


def day_ingest(*, world: World, feeds: dict[str, Feed], day: int, now: datetime) -> None:
    """Ingest the items of `day`. Ages count back from `now`."""
    rows: defaultdict[str, list[str]] = defaultdict(list)
    stream = world.stream
    for number in (stream.day == day).nonzero()[0]:
        source = SOURCES[stream.source[number]]
        published = now - timedelta(seconds=int(stream.age_s[number]))
        link = item_url(source, int(number))
        rows[source].append(
            f"<item><title>{escape(stream.titles[number])}</title><link>{link}</link><guid>{link}</guid>"
            f"<pubDate>{format_datetime(published)}</pubDate></item>"
        )
    for source, items in rows.items():
        title = source.split(".")[0]
        body = f'<rss version="2.0"><channel><title>{title}</title>{"".join(items)}</channel></rss>'
        document_ingest(feed=feeds[source], body=body.encode(), now=now)

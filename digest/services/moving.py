"""A feed that lives elsewhere now: its address is changed, or it joins the feed that is there already."""

from datetime import datetime

import structlog
from django.conf import settings
from django.db import transaction
from django.db.models import Exists, OuterRef, Subquery

from digest.addresses import addresses_checked
from digest.fetch import address_split, host_of
from digest.identity import source_key
from digest.models import Feed, FeedEntry, Subscription
from digest.services.ingest import source_ensure

log = structlog.get_logger(__name__)
BATCH = 500


def feed_move(*, feed: Feed, url: str, now: datetime) -> Feed:
    """Let `feed` live at `url` (a canonical address) from now on; the feed that carries its items then.

    Where a feed is at `url` already, subscriptions and entries join it and the old row goes: nobody loses a
    subscription, a thumb or an item. The source follows where the publisher's domain changes, since a feed
    never speaks under a name its address does not bear. Raises `FeedProblem` for an address that feeds may
    not be fetched from; nothing changes then.
    """
    parts, port = address_split(url)
    addresses_checked(
        parts.hostname or "", port, allow=settings.FETCH_ALLOW_HOSTS, ports=settings.FETCH_PORTS
    )
    with transaction.atomic():
        rows = {row.url: row for row in Feed.objects.select_for_update().filter(url__in=[feed.url, url])}
        if feed.url not in rows:
            return rows.get(url, feed)  # somebody else was faster
        there = rows.get(url)
        if there:
            _join(rows[feed.url], there, now)
        else:
            there = _renamed(rows[feed.url], url)
    # Addresses may hold a reader's secret, hosts hold none.
    log.info("feed.moved", feed_id=there.pk, host=host_of(url), joined=there.pk != feed.pk)
    return there


def _renamed(feed: Feed, url: str) -> Feed:
    if source_key(url) != source_key(feed.url):
        feed.source = source_ensure(key=source_key(url) or "unknown", title=feed.title)
    feed.url, feed.moved_url, feed.moved_sightings, feed.moved_since = url, "", 0, None
    feed.save(update_fields=["url", "source", "moved_url", "moved_sightings", "moved_since"])
    return feed


def _join(feed: Feed, there: Feed, now: datetime) -> None:
    """Move everything of `feed` to `there` and delete it. A feed that was given up is fetched again."""
    _entries_join(feed, there)
    ours = Subscription.objects.filter(feed=feed)
    both = Subscription.objects.filter(feed=there, reader__in=ours.values("reader"))
    both.filter(reader__in=ours.filter(ai_enabled=False).values("reader")).update(ai_enabled=False)
    readers = list(both.values_list("reader", flat=True))
    ours.filter(reader__in=readers).delete()
    ours.update(feed=there)
    feed.delete()
    if there.state in (Feed.State.GONE, Feed.State.IMPORTED):
        there.state, there.failures, there.missing, there.next_check_at = Feed.State.ACTIVE, 0, 0, now
        there.save(update_fields=["state", "failures", "missing", "next_check_at"])


def _entries_join(feed: Feed, there: Feed) -> None:
    """Hand over the entries. One that carries the same item there is dropped; one whose guid means another
    item there goes on under a guid of its own, so that no item is left without an entry."""
    twins = FeedEntry.objects.filter(feed=there, guid=OuterRef("guid"))
    clashing = FeedEntry.objects.filter(Exists(twins), feed=feed)
    clashing = clashing.annotate(twin=Subquery(twins.values("item_id")[:1]))
    same, other = list[int](), list[FeedEntry]()
    for entry in clashing.iterator():
        if entry.item_id in (None, entry.twin):
            same.append(entry.pk)
        else:
            entry.guid = f"{entry.guid[:450]}#feed{feed.pk}"
            other.append(entry)
    for start in range(0, len(same), BATCH):
        FeedEntry.objects.filter(pk__in=same[start : start + BATCH]).delete()
    FeedEntry.objects.bulk_update(other, ["guid"], batch_size=BATCH)
    FeedEntry.objects.filter(feed=feed).update(feed=there)

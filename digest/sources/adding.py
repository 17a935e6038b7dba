"""Add a feed that a lookup has just read. Its document is stored, so nobody waits for a fetch batch."""

import random
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

import structlog
from django.db import transaction
from django.utils.translation import gettext

from digest.errors import FeedNotFound, InvalidFeedUrl
from digest.feeds.addresses import feed_address
from digest.feeds.discovery import FoundFeed
from digest.feeds.fetch import host_of
from digest.feeds.selectors import subscription_of
from digest.feeds.services import FeedAnswer, answers_store, feed_claim, twins_join
from digest.models import Feed, Reader, Subscription
from digest.sources.subscription_changes import subscriptions_remove
from digest.sources.subscriptions import subscription_add
from digest.sources.weights import source_settings_follow
from ranking.common.isolation import isolate

# Storing one document takes far less. If the process dies meanwhile, the next fetch batch takes the feed.
CLAIM: Final = timedelta(minutes=1)

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class AddedFeed:
    """A subscription, whether it is `new`, and whether its feed was fetched; `items` came just now."""

    subscription: Subscription
    new: bool
    stored: bool
    items: int = 0


def feed_add(
    *, reader: Reader, found: FoundFeed, now: datetime, draw: Callable[[], float] = random.random
) -> AddedFeed:
    """Subscribe the reader to a feed that was found, and store the document that the lookup downloaded.

    The document is stored as a fetch batch would, under a claim, if the feed was never fetched or is due.
    Otherwise the stored items are recent enough. If that fails, the next batch tries. Raises as
    `subscription_add` does.
    """
    subscription = subscription_add(reader=reader, url=found.url, now=now, alive=found.document is not None)
    added = found_store(subscription=subscription, found=found, now=now, draw=draw)
    twins_join(feed_ids=[subscription.feed_id], now=now)
    return added


def feed_readdress(*, reader: Reader, feed_id: int, found: FoundFeed, now: datetime) -> AddedFeed:
    """Replace a feed of the reader's by the one that was found, for a site that moved.

    Folder, name and switches stay, and settings of the old source count for the new one. Raises
    `FeedNotFound` for a feed the reader does not read or a private one, `InvalidFeedUrl` for one they read
    already, and as `subscription_add` does.
    """
    with transaction.atomic():
        before = subscription_of(reader_id=reader.pk, feed_id=feed_id)
        if before is None or before.feed.owner_id is not None:
            raise FeedNotFound(gettext("You do not read that feed."))
        had = set(Subscription.objects.filter(reader=reader).values_list("feed_id", flat=True))
        subscriptions_remove(reader=reader, feed_ids=[feed_id], now=now)
        alive = found.document is not None
        subscription = subscription_add(reader=reader, url=found.url, now=now, alive=alive)
        if subscription.feed_id in had:
            raise InvalidFeedUrl(gettext("You read that address already."))
        for column in ("folder", "own_name", "ai_enabled", "full_text", "in_today"):
            setattr(subscription, column, getattr(before, column))
        subscription.save()
        source, to = before.feed.source_id, subscription.feed.source_id
        if source != to:
            source_settings_follow(reader_id=reader.pk, source=source, to=to, now=now)
    return found_store(subscription=subscription, found=found, now=now)


def found_store(
    *, subscription: Subscription, found: FoundFeed, now: datetime, draw: Callable[[], float] = random.random
) -> AddedFeed:
    """Store the document that a lookup downloaded of a feed the reader is subscribed to by now."""
    feed, new = subscription.feed, subscription.created_at == now
    feed.refresh_from_db()
    items = None
    with isolate("feed", feed.pk, "feed_failed"):  # a fault of our own costs seconds, not the subscription
        items = _document_store(feed, found, now, draw())
    feed.refresh_from_db()
    return AddedFeed(subscription, new, feed.last_fetched_at is not None, items or 0)


@transaction.atomic
def _document_store(feed: Feed, found: FoundFeed, now: datetime, draw: float) -> int | None:
    """Store the document and return the number of new items, or None if it must not be stored.

    A document is stored only if its request went to the feed's own address. Another spelling of it, or an
    address that moved here, would let whoever answers there write into other readers' feeds.
    """
    is_due = feed.next_check_at is None or feed.next_check_at <= now
    if found.response is None or found.document is None or not is_due:
        return None
    if found.response.asked != feed_address(feed.address):
        log.warning("feed_asked_elsewhere", feed_id=feed.pk, host=host_of(feed.address))
        return None
    if not feed_claim(feed=feed, until=now + CLAIM):
        return None
    (result,) = answers_store(answers=[FeedAnswer(feed, found.response, found.document, draw)], now=now)
    return result.items_new

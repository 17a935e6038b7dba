"""Private feeds: opened by a reader's password, header or cookie, in a row that no other reader can use."""

from dataclasses import replace
from datetime import datetime
from typing import Any, Final
from uuid import uuid4

from django.db import transaction
from django.utils.translation import gettext

from digest.errors import AccessInvalid, FeedNotFound
from digest.feeds.access import AccessGiven, Kind, access_check, access_of, access_store, secret_read
from digest.feeds.address_checks import check_address
from digest.feeds.discovery import feed_open, site_address
from digest.feeds.entities import FeedProblem
from digest.feeds.identity import source_key, web_url
from digest.feeds.ingest import PRIVATE_KEY, source_get_or_create
from digest.feeds.selectors import subscription_of
from digest.models import Feed, FeedAccess, Reader, Subscription
from digest.sources.adding import AddedFeed, found_store
from digest.sources.subscriptions import check_addition, check_room, private_at
from digest.sources.weights import source_settings_follow

# Begins `Feed.url` in place of an address: no list, redirect or lookup leads to it.
PRIVATE_PREFIX: Final = "private:"
PUBLISHER_MAX_CHARS: Final = 80


def private_feed_add(*, reader: Reader, url: str, given: AccessGiven, now: datetime) -> AddedFeed:
    """Fetch the feed at `url` with the reader's access, and subscribe them to it as a private feed.

    The same address again changes the access. Nothing is stored unless it answers as a feed. Raises
    `AccessInvalid`, `AccessRefused`, `InvalidFeedUrl`, `TooManySubscriptions`, and as `feed_open` does.
    """
    access_check(given)
    address = check_address(url=site_address(url))
    found = feed_open(address=address, access=access_of(given, address=address), reader_id=reader.pk)
    with transaction.atomic():
        subscription = _subscription(reader, address, found.title, now)
        access_store(feed=subscription.feed, given=given)
    return found_store(subscription=subscription, found=found, now=now)


def private_feed_change(*, reader: Reader, feed_id: int, given: AccessGiven, now: datetime) -> AddedFeed:
    """Open a feed of the reader's with new access. A public feed becomes a private one of theirs.

    A name or a secret left empty stays as stored, if the kind is the same. The items of a public feed
    stay if they were rated or saved. Raises `FeedNotFound`, and as `private_feed_add` does.
    """
    row = subscription_of(reader_id=reader.pk, feed_id=feed_id)
    if row is None or not web_url(row.feed.address):
        raise FeedNotFound(gettext("You read no such feed that is fetched from an address."))
    address = row.feed.address
    stored = access_of_feed(feed=row.feed)
    needed = given.value if given.kind == Kind.COOKIE else given.name and given.value
    if stored and stored.kind == given.kind != Kind.NONE and not needed:
        given = _fill_access(stored, given)
    access_check(given)
    found = feed_open(address=address, access=access_of(given, address=address), reader_id=reader.pk)
    with transaction.atomic():
        if row.feed.owner_id is None:
            row = _subscription_moved(row, address, found.title, now)
        access_store(feed=row.feed, given=given)
        _feed_due(row.feed, now)
    return found_store(subscription=row, found=found, now=now)


def access_of_feed(*, feed: Feed) -> FeedAccess | None:
    """Return the access of a private feed, still encrypted; one query, none for a public feed."""
    return FeedAccess.objects.filter(feed=feed).first() if feed.owner_id else None


def private_feed_create(
    *, reader: Reader, address: str, publisher: str, title: str, state: str = Feed.State.ACTIVE
) -> Feed:
    """Return the reader's private feed at `address`. A new one gets a source of its own with its title.

    The source's key begins with the `publisher`'s, but belongs to this feed only. So a feed that one reader
    pays for is not listed or weighted with public ones, and has only its own name.
    """
    name = uuid4()
    key = f"{publisher[:PUBLISHER_MAX_CHARS] or 'unknown'}{PRIVATE_KEY}{name.hex[:12]}"
    made: dict[str, Any] = {
        "url": f"{PRIVATE_PREFIX}{name}",
        "title": title[:200],
        "state": state,
        # Django calls it only if the feed is new.
        "source": lambda: source_get_or_create(key=key, title=title),
    }
    feed, _ = Feed.objects.get_or_create(owner=reader, own_address=address, defaults=made)
    return feed


def _subscription(reader: Reader, address: str, title: str, now: datetime) -> Subscription:
    """Return the reader's subscription to their private feed at `address`. Create both if they are new."""
    if own := private_at(reader=reader, addresses=[address]):
        _feed_due(own[0].feed, now)
        return own[0]
    check_room(reader=reader)
    check_addition(reader=reader, now=now)
    feed = private_feed_create(reader=reader, address=address, publisher=source_key(address), title=title)
    _feed_due(feed, now)
    return Subscription.objects.create(reader=reader, feed=feed, created_at=now)


def _subscription_moved(row: Subscription, address: str, title: str, now: datetime) -> Subscription:
    """Move a subscription, with its folder and switches, from the public feed to a private one.

    The reader's settings of the source count for the private one's, too.
    """
    check_addition(reader=row.reader, now=now)
    before = row.feed.source_id
    row.feed = private_feed_create(
        reader=row.reader, address=address, publisher=source_key(address), title=title
    )
    row.save(update_fields=["feed"])
    source_settings_follow(reader_id=row.reader_id, source=before, to=row.feed.source_id, now=now)
    return row


def _feed_due(feed: Feed, now: datetime) -> None:
    """Make a feed due, because answers to others or to another secret say nothing any more."""
    due = max(now, feed.pause_until or now)
    feed.state, feed.next_check_at, feed.failures, feed.missing = Feed.State.ACTIVE, due, 0, 0
    feed.etag = feed.last_modified = feed.error_code = feed.error_message = ""
    columns = ["state", "next_check_at", "failures", "missing", "etag", "last_modified"]
    feed.save(update_fields=[*columns, "error_code", "error_message"])


def _fill_access(stored: FeedAccess, given: AccessGiven) -> AccessGiven:
    """Fill the gaps of the given access from the stored one. Raises `AccessInvalid` if that fails."""
    try:
        before = secret_read(stored)
    except FeedProblem as problem:
        raise AccessInvalid(problem.message) from problem
    return replace(given, name=given.name or before.name, value=given.value or before.value)

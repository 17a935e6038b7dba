"""Which feeds a reader reads."""

from datetime import datetime
from urllib.parse import urlsplit

from django.core.exceptions import ValidationError
from django.core.validators import URLValidator
from django.db import transaction

from digest.errors import FeedIsGone, FeedNotFound, InvalidFeedUrl
from digest.models import Feed, Reader, Subscription
from digest.opml import FOLDER_MAX_CHARS
from digest.sanitise import one_line, plain
from digest.services.ingest import feed_ensure

GONE = "This feed’s publisher took it down for good. If the site moved, try its new address."
_validate = URLValidator(schemes=["http", "https"])


def subscription_add(*, reader: Reader, url: str, now: datetime, alive: bool = False) -> Subscription:
    """Subscribe the reader to the feed at `url`; the feed is created if nobody reads it yet.

    Nothing is fetched here: a new feed is due at once. Doing it again changes nothing. A feed that was
    given up is taken up again where the caller has just seen it `alive`. Raises `InvalidFeedUrl` for what
    is no plain web address, `FeedIsGone` for a feed given up.
    """
    feed = feed_ensure(url=address_checked(url=url), now=now)
    if feed.state == Feed.State.GONE:
        if not alive:
            raise FeedIsGone(GONE)
        revived = {
            "state": Feed.State.ACTIVE,
            "failures": 0,
            "missing": 0,
            "error_code": "",
            "error_message": "",
        }
        Feed.objects.filter(pk=feed.pk, state=Feed.State.GONE).update(next_check_at=now, **revived)
    subscription, _ = Subscription.objects.get_or_create(
        reader=reader, feed=feed, defaults={"created_at": now}
    )
    return subscription


@transaction.atomic
def subscription_remove(*, reader: Reader, feed_id: int, now: datetime) -> bool:
    """End the reader's subscription to a feed; whether there was one. What they rated stays theirs.

    Today's digest is due again: what it shows of the feed goes, but for what was rated.
    """
    deleted, _ = Subscription.objects.filter(reader=reader, feed__pk=feed_id).delete()
    if deleted:
        Reader.objects.filter(pk=reader.pk).update(sources_left_at=now)
    return deleted > 0


def address_checked(*, url: str) -> str:
    """`url` without white space around it. A feed is shared, so an address with a password is refused.

    Raises `InvalidFeedUrl`.
    """
    url = url.strip()
    try:
        _validate(url)
    except ValidationError:
        raise InvalidFeedUrl("That is not a web address. It should start with https:// or http://.") from None
    if urlsplit(url).username is not None:
        raise InvalidFeedUrl("An address with a user name in it cannot be shared. Use one without.")
    return url


def subscription_change(
    *, reader: Reader, feed_id: int, folder: str | None = None, ai_enabled: bool | None = None
) -> bool:
    """Move a subscription to another folder ("" for none), or switch models on or off for its items.

    None leaves a setting as it is. Whether the reader has such a subscription.
    """
    fields: dict[str, object] = {}
    if folder is not None:
        fields["folder"] = one_line(plain(folder), limit=FOLDER_MAX_CHARS)
    if ai_enabled is not None:
        fields["ai_enabled"] = ai_enabled
    found = Subscription.objects.filter(reader=reader, feed__pk=feed_id)
    return found.update(**fields) > 0 if fields else found.exists()


def subscription_restore(
    *, reader: Reader, feed_id: int, folder: str, ai_enabled: bool, now: datetime
) -> Subscription:
    """Undo a removal: subscribe again to a feed that is still known, as it was filed.

    The caller has made sure that the reader had it: feeds of others are nobody's business. Raises
    `FeedNotFound` where it is no longer known.
    """
    if not (feed := Feed.objects.filter(pk=feed_id).first()):
        raise FeedNotFound("This feed is no longer known here. Add its address instead.")
    folder = one_line(plain(folder), limit=FOLDER_MAX_CHARS)
    subscription, _ = Subscription.objects.get_or_create(
        reader=reader,
        feed=feed,
        defaults={"created_at": now, "folder": folder, "ai_enabled": ai_enabled},
    )
    return subscription

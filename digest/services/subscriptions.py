"""Which feeds a reader reads."""

from datetime import datetime
from urllib.parse import urlsplit

from django.core.exceptions import ValidationError
from django.core.validators import URLValidator

from digest.errors import InvalidFeedUrl
from digest.models import Reader, Subscription
from digest.services.ingest import feed_ensure

_validate = URLValidator(schemes=["http", "https"])


def subscription_add(*, reader: Reader, url: str, now: datetime) -> Subscription:
    """Subscribe the reader to the feed at `url`; the feed is created if nobody reads it yet.

    Nothing is fetched here: a new feed is due at once. Doing it again changes nothing. Raises
    `InvalidFeedUrl` for what is no plain web address.
    """
    feed = feed_ensure(url=_checked(url), now=now)
    subscription, _ = Subscription.objects.get_or_create(
        reader=reader, feed=feed, defaults={"created_at": now}
    )
    return subscription


def subscription_remove(*, reader: Reader, feed_id: int) -> bool:
    """End the reader's subscription to a feed; whether there was one. What they rated stays theirs."""
    deleted, _ = Subscription.objects.filter(reader=reader, feed__pk=feed_id).delete()
    return deleted > 0


def _checked(url: str) -> str:
    """`url` without white space around it. A feed is shared, so an address with a password is refused."""
    url = url.strip()
    try:
        _validate(url)
    except ValidationError:
        raise InvalidFeedUrl("That is not a web address. It should start with https:// or http://.") from None
    if urlsplit(url).username is not None:
        raise InvalidFeedUrl("An address with a user name in it cannot be shared. Use one without.")
    return url

"""Checks of an address that a reader typed, before anything is fetched from it."""

import re
from typing import Final
from urllib.parse import urlsplit

from django.conf import settings
from django.utils.translation import gettext, gettext_noop

from digest.errors import InvalidFeedUrl
from digest.feeds.addresses import NotAnAddress, address_read, feed_address
from digest.feeds.connect import check_host
from digest.feeds.fetch import web_address

FEED_GONE: Final = gettext_noop(
    "This feed’s publisher took it down for good. If the site moved, try its new address."
)
_SCHEME: Final = re.compile(r"https?://", re.IGNORECASE)


def check_address(*, url: str) -> str:
    """Return the address of a feed as it is fetched and stored (see `feed_address`).

    A feed is shared, so an address with a password is refused. Raises `InvalidFeedUrl` for it, and for any
    other text that is no plain web address.
    """
    check_typed(url)
    if address := feed_address(url):
        return address
    raise InvalidFeedUrl(gettext("That is not a web address, or one too long once it is written out."))


def check_typed(url: str) -> None:
    """Raise `InvalidFeedUrl` if a typed address is none of the web, or holds a password."""
    try:
        address_read(url)
    except NotAnAddress:
        if _SCHEME.match(url.strip()):
            raise InvalidFeedUrl(
                gettext("No site can have the name in this address. Check it for typing errors.")
            ) from None
        raise InvalidFeedUrl(
            gettext("That is not a web address. It should start with https:// or http://.")
        ) from None
    if urlsplit(url).username is not None:
        raise InvalidFeedUrl(
            gettext(
                "An address cannot have a name or password in it. Add it without, as a feed with a password."
            )
        )


def check_fetchable(url: str) -> None:
    """Refuse an address that feeds may not be fetched from, without a lookup. Raises `FeedProblem`."""
    address = web_address(url)
    check_host(address.host, address.port, allow=settings.FETCH_ALLOW_HOSTS, ports=settings.FETCH_PORTS)

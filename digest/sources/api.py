"""JSON API of feeds: adding a public or a private one, and changing a private one's access."""

from typing import Annotated, Literal

from django.http import HttpRequest
from django.utils import timezone
from ninja import Router, Schema
from pydantic import Field, SecretStr

from digest.daily.first_fetch import first_fetch_wake
from digest.feeds.access import NAME_CHARS_MAX, SECRET_CHARS_MAX, USER_AGENT_CHARS_MAX, AccessGiven
from digest.feeds.address_checks import check_address
from digest.feeds.addresses import URL_MAX_CHARS
from digest.feeds.discovery import feeds_discover, site_address
from digest.requests import reader_of
from digest.sources.adding import AddedFeed, feed_add
from digest.sources.private_feeds import private_feed_add, private_feed_change
from digest.throttling import LOOKUP, limit_count

feeds_router = Router(tags=["feeds"])


class AccessIn(Schema):
    """Access to a feed: a user name and password, a header or cookies; and the user agent to send."""

    kind: Literal["basic", "header", "cookie", "none"]
    name: SecretStr = Field(SecretStr(""), max_length=NAME_CHARS_MAX)
    value: SecretStr = Field(SecretStr(""), max_length=SECRET_CHARS_MAX)
    user_agent: Annotated[str, Field(max_length=USER_AGENT_CHARS_MAX)] = ""

    @property
    def given(self) -> AccessGiven:
        """Return it as the services take it."""
        name, value = self.name.get_secret_value(), self.value.get_secret_value()
        return AccessGiven(self.kind, name, value, self.user_agent)


class FeedIn(Schema):
    """The address of a site or a feed; with `access` that of a feed, which becomes private to its reader."""

    url: Annotated[str, Field(max_length=URL_MAX_CHARS)]
    access: AccessIn | None = None


class FeedOut(Schema):
    """A feed the reader reads: whether it is `new` to them, `private`, and how many items came just now."""

    feed_id: int
    name: str
    new: bool
    private: bool
    items: int


@feeds_router.post("/feeds", response=FeedOut)
def feeds_post(request: HttpRequest, body: FeedIn) -> FeedOut:
    """Subscribe to the first feed that a site offers, or to a private one by its address and `access`."""
    reader, now = reader_of(request), timezone.now()
    check_address(url=site_address(body.url))
    limit_count(limit=LOOKUP, who=reader.pk, now=now)
    if body.access:
        return _out(private_feed_add(reader=reader, url=body.url, given=body.access.given, now=now))
    added = feed_add(reader=reader, found=feeds_discover(url=body.url, reader_id=reader.pk)[0], now=now)
    if not added.stored:
        first_fetch_wake()
    return _out(added)


@feeds_router.post("/feeds/{int:feed_id}/access", response=FeedOut)
def feed_access_post(request: HttpRequest, feed_id: int, body: AccessIn) -> FeedOut:
    """Change the access to a feed. Nothing is stored unless it works. A public feed becomes private."""
    reader, now = reader_of(request), timezone.now()
    limit_count(limit=LOOKUP, who=reader.pk, now=now)
    return _out(private_feed_change(reader=reader, feed_id=feed_id, given=body.given, now=now))


def _out(added: AddedFeed) -> FeedOut:
    feed = added.subscription.feed
    return FeedOut(
        feed_id=feed.pk, name=feed.name, new=added.new, private=feed.owner_id is not None, items=added.items
    )

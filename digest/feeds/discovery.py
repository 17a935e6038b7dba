"""Discovery: from what a reader types to feeds, at the address itself or behind the page there."""

import ssl
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from django.conf import settings

from digest.errors import FeedIsGone, InvalidFeedUrl, NoFeedFound, SiteUnreachable
from digest.feeds.entities import FeedProblem, ParsedFeed
from digest.feeds.fetch import FetchResponse, fetch, host_of
from digest.feeds.identity import canonical_url
from digest.feeds.page_links import page_feeds, site_address, site_addresses, usual_addresses
from digest.feeds.parse import parse_document
from digest.feeds.prechecks import decode, decompress
from digest.feeds.rate_limit import LookupLock, hold_seconds, host_limiter
from digest.feeds.subscriptions import FEED_GONE, check_address, check_fetchable

# One page and what it leads to; a reader waits for the answer.
REQUESTS_MAX: Final = 8
REQUEST_S: Final = 6.0
ALL_S: Final = 20.0
CHOICES_MAX: Final = 5
# Between two requests to one host: as a person clicks, since a person waits; rounds pause FETCH_HOST_GAP_S.
PAUSE_S: Final = 0.5
# How a server without https answers to it: no connection, silence, or no TLS.
NO_HTTPS: Final = frozenset({"connect_failed", "timeout", "tls_failed", "broken_response"})
# No later try helps where an address is forbidden or none at all.
HOPELESS: Final = frozenset({"forbidden_address", "bad_port", "bad_url"})


@dataclass(frozen=True, slots=True)
class FoundFeed:
    """A feed that answered and could be read, with its title and how many entries it has."""

    url: str
    title: str
    entries: int


@dataclass(frozen=True, slots=True)
class _Lookup:
    """A lookup under way: the host it has taken, and until when (monotonic) it may send requests."""

    host_lock: LookupLock
    until: float


def feeds_discover(*, url: str) -> list[FoundFeed]:
    """Return the feeds behind an address or the name of a site, at most five; at most eight requests in 20 s.

    A host has one connection at a time, also counting rounds, and half a second between two requests. An
    address that is a feed gives that one. A name without a scheme is tried over https, and over http where
    there is no https. Nothing is stored. Raises `InvalidFeedUrl` for what is no web address, `FeedIsGone`
    where it answers 410, `SiteUnreachable` where the address does not answer, is forbidden or busy, and
    `NoFeedFound` where it answers without a feed.
    """
    addresses = [check_address(url=address) for address in site_addresses(url)]
    until = time.monotonic() + ALL_S
    host_lock = LookupLock(host_limiter(), pause_s=min(PAUSE_S, settings.FETCH_HOST_GAP_S))
    try:
        return _discover(addresses, _Lookup(host_lock, until))
    finally:
        host_lock.release()


def feed_as_typed(*, url: str) -> str:
    """Return the address to add where a reader wants what they typed as it is; nothing is fetched.

    Raises `InvalidFeedUrl` for what is no web address, or one that would never be fetched.
    """
    address = check_address(url=site_address(url))
    try:
        check_fetchable(address)
    except FeedProblem as problem:
        raise InvalidFeedUrl(problem.message) from problem
    return address


def _discover(addresses: Sequence[str], lookup: _Lookup) -> list[FoundFeed]:
    try:
        address, response = _fetch_first(addresses, lookup)
    except FeedProblem as problem:
        if problem.gone:
            raise FeedIsGone(FEED_GONE) from problem
        if problem.code in HOPELESS:
            raise SiteUnreachable(problem.message, may_answer=False) from problem
        raise SiteUnreachable(
            f"{problem.message} You can try again later, or add the address as it is."
        ) from problem
    if feed := _parse(response):
        return [_found(address, feed)]
    found = list(_candidates(response, lookup))
    if not found:
        raise NoFeedFound(
            "This site answers, but no feed of its could be found. Look on its pages for “RSS”, “feed” or "
            "“subscribe”, and paste that address."
        )
    return found


def _fetch_first(addresses: Sequence[str], lookup: _Lookup) -> tuple[str, FetchResponse]:
    """Return the first of `addresses` that answers; the next is tried only where the first has no https.

    Raises the `FeedProblem` of the first: that of http means less to a reader who typed a name.
    """
    first, *others = addresses
    try:
        return first, _fetch(first, lookup)
    except FeedProblem as problem:
        if not others or not _lacks_https(problem):
            raise
        try:
            return others[0], _fetch(others[0], lookup)
        except FeedProblem as other:
            raise problem from other


def _lacks_https(problem: FeedProblem) -> bool:
    """Return whether http may get an answer; a certificate nobody can trust is no reason to use it."""
    cause: BaseException | None = problem
    while cause and not isinstance(cause, ssl.SSLCertVerificationError):
        cause = cause.__cause__
    return problem.code in NO_HTTPS and cause is None


def _candidates(response: FetchResponse, lookup: _Lookup) -> Iterator[FoundFeed]:
    """Yield the feeds a page names, or where none can be read, the first one at the usual places."""
    try:
        markup = decode(decompress(response.body or b""))
    except FeedProblem:
        markup = ""
    links = page_feeds(markup, url=response.url)
    choices, found = links[:CHOICES_MAX], False
    for link in choices:
        if feed := _fetch_feed(link.url, lookup):
            found = True
            yield _found(link.url, feed, title=link.title)
    if found:
        return
    named = {link.url for link in links}
    usual = [url for url in usual_addresses(response.url) if url not in named]
    for url in usual[: REQUESTS_MAX - 1 - len(choices)]:
        if feed := _fetch_feed(url, lookup):
            yield _found(url, feed)
            return


def _fetch(url: str, lookup: _Lookup) -> FetchResponse:
    """Fetch `url` once its host is free. Raises `FeedProblem`."""
    lookup.host_lock.move_to(host_of(url), until=lookup.until)
    left = lookup.until - time.monotonic()
    if left <= 0:
        raise FeedProblem("timeout", "The server took too long to answer.")
    try:
        return fetch(
            url,
            allow=settings.FETCH_ALLOW_HOSTS,
            ports=settings.FETCH_PORTS,
            total_s=min(REQUEST_S, left),
            read_s=REQUEST_S,
            host_lock=lookup.host_lock,
        )
    except FeedProblem as problem:
        if hold_s := hold_seconds(problem):
            lookup.host_lock.release(hold_s=hold_s)
        raise


def _fetch_feed(url: str, lookup: _Lookup) -> ParsedFeed | None:
    try:
        return _parse(_fetch(url, lookup))
    except FeedProblem:
        return None  # a link that leads nowhere; others may


def _parse(response: FetchResponse) -> ParsedFeed | None:
    try:
        return parse_document(response.body or b"", url=response.url)
    except FeedProblem:
        return None


def _found(url: str, feed: ParsedFeed, *, title: str = "") -> FoundFeed:
    return FoundFeed(canonical_url(url) or url, feed.title or title, len(feed.entries))

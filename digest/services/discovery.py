"""From what a reader types to feeds they can read: a feed's own address, or a site that has some."""

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from django.conf import settings
from django.core.cache import cache

from digest.discovery import page_feeds, site_address, usual_addresses
from digest.errors import FeedIsGone, NoFeedFound, SiteUnreachable, TooManyRequests
from digest.feeds import FeedProblem, ParsedFeed
from digest.fetch import Fetched, fetch, host_of
from digest.identity import canonical_url
from digest.parse import parse_document
from digest.politeness import Errand, host_gate
from digest.prechecks import decoded, unpacked
from digest.services.fetching import HOLD_MAX_S, HOLD_S
from digest.services.subscriptions import GONE, address_checked

# One page and what it leads to; a reader waits for the answer.
REQUESTS_MAX = 8
REQUEST_S = 6.0
ALL_S = 20.0
CHOICES_MAX = 5
# Between two requests to one host: as a person clicks, since a person waits; rounds keep FETCH_HOST_GAP_S.
PAUSE_S = 0.5
# A reader who collects sources in earnest adds a few a minute; each may cost strangers eight requests.
LOOKUPS_PER_MINUTE = 10


@dataclass(frozen=True, slots=True)
class FoundFeed:
    """A feed that answered and could be read, with what it calls itself and how many entries it has."""

    url: str
    title: str
    entries: int


@dataclass(frozen=True, slots=True)
class _Lookup:
    """One lookup under way: where it is, and until when (monotonic) it may ask."""

    errand: Errand
    until: float


def lookup_count(*, reader_id: UUID, now: datetime) -> None:
    """Count a lookup against the reader's minute. Raises `TooManyRequests`.

    Each process counts for itself where the cache is not shared.
    """
    key = f"digest:lookup:{reader_id}:{int(now.timestamp() // 60)}"
    cache.add(key, 0, timeout=120)
    try:
        count = cache.incr(key)
    except ValueError:  # the cache dropped it in between
        return
    if count > LOOKUPS_PER_MINUTE:
        words = (
            f"You can look up {LOOKUPS_PER_MINUTE} sites a minute. Wait for the next one, or import a list."
        )
        raise TooManyRequests(words)


def feeds_discover(*, url: str) -> list[FoundFeed]:
    """The feeds behind an address or the name of a site, at most five; at most eight requests in 20 s.

    One connection at a time goes to a host, shared with the rounds that fetch, and half a second passes
    between two requests. An address that is a feed gives that one. Nothing is stored. Raises
    `InvalidFeedUrl` for what is no web address, `FeedIsGone` where it answers 410, `SiteUnreachable` where
    the address does not answer or is busy, and `NoFeedFound` where it answers without one.
    """
    address, until = address_checked(site_address(url)), time.monotonic() + ALL_S
    errand = Errand(host_gate(), pause_s=min(PAUSE_S, settings.FETCH_HOST_GAP_S))
    try:
        return _discovered(address, _Lookup(errand, until))
    finally:
        errand.end()


def _discovered(address: str, lookup: _Lookup) -> list[FoundFeed]:
    try:
        answer = _asked(address, lookup)
    except FeedProblem as problem:
        if problem.gone:
            raise FeedIsGone(GONE) from problem
        raise SiteUnreachable(
            f"{problem.message} You can try again later, or add the address as it is."
        ) from problem
    if feed := _read(answer):
        return [_found(address, feed)]
    found = list(_candidates(answer, lookup))
    if not found:
        raise NoFeedFound(
            "This site answers, but no feed of its could be found. Look on its pages for “RSS”, “feed” or "
            "“subscribe”, and paste that address."
        )
    return found


def _candidates(answer: Fetched, lookup: _Lookup) -> Iterator[FoundFeed]:
    """The feeds a page names, or where it names none that can be read, the usual places until one is."""
    links = page_feeds(_markup(answer), url=answer.url)
    left, found = REQUESTS_MAX - 1, 0
    for link in links[: min(CHOICES_MAX, left)]:
        left -= 1
        if feed := _read_at(link.url, lookup):
            found += 1
            yield _found(link.url, feed, title=link.title)
    for url in [] if found else _usual(answer.url, {link.url for link in links})[:left]:
        if feed := _read_at(url, lookup):
            yield _found(url, feed)
            return


def _usual(url: str, tried: set[str]) -> Sequence[str]:
    return [place for place in usual_addresses(url) if place not in tried]


def _asked(url: str, lookup: _Lookup) -> Fetched:
    """One request, in its turn at its host. Raises `FeedProblem`."""
    lookup.errand.go(host_of(url), until=lookup.until)
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
            journey=lookup.errand,
        )
    except FeedProblem as problem:
        if problem.code == "http_429":
            lookup.errand.end(hold_s=min(problem.retry_after_s or HOLD_S, HOLD_MAX_S))
        raise


def _read_at(url: str, lookup: _Lookup) -> ParsedFeed | None:
    try:
        return _read(_asked(url, lookup))
    except FeedProblem:
        return None  # a link that leads nowhere; others may


def _read(answer: Fetched) -> ParsedFeed | None:
    """The feed in an answer, or None where it is something else."""
    try:
        return parse_document(answer.body or b"", url=answer.url)
    except FeedProblem:
        return None


def _markup(answer: Fetched) -> str:
    try:
        return decoded(unpacked(answer.body or b""))
    except FeedProblem:
        return ""


def _found(url: str, feed: ParsedFeed, *, title: str = "") -> FoundFeed:
    return FoundFeed(canonical_url(url) or url, feed.title or title, len(feed.entries))

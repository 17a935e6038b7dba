"""From what a reader types to feeds they can read: a feed's own address, or a site that has some."""

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from django.conf import settings

from digest.discovery import page_feeds, site_address, usual_addresses
from digest.errors import FeedIsGone, NoFeedFound, SiteUnreachable
from digest.feeds import FeedProblem, ParsedFeed
from digest.fetch import Fetched, fetch
from digest.identity import canonical_url
from digest.parse import parse_document
from digest.prechecks import decoded, unpacked
from digest.services.subscriptions import GONE, address_checked

# One page and what it leads to; a reader waits for the answer.
REQUESTS_MAX = 8
REQUEST_S = 6.0
ALL_S = 20.0
CHOICES_MAX = 5


@dataclass(frozen=True, slots=True)
class FoundFeed:
    """A feed that answered and could be read, with what it calls itself and how many entries it has."""

    url: str
    title: str
    entries: int


def feeds_discover(*, url: str) -> list[FoundFeed]:
    """The feeds behind an address or the name of a site, at most five; at most eight requests in 20 s.

    An address that is a feed gives that one. Nothing is stored. Raises `InvalidFeedUrl` for what is no web
    address, `FeedIsGone` where it answers 410, `SiteUnreachable` where the address does not answer, and
    `NoFeedFound` where it answers without one.
    """
    address, until = address_checked(site_address(url)), time.monotonic() + ALL_S
    try:
        answer = _asked(address, until)
    except FeedProblem as problem:
        if problem.gone:
            raise FeedIsGone(GONE) from problem
        raise SiteUnreachable(
            f"{problem.message} You can try again later, or add the address as it is."
        ) from problem
    if feed := _read(answer):
        return [_found(address, feed)]
    found = list(_candidates(answer, until))
    if not found:
        raise NoFeedFound(
            "This site answers, but no feed of its could be found. Look on its pages for “RSS”, “feed” or "
            "“subscribe”, and paste that address."
        )
    return found


def _candidates(answer: Fetched, until: float) -> Iterator[FoundFeed]:
    """The feeds a page names, or where it names none that can be read, the usual places until one is."""
    links = page_feeds(_markup(answer), url=answer.url)
    left, found = REQUESTS_MAX - 1, 0
    for link in links[: min(CHOICES_MAX, left)]:
        left -= 1
        if feed := _read_at(link.url, until):
            found += 1
            yield _found(link.url, feed, title=link.title)
    for url in [] if found else _usual(answer.url, {link.url for link in links})[:left]:
        if feed := _read_at(url, until):
            yield _found(url, feed)
            return


def _usual(url: str, tried: set[str]) -> Sequence[str]:
    return [place for place in usual_addresses(url) if place not in tried]


def _asked(url: str, until: float) -> Fetched:
    left = until - time.monotonic()
    if left <= 0:
        raise FeedProblem("timeout", "The server took too long to answer.")
    return fetch(
        url,
        allow=settings.FETCH_ALLOW_HOSTS,
        ports=settings.FETCH_PORTS,
        total_s=min(REQUEST_S, left),
        read_s=REQUEST_S,
    )


def _read_at(url: str, until: float) -> ParsedFeed | None:
    try:
        return _read(_asked(url, until))
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

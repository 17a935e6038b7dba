"""From what a reader types to feeds they can read: a feed's own address, or a site that has some."""

import ssl
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from django.conf import settings

from digest.addresses import address_plausible
from digest.discovery import page_feeds, site_address, site_addresses, usual_addresses
from digest.errors import FeedIsGone, InvalidFeedUrl, NoFeedFound, SiteUnreachable
from digest.feeds import FeedProblem, ParsedFeed
from digest.fetch import Fetched, address_split, fetch, host_of
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
# What a server that speaks http alone makes of https: nobody there, silence, or no TLS.
NO_HTTPS = frozenset({"connect_failed", "timeout", "tls_failed", "broken_response"})
# No later try makes anything of an address that is forbidden or none at all.
HOPELESS = frozenset({"forbidden_address", "bad_port", "bad_url"})


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


def feeds_discover(*, url: str) -> list[FoundFeed]:
    """The feeds behind an address or the name of a site, at most five; at most eight requests in 20 s.

    One connection at a time goes to a host, shared with the rounds that fetch, and half a second passes
    between two requests. An address that is a feed gives that one. A name without a scheme is asked over
    https, and over http where nothing speaks https there. Nothing is stored. Raises `InvalidFeedUrl` for
    what is no web address, `FeedIsGone` where it answers 410, `SiteUnreachable` where the address does not
    answer, may not be asked or is busy, and `NoFeedFound` where it answers without one.
    """
    addresses = [address_checked(url=address) for address in site_addresses(url)]
    until = time.monotonic() + ALL_S
    errand = Errand(host_gate(), pause_s=min(PAUSE_S, settings.FETCH_HOST_GAP_S))
    try:
        return _discovered(addresses, _Lookup(errand, until))
    finally:
        errand.end()


def feed_as_typed(*, url: str) -> str:
    """The address to add where a reader wants what they typed as it is; nobody is asked.

    Raises `InvalidFeedUrl` for what is no web address, or one that would never be fetched.
    """
    address = address_checked(url=site_address(url))
    try:
        parts, port = address_split(address)
        allow, ports = settings.FETCH_ALLOW_HOSTS, settings.FETCH_PORTS
        address_plausible(parts.hostname or "", port, allow=allow, ports=ports)
    except FeedProblem as problem:
        raise InvalidFeedUrl(problem.message) from problem
    return address


def _discovered(addresses: Sequence[str], lookup: _Lookup) -> list[FoundFeed]:
    try:
        address, answer = _first_answer(addresses, lookup)
    except FeedProblem as problem:
        if problem.gone:
            raise FeedIsGone(GONE) from problem
        if problem.code in HOPELESS:
            raise SiteUnreachable(problem.message, may_answer=False) from problem
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


def _first_answer(addresses: Sequence[str], lookup: _Lookup) -> tuple[str, Fetched]:
    """The first of `addresses` that answers; the next is tried only where one speaks no https.

    Raises the `FeedProblem` of the first: that of http says less to somebody who typed a name.
    """
    first, *others = addresses
    try:
        return first, _asked(first, lookup)
    except FeedProblem as problem:
        if not others or not _speaks_no_https(problem):
            raise
        try:
            return others[0], _asked(others[0], lookup)
        except FeedProblem as other:
            raise problem from other


def _speaks_no_https(problem: FeedProblem) -> bool:
    """Whether http may get an answer; a certificate nobody can trust is no reason to do without one."""
    refused: BaseException | None = problem
    while refused and not isinstance(refused, ssl.SSLCertVerificationError):
        refused = refused.__cause__
    return problem.code in NO_HTTPS and refused is None


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

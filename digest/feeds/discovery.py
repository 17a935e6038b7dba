"""Discovery: find feeds from a reader's input, at that address or behind the page there."""

import re
import ssl
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Final
from urllib.parse import urljoin, urlsplit
from uuid import UUID

from django.conf import settings
from django.utils.translation import gettext as _

from digest.errors import (
    AccessRefused,
    DigestError,
    FeedIsGone,
    InvalidFeedUrl,
    LookupsBusy,
    NoFeedFound,
    SiteUnreachable,
)
from digest.feeds.access import REFUSED, REFUSED_MESSAGE, REFUSED_STATUSES, refusal_read
from digest.feeds.address_checks import FEED_GONE, check_address, check_fetchable
from digest.feeds.addresses import address_read, feed_address, feed_scheme_dropped
from digest.feeds.connect import allowed_from
from digest.feeds.entities import FeedProblem, ParsedFeed
from digest.feeds.fetch import Access, FetchResponse, fetch, host_of
from digest.feeds.page_tags import page_tags
from digest.feeds.parse import parse_document
from digest.feeds.prechecks import decode, decompress
from digest.feeds.problem_words import problem_words
from digest.feeds.rate_limit import LookupLock, hold_seconds, host_limiter
from digest.feeds.sanitise import one_line, title_to_text
from digest.feeds.selectors import outage_began_at
from digest.feeds.titles import title_clean
from digest.places import LOOKUPS

FEED_TYPES: Final = frozenset(
    {
        "application/rss+xml",
        "application/atom+xml",
        "application/feed+json",
        "application/rdf+xml",
        "application/json",
        "application/xml",
        "text/xml",
    }
)
# The usual places of a feed on a site whose pages name none, most usual first.
USUAL_PATHS: Final = ("/feed", "/rss.xml", "/atom.xml", "/index.xml", "/feed.json")
# Links to feeds are in the head of a page, so the rest of a large page is not read.
HTML_MAX_CHARS: Final = 512 * 1024
HEAD_TAGS: Final = frozenset({"link", "base"})
LINKS_MAX: Final = 10
# Of those that a page names: working an address out takes up to a millisecond.
LINKS_READ: Final = 100
TITLE_MAX_CHARS: Final = 200
# A link of a header and its parameters, as in `</feed>; rel="alternate"; type="application/rss+xml"`.
_LINK: Final = re.compile(r"<([^<>\s]{1,2000})>((?:[^<>,\"]|\"[^\"]*+\")*+)")
_PARAMETER: Final = re.compile(r";\s*([A-Za-z*-]{1,20})\s*=\s*(?:\"([^\"]*)\"|([^\s;,\"]{1,500}))")

# One page and the addresses it leads to. A reader waits for the answer.
REQUESTS_MAX: Final = 8
REQUEST_S: Final = 6.0
ALL_S: Final = 20.0
CHOICES_MAX: Final = 5
# The pause between two requests to one host. It is short, because a person waits; batches use
# FETCH_HOST_GAP_S.
PAUSE_S: Final = 0.5
# How a server without https answers to it: no connection, silence, or no TLS.
NO_HTTPS: Final = frozenset({"connect_failed", "timeout", "tls_failed", "broken_response"})
# Do not retry forbidden or invalid addresses.
HOPELESS: Final = frozenset({"forbidden_address", "bad_port", "bad_url"})


@dataclass(frozen=True, slots=True)
class FoundFeed:
    """A feed that answered and could be read, with its title and number of entries.

    `response` and `document` are its answer, or None if the address was not looked up.
    """

    url: str
    title: str
    entries: int
    response: FetchResponse | None = field(default=None, compare=False, repr=False)
    document: ParsedFeed | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class _Lookup:
    """A lookup under way: its host lock, its deadline (monotonic), and the secret for the feed."""

    host_lock: LookupLock
    until: float
    allow: Sequence[str]
    access: Access | None = None


def feeds_discover(*, url: str, reader_id: UUID) -> list[FoundFeed]:
    """Return up to five feeds behind an address or the name of a site, with at most eight requests in 20 s.

    A host gets one connection at a time, shared with fetch batches, and half a second between two requests.
    The address of a feed returns that feed. A name without a scheme is tried over https, and over http if
    there is no https. Nothing is stored.

    Raises `InvalidFeedUrl` if `url` is no web address, `FeedIsGone` for a 410, and `SiteUnreachable` if the
    address does not answer, is forbidden or busy, or the feed named by its page has an error for now. Raises
    `NoFeedFound` if the site answers without a feed, and `LookupsBusy` if too many lookups run, or another
    one of this reader.
    """
    addresses = [check_address(url=address) for address in site_addresses(url)]
    with _looking_up(reader_id, addresses[0]) as lookup:
        return _discover(addresses, lookup)


def feed_open(*, address: str, access: Access, reader_id: UUID) -> FoundFeed:
    """Return the feed at `address`, asked with `access`. Search no page and try no other scheme.

    Raises `AccessRefused` if the server refuses the secret, and the errors of `feeds_discover`.
    """
    with _looking_up(reader_id, address, access) as lookup:
        try:
            response = _fetch(address, lookup)
        except FeedProblem as problem:
            if refusal_read(problem, access=access).code == REFUSED:
                raise AccessRefused(f"{_(REFUSED_MESSAGE)} {_('Nothing was stored.')}") from problem
            raise _unreachable(problem, _("Try again later.")) from problem
    if feed := _parse(response):
        return _found_feed(address, response, feed)
    raise NoFeedFound(
        _("The server lets us in, but there is no feed at this address. Type the feed’s own address.")
    )


@contextmanager
def _looking_up(reader_id: UUID, typed: str, access: Access | None = None) -> Iterator[_Lookup]:
    """Take one of the places of lookups. Raises `LookupsBusy`.

    Only a page that is in FETCH_ALLOW_HOSTS itself leads to other hosts there.
    """
    with LOOKUPS.place(reader_id) as has_place:
        if not has_place:
            raise LookupsBusy(_("Other sites are being looked up right now. Try again in a few seconds."))
        until = time.monotonic() + ALL_S
        pause_s = min(PAUSE_S, settings.FETCH_HOST_GAP_S)
        host_lock = LookupLock(host_limiter(), pause_s=pause_s, who=reader_id)
        try:
            allow = allowed_from(address_read(typed), settings.FETCH_ALLOW_HOSTS)
            yield _Lookup(host_lock, until, allow, access)
        finally:
            host_lock.release()


def feed_as_typed(*, url: str) -> str:
    """Return the address to add if a reader insists on their input. It fetches nothing.

    Raises `InvalidFeedUrl` if it is no web address, or one that we would never fetch.
    """
    address = check_address(url=site_address(url))
    try:
        check_fetchable(address)
    except FeedProblem as problem:
        raise InvalidFeedUrl(problem_words(problem.code, problem.message)) from problem
    return address


def _discover(addresses: Sequence[str], lookup: _Lookup) -> list[FoundFeed]:
    try:
        address, response = _fetch_first(addresses, lookup)
    except FeedProblem as problem:
        later = _("You can try again later, or add the address as it is.")
        raise _unreachable(problem, later) from problem
    if feed := _parse(response):
        return [_found_feed(address, response, feed)]
    failed: list[tuple[str, FeedProblem]] = []
    found = list(_candidates(response, lookup, failed))
    if not found:
        if named := next(((url, problem) for url, problem in failed if _is_for_now(problem)), None):
            raise _named_unreachable(*named)
        raise NoFeedFound(
            _(
                "This site answers, but none of its feeds could be found. Look on its pages for “RSS”, "
                "“feed” or “subscribe”, and paste that address."
            )
        )
    return found


def _unreachable(problem: FeedProblem, advice: str) -> DigestError:
    """Return the error to show for an address that gave no document."""
    if problem.gone:
        return FeedIsGone(FEED_GONE)
    if problem.is_local and outage_began_at():
        return SiteUnreachable(
            _("This site has no network right now. Whoever runs it can help. Try again later.")
        )
    if problem.code in HOPELESS:
        return SiteUnreachable(problem_words(problem.code, problem.message), may_answer=False)
    if problem.code in REFUSED_STATUSES:
        return SiteUnreachable(problem_words(problem.code, problem.message), is_locked=True)
    return SiteUnreachable(f"{problem_words(problem.code, problem.message)} {advice}")


def _is_for_now(problem: FeedProblem) -> bool:
    """Return whether the server answered with an error of its own, or asked for a pause."""
    return problem.code == "http_429" or problem.code.startswith("http_5")


def _named_unreachable(url: str, problem: FeedProblem) -> SiteUnreachable:
    """Return the error to show for a feed that a page names and that has a server error for now."""
    words = _(
        "This site names a feed, {url}, but it cannot be read for now. {problem} Try again later, or paste "
        "that address and add it as it is: it is fetched once it answers."
    ).format(url=url, problem=problem_words(problem.code, problem.message))
    # The reader typed a page, which would never be a feed.
    return SiteUnreachable(words, may_answer=False)


def _fetch_first(addresses: Sequence[str], lookup: _Lookup) -> tuple[str, FetchResponse]:
    """Return the first of `addresses` that answers. The next is tried only if the first has no https.

    Raises the `FeedProblem` of the first; that of http means less to a reader who typed a name.
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
    """Return whether http may get an answer. An untrusted certificate is no reason to use http."""
    cause: BaseException | None = problem
    while cause and not isinstance(cause, ssl.SSLCertVerificationError):
        cause = cause.__cause__
    return problem.code in NO_HTTPS and cause is None


def _candidates(
    response: FetchResponse, lookup: _Lookup, failed: list[tuple[str, FeedProblem]]
) -> Iterator[FoundFeed]:
    """Yield the feeds that a page names. If none can be read, yield the first one at the usual places.

    Add the problems of named feeds to `failed`.
    """
    try:
        markup = decode(decompress(response.body or b"")[:HTML_MAX_CHARS])
    except FeedProblem:
        markup = ""
    linked = [*header_feeds(response.links, url=response.url), *page_feeds(markup, url=response.url)]
    once = {link.url: link for link in reversed(linked)}
    links = sorted(reversed(once.values()), key=_is_about_comments)[:LINKS_MAX]
    choices, found = links[:CHOICES_MAX], False
    for link in choices:
        if answer := _fetch_feed(link.url, lookup, failed):
            found = True
            yield _found_feed(link.url, *answer, title=link.title)
    if found:
        return
    named = {link.url for link in links}
    usual = [url for url in usual_addresses(response.url) if url not in named]
    for url in usual[: REQUESTS_MAX - 1 - len(choices)]:
        if answer := _fetch_feed(url, lookup, []):
            yield _found_feed(url, *answer)
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
            allow=lookup.allow,
            ports=settings.FETCH_PORTS,
            total_s=min(REQUEST_S, left),
            read_s=REQUEST_S,
            host_lock=lookup.host_lock,
            access=lookup.access,
        )
    except FeedProblem as problem:
        if hold_s := hold_seconds(problem):
            lookup.host_lock.release(hold_s=hold_s)
        raise


def _fetch_feed(
    url: str, lookup: _Lookup, failed: list[tuple[str, FeedProblem]]
) -> tuple[FetchResponse, ParsedFeed] | None:
    try:
        response = _fetch(url, lookup)
    except FeedProblem as problem:
        failed.append((url, problem))
        return None  # a dead link; others may work
    feed = _parse(response)
    return None if feed is None else (response, feed)


def _parse(response: FetchResponse) -> ParsedFeed | None:
    try:
        return parse_document(response.body or b"", url=response.url, content_type=response.content_type)
    except FeedProblem:
        return None


def _found_feed(url: str, response: FetchResponse, feed: ParsedFeed, *, title: str = "") -> FoundFeed:
    return FoundFeed(url, feed.title or title, len(feed.entries), response, feed)


@dataclass(frozen=True, slots=True)
class LinkedFeed:
    """A feed that a page names. `title` is the page's name for it, or ""."""

    url: str
    title: str


def site_address(text: str) -> str:
    """Return the address of a reader's input: `example.org` and `//example.org` mean https.

    `feed:` addresses, which some programs use, become web addresses. Nothing else is checked.
    """
    text = feed_scheme_dropped(text)
    if text.startswith("//"):
        return f"https:{text}"
    return f"https://{text}" if _is_bare(text) else text


def site_addresses(text: str) -> tuple[str, ...]:
    """Return the addresses to try: `site_address`, and the same over http if no scheme was typed."""
    address, text = site_address(text), feed_scheme_dropped(text)
    bare = _is_bare(text) or text.startswith("//")
    return (address, f"http:{address.removeprefix('https:')}") if bare else (address,)


def _is_bare(text: str) -> bool:
    return bool(text) and "://" not in text


def page_feeds(markup: str, *, url: str) -> list[LinkedFeed]:
    """Return the feeds that the page at `url` names by `<link rel=alternate>`, in its order, at most ten.

    Comments feeds of blogs come last: hardly anybody looks for those.
    """
    links: list[tuple[str, str]] = []
    named_base = ""
    for tag, attributes in page_tags(markup[:HTML_MAX_CHARS], names=HEAD_TAGS):
        if tag == "base":
            named_base = named_base or attributes.get("href", "")
        elif len(links) < LINKS_READ and (href := _feed_href(attributes)):
            links.append((href, attributes.get("title", "")))
    base = _join(url, named_base) or url
    found: dict[str, LinkedFeed] = {}
    for href, title in links:
        address = feed_address(_join(base, href))
        if address and address not in found:
            found[address] = LinkedFeed(address, _linked_title(title))
    return sorted(found.values(), key=_is_about_comments)[:LINKS_MAX]


def header_feeds(header: str, *, url: str) -> list[LinkedFeed]:
    """Return up to ten feeds that `Link` headers of the page at `url` name (RFC 8288), in their order."""
    found: dict[str, LinkedFeed] = {}
    for target, parameters in _LINK.findall(header)[:LINKS_READ]:
        attributes = {name.lower(): quoted or plain for name, quoted, plain in _PARAMETER.findall(parameters)}
        address = feed_address(_join(url, _feed_href({**attributes, "href": target})))
        if address and address != feed_address(url):
            found.setdefault(address, LinkedFeed(address, _linked_title(attributes.get("title", ""))))
    return list(found.values())[:LINKS_MAX]


def usual_addresses(url: str) -> Sequence[str]:
    """Return the usual feed addresses of the site at `url`, for a page that names none."""
    parts = urlsplit(url)
    return [f"{parts.scheme}://{parts.netloc}{path}" for path in USUAL_PATHS]


def _linked_title(markup: str) -> str:
    return one_line(title_clean(title_to_text(markup)), limit=TITLE_MAX_CHARS)


def _is_about_comments(feed: LinkedFeed) -> bool:
    return "comments" in feed.url.lower() or "comments" in feed.title.lower()


def _join(base: str, href: str) -> str:
    try:
        return urljoin(base, href.strip())
    except ValueError:
        return ""  # brackets that are no IPv6 address


def _feed_href(attributes: Mapping[str, str]) -> str:
    """Return the address in the attributes of a link to a feed, "" for another link."""
    kind = attributes.get("type", "").partition(";")[0].strip().lower()
    relations = attributes.get("rel", "").lower().split()
    is_feed = "alternate" in relations and kind in FEED_TYPES and "hreflang" not in attributes
    return attributes.get("href", "") if is_feed or "feed" in relations else ""

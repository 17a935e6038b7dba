"""Full text: the article from its own page, for feeds that carry only a part of it.

A reader asks for one item, or for every new item of a feed. The text belongs to the item of one feed, as the
feed's own words do: only readers of that feed see it. It does not count in the ranking.

A page is fetched like a feed: the same network guard, one connection to a host, the same pauses. The site's
robots.txt is read first, and again for each site that a redirect leads to (RFC 9309).
"""

import re
import time
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from hashlib import sha256
from typing import Final
from urllib.parse import urlsplit
from uuid import UUID

import structlog
from django.conf import settings
from django.core.cache import cache
from django.db import IntegrityError, transaction
from django.db.models import Exists, OuterRef, QuerySet
from django.utils.translation import gettext_noop

from digest.articles.page_text import article_check, page_article, robots_answer
from digest.articles.pictures import inside_allowed
from digest.errors import FullTextMissing
from digest.feeds.bodies import LEVEL
from digest.feeds.encodings import codec_of
from digest.feeds.entities import FeedProblem, internal_problem
from digest.feeds.fetch import FetchResponse, fetch, host_of, origin_of
from digest.feeds.identity import web_url
from digest.feeds.prechecks import decode, decompress
from digest.feeds.rate_limit import LookupLock, hold_seconds, host_limiter
from digest.models import Feed, FullText, Item, Subscription
from digest.places import LOOKUPS
from ranking.common.isolation import isolate

PAGE_MAX_BYTES: Final = 3 * 1024 * 1024
# RFC 9309, section 2.5, asks for at least this many bytes.
ROBOTS_MAX_BYTES: Final = 500 * 1024
# One hour. RFC 9309, section 2.4, allows a day. One that is longer when compressed is fetched for each page:
# by redirects to ever other hosts, a publisher could fill the cache with 3,000 an hour of 500 kB each.
ROBOTS_CACHE_S: Final = 3600
ROBOTS_CACHE_BYTES: Final = 32 * 1024
# The longest pause that we honour when a site asks for more than ours. Nobody can wait for more.
DELAY_MAX_S: Final = 60.0
TOTAL_S: Final = 20.0
READ_S: Final = 8.0
ACCEPT: Final = "text/html, application/xhtml+xml"
PAGE_TYPES: Final = frozenset({"text/html", "application/xhtml+xml", ""})
# Answers that mean "this site has no robots.txt". With any other failure we do not know its rules.
_NO_ROBOTS: Final = re.compile(r"gone|http_4(?!29)\d\d")
_FORBIDDEN: Final = frozenset({"forbidden_address", "bad_url", "bad_port", "not_found"})
_CHARSET: Final = re.compile(
    rb"<meta[^<>]{0,200}?charset\s{0,9}+=\s{0,9}+[\"']?\s{0,9}+([A-Za-z0-9._:-]{1,40})", re.IGNORECASE
)
_HEADER_CHARSET: Final = re.compile(r"charset\s{0,9}+=\s{0,9}+\"?([A-Za-z0-9._:-]{1,40})", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Page:
    """An article from its page: cleaned HTML, and the address that answered after redirects."""

    url: str
    html: str


def page_get(address: str, *, allow: Sequence[str] = (), total_s: float = TOTAL_S, who: object = "") -> Page:
    """Return the article at `address`, spending at most `total_s` seconds on fetching.

    `allow` is as for `fetch`. A host that answers 429 is left alone for `who`. Raises `FeedProblem` with the
    codes of `fetch` and `page_article`, or `robots_refused`, `robots_unknown` or `not_a_page`.
    """
    visit = _Visit(allow, time.monotonic() + total_s, who)
    return visit.page(address)


class _Visit:
    """All requests for one page: robots.txt and the page itself, also on the hosts that redirects lead to."""

    def __init__(self, allow: Sequence[str], until: float, who: object) -> None:
        self._allow, self._until, self._delay_s = allow, until, 0.0
        self._lock = LookupLock(host_limiter(), pause_s=settings.FETCH_HOST_GAP_S, who=who)

    def page(self, address: str) -> Page:
        """Fetch the page at `address` if robots.txt allows it. Raises as `page_get` does."""
        hold_s = 0.0
        try:
            self._check(address)
            self._lock.move_to(host_of(address), until=self._until)
            answer = self._fetch(address, body_max=PAGE_MAX_BYTES, checked=True)
        except FeedProblem as problem:
            hold_s = hold_seconds(problem)
            raise
        finally:
            self._lock.release(hold_s=max(hold_s, self._delay_s))
        return Page(answer.url, page_article(_markup(answer), url=answer.url))

    def _fetch(self, address: str, *, body_max: int, checked: bool) -> FetchResponse:
        left = self._until - time.monotonic()
        if left <= 0:
            raise FeedProblem("timeout", gettext_noop("The server took too long to answer."))
        return fetch(
            address,
            allow=self._allow,
            ports=settings.FETCH_PORTS,
            total_s=left,
            read_s=READ_S,
            host_lock=self._lock,
            accept=ACCEPT if checked else "text/plain, */*;q=0.5",
            body_max=body_max,
            check=self._check if checked else None,
        )

    def _check(self, address: str) -> None:
        """Raise `FeedProblem` if the site's robots.txt forbids `address` or cannot be read."""
        text = self._robots(address)
        allowed, delay_s = robots_answer(text, url=address) if text else (True, 0.0)
        self._delay_s = min(max(self._delay_s, delay_s), DELAY_MAX_S)
        if not allowed:
            raise FeedProblem(
                "robots_refused", gettext_noop("Its robots.txt asks programs not to read that page.")
            )

    def _robots(self, address: str) -> str:
        """Return the robots.txt of the address's site, "" if it has none. Cached for an hour."""
        robots = f"{origin_of(address)}/robots.txt"
        key = f"digest:robots-packed:{sha256(robots.encode('utf-8', 'replace')).hexdigest()}"
        if (found := cache.get(key)) is not None:
            return zlib.decompress(found).decode()
        self._lock.move_to(host_of(address), until=self._until)
        try:
            answer = self._fetch(robots, body_max=ROBOTS_MAX_BYTES, checked=False)
            text = decompress(answer.body or b"")[:ROBOTS_MAX_BYTES].decode("utf-8", "replace")
        except FeedProblem as problem:
            if problem.code in _FORBIDDEN or problem.code == "http_429":
                raise
            if not _NO_ROBOTS.fullmatch(problem.code):
                why = gettext_noop(
                    "Its robots.txt cannot be read right now, so that nobody knows what it allows."
                )
                raise FeedProblem("robots_unknown", why) from problem
            text = ""
        if len(packed := zlib.compress(text.encode())) <= ROBOTS_CACHE_BYTES:
            cache.set(key, packed, ROBOTS_CACHE_S)
        return text


def _markup(answer: FetchResponse) -> str:
    """Return the page as text. Its encoding is that of the header, its own, or a guess as for feeds."""
    kind = answer.content_type.partition(";")[0].strip().lower()
    if kind not in PAGE_TYPES:
        raise FeedProblem("not_a_page", gettext_noop("That address leads to a file, not to a page."))
    body = decompress(answer.body or b"")
    if len(body) > PAGE_MAX_BYTES:
        raise FeedProblem("too_large", f"That page is larger than {PAGE_MAX_BYTES >> 20} MiB.")
    header = _HEADER_CHARSET.search(answer.content_type)
    inside = _CHARSET.search(body[:4096])
    for name in (header and header[1], inside and inside[1].decode()):
        if codec := codec_of(name or ""):
            return body.decode(codec, "replace")
    return decode(body)


# Limits of a worker's round over feeds that always want full texts: seconds, items, and their age.
ROUND_S: Final = 60.0
ROUND_ITEMS: Final = 100
NEW: Final = timedelta(days=2)
_MESSAGES: Final = {
    "forbidden_address": gettext_noop("That address is not one that is fetched from."),
    "bad_port": gettext_noop("That address is not one that is fetched from."),
    "bad_url": gettext_noop("That is no address that can be fetched."),
    "gone": gettext_noop("Its publisher took that page down."),
    "http_401": gettext_noop(
        "Its publisher’s server does not hand out that page to us: it wants a password."
    ),
    "http_402": gettext_noop(
        "Its publisher’s server does not hand out that page to us: it wants to be paid."
    ),
    "http_403": gettext_noop("Its publisher’s server does not hand out that page to us (status 403)."),
    "http_451": gettext_noop("Its publisher’s server does not hand out that page to us (status 451)."),
    "too_large": gettext_noop("That page is too large."),
    "malformed": gettext_noop("Its publisher’s page is damaged, so that it cannot be read."),
    "internal": gettext_noop("This site could not read that page. Tell whoever runs it."),
    "host_busy": gettext_noop("That site is being asked by others right now. Try again in a minute."),
    "parse_unavailable": gettext_noop(
        "No process could be started to read that page. Tell whoever runs this site."
    ),
}

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class ShownText:
    """A full text: its stored HTML, its host, and when it was fetched."""

    html: str
    host: str
    fetched_at: datetime


def full_text_of(*, item: Item) -> ShownText | None:
    """Return the full text of an item; `None` if there is none or the setting is off; at most one query."""
    if not settings.FULL_TEXT:
        return None
    row = FullText.objects.filter(pk=item.pk).exclude(html=b"").first()
    return ShownText(zlib.decompress(row.html).decode(), host_of(row.url), row.fetched_at) if row else None


def full_texts_of(*, items: Sequence[Item]) -> dict[int, str]:
    """Return the HTML of the full texts of `items`, by item id; one query, none if the setting is off."""
    if not settings.FULL_TEXT:
        return {}
    rows = FullText.objects.filter(pk__in=[item.pk for item in items]).exclude(html=b"")
    return {pk: zlib.decompress(html).decode() for pk, html in rows.values_list("pk", "html")}


def full_text_can(*, item: Item) -> bool:
    """Return whether the full text of an item can be fetched: the setting is on and it has a web address."""
    return bool(settings.FULL_TEXT and web_url(item.url))


def full_text_get(*, item: Item, reader_id: UUID, now: datetime) -> None:
    """Fetch the full text of an item while its reader waits, unless it is stored already.

    Raises `FullTextMissing`, whose message says why there is none.
    """
    if not full_text_can(item=item):
        raise FullTextMissing(gettext_noop("There is no page to fetch the full text from."))
    if full_text_of(item=item):
        return
    with LOOKUPS.place(reader_id) as has_place:
        if not has_place:
            busy = gettext_noop("Other full texts are being fetched. Try again in a few seconds.")
            raise FullTextMissing(busy)
        problem = _fetch(item, now, who=reader_id)
    if problem:
        raise FullTextMissing(_MESSAGES.get(problem.code, problem.message))


def full_texts_update(*, now: datetime, seconds: float = ROUND_S) -> int:
    """Fetch full texts of new items, for feeds that a reader always wants them for; return how many.

    Each item is tried once. No fetch begins after `seconds`.
    """
    if not settings.FULL_TEXT:
        return 0
    end, found = time.monotonic() + seconds, 0
    for item in full_texts_wanted(now=now)[:ROUND_ITEMS]:
        if time.monotonic() > end:
            break
        with isolate("page", item.pk, "full_text_failed"):
            found += _fetch(item, now) is None
    return found


def full_texts_wanted(*, now: datetime) -> QuerySet[Item]:
    """Return items of the last two days whose full text a reader wants and nobody tried yet, newest first."""
    wanted = Subscription.objects.filter(feed=OuterRef("feed"), full_text=True)
    tried = FullText.objects.filter(item=OuterRef("pk"))
    return (
        Item.objects.filter(Exists(wanted), ~Exists(tried), feed__state=Feed.State.ACTIVE)
        .filter(dated_at__gt=now - NEW, url__startswith="http")
        .select_related("feed")
        .order_by("-dated_at", "-pk")
    )


def _fetch(item: Item, now: datetime, who: object = "") -> FeedProblem | None:
    """Fetch and store one full text for `who`, or why there is none, which is returned."""
    allow = settings.FETCH_ALLOW_HOSTS if inside_allowed(item=item) else ()
    page, problem = None, None
    with isolate("page", item.pk, "full_text_failed") as attempt:
        try:
            page = page_get(item.address, allow=allow, who=who)
            article_check(page.html, title=item.title, text=item.text)
        except FeedProblem as found:
            problem = found
    if problem or page is None:
        problem = problem or internal_problem("read this page", attempt.error)
        log.info("full_text.refused", item_id=item.pk, host=host_of(item.url), code=problem.code)
        if problem.code != "host_busy":
            _store(item, Page(item.url, ""), now, problem.code)
        return problem
    _store(item, page, now, "")
    return None


def _store(item: Item, page: Page, now: datetime, problem: str) -> None:
    """Store a full text, or the code of the problem.

    A failure never replaces a stored text. Nothing happens if the item was deleted meanwhile.
    """
    html = zlib.compress(page.html.encode(), LEVEL) if page.html else b""
    # Stored without user, password and query: they do not belong to the place that a text came from.
    parts = urlsplit(page.url)
    values = {"html": html, "url": f"{parts.scheme}://{parts.hostname}{parts.path}"[:2000], "fetched_at": now}
    try:
        with transaction.atomic():
            row, is_new = FullText.objects.get_or_create(item=item, defaults={**values, "problem": problem})
            if not is_new and (html or not row.html):
                FullText.objects.filter(pk=row.pk).update(**values, problem=problem)
    except IntegrityError:
        log.info("full_text.item_gone", item_id=item.pk)

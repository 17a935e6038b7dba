"""Favicons of sources: the worker fetches them, and our own site serves them.

A page shows a stored favicon, or a letter if there is none. So no reader waits for one, and no publisher
learns who reads. A site is fetched like any stranger's address: through the network guard, with one
connection to a host.
"""

import time
from collections.abc import Iterator
from datetime import datetime, timedelta
from hashlib import sha256
from typing import Final
from urllib.parse import urljoin, urlsplit

import structlog
from django.conf import settings
from django.core.signing import BadSignature, Signer
from django.db import IntegrityError, transaction
from django.db.models import Exists, OuterRef, Q
from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString

from digest.articles.pictures import NO_PICTURE, Picture, feed_is_inside, picture_type
from digest.errors import PictureMissing
from digest.feeds.entities import FeedProblem
from digest.feeds.fetch import FetchResponse, fetch, host_of
from digest.feeds.identity import source_key
from digest.feeds.page_tags import page_tags
from digest.feeds.prechecks import decode, decompress
from digest.feeds.rate_limit import LookupLock, hold_seconds, host_limiter
from digest.models import Favicon, Feed, Source, Subscription
from ranking.common.isolation import isolate

# Larger than one picture, because an ICO file holds the same picture in several sizes.
ICON_MAX_BYTES: Final = 128 * 1024
PAGE_MAX_BYTES: Final = 2 * 1024 * 1024
# Only this part of a page is searched: links to icons are in its head.
HEAD_MAX_CHARS: Final = 256 * 1024
LINKS_MAX: Final = 2
LINK: Final = frozenset({"link"})
# Time limits in seconds: for one site, one read, one worker round. Then the number of sites in a round.
SITE_S: Final = 10.0
READ_S: Final = 5.0
ROUND_S: Final = 30.0
ROUND_SITES: Final = 30
# How long a site is left alone after a check, whether it had an icon or not.
CHECKED_FOR: Final = timedelta(days=30)
# The pause between two requests to one host, in seconds, as in a reader's lookup.
PAUSE_S: Final = 0.5
ICO: Final = b"\x00\x00\x01\x00"
ICON_CHARS: Final = 16
IMAGE: Final = '<img src="{}" alt="" width="16" height="16" loading="lazy">'
BOX: Final = '<span class="favicon" aria-hidden="true">{}</span>'

log = structlog.get_logger(__name__)


def favicon_href(source: Source) -> str:
    """Return the URL on our site of a source's favicon; "" if it has none. A new icon gets a new URL."""
    if not source.icon:
        return ""
    signed = _signer().sign_object([source.pk, source.icon])
    return reverse("digest:favicon", kwargs={"signed": signed})


def favicon_box(source: Source) -> SafeString:
    """Return a source's favicon in a box of fixed size, or the first letter of its name."""
    if href := favicon_href(source):
        return format_html(BOX, format_html(IMAGE, href))
    name = str(source).removeprefix("www.")
    return format_html(BOX, next((char for char in name if char.isalnum()), "·").upper())


def favicon_get(*, signed: str) -> Picture:
    """Return the favicon for a URL from `favicon_href`; one query. Raises `PictureMissing`."""
    try:
        key, icon = _signer().unsign_object(signed)
    except (BadSignature, ValueError, TypeError) as error:  # A truncated signature can decode to anything.
        raise PictureMissing("No page of this site has such a picture.") from error
    row = Favicon.objects.filter(source_id=key, source__icon=icon).exclude(body=b"").first()
    if row is None:
        raise PictureMissing("That site has another picture by now.")
    body = bytes(row.body)
    if not (mime_type := icon_type(body)):
        raise PictureMissing(NO_PICTURE)
    return Picture(body, mime_type)


def favicons_update(*, now: datetime, seconds: float = ROUND_S) -> int:
    """Fetch the favicons of up to 30 sources with readers; return how many have one.

    Each source is checked once in 30 days. No fetch begins after `seconds`.
    """
    end, found = time.monotonic() + seconds, 0
    for key, feed_url, site_url in _sites_due(now):
        if time.monotonic() > end:
            break
        body = b""
        with isolate("site", key, "favicon_failed"):
            body = _fetch_icon(key, feed_url, site_url)
        with isolate("site", key, "favicon_failed"):
            found += _store(key, body, now)
    return found


def icon_type(body: bytes) -> str:
    """Return the media type of an icon; "" if it is neither an ICO file nor a picture type that we serve."""
    return "image/x-icon" if body.startswith(ICO) else picture_type(body)


def page_icons(markup: str, *, url: str) -> list[str]:
    """Return up to two icon addresses that the page at `url` names, icons for phones last.

    SVG is left out, because it may run scripts. So are icons on other hosts: a page must not make us send
    requests elsewhere or show another site's icon.
    """
    icons: list[str] = []
    touch: list[str] = []
    for _, named in page_tags(markup[:HEAD_MAX_CHARS], names=LINK):
        relations = named.get("rel", "").lower().split()
        if "svg" in named.get("type", ""):
            continue
        if "icon" in relations:
            icons.append(named.get("href", ""))
        elif "apple-touch-icon" in relations:
            touch.append(named.get("href", ""))
    found: dict[str, None] = {}
    for href in filter(None, [*icons, *touch]):
        try:
            address = urljoin(url, href.strip())
            path = urlsplit(address).path.lower()
        except ValueError:  # Brackets that hold no IPv6 address.
            continue
        if host_of(address) == host_of(url) and not path.endswith(".svg"):
            found[address] = None
    return list(found)[:LINKS_MAX]


def _signer() -> Signer:
    return Signer(salt="digest.favicon")


def _sites_due(now: datetime) -> list[tuple[str, str, str]]:
    """Return (source key, feed URL, site URL) of the sources to check, newest feed first; one query.

    Only public feeds that are active, have readers, and were fetched without failure count.
    """
    due = Q(source__favicon=None) | Q(source__favicon__checked_at__lt=now - CHECKED_FOR)
    read = Exists(Subscription.objects.filter(feed=OuterRef("pk")))
    feeds = Feed.objects.filter(
        due, read, owner=None, state=Feed.State.ACTIVE, failures=0, last_fetched_at__isnull=False
    )
    rows = feeds.order_by("-pk").values_list("source_id", "url", "site_url")
    by_source: dict[str, tuple[str, str, str]] = {}
    for row in rows[: 4 * ROUND_SITES]:
        by_source.setdefault(row[0], row)
    return list(by_source.values())[:ROUND_SITES]


def _fetch_icon(key: str, feed_url: str, site_url: str) -> bytes:
    """Return the favicon of a source's site, or b"" if there is none to be had.

    A feed may name any site as its own, so its site counts only if it has the same publisher.
    """
    site = site_url if site_url and source_key(site_url) == key else urljoin(feed_url, "/")
    allow = settings.FETCH_ALLOW_HOSTS if feed_is_inside(feed_url) else ()
    lock = LookupLock(host_limiter(), pause_s=min(PAUSE_S, settings.FETCH_HOST_GAP_S))
    until, hold_s = time.monotonic() + SITE_S, 0.0

    def get(address: str, body_max: int, accept: str) -> FetchResponse:
        lock.move_to(host_of(address), until=until)
        left = max(until - time.monotonic(), 0.1)
        limits = {"total_s": left, "read_s": READ_S, "body_max": body_max}
        ports = settings.FETCH_PORTS
        return fetch(address, allow=allow, ports=ports, host_lock=lock, accept=accept, **limits)  # type: ignore[arg-type]

    def candidates() -> Iterator[str]:
        yield urljoin(site, "/favicon.ico")
        page = get(site, PAGE_MAX_BYTES, "text/html")
        yield from page_icons(decode(decompress(page.body or b"")), url=page.url)

    try:
        for address in candidates():
            try:
                body = get(address, ICON_MAX_BYTES, "image/*").body or b""
            except FeedProblem as problem:
                hold_s = max(hold_s, hold_seconds(problem))
                if hold_s or problem.code == "host_busy":
                    break
                continue
            if icon_type(body):
                return body
    except FeedProblem as problem:
        hold_s = max(hold_s, hold_seconds(problem))
        log.info("favicon.refused", source=key, code=problem.code)
    finally:
        lock.release(hold_s=hold_s)
    return b""


def _store(key: str, body: bytes, now: datetime) -> bool:
    """Store the result of a check. If nothing was found, keep the old icon. Return whether one was found."""
    values = {"checked_at": now} | ({"body": body} if body else {})
    try:
        with transaction.atomic():
            Favicon.objects.update_or_create(source_id=key, defaults=values)
            if body:
                Source.objects.filter(pk=key).update(icon=sha256(body).hexdigest()[:ICON_CHARS])
    except IntegrityError:
        log.info("favicon.source_gone", source=key)
    return bool(body)

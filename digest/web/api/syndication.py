"""Syndication: a reader's digest as Atom 1.0 (RFC 4287) and JSON Feed 1.1, behind a secret address.

Ids are made from identities that never change (a reader's id, an item's canonical URL). So a feed reader
shows an item once, even if digests are rebuilt or the site gets another name.
"""

import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from hashlib import sha256
from html import escape
from uuid import NAMESPACE_URL, UUID, uuid5
from xml.etree import ElementTree as ET

from django.http import Http404, HttpRequest, HttpResponse
from django.urls import reverse
from django.utils import timezone, translation
from django.utils.cache import get_conditional_response
from django.utils.http import http_date, quote_etag
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop
from django.views.decorators.http import require_safe

from digest.daily.presentation import ShownItem
from digest.daily.selectors import digest_impressions
from digest.daily.services import digest_current
from digest.daily.store import exposures_log
from digest.days import day_of
from digest.errors import TooManyRequests
from digest.mail.content import also_words, impressions_shown, origin_words
from digest.mail.render import site_link
from digest.models import Digest, Exposure, Impression, Reader
from digest.throttling import turn_begin

ATOM = "http://www.w3.org/2005/Atom"
JSON_FEED = "https://jsonfeed.org/version/1.1"
DESCRIPTION = gettext_noop("The best of your sources, and why each item is here.")
# Today's digest and the two before it: a feed reader that was off for a weekend misses nothing.
DIGESTS = 3
# Characters that XML 1.0 cannot hold, not even escaped.
_NOT_XML = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")

# Digests are built by the hour at most: a client that asks more often is answered from its own copy.
MAX_AGE_S = 900
# Replaces the moment of the build when two feeds are compared.
ANY_TIME = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class ChannelItem:
    """One item of a channel. Addresses are absolute; `url` is the item's identity, `reasons` are words."""

    url: str
    href: str
    title: str
    source: str
    author: str
    language: str
    lede: str
    by: str
    also: str
    reasons: tuple[str, ...]
    page: str
    published: datetime
    rank: int
    day: str


@dataclass(frozen=True, slots=True)
class Channel:
    """A reader's feed: its addresses, when it last changed, and its items, best first."""

    reader_id: UUID
    title: str
    home: str
    atom: str
    json: str
    updated: datetime
    items: Sequence[ChannelItem]


def atom_write(channel: Channel) -> bytes:
    """Return the channel as an Atom 1.0 document in UTF-8."""
    ET.register_namespace("", ATOM)
    root = ET.Element(f"{{{ATOM}}}feed")
    element_add(root, "id", _urn(f"digest:{channel.reader_id}"))
    element_add(root, "title", channel.title)
    element_add(root, "subtitle", _(DESCRIPTION))
    element_add(root, "updated", _time(channel.updated))
    element_add(element_add(root, "author"), "name", "Tidings")
    element_add(root, "generator", "Tidings")
    element_add(root, "link", rel="alternate", type="text/html", href=channel.home)
    element_add(root, "link", rel="self", type="application/atom+xml", href=channel.atom)
    for item in channel.items:
        _entry(element_add(root, "entry"), item)
    document: bytes = ET.tostring(root, encoding="utf-8", xml_declaration=True)
    return document


def json_feed_write(channel: Channel) -> bytes:
    """Return the channel as a JSON Feed 1.1 document in UTF-8; extensions are under `_tidings`."""
    document = {
        "version": JSON_FEED,
        "title": channel.title,
        "description": _(DESCRIPTION),
        "home_page_url": channel.home,
        "feed_url": channel.json,
        "authors": [{"name": "Tidings"}],
        "items": [_json_item(item) for item in channel.items],
    }
    return json.dumps(document, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")


def _entry(entry: ET.Element, item: ChannelItem) -> None:
    element_add(entry, "id", _urn(item.url))
    element_add(entry, "title", item.title, type="text")
    element_add(entry, "link", rel="alternate", type="text/html", href=item.href)
    element_add(entry, "link", rel="related", type="text/html", href=item.page, title=_("Why it is here"))
    element_add(entry, "published", _time(item.published))
    element_add(entry, "updated", _time(item.published))
    element_add(element_add(entry, "author"), "name", item.author or item.source)
    for reason in item.reasons:
        element_add(entry, "category", term=reason)
    content = element_add(entry, "content", _html(item), type="html")
    if item.language:
        content.set("{http://www.w3.org/XML/1998/namespace}lang", _legal(item.language))


def _json_item(item: ChannelItem) -> dict[str, object]:
    fields: dict[str, object] = {
        "id": _urn(item.url),
        "url": item.href,
        "title": item.title,
        "content_html": _html(item),
        "summary": item.lede,
        "date_published": _time(item.published),
        "authors": [{"name": item.author or item.source}],
        "language": item.language,
        "tags": list(item.reasons),
        "_tidings": {
            "about": item.page,
            "source": item.source,
            "reasons": list(item.reasons),
            "also": item.also,
            "rank": item.rank,
            "day": item.day,
        },
    }
    return {name: value for name, value in fields.items() if value}


def _html(item: ChannelItem) -> str:
    """Return an item's HTML for feed readers: its text, other sources that report it, and its reasons."""
    paragraphs = [escape(item.lede)] if item.lede else []
    if item.by:
        paragraphs.append(f"<small>{escape(item.by)}</small>")
    paragraphs.append(f"{escape(item.source)}{f' · {escape(item.also)}' if item.also else ''}")
    why = f"{_('Why it is here:')} {' · '.join(item.reasons)}. " if item.reasons else ""
    more = escape(_("All the reasons"))
    paragraphs.append(f'{escape(why)}<a href="{escape(item.page)}">{more}</a>')
    return "".join(f"<p>{paragraph}</p>" for paragraph in paragraphs)


def element_add(parent: ET.Element, name: str, text: str = "", **attributes: str) -> ET.Element:
    """Add an element of Atom to `parent` and return it, without characters that XML cannot hold."""
    legal = {key: _legal(value) for key, value in attributes.items()}
    child = ET.SubElement(parent, f"{{{ATOM}}}{name}", legal)
    if text:
        child.text = _legal(text)
    return child


def _legal(text: str) -> str:
    return _NOT_XML.sub("", text)


def _urn(name: str) -> str:
    return f"urn:uuid:{uuid5(NAMESPACE_URL, name)}"


def _time(at: datetime) -> str:
    return at.astimezone(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")


def reader_of_token(*, token: str) -> Reader | None:
    """Return the active reader whose feed has this secret, or `None`."""
    return Reader.objects.filter(feed_token=token, is_active=True).first() if token else None


def channel_of(*, reader: Reader, token: str, now: datetime) -> tuple[Channel, list[Digest]]:
    """Return the reader's feed of the newest digests, each item at its last place, and those digests.

    Today's digest is built again if it is due. But for `updated`, which is when the newest was built, the
    channel is the same as long as its items and their reasons are. The number of queries depends on
    that of digests (three), not of items.
    """
    digest_current(reader=reader, date=day_of(now, reader.zone), now=now)
    digests = list(Digest.objects.filter(reader=reader).order_by("-date")[:DIGESTS])
    newest: dict[int, tuple[Impression, Digest]] = {}
    for digest in digests:
        for impression in digest_impressions(digest=digest, now=now):
            newest.setdefault(impression.item_id, (impression, digest))
    shown = impressions_shown(reader=reader, impressions=[row for row, _ in newest.values()], now=now)
    channel = Channel(
        reader_id=reader.pk,
        title=_("Tidings for {name}").format(name=reader.get_short_name() or reader.username),
        home=site_link(reverse("digest:today")),
        atom=site_link(reverse("digest:feed_atom", args=[token])),
        json=site_link(reverse("digest:feed_json", args=[token])),
        updated=max((digest.built_at for digest in digests), default=now),
        items=tuple(_item(entry, *newest[entry.item.pk]) for entry in shown),
    )
    return channel, digests


def _item(shown: ShownItem, impression: Impression, digest: Digest) -> ChannelItem:
    item = shown.item
    page = site_link(reverse("digest:item", args=[item.pk])) + "?from=feed"
    return ChannelItem(
        url=item.url,
        href=shown.href or page,
        title=item.title,
        source=item.source_name,
        author=item.author,
        language=item.language,
        lede=shown.lede,
        by=origin_words(shown),
        also=also_words(shown),
        reasons=shown.why.chips,
        page=page,
        published=item.dated_at,
        rank=impression.rank,
        day=digest.date.isoformat(),
    )


def _reader_or_404(token: str) -> Reader:
    if (reader := reader_of_token(token=token)) is None:
        raise Http404("There is no feed at this address. Its reader may have replaced it.")
    return reader


@require_safe
def feed_atom(request: HttpRequest, token: str) -> HttpResponse:
    """Return the digest as Atom 1.0."""
    return _feed_answer(request, token, atom_write, "application/atom+xml; charset=utf-8")


@require_safe
def feed_json(request: HttpRequest, token: str) -> HttpResponse:
    """Return the digest as JSON Feed 1.1."""
    return _feed_answer(request, token, json_feed_write, "application/feed+json; charset=utf-8")


def _feed_answer(
    request: HttpRequest, token: str, write: Callable[[Channel], bytes], content_type: str
) -> HttpResponse:
    """Return the feed, or 304 if the client has it already. Raises 404 for an unknown secret.

    The ETag depends on the content only: a digest rebuilt with the same items and reasons is not written or
    sent again. It is a weak ETag (RFC 9110, section 8.8.1), because the document names the time of the build,
    which may differ.
    """
    now = timezone.now()
    reader = _reader_or_404(token)
    try:
        turn_begin(reader.pk, check=lambda: _reader_or_404(token))
    except TooManyRequests as refused:
        return HttpResponse(status=refused.status, headers={"Retry-After": str(refused.retry_after_s)})
    with translation.override(reader.language_of_mails):
        channel, digests = channel_of(reader=reader, token=token, now=now)
        steady = repr((content_type, _(DESCRIPTION), replace(channel, updated=ANY_TIME)))
        etag = f"W/{quote_etag(sha256(steady.encode('utf-8', 'replace')).hexdigest()[:32])}"
        modified = int(channel.updated.astimezone(UTC).timestamp())
        known = get_conditional_response(request, etag, modified)
        answer = known or HttpResponse(write(channel), content_type=content_type)
    if answer.status_code == 200 and request.method == "GET":
        for digest in digests:
            exposures_log(digest=digest, door=Exposure.Door.FEED, now=now)
    answer["ETag"] = etag
    answer["Last-Modified"] = http_date(modified)
    answer["Cache-Control"] = f"private, max-age={MAX_AGE_S}"
    answer["Referrer-Policy"] = "no-referrer"
    answer["X-Robots-Tag"] = "noindex, nofollow"
    return answer

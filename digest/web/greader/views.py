"""Answers to apps: the account, subscriptions, folders and labels, counts, and streams of items."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, Final
from xml.etree import ElementTree as ET

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils import timezone
from django.utils.crypto import salted_hmac
from django.views.decorators.debug import sensitive_post_parameters

from digest.accounts.tokens import READ
from digest.errors import InvalidToken
from digest.requests import reader_of
from digest.web.api.syndication import ATOM, element_add
from digest.web.greader.codec import (
    CONTENTS_MAX,
    IDS_MAX,
    STATE,
    Kind,
    items_read,
    stream_read,
    stream_request_read,
)
from digest.web.greader.door import (
    COST_ID,
    COST_ITEM,
    COST_STREAM,
    COST_TINY,
    OK,
    Fields,
    allow_methods,
    authorise,
    charge,
    json,
    plain,
    token_required,
)
from digest.web.greader.streams import (
    continuation_after,
    entries,
    stream_page,
    stream_title,
    subscriptions,
    tags,
    unread,
)

# The Atom of clients from before JSON: its extensions, and the categories that are states and labels.
GR: Final = "http://www.google.com/schemas/reader/atom/"
SCHEME: Final = "http://www.google.com/reader/"
TAG: Final = "tag:google.com,2005:reader/"
NOT_A_TOKEN: Final = (
    "Log in with your name or mail address and an app token: not with the password that you sign in with "
    "on the site. Make a token at {page}"
)
# The length of Google's tokens, since some clients check it.
WRITE_TOKEN_CHARS = 57


@allow_methods("GET", "HEAD")
def ready(request: HttpRequest) -> HttpResponse:
    """Say that the API is here, as clients ask FreshRSS before they log in."""
    return plain(OK)


@allow_methods("GET", "HEAD", "POST")
def missing(request: HttpRequest) -> HttpResponse:
    """Answer an unknown address of the API with 404."""
    return plain("There is no such operation.", 404)


@sensitive_post_parameters("Passwd")
@allow_methods("POST")
def client_login(request: HttpRequest) -> HttpResponse:
    """Return the credentials for a reader: their name or address is `Email`, one of their tokens `Passwd`.

    The credentials are the token itself. All faults get the same answer, so that nobody learns who has an
    account.
    """
    sent = Fields(request)
    secret, name = sent.secret("Passwd"), sent.one("Email").casefold()
    try:
        reader = authorise(secret, READ).reader
        known = {reader.username.casefold(), reader.email.casefold()} - {""}
    except InvalidToken:
        known = set()
    if name not in known:
        raise InvalidToken(NOT_A_TOKEN.format(page=f"{settings.SITE_URL}{reverse('digest:tokens')}"))
    values = {"SID": secret, "LSID": secret, "Auth": secret}
    if sent.one("output") == "json":
        return json(values)
    return plain("".join(f"{name}={value}\n" for name, value in values.items()))


@token_required("GET", "HEAD", cost=COST_TINY)
def write_token(request: HttpRequest) -> HttpResponse:
    """Return the text that clients send as `T` with changes. It is not read: the header says who asks."""
    made = salted_hmac("digest.web.greader", str(reader_of(request).pk), algorithm="sha256").hexdigest()
    return plain(made[:WRITE_TOKEN_CHARS] + "\n")


@token_required("GET", "HEAD", cost=COST_TINY)
def user_info(request: HttpRequest) -> HttpResponse:
    """Return the reader's name and address."""
    reader = reader_of(request)
    name = reader.username
    return json(
        {"userId": str(reader.pk), "userName": name, "userProfileId": name, "userEmail": reader.email}
    )


@token_required("GET", "HEAD")
def subscription_list(request: HttpRequest) -> HttpResponse:
    """Return the feeds the reader reads."""
    return json({"subscriptions": subscriptions(reader=reader_of(request))})


@token_required("GET", "HEAD")
def tag_list(request: HttpRequest) -> HttpResponse:
    """Return the reader's folders, and the labels of every reader."""
    return json({"tags": tags(reader=reader_of(request))})


@token_required("GET", "HEAD")
def unread_count(request: HttpRequest) -> HttpResponse:
    """Return the unread counts of the last 30 days. The last one is the total."""
    counts = unread(reader=reader_of(request), now=timezone.now())
    return json({"max": counts[-1]["count"], "unreadcounts": counts})


@token_required("GET", "HEAD", "POST", cost=COST_STREAM)
def stream_contents(request: HttpRequest, stream: str = "") -> HttpResponse:
    """Return a page of a stream with its items, or of all the reader's items if no stream is named."""
    return json(_stream(request, stream))


@token_required("GET", "HEAD", cost=COST_STREAM)
def stream_atom(request: HttpRequest, stream: str) -> HttpResponse:
    """Return the same page as Atom, as clients from before JSON ask for it (Newsboat's mode for FeedHQ)."""
    page = _stream(request, stream)
    title = stream_title(reader=reader_of(request), stream=stream_read(stream))
    return HttpResponse(atom_write(page, title=title), content_type="application/atom+xml; charset=utf-8")


def _stream(request: HttpRequest, stream: str) -> dict[str, Any]:
    """Return a page of a stream with its items."""
    reader, now, sent = reader_of(request), timezone.now(), Fields(request)
    name = stream or sent.one("s") or STATE + Kind.ALL.value
    asked = stream_request_read(name, sent.all, most=CONTENTS_MAX)
    page = stream_page(reader=reader, asked=asked, now=now)
    items, seen = entries(reader=reader, item_ids=page.ids, now=now)
    charge(request, seen * COST_ITEM)
    more = page.continuation
    if seen < len(page.ids):
        more = continuation_after(reader=reader, asked=asked, item_id=page.ids[seen - 1], now=now)
    return _stream_answer(name, items, more)


@token_required("GET", "HEAD", "POST", cost=COST_STREAM)
def stream_ids(request: HttpRequest) -> HttpResponse:
    """Return the ids of a page of a stream, in decimal."""
    sent = Fields(request)
    asked = stream_request_read(sent.one("s"), sent.all, most=IDS_MAX)
    page = stream_page(reader=reader_of(request), asked=asked, now=timezone.now())
    charge(request, len(page.ids) * COST_ID)
    more = {"continuation": page.continuation} if page.continuation else {}
    return json({"itemRefs": [{"id": str(pk)} for pk in page.ids]} | more)


@token_required("GET", "HEAD", "POST", cost=COST_STREAM)
def items_contents(request: HttpRequest) -> HttpResponse:
    """Return the items named by `i`, a thousand at most at a time; a continuation is how many came before."""
    sent, now = Fields(request), timezone.now()
    wanted, done = items_read(sent.all("i")), sent.one("c")
    start = int(done[:9]) if done.isascii() and done.isdecimal() else 0
    items, seen = entries(reader=reader_of(request), item_ids=wanted[start : start + CONTENTS_MAX], now=now)
    charge(request, seen * COST_ITEM)
    end = start + seen
    return json(_stream_answer(STATE + Kind.ALL.value, items, str(end) if len(wanted) > end else ""))


def _stream_answer(name: str, items: list[dict[str, Any]], continuation: str) -> dict[str, Any]:
    more = {"continuation": continuation} if continuation else {}
    return {"id": name, "updated": int(timezone.now().timestamp()), "items": items} | more


def atom_write(page: Mapping[str, Any], *, title: str) -> bytes:
    """Return a page of a stream, as `stream/contents` answers it, as an Atom document (RFC 4287).

    States and labels are categories of the scheme that Google Reader had; the rest are the publisher's.
    """
    ET.register_namespace("", ATOM)
    root = ET.Element(f"{{{ATOM}}}feed")
    element_add(root, "id", f"{TAG}{page['id']}")
    element_add(root, "title", title)
    element_add(root, "updated", _moment(page["updated"]))
    if page.get("continuation"):
        ET.SubElement(root, f"{{{GR}}}continuation").text = page["continuation"]
    for item in page["items"]:
        entry = element_add(root, "entry")
        element_add(entry, "id", item["id"])
        element_add(entry, "title", item["title"], type="text")
        element_add(entry, "published", _moment(item["published"]))
        element_add(entry, "updated", _moment(item["updated"]))
        for link in item["alternate"]:
            element_add(entry, "link", rel="alternate", href=link["href"], type="text/html")
        for link in item.get("enclosure", ()):
            element_add(entry, "link", rel="enclosure", href=link["href"], type=link["type"])
        element_add(element_add(entry, "author"), "name", item.get("author") or item["origin"]["title"])
        for name in item["categories"]:
            ours = {"scheme": SCHEME, "label": name.rpartition("/")[2]} if name.startswith("user/") else {}
            element_add(entry, "category", term=name, **ours)
        element_add(entry, "content", item["summary"]["content"], type="html")
    document: bytes = ET.tostring(root, encoding="utf-8", xml_declaration=True)
    return document


def _moment(seconds: int) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat()

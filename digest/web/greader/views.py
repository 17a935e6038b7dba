"""What clients read: who they are, subscriptions, folders and labels, counts, and streams of items."""

from typing import Any

from django.http import HttpRequest, HttpResponse
from django.utils import timezone
from django.utils.crypto import salted_hmac
from django.views.decorators.debug import sensitive_post_parameters

from digest.accounts.tokens import READ
from digest.errors import InvalidToken
from digest.requests import reader_of
from digest.web.greader.atom import atom_write
from digest.web.greader.codec import CONTENTS_MAX, IDS_MAX, STATE, Kind, asked_read, items_read
from digest.web.greader.door import OK, Sent, answering, authorise, authorised, json, plain
from digest.web.greader.streams import continuation_after, entries, stream_page, subscriptions, tags, unread

# As long as those of Google, since some clients check.
WRITE_TOKEN_CHARS = 57


@answering("GET", "HEAD")
def ready(request: HttpRequest) -> HttpResponse:
    """Say that the API is here, as clients ask FreshRSS before they log in."""
    return plain(OK)


@answering("GET", "HEAD", "POST")
def missing(request: HttpRequest) -> HttpResponse:
    """Answer an unknown address of the API with 404."""
    return plain("There is no such operation.", 404)


@sensitive_post_parameters("Passwd")
@answering("POST")
def client_login(request: HttpRequest) -> HttpResponse:
    """Return the credentials for a reader's name or address as `Email` and a token of theirs as `Passwd`.

    They are the token itself: whoever has it needs no other secret.
    """
    sent = Sent(request)
    secret, name = sent.secret("Passwd"), sent.one("Email").casefold()
    reader = authorise(secret, READ).reader
    if not name or name not in {reader.username.casefold(), reader.email.casefold()}:
        raise InvalidToken("This token is not one of that reader. Make one on your account page.")
    values = {"SID": secret, "LSID": secret, "Auth": secret}
    if sent.one("output") == "json":
        return json(values)
    return plain("".join(f"{name}={value}\n" for name, value in values.items()))


@authorised("GET", "HEAD")
def write_token(request: HttpRequest) -> HttpResponse:
    """Return what clients send as `T` with changes. It is not read: the header says who asks."""
    made = salted_hmac("digest.web.greader", str(reader_of(request).pk), algorithm="sha256").hexdigest()
    return plain(made[:WRITE_TOKEN_CHARS] + "\n")


@authorised("GET", "HEAD")
def user_info(request: HttpRequest) -> HttpResponse:
    """Return the reader's name and address."""
    reader = reader_of(request)
    name = reader.username
    return json(
        {"userId": str(reader.pk), "userName": name, "userProfileId": name, "userEmail": reader.email}
    )


@authorised("GET", "HEAD")
def subscription_list(request: HttpRequest) -> HttpResponse:
    """Return the feeds the reader reads."""
    return json({"subscriptions": subscriptions(reader=reader_of(request))})


@authorised("GET", "HEAD")
def tag_list(request: HttpRequest) -> HttpResponse:
    """Return the reader's folders, and the labels of every reader."""
    return json({"tags": tags(reader=reader_of(request))})


@authorised("GET", "HEAD")
def unread_count(request: HttpRequest) -> HttpResponse:
    """Return the unread counts of the last 30 days; the last one is of all."""
    counts = unread(reader=reader_of(request), now=timezone.now())
    return json({"max": counts[-1]["count"], "unreadcounts": counts})


@authorised("GET", "HEAD")
def stream_contents(request: HttpRequest, stream: str = "") -> HttpResponse:
    """Return a page of a stream with its items; all of the reader's items where none is named."""
    return json(_stream(request, stream))


@authorised("GET", "HEAD")
def stream_atom(request: HttpRequest, stream: str) -> HttpResponse:
    """Return the same page as Atom, as clients from before JSON ask for it (Newsboat's mode for FeedHQ)."""
    return HttpResponse(
        atom_write(_stream(request, stream)), content_type="application/atom+xml; charset=utf-8"
    )


def _stream(request: HttpRequest, stream: str) -> dict[str, Any]:
    """Return a page of a stream with its items."""
    reader, now, sent = reader_of(request), timezone.now(), Sent(request)
    name = stream or sent.one("s") or STATE + Kind.ALL.value
    asked = asked_read(name, sent.all, most=CONTENTS_MAX)
    page = stream_page(reader=reader, asked=asked, now=now)
    items, seen = entries(reader=reader, item_ids=page.ids, now=now)
    more = page.continuation
    if seen < len(page.ids):
        more = continuation_after(reader=reader, asked=asked, item_id=page.ids[seen - 1], now=now)
    return _listed(name, items, more)


@authorised("GET", "HEAD")
def stream_ids(request: HttpRequest) -> HttpResponse:
    """Return the ids of a page of a stream, in decimal."""
    sent = Sent(request)
    asked = asked_read(sent.one("s"), sent.all, most=IDS_MAX)
    page = stream_page(reader=reader_of(request), asked=asked, now=timezone.now())
    more = {"continuation": page.continuation} if page.continuation else {}
    return json({"itemRefs": [{"id": str(pk)} for pk in page.ids]} | more)


@authorised("GET", "HEAD", "POST")
def items_contents(request: HttpRequest) -> HttpResponse:
    """Return the items named by `i`, a thousand at most at a time; a continuation is how many came before."""
    sent, now = Sent(request), timezone.now()
    wanted, done = items_read(sent.all("i")), sent.one("c")
    start = int(done[:9]) if done.isascii() and done.isdecimal() else 0
    items, seen = entries(reader=reader_of(request), item_ids=wanted[start : start + CONTENTS_MAX], now=now)
    end = start + seen
    return json(_listed(STATE + Kind.ALL.value, items, str(end) if len(wanted) > end else ""))


def _listed(name: str, items: list[dict[str, Any]], continuation: str) -> dict[str, Any]:
    more = {"continuation": continuation} if continuation else {}
    return {"id": name, "updated": int(timezone.now().timestamp()), "items": items} | more

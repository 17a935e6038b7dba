"""Views behind signed links and secret addresses: ratings from a mail, unsubscribing, readers' own feeds.

Nobody signs in here; the link is the key. A GET of a signed link never acts, since mail scanners open every
link of a mail. It shows what the link would do, and a script on the page sends the form in a real browser.
"""

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from functools import wraps
from hashlib import sha256

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.utils.cache import get_conditional_response
from django.utils.http import http_date, quote_etag
from django.views.decorators.cache import never_cache
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_http_methods, require_safe

from digest.build.store import exposures_log
from digest.errors import DigestError
from digest.mail.links import (
    reader_unsubscribe,
    thumb_link_state,
    thumb_link_undo,
    thumb_link_use,
    unsubscribe_reader,
)
from digest.mail.syndication import Channel, atom_write, channel_of, json_feed_write, reader_of_token
from digest.models import Exposure

View = Callable[[HttpRequest, str], HttpResponse]
METHODS = ["GET", "HEAD", "POST"]
# Digests are built by the hour at most: a client that asks more often is answered from its own copy.
MAX_AGE_S = 900
# In place of the moment of the build where two feeds are compared.
ANY_TIME = datetime(1970, 1, 1, tzinfo=UTC)


def _signed_link(view: View) -> View:
    """Wrap the view of a signed link: no session and no CSRF token, and a page for a link that fails.

    The link is not passed on: no cache stores the page, no referrer names it, no search engine lists it.
    """

    @wraps(view)
    def wrapped(request: HttpRequest, link: str) -> HttpResponse:
        try:
            answer = view(request, link)
        except DigestError as error:
            page = {"message": error.message}
            answer = render(request, "digest/link_refused.html", page, status=error.status)
        answer["Referrer-Policy"] = "no-referrer"
        answer["X-Robots-Tag"] = "noindex, nofollow"
        return answer

    # Forging a request takes the link itself, which only the reader's mail holds.
    return csrf_exempt(never_cache(require_http_methods(METHODS)(wrapped)))


@_signed_link
def thumb_link(request: HttpRequest, link: str) -> HttpResponse:
    """Show what the link would record or has recorded; a POST records it once, or undoes it."""
    now = timezone.now()
    if request.method != "POST":
        state, did = thumb_link_state(link=link, now=now), ""
    elif request.POST.get("act") == "undo":
        state, done = thumb_link_undo(link=link, now=now)
        did = "undone" if done else ""
    else:
        state, done = thumb_link_use(link=link, now=now)
        did = "recorded" if done else ""
    return render(request, "digest/link_thumb.html", {"state": state, "did": did})


@_signed_link
def unsubscribe(request: HttpRequest, link: str) -> HttpResponse:
    """Ask; a POST stops the mail, with or without the `List-Unsubscribe=One-Click` of RFC 8058."""
    act = reader_unsubscribe if request.method == "POST" else unsubscribe_reader
    reader = act(link=link)
    ended = reader.mail_rhythm == reader.MailRhythm.OFF
    # A mail is forwarded, and its links with it: only the reader sees whose account this is.
    name = reader.username if request.user == reader else f"{reader.username[:1]}…"
    page = {"name": name, "rhythm": reader.get_mail_rhythm_display(), "ended": ended}
    return render(request, "digest/link_unsubscribe.html", page)


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
    """Return the feed, or 304 where the client has it already. Raises 404 for an unknown secret.

    The ETag is of the content: a digest built again to the same items and reasons is not sent again. It is a
    weak one (RFC 9110, section 8.8.1), as the moment of the build, which the document names, may differ.
    """
    now = timezone.now()
    if (reader := reader_of_token(token=token)) is None:
        raise Http404("There is no feed at this address. Its reader may have replaced it.")
    channel, digests = channel_of(reader=reader, token=token, now=now)
    body = write(channel)
    etag = f"W/{quote_etag(sha256(write(replace(channel, updated=ANY_TIME))).hexdigest()[:32])}"
    modified = int(channel.updated.astimezone(UTC).timestamp())
    answer: HttpResponse = get_conditional_response(  # type: ignore[assignment]
        request, etag, modified, HttpResponse(body, content_type=content_type)
    )
    if answer.status_code == 200 and request.method == "GET":
        for digest in digests:
            exposures_log(digest=digest, door=Exposure.Door.FEED, now=now)
    answer["ETag"] = etag
    answer["Last-Modified"] = http_date(modified)
    answer["Cache-Control"] = f"private, max-age={MAX_AGE_S}"
    answer["Referrer-Policy"] = "no-referrer"
    answer["X-Robots-Tag"] = "noindex, nofollow"
    return answer

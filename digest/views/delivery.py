"""The doors of links in mails: a thumb, and the end of mail. No one signs in here; the link is the key.

A GET never acts, since mail scanners open every link of a mail. It shows what the link would do, and a
script on the page sends the form in a browser that a person sits at.
"""

from collections.abc import Callable
from functools import wraps

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_http_methods

from digest.errors import DigestError
from digest.services.links import (
    reader_unsubscribe,
    thumb_link_state,
    thumb_link_undo,
    thumb_link_use,
    unsubscribe_reader,
)

Door = Callable[[HttpRequest, str], HttpResponse]
METHODS = ["GET", "HEAD", "POST"]


def _link_door(view: Door) -> Door:
    """What all links of mails share: a signature in place of a session, plain words for one that fails.

    The link goes nowhere else: no cache keeps the page, no referrer names it, no search engine lists it.
    """

    @wraps(view)
    def door(request: HttpRequest, link: str) -> HttpResponse:
        try:
            answer = view(request, link)
        except DigestError as error:
            page = {"message": error.message}
            answer = render(request, "digest/link_refused.html", page, status=error.status)
        answer["Referrer-Policy"] = "no-referrer"
        answer["X-Robots-Tag"] = "noindex, nofollow"
        return answer

    # Forging a request takes the link itself, which only the reader's mail holds.
    return csrf_exempt(never_cache(require_http_methods(METHODS)(door)))


@_link_door
def thumb_link(request: HttpRequest, link: str) -> HttpResponse:
    """GET: what the link would record, or what became of it. POST: record it once, or take it back."""
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


@_link_door
def unsubscribe(request: HttpRequest, link: str) -> HttpResponse:
    """GET asks; POST ends the mail, with or without the `List-Unsubscribe=One-Click` of RFC 8058."""
    act = reader_unsubscribe if request.method == "POST" else unsubscribe_reader
    reader = act(link=link)
    ended = reader.mail_rhythm == reader.MailRhythm.OFF
    # A mail is forwarded, and its links with it: only the reader is told whose account this is.
    name = reader.username if request.user == reader else f"{reader.username[:1]}…"
    page = {"name": name, "rhythm": reader.get_mail_rhythm_display(), "ended": ended}
    return render(request, "digest/link_unsubscribe.html", page)

"""Views of first fetches: renew the notice on a page, and rebuild today's digest with new items."""

from typing import Final

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST, require_safe

from digest.daily.anew import page_make_anew
from digest.daily.first_fetch import first_fetch_advance
from digest.daily.first_fetch_notice import Place, notice_of, notice_overdue
from digest.daily.selectors import digest_for, items_newer
from digest.daily.services import digest_refresh
from digest.days import day_of
from digest.feeds.first_fetch import FirstFetch, reader_first_fetch
from digest.requests import reader_of, referrer_path

PLACES: Final[dict[str, Place]] = {"all": "all", "sources": "sources"}
# In the session: when the feeds were added whose progress is hidden.
HIDDEN: Final = "first_fetch_hidden"


@login_required
@require_safe
def filling(request: HttpRequest) -> HttpResponse:
    """Return the notice to a script. A browser without scripts is led back to the page.

    If no worker takes the feeds, some are fetched meanwhile (`first_fetch_advance`).
    """
    reader = reader_of(request)
    place = PLACES.get(request.GET.get("page", ""), "today")
    first_fetch_advance(reader=reader, now=timezone.now())
    if request.headers.get("X-Requested-With") != "fetch":
        return redirect(f"digest:{place}")
    now = timezone.now()
    digest = digest_for(reader_id=reader.pk, date=day_of(now, reader.zone)) if place == "today" else None
    newer = items_newer(digest=digest, now=now) if digest else 0
    progress = reader_first_fetch(reader_id=reader.pk, now=now, finished=True)
    part = notice_of(place, progress, newer, now)
    is_empty = place == "today" and not (digest and digest.impressions.exists())
    if digest and is_empty and not (part.watched or newer):
        part = notice_overdue(reader, now) or part
    return render(request, "digest/_first_fetch.html", {"filling": part, "hides": not is_empty})


@login_required
@require_POST
def filling_hide(request: HttpRequest) -> HttpResponse:
    """Hide the progress in this browser until its reader adds another feed or signs out."""
    progress = reader_first_fetch(reader_id=reader_of(request).pk, now=timezone.now())
    if progress:
        request.session[HIDDEN] = progress.since.isoformat()
    return redirect(referrer_path(request) or "digest:today")


def progress_is_hidden(request: HttpRequest, progress: FirstFetch | None) -> bool:
    """Return whether the reader hid the progress, and added no feed since."""
    return progress is not None and progress.since.isoformat() == request.session.get(HIDDEN)


@login_required
@require_POST
def newer(request: HttpRequest) -> HttpResponse:
    """Rebuild today's digest with the items that came since, although it is not due yet.

    With `liked`, because the reader wants more or less like an article: the page tells what moved.
    """
    reader, now = reader_of(request), timezone.now()
    if "liked" not in request.POST:
        digest_refresh(reader=reader, now=now)
        return redirect("digest:today")
    change = page_make_anew(reader=reader, now=now)
    if not (change and change.has_effect):
        messages.info(request, _("Today’s page was made again, and nothing on it moved."))
    return redirect("digest:today")

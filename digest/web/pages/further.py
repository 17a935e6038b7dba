"""Views for the pages after today's page, and for the handling of read articles."""

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST, require_safe

from digest.accounts.services import reader_read_gone_update
from digest.daily.further import PAGES_MAX, FurtherPage, further_page
from digest.daily.presentation import items_shown
from digest.daily.services import digest_current, digest_refresh
from digest.daily.store import exposures_write
from digest.days import day_of
from digest.items.reading import items_read
from digest.models import Digest, Exposure, Reader
from digest.requests import is_seen, reader_of
from digest.web.pages.contexts import disliked_aside
from digest.web.pages.marked import marking_keep


@login_required
@require_safe
def further(request: HttpRequest) -> HttpResponse:
    """Show page `?page=` (2 to 40) of today: the next best items, and log them as exposures."""
    reader, now = reader_of(request), timezone.now()
    digest, page = _page_of(reader, request.GET.get("page", ""))
    if page.impressions and is_seen(request):
        exposures_write(digest=digest, shown=page.impressions, door=Exposure.Door.PAGE, now=now)
    shown = items_shown(reader=reader, scored=page.scored, now=now)
    rows, aside = disliked_aside(shown)
    unread = sum(one.response.read_at is None for one in rows)
    context = {"page": page, "shown": rows, "aside": aside, "unread": unread}
    return render(request, "digest/further.html", context)


@login_required
@require_POST
def further_read(request: HttpRequest) -> HttpResponse:
    """Mark the items of page `page` of today that `item` names as read."""
    reader, now = reader_of(request), timezone.now()
    _digest, page = _page_of(reader, request.POST.get("page", ""))
    named = {*request.POST.getlist("item")}
    chosen = [row.item_id for row in page.impressions if str(row.item_id) in named]
    newly = items_read(reader=reader, item_ids=chosen, now=now)
    marking_keep(request, newly, _("Further today"), now)
    return redirect(f"{reverse('digest:further')}?page={page.number}")


@login_required
@require_POST
def read_gone(request: HttpRequest) -> HttpResponse:
    """Store whether read articles leave later pages (`read_gone` is 1), and build today's page again."""
    reader, wish = reader_of(request), request.POST.get("read_gone") == "1"
    reader_read_gone_update(reader=reader, read_gone=wish)
    digest_refresh(reader=reader, now=timezone.now())
    words = _("What you read stays on your pages, as before.")
    if wish:
        words = _("What you have read is gone the next day. You find it under All.")
    messages.success(request, words)
    return redirect("digest:today")


def _page_of(reader: Reader, typed: str) -> tuple[Digest, FurtherPage]:
    """Return today's digest and its page with the number `typed`. Raises `Http404` if there is no such
    page."""
    number = int(typed) if typed.isascii() and typed.isdigit() and len(typed) < 4 else 2
    if not 2 <= number <= PAGES_MAX:
        raise Http404(_("Today has no such page."))
    now = timezone.now()
    digest = digest_current(reader=reader, date=day_of(now, reader.zone), now=now)
    assert digest is not None, "today's digest is built if it is missing"
    return digest, further_page(reader=reader, digest=digest, number=number, now=now)

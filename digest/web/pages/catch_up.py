"""Views for coming back: the best items since the last visit, and marking them or the rest as read."""

from typing import Any

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST, require_safe

from digest.daily.catch_up import catch_up
from digest.daily.presentation import items_shown
from digest.days import day_of
from digest.items.reading import items_read
from digest.requests import is_seen, reader_of
from digest.web.pages.marked import marking_keep, page_made, page_stamp

# The session's key for the day on which its reader opened this page: Today then offers it quietly.
CAUGHT_UP = "caught_up"


@login_required
@require_safe
def catching_up(request: HttpRequest) -> HttpResponse:
    """Show the best since the reader's last visit, if that was three days ago or more."""
    reader, now = reader_of(request), timezone.now()
    found = catch_up(reader=reader, now=now)
    if found and is_seen(request):
        request.session[CAUGHT_UP] = day_of(now, reader.zone).isoformat()
    done = "done" in request.GET
    page: dict[str, Any] = {"found": found, "done": done, "seen": page_stamp(now)}
    # What came in the absence and is not shown: after the best was marked as read, all that is left of it.
    page["others"] = len(found.unread if done else found.rest) if found else 0
    if found and not done:
        page["shown"] = shown = items_shown(reader=reader, scored=found.best, now=now)
        by_item = {one.item.pk: one for one in shown}
        page["sections"] = [
            (section.day, [by_item[item] for item in section.items]) for section in found.sections
        ]
    return render(request, "digest/catch_up.html", page)


@login_required
@require_POST
def missed_read(request: HttpRequest) -> HttpResponse:
    """Mark the items named by `item`, those on the page, as read, or with `rest` all others."""
    reader, now = reader_of(request), timezone.now()
    here = reverse("digest:catch_up")
    found = catch_up(reader=reader, now=now)
    rest, shown = "rest" in request.POST, set(request.POST.getlist("item"))
    chosen = [pk for pk in found.unread if (str(pk) in shown) != rest] if found else []
    if not chosen:
        return redirect(here)
    seen_by = page_made(request.POST.get("seen", ""), now)
    newly = items_read(reader=reader, item_ids=chosen, now=now, seen_by=seen_by)
    marking_keep(request, newly, _("While you were away"), now)
    return redirect(here if rest else f"{here}?done=1")

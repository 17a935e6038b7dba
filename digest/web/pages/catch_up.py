"""Views for coming back: the best items since the last visit, and marking them or the rest as read."""

from typing import Any
from urllib.parse import urlencode

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import ngettext
from django.views.decorators.http import require_POST, require_safe

from digest.daily.catch_up import away_since, catch_up, items_since
from digest.daily.presentation import items_shown
from digest.items.reading import items_read, items_unread
from digest.requests import reader_of
from digest.web.pages.reading import moment_or_404


@login_required
@require_safe
def catching_up(request: HttpRequest) -> HttpResponse:
    """Show the best since the reader's last visit, if that was three days ago or more."""
    reader, now = reader_of(request), timezone.now()
    found = catch_up(reader=reader, now=now)
    done = "done" in request.GET
    page: dict[str, Any] = {"found": found, "done": done, "marked_at": request.GET.get("at", "")}
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
    """Mark the items named by `item`, those on the page, as read, or with `rest` all others; or undo that."""
    reader, now = reader_of(request), timezone.now()
    here = reverse("digest:catch_up")
    if "at" in request.POST:
        at = moment_or_404(request.POST["at"])
        if since := away_since(reader=reader, now=now):
            items = items_since(reader=reader, since=since, now=now)
            count = items_unread(reader=reader, item_ids=items, at=at)
            messages.success(
                request,
                ngettext("{count} item unread again.", "{count} items unread again.", count).format(
                    count=count
                ),
            )
        return redirect(here)
    found = catch_up(reader=reader, now=now)
    rest, shown = "rest" in request.POST, set(request.POST.getlist("item"))
    chosen = [pk for pk in found.unread if (str(pk) in shown) != rest] if found else []
    if not chosen:
        return redirect(here)
    count = items_read(reader=reader, item_ids=chosen, now=now)
    messages.success(
        request,
        ngettext("{count} item marked as read.", "{count} items marked as read.", count).format(count=count),
    )
    done = {} if rest else {"done": "1"}
    return redirect(f"{here}?{urlencode({'at': now.isoformat(), **done})}")

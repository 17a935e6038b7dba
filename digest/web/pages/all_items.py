"""Views of the lists of all items: a page of one, and marking as read."""

from datetime import datetime
from urllib.parse import parse_qs, urlsplit

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.db import transaction
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST, require_safe

from digest.errors import ItemNotFound
from digest.items.listing import feeds_read
from digest.items.reading import item_read, item_unread, items_read
from digest.items.selectors import items_visible
from digest.models import Reader
from digest.requests import own_path, reader_of
from digest.web.pages.lists import (
    ACTIONS,
    OLDER_DAYS,
    ListRequest,
    list_mark_read,
    list_name,
    list_page,
    list_request,
    lists_beside,
)
from digest.web.pages.marked import marking_keep, page_made
from ranking.language import quoted

ITEM_ID_CHARS = 18
# More than this is marked only by someone who has seen how many it is.
ASK_ABOVE = 500


@login_required
@require_safe
def all_items(request: HttpRequest) -> HttpResponse:
    """Show a page of the reader's items: `source`, `folder`, `feed`, `unread`, `saved`, `order`, `before`.

    With `side`, show only the list of sources and folders, which wide pages load beside the content. With
    `side=here` it is that of this list.
    """
    reader, now, asked = reader_of(request), timezone.now(), list_request(request.GET)
    if "side" in request.GET:
        here = asked if request.GET["side"] == "here" else None
        return render(request, "digest/_side.html", lists_beside(reader, here, now))
    return render(request, "digest/all.html", list_page(reader, asked, now))


@login_required
@require_POST
def all_read(request: HttpRequest) -> HttpResponse:
    """Do the action that a button of a list names, one of `ACTIONS`; the other fields name the list."""
    reader, now, typed = reader_of(request), timezone.now(), request.POST
    asked = list_request(typed)
    match next((action for action in ACTIONS if action in typed), None):
        case "read_item":
            return _mark_one(request, asked, typed["read_item"], read_at=now)
        case "unread_item":
            return _mark_one(request, asked, typed["unread_item"], read_at=None)
        case "above" | "below" as side:
            if not (row := typed[side]):
                raise Http404(_("That row is not on the list."))
            above, below = (row, "") if side == "above" else ("", row)
            return _mark_many(request, reader, asked, now, above=above, below=below)
        case "all":
            return _mark_many(request, reader, asked, now)
        case "older":
            if typed["older"] not in map(str, OLDER_DAYS):
                raise Http404(_("There is no such change."))
            return _mark_many(request, reader, asked, now, older_days=int(typed["older"]))
        case "these":
            ids = [int(one) for one in typed.get("items", "").split(",") if _is_id(one)]
            shown = items_visible(reader_id=reader.pk).filter(pk__in=ids).values_list("pk", flat=True)
            newly = items_read(reader=reader, item_ids=list(shown), now=now)
            marking_keep(request, newly, _search_name(request), now)
            return redirect(_back(request, asked))
    raise Http404(_("There is no such change."))


def _is_id(typed: str) -> bool:
    return typed.isdecimal() and len(typed) <= ITEM_ID_CHARS


def _back(request: HttpRequest, asked: ListRequest) -> str:
    """Return the address of the page that the form is on: a list, or the one in its field `next`."""
    return own_path(request.POST.get("next", "")) or asked.address()


def _search_name(request: HttpRequest) -> str:
    """Return the name of the search that the form is on: Search “lamp”."""
    query = parse_qs(urlsplit(request.POST.get("next", "")).query).get("q", [""])[0]
    return f"{_('Search')} {quoted(query)}" if query else _("Search")


def _mark_one(request: HttpRequest, asked: ListRequest, typed: str, read_at: datetime | None) -> HttpResponse:
    """Mark the item with this id as read at `read_at`, or as unread for `None`."""
    reader = reader_of(request)
    if not _is_id(typed):
        raise Http404(_("No such item among your sources."))
    try:
        if read_at:
            item_read(reader=reader, item_id=int(typed), now=read_at)
        else:
            item_unread(reader=reader, item_id=int(typed))
    except ItemNotFound as error:
        raise Http404(error.message) from None
    return redirect(f"{_back(request, asked)}#item-{typed}")


def _mark_many(
    request: HttpRequest,
    reader: Reader,
    asked: ListRequest,
    now: datetime,
    *,
    above: str = "",
    below: str = "",
    older_days: int = 0,
) -> HttpResponse:
    """Mark all of a list as read, or the rows above or below a key, or what is older than `older_days`.

    Ask first if it is more than `ASK_ABOVE`: to count them takes as long as to mark them.
    """
    seen_by = page_made(request.POST.get("seen", ""), now)
    with transaction.atomic():
        newly = list_mark_read(
            reader, asked, above=above, below=below, seen_by=seen_by, now=now, older_days=older_days
        )
        is_asked = (newly or 0) > ASK_ABOVE and "sure" not in request.POST
        transaction.set_rollback(is_asked)
    if is_asked:
        fields = {name: value for name, value in request.POST.items() if name != "csrfmiddlewaretoken"}
        name = list_name(feeds_read(reader_id=reader.pk), asked.chosen)
        page = {"fields": fields, "count": newly, "name": name, "back": asked.address()}
        return render(request, "digest/mark_many.html", page)
    if newly is None:
        messages.error(request, _("That list has changed. Choose the item again."))
        return redirect(ListRequest(asked.chosen, asked.order).address())
    if not newly:
        is_older = _("Nothing unread there is that old.")
        messages.info(request, is_older if older_days else _("Nothing there was unread."))
        return redirect(asked.address())
    marking_keep(request, newly, list_name(feeds_read(reader_id=reader.pk), asked.chosen), now)
    return redirect(asked.address())

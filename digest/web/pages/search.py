"""The search page, which works by address alone."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any
from urllib.parse import urlencode
from uuid import UUID

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.views.decorators.http import require_safe

from digest.items.own_names import own_folders, own_names, sources_to_choose
from digest.items.search_query import query_topic
from digest.items.selectors import subscribed_titles
from digest.requests import page_of, reader_of
from digest.searches.forms import FILTERS, PLACES, SearchForm, search_asked, search_form
from digest.searches.selectors import NAME_CHARS, SearchAsked, search_lines, search_name, searches_saved
from digest.signed import UNDO_LIFETIME_S, values_read
from digest.throttling import SEARCH, rate_limited
from digest.web.pages.contexts import search_page
from digest.web.pages.lists import orders_switch
from ranking.common.text import topic_key
from ranking.selectors import config_effective

UNDO_SALT = "digest.searches"


def _topic_offered(query: str, reader_id: UUID) -> str:
    """Return the topic that the words of a search would make; "" if the reader has it already."""
    topic = query_topic(query)
    there = config_effective(reader_id=reader_id).config.topics if topic else ()
    return "" if topic_key(topic) in map(topic_key, there) else topic


@login_required
@require_safe
@rate_limited(SEARCH, when=lambda request: bool(request.GET.get("q")))
def search(request: HttpRequest) -> HttpResponse:
    """Show the hits of `?q=`, the best first, or with `order` the newest or oldest; see `SearchForm`.

    With `muted` it finds what is muted, too.
    """
    reader, form, asked = reader_of(request), search_form(request.GET), search_asked(request.GET)
    now = timezone.now()
    filters, with_muted = form.filters(reader.zone), request.GET.get("muted") == "1"
    number = page_of(request)
    found = search_page(reader, asked.query, asked.order, number, now, filters, with_muted=with_muted)
    page = _form_page(form, asked, reader.pk, with_muted="&muted=1" if with_muted else "")
    signed = request.GET.get("done", "")
    undo = values_read(salt=UNDO_SALT, reader_id=reader.pk, signed=signed, lifetime_s=UNDO_LIFETIME_S)
    may_save = bool(found["found"].terms) and not found["found"].only_excluded
    page |= {"undo": undo, "done": signed, "may_save": may_save}
    return render(request, "digest/search.html", found | page)


def _form_page(form: SearchForm, asked: SearchAsked, reader_id: UUID, with_muted: str) -> dict[str, Any]:
    """Return the form's values, its sources by title, saved searches, and the addresses of this one.

    These end on `with_muted`.
    """
    sources = own_names(reader_id=reader_id).over(subscribed_titles(reader_id=reader_id))
    saved = searches_saved(reader_id=reader_id)
    chosen = asked.filters.get("source", "")
    if chosen and chosen not in sources:
        sources[chosen] = chosen
    folders = own_folders(reader_id=reader_id)
    folder = asked.filters.get("folder", "")
    here = urlencode({"q": asked.query} | form.asked)
    return {
        "form": form,
        "days": [form["since"], form["until"]],
        "labels": [form["category"], form["author"]],
        "filters": len(FILTERS),
        "narrowed": len(form.asked),
        "place": " · ".join(filter(None, (sources.get(chosen), folder))),
        "opened": any(name not in PLACES for name in form.asked),
        "folders": folders if folder in ("", *folders) else [*folders, folder],
        "sources": sources_to_choose(sources),
        "orders": orders_switch(
            ("best", "newest", "oldest"),
            asked.order,
            lambda order: f"{replace(asked, order=order).address}{with_muted}",
        ),
        "asked": f"{here}&{urlencode({'order': asked.order})}{with_muted}" if asked.query else "",
        "with_muted": bool(with_muted),
        "without_muted": asked.address,
        "unfiltered": urlencode({"q": asked.query, "order": asked.order}),
        "asked_filters": asked.filters,
        **_saved_as(next(((pk, one) for pk, one in saved if one.same == asked.same), None), sources),
        "searches": search_lines(saved, sources),
        "topic": _topic_offered(asked.query, reader_id),
    }


def _saved_as(found: tuple[int, SearchAsked] | None, titles: Mapping[str, str]) -> dict[str, Any]:
    """Return the id and the name of the saved search that is shown; `None` for the id if it is not saved."""
    if found is None:
        return {"saved_id": None}
    pk, asked = found
    return {"saved_id": pk, "saved_name": search_name(asked, titles), "name_chars": NAME_CHARS}

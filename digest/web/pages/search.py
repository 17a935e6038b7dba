"""The search page: its form, which works by address alone, and its view."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import date, datetime, tzinfo
from typing import Any
from urllib.parse import urlencode
from uuid import UUID

from django import forms
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_safe

from digest.days import day_begin, day_end
from digest.feeds.identity import SOURCE_KEY_MAX_CHARS
from digest.items.own_names import own_names
from digest.items.search import SearchFilters, order_of
from digest.items.search_query import QUERY_CHARS, query_topic
from digest.items.selectors import subscribed_titles
from digest.requests import page_of, reader_of
from digest.searches.selectors import SearchAsked, search_lines, searches_saved
from digest.signed import UNDO_LIFETIME_S, values_read
from digest.throttling import SEARCH, rate_limited
from digest.web.pages.contexts import search_page
from digest.web.pages.lists import orders_switch
from ranking.common.text import topic_key
from ranking.selectors import config_effective

# Days outside these do not exist in some time zones.
DAY_FIRST, DAY_LAST = date(1970, 1, 1), date(2999, 12, 31)
# As long as an author may be.
LABEL_MAX_CHARS = 200
UNDO_SALT = "digest.searches"
DAY_WRONG = gettext_lazy("Write a day as 2026-03-18.")


def days_between(since: date | None, until: date | None, zone: tzinfo) -> dict[str, datetime | None]:
    """Return the filters `since` and `until` of a search for whole days in `zone`, both included."""

    def within(day: date) -> date:
        return min(max(day, DAY_FIRST), DAY_LAST)

    return {
        "since": None if since is None else day_begin(within(since), zone),
        "until": None if until is None else day_end(within(until), zone),
    }


def _topic_offered(query: str, reader_id: UUID) -> str:
    """Return the topic that the words of a search would make; "" if the reader has it already."""
    topic = query_topic(query)
    there = config_effective(reader_id=reader_id).config.topics if topic else ()
    return "" if topic_key(topic) in map(topic_key, there) else topic


class SearchForm(forms.Form):
    """The filters of a search. Empty fields filter nothing."""

    source = forms.CharField(required=False, max_length=SOURCE_KEY_MAX_CHARS)
    since = forms.DateField(
        required=False,
        label=gettext_lazy("From"),
        input_formats=["%Y-%m-%d"],
        error_messages={"invalid": DAY_WRONG},
    )
    until = forms.DateField(
        required=False,
        label=gettext_lazy("To"),
        input_formats=["%Y-%m-%d"],
        error_messages={"invalid": DAY_WRONG},
    )
    unread = forms.BooleanField(required=False)
    saved = forms.BooleanField(required=False)
    category = forms.CharField(required=False, label=gettext_lazy("Category"), max_length=LABEL_MAX_CHARS)
    author = forms.CharField(required=False, label=gettext_lazy("Author"), max_length=LABEL_MAX_CHARS)

    def filters(self, zone: tzinfo) -> SearchFilters:
        """Return the filters; fields that are invalid narrow nothing."""
        self.is_valid()
        given = self.cleaned_data.get
        return SearchFilters(
            **days_between(given("since"), given("until"), zone),
            source=given("source", ""),
            unread=given("unread", False),
            saved=given("saved", False),
            category=given("category", ""),
            author=given("author", ""),
        )

    @property
    def asked(self) -> dict[str, str]:
        """Return the valid fields that narrow, as they stand in an address."""
        self.is_valid()
        given = {name: self.cleaned_data.get(name) for name in FILTERS}
        return {name: "1" if value is True else str(value) for name, value in given.items() if value}


FILTERS = tuple(SearchForm.base_fields)


def search_asked(typed: Mapping[str, str]) -> SearchAsked:
    """Return the search that a query or a form names. A field that cannot be read counts as missing."""
    form = search_form(typed)
    order = order_of(typed.get("order", ""), default="best")
    return SearchAsked(typed.get("q", "").replace("\0", " ").strip()[:QUERY_CHARS], order, form.asked)


def search_form(typed: Mapping[str, str]) -> SearchForm:
    """Return the form of a query's filters, without NUL."""
    return SearchForm({name: typed.get(name, "").replace("\0", "") for name in FILTERS})


@login_required
@require_safe
@rate_limited(SEARCH, when=lambda request: bool(request.GET.get("q")))
def search(request: HttpRequest) -> HttpResponse:
    """Show the hits of `?q=`, the best first, or with `order` the newest or oldest; see `SearchForm`."""
    reader, form, asked = reader_of(request), search_form(request.GET), search_asked(request.GET)
    now = timezone.now()
    found = search_page(reader, asked.query, asked.order, page_of(request), now, form.filters(reader.zone))
    page = _form_page(form, asked, reader.pk)
    signed = request.GET.get("done", "")
    undo = values_read(salt=UNDO_SALT, reader_id=reader.pk, signed=signed, lifetime_s=UNDO_LIFETIME_S)
    may_save = bool(found["found"].terms) and not found["found"].only_excluded
    page |= {"undo": undo, "done": signed, "may_save": may_save}
    return render(request, "digest/search.html", found | page)


def _form_page(form: SearchForm, asked: SearchAsked, reader_id: UUID) -> dict[str, Any]:
    """Return the form's values, its sources by title, saved searches, and the addresses of this one."""
    sources = own_names(reader_id=reader_id).over(subscribed_titles(reader_id=reader_id))
    saved = searches_saved(reader_id=reader_id)
    chosen = asked.filters.get("source", "")
    if chosen and chosen not in sources:
        sources[chosen] = chosen
    here = urlencode({"q": asked.query} | form.asked)
    return {
        "form": form,
        "days": [form["since"], form["until"]],
        "labels": [form["category"], form["author"]],
        "filters": len(FILTERS),
        "narrowed": len(form.asked),
        "sources": sorted(sources.items(), key=lambda pair: pair[1].casefold()),
        "orders": orders_switch(
            ("best", "newest", "oldest"), asked.order, lambda order: replace(asked, order=order).address
        ),
        "asked": f"{here}&{urlencode({'order': asked.order})}" if asked.query else "",
        "unfiltered": urlencode({"q": asked.query, "order": asked.order}),
        "asked_filters": asked.filters,
        "saved_id": next((pk for pk, one in saved if one.same == asked.same), None),
        "searches": search_lines(saved, sources),
        "topic": _topic_offered(asked.query, reader_id),
    }

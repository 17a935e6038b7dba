"""The search page: its form, which works by address alone, and its view."""

from datetime import date, tzinfo
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
from digest.items.search import Order, SearchFilters
from digest.items.search_query import QUERY_CHARS
from digest.items.selectors import subscribed_titles
from digest.requests import page_of, reader_of
from digest.throttling import SEARCH, rate_limited
from digest.web.pages.contexts import search_page

# Days beyond these are none in some time zones.
DAY_FIRST, DAY_LAST = date(1970, 1, 1), date(2999, 12, 31)
# As long as an author may be.
LABEL_MAX_CHARS = 200
DAY_WRONG = gettext_lazy("Write a day as 2026-03-18.")


def search_filters(
    *,
    zone: tzinfo,
    source: str,
    since: date | None,
    until: date | None,
    unread: bool,
    saved: bool,
    category: str,
    author: str,
) -> SearchFilters:
    """Return the filters of a search; days are whole days in `zone`, both included."""

    def within(day: date) -> date:
        return min(max(day, DAY_FIRST), DAY_LAST)

    return SearchFilters(
        source=source,
        since=None if since is None else day_begin(within(since), zone),
        until=None if until is None else day_end(within(until), zone),
        unread=unread,
        saved=saved,
        category=category,
        author=author,
    )


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
        return search_filters(
            zone=zone,
            source=given("source", ""),
            since=given("since"),
            until=given("until"),
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


@login_required
@require_safe
@rate_limited(SEARCH, when=lambda request: bool(request.GET.get("q")))
def search(request: HttpRequest) -> HttpResponse:
    """Show the hits of `?q=`, the best first, or with `order=newest` the newest; see `SearchForm`."""
    reader = reader_of(request)
    query = request.GET.get("q", "").replace("\0", " ").strip()[:QUERY_CHARS]
    order: Order = "newest" if request.GET.get("order") == "newest" else "best"
    form = SearchForm({name: request.GET.get(name, "").replace("\0", "") for name in FILTERS})
    found = search_page(reader, query, order, page_of(request), timezone.now(), form.filters(reader.zone))
    return render(request, "digest/search.html", found | _form_page(form, query, order, reader.pk))


def _form_page(form: SearchForm, query: str, order: Order, reader_id: UUID) -> dict[str, Any]:
    """Return the form's values, its sources by title, and the addresses of this search."""
    sources = subscribed_titles(reader_id=reader_id)
    chosen = form.asked.get("source", "")
    if chosen and chosen not in sources:
        sources[chosen] = chosen
    here = urlencode({"q": query} | form.asked)
    return {
        "form": form,
        "days": [form["since"], form["until"]],
        "labels": [form["category"], form["author"]],
        "filters": len(FILTERS),
        "narrowed": len(form.asked),
        "sources": sorted(sources.items(), key=lambda pair: pair[1].casefold()),
        "here": here,
        "asked": f"{here}&{urlencode({'order': order})}" if query else "",
        "unfiltered": urlencode({"q": query, "order": order}),
    }

"""The form of a search: its filters as they are typed, or stand in an address."""

from collections.abc import Mapping
from datetime import date, datetime, tzinfo

from django import forms
from django.utils.translation import gettext_lazy

from digest.days import day_begin, day_end
from digest.feeds.identity import SOURCE_KEY_MAX_CHARS
from digest.feeds.sanitise import clean_text, one_line
from digest.items.search import SearchFilters, order_of
from digest.items.search_query import QUERY_CHARS
from digest.searches.selectors import NAME_CHARS, SearchAsked
from digest.sources.opml import FOLDER_MAX_CHARS

# Days outside these do not exist in some time zones.
DAY_FIRST, DAY_LAST = date(1970, 1, 1), date(2999, 12, 31)
# As long as an author may be.
LABEL_MAX_CHARS = 200
DAY_WRONG = gettext_lazy("Write a day as 2026-03-18.")


def days_between(since: date | None, until: date | None, zone: tzinfo) -> dict[str, datetime | None]:
    """Return the filters `since` and `until` of a search for whole days in `zone`, both included."""

    def within(day: date) -> date:
        return min(max(day, DAY_FIRST), DAY_LAST)

    return {
        "since": None if since is None else day_begin(within(since), zone),
        "until": None if until is None else day_end(within(until), zone),
    }


class SearchForm(forms.Form):
    """The filters of a search. Empty fields filter nothing."""

    source = forms.CharField(required=False, max_length=SOURCE_KEY_MAX_CHARS)
    folder = forms.CharField(required=False, max_length=FOLDER_MAX_CHARS)
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
            folder=given("folder", ""),
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
# Those that say where to search.
PLACES = ("source", "folder")


def filters_stored(filters: Mapping[str, str], zone: tzinfo) -> SearchFilters:
    """Return the filters of a stored search. They are valid, and fifty forms would take ten milliseconds."""
    days = {
        name: date.fromisoformat(filters[name]) if name in filters else None for name in ("since", "until")
    }
    return SearchFilters(
        **days_between(days["since"], days["until"], zone),
        source=filters.get("source", ""),
        folder=filters.get("folder", ""),
        unread="unread" in filters,
        saved="saved" in filters,
        category=filters.get("category", ""),
        author=filters.get("author", ""),
    )


def search_asked(typed: Mapping[str, str]) -> SearchAsked:
    """Return the search that a query or a form names. A field that cannot be read counts as missing."""
    form = search_form(typed)
    order = order_of(typed.get("order", ""), default="best")
    query = typed.get("q", "").replace("\0", " ").strip()[:QUERY_CHARS]
    return SearchAsked(query, order, form.asked, search_name_clean(typed.get("name", "")))


def search_name_clean(typed: str) -> str:
    """Return a reader's name for a search as it is stored: one line, without invisible characters."""
    return one_line(clean_text(typed), limit=NAME_CHARS)


def search_form(typed: Mapping[str, str]) -> SearchForm:
    """Return the form of a query's filters, without NUL. With `everywhere` it says no place."""
    given = {name: typed.get(name, "").replace("\0", "") for name in FILTERS}
    return SearchForm(given | dict.fromkeys(PLACES, "") if "everywhere" in typed else given)

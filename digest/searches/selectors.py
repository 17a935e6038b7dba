"""Queries for saved searches."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from urllib.parse import urlencode
from uuid import UUID

from django.urls import reverse
from django.utils.translation import gettext as _

from digest.errors import SearchMissing
from digest.items.search import Order, order_of
from digest.models import SavedSearch
from ranking.selectors import keys_current


@dataclass(frozen=True, slots=True)
class SearchAsked:
    """A search as its page asks for it. `filters` are the fields of the form that are filled in, as text."""

    query: str
    order: Order
    filters: Mapping[str, str]

    @property
    def address(self) -> str:
        """Return the address of the search's page."""
        order = {} if self.order == "best" else {"order": self.order}
        return f"{reverse('digest:search')}?{urlencode({'q': self.query, **self.filters, **order})}"

    @property
    def same(self) -> tuple[str, frozenset[tuple[str, str]]]:
        """Return a key that is equal for two searches for the same items, even in another order."""
        return self.query, frozenset(self.filters.items())


@dataclass(frozen=True, slots=True)
class SearchLine:
    """A saved search in a list: its name, its address, and whether it is shown."""

    search_id: int
    name: str
    href: str


def searches_saved(*, reader_id: UUID) -> list[tuple[int, SearchAsked]]:
    """Return the reader's saved searches with their ids, by name; one query, or two if one names a source.

    A source that was renamed or moved since has its current key.
    """
    rows = list(SavedSearch.objects.filter(reader_id=reader_id))
    current = keys_current(keys={row.filters["source"] for row in rows if "source" in row.filters})
    return [(row.pk, _asked(row, current)) for row in rows]


def _asked(row: SavedSearch, current: Mapping[str, str]) -> SearchAsked:
    source = row.filters.get("source", "")
    filters = row.filters | {"source": current.get(source, source)} if source else row.filters
    return SearchAsked(row.query, order_of(row.order, default="best"), filters)


def search_saved(*, reader_id: UUID, search_id: int) -> SearchAsked:
    """Return one saved search. Raises `SearchMissing` if the reader has none of this id."""
    found = dict(searches_saved(reader_id=reader_id)).get(search_id)
    if found is None:
        raise SearchMissing(_("You have no such saved search."))
    return found


def search_lines(searches: Sequence[tuple[int, SearchAsked]], titles: Mapping[str, str]) -> list[SearchLine]:
    """Return the searches as lines of a list. `titles` has the names of sources by key."""
    return [SearchLine(pk, search_name(asked, titles), asked.address) for pk, asked in searches]


def search_name(asked: SearchAsked, titles: Mapping[str, str]) -> str:
    """Return the words of a search and its filters: "harbour · Quiet Port · unread"."""
    words = {"unread": _("unread"), "saved": _("saved")}
    narrowed = [
        words.get(name) or (titles.get(value, value) if name == "source" else value)
        for name, value in sorted(asked.filters.items())
    ]
    return " · ".join([asked.query, *narrowed])

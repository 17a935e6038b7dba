"""Queries for saved searches."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from urllib.parse import urlencode
from uuid import UUID

from django.urls import reverse
from django.utils.translation import gettext as _

from digest.errors import SearchMissing
from digest.items.search import Order, order_of
from digest.models import SavedSearch
from ranking.selectors import keys_current

# The longest name of a saved search.
NAME_CHARS = 60


@dataclass(frozen=True, slots=True)
class SearchAsked:
    """A search as its page asks for it. `filters` are the fields of the form that are filled in, as text.

    `name` is its reader's own for it, if it has one.
    """

    query: str
    order: Order
    filters: Mapping[str, str]
    name: str = ""

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
    """A saved search in a list: its name, its address, and how many of its items are unread."""

    search_id: int
    name: str
    href: str
    unread: int = 0


def searches_saved(*, reader_id: UUID) -> list[tuple[int, SearchAsked]]:
    """Return the reader's saved searches with their ids, by words; one query, or two if one names a source.

    A source that was renamed or moved since has its current key.
    """
    rows = list(SavedSearch.objects.filter(reader_id=reader_id))
    current = keys_current(keys={row.filters["source"] for row in rows if "source" in row.filters})
    return [(row.pk, _asked(row, current)) for row in rows]


def _asked(row: SavedSearch, current: Mapping[str, str]) -> SearchAsked:
    source = row.filters.get("source", "")
    filters = row.filters | {"source": current.get(source, source)} if source else row.filters
    return SearchAsked(row.query, order_of(row.order, default="best"), filters, row.name)


def search_saved(*, reader_id: UUID, search_id: int) -> SearchAsked:
    """Return one saved search. Raises `SearchMissing` if the reader has none of this id."""
    found = dict(searches_saved(reader_id=reader_id)).get(search_id)
    if found is None:
        raise SearchMissing(_("You have no such saved search."))
    return found


def search_lines(
    searches: Sequence[tuple[int, SearchAsked]],
    titles: Mapping[str, str],
    unread: Mapping[int, int] = MappingProxyType({}),
) -> list[SearchLine]:
    """Return the searches as lines of a list, by name. `titles` has the names of sources by key."""
    lines = (
        SearchLine(pk, search_name(asked, titles), asked.address, unread.get(pk, 0)) for pk, asked in searches
    )
    return sorted(lines, key=lambda line: line.name.casefold())


def search_name(asked: SearchAsked, titles: Mapping[str, str]) -> str:
    """Return the reader's name for a search, or its words and filters: "harbour · Quiet Port · unread"."""
    if asked.name:
        return asked.name
    words = {"unread": _("unread"), "saved": _("saved")}
    narrowed = [
        words.get(name) or (titles.get(value, value) if name == "source" else value)
        for name, value in sorted(asked.filters.items())
    ]
    return " · ".join([asked.query, *narrowed])

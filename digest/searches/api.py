"""JSON API of saved searches."""

from typing import Annotated

from django.http import HttpRequest
from django.utils import timezone
from ninja import Router, Schema
from pydantic import Field

from digest.items.search import Order
from digest.items.search_query import QUERY_CHARS
from digest.models import Reader
from digest.requests import reader_of
from digest.searches.forms import search_asked
from digest.searches.selectors import NAME_CHARS, search_lines, searches_saved
from digest.searches.services import search_remove, search_save
from digest.web.api.reading import SearchIn

searches_router = Router(tags=["searches"])


class SavedSearchIn(SearchIn):
    """A search to keep. Without a `name`, its words are its name. `page` does not count."""

    q: Annotated[str, Field(min_length=1, max_length=QUERY_CHARS)]
    name: Annotated[str, Field(max_length=NAME_CHARS)] = ""


class SavedSearchOut(Schema):
    """A saved search; `name` is as the list of sources shows it, `filters` are fields of the search form."""

    search_id: int
    name: str
    q: str
    order: Order
    filters: dict[str, str]


class SavedSearchesOut(Schema):
    """All saved searches, by name."""

    searches: list[SavedSearchOut]


@searches_router.get("/searches", response=SavedSearchesOut)
def searches_get(request: HttpRequest) -> SavedSearchesOut:
    """Return the reader's saved searches."""
    return _searches(reader_of(request))


@searches_router.post("/searches", response=SavedSearchesOut)
def searches_post(request: HttpRequest, body: SavedSearchIn) -> SavedSearchesOut:
    """Save a search. One for the same items takes the new order and name instead."""
    reader, asked = reader_of(request), search_asked(_typed(body))
    search_save(reader=reader, asked=asked, now=timezone.now())
    return _searches(reader)


@searches_router.delete("/searches/{int:search_id}", response=SavedSearchesOut)
def searches_delete(request: HttpRequest, search_id: int) -> SavedSearchesOut:
    """Remove a saved search."""
    reader = reader_of(request)
    search_remove(reader=reader, search_id=search_id)
    return _searches(reader)


def _typed(body: SavedSearchIn) -> dict[str, str]:
    """Return the fields as the search page's form has them."""
    given = body.dict(exclude={"page"})
    return {name: "1" if value is True else str(value) for name, value in given.items() if value}


def _searches(reader: Reader) -> SavedSearchesOut:
    saved = searches_saved(reader_id=reader.pk)
    names = {line.search_id: line.name for line in search_lines(saved, {})}
    rows = [
        SavedSearchOut(search_id=pk, name=names[pk], q=one.query, order=one.order, filters=dict(one.filters))
        for pk, one in saved
    ]
    return SavedSearchesOut(searches=rows)

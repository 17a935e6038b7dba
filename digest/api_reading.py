"""The reading doors of the API: what is read, what is saved, and search."""

from datetime import datetime
from typing import Annotated, Literal

from django.http import HttpRequest
from django.utils import timezone
from ninja import Query, Router, Schema
from pydantic import Field

from digest.limits import SEARCH, limit_count
from digest.pages import search_page
from digest.readers import reader_of
from digest.searching import QUERY_CHARS, Part
from digest.selectors.search import PAGES_MAX
from digest.services.readings import item_read, item_save, item_unread

router = Router(tags=["reading"])


class ReadOut(Schema):
    """Since when an item counts as read; `null`: it does not."""

    item_id: int
    read_at: datetime | None


class SavedOut(Schema):
    """Since when an item is saved; `null`: it is not."""

    item_id: int
    saved_at: datetime | None


class SearchIn(Schema):
    """What to look for, in which order, and which page of twenty."""

    q: Annotated[str, Field(max_length=QUERY_CHARS)] = ""
    order: Literal["best", "newest"] = "best"
    page: Annotated[int, Field(ge=1, le=PAGES_MAX)] = 1


class PartOut(Schema):
    """A piece of plain text, marked where it is what was searched for. Escape it before it meets HTML."""

    text: str
    marked: bool


class HitOut(Schema):
    """One item that was found. `reasons` says in a few words what its score would rest on now."""

    item_id: int
    url: str
    source: str
    title: list[PartOut]
    snippet: list[PartOut]
    dated_at: datetime
    reasons: list[str]
    read_at: datetime | None
    saved_at: datetime | None


class SearchOut(Schema):
    """One page of what was found. `loose`: no item had the whole words, these have longer ones."""

    total: int
    page: int
    more: bool
    loose: bool
    hits: list[HitOut]


@router.post("/items/{int:item_id}/read", response=ReadOut)
def read_post(request: HttpRequest, item_id: int) -> ReadOut:
    """Mark an item as read; the first time counts."""
    at = item_read(reader=reader_of(request), item_id=item_id, now=timezone.now())
    return ReadOut(item_id=item_id, read_at=at)


@router.delete("/items/{int:item_id}/read", response=ReadOut)
def read_delete(request: HttpRequest, item_id: int) -> ReadOut:
    """Mark an item as not read."""
    item_unread(reader=reader_of(request), item_id=item_id)
    return ReadOut(item_id=item_id, read_at=None)


@router.post("/items/{int:item_id}/saved", response=SavedOut)
def saved_post(request: HttpRequest, item_id: int) -> SavedOut:
    """Save an item for later; the first time counts."""
    at = item_save(reader=reader_of(request), item_id=item_id, saved=True, now=timezone.now())
    return SavedOut(item_id=item_id, saved_at=at)


@router.delete("/items/{int:item_id}/saved", response=SavedOut)
def saved_delete(request: HttpRequest, item_id: int) -> SavedOut:
    """Do not keep an item any longer."""
    item_save(reader=reader_of(request), item_id=item_id, saved=False, now=timezone.now())
    return SavedOut(item_id=item_id, saved_at=None)


@router.get("/search", response=SearchOut)
def search_get(request: HttpRequest, asked: Query[SearchIn]) -> SearchOut:
    """Search one's own items, in the language of the search page."""
    reader, now = reader_of(request), timezone.now()
    limit_count(limit=SEARCH, who=reader.pk, now=now)
    page = search_page(reader, asked.q, asked.order, asked.page, now)
    found = page["found"]
    hits = [
        HitOut(
            item_id=hit.item.pk,
            url=hit.item.url,
            source=str(hit.item.source),
            title=_parts(hit.title),
            snippet=_parts(hit.snippet),
            dated_at=hit.item.dated_at,
            reasons=list(hit.why.chips),
            read_at=hit.response.read_at,
            saved_at=hit.response.saved_at,
        )
        for hit in page["hits"]
    ]
    return SearchOut(total=found.total, page=found.page, more=found.more, loose=found.loose, hits=hits)


def _parts(parts: tuple[Part, ...]) -> list[PartOut]:
    return [PartOut(text=part.text, marked=part.marked) for part in parts]

"""Full-text search of a reader's items, on SQLite and PostgreSQL."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal
from uuid import UUID

from django.db import connection
from django.db.models import QuerySet
from django.db.models.expressions import RawSQL

from digest.items.search_query import Term, terms_loosen, terms_of
from digest.items.selectors import visible_ids
from digest.models import Item

SEARCH_PAGE = 20
PAGES_MAX = 50
Order = Literal["best", "newest"]

# A word in the title says more about an item than one in its text.
TITLE_WEIGHT = 4.0
_TS_RANK = f"ts_rank_cd('{{{1 / TITLE_WEIGHT}, 0, 0, 1}}', i.search_words, q, 1)"
# Materialised: bm25 cannot be asked for where rows are already being counted and sorted. The plus keeps the
# planner from asking the index once for each item the reader may see.
_SQLITE = """
WITH found AS MATERIALIZED (
    SELECT rowid AS id, {score} AS score FROM digest_item_search
    WHERE digest_item_search MATCH %s AND +rowid IN ({visible})
)
SELECT found.id, COUNT(*) OVER () FROM found{join} ORDER BY {order} LIMIT %s OFFSET %s
"""
# Materialised: one reader may see some thousands of items, a common word is in a fifth of all.
_POSTGRESQL = """
WITH visible AS MATERIALIZED ({visible})
SELECT i.id, COUNT(*) OVER ()
FROM visible JOIN digest_item i ON i.id = visible.item_id, to_tsquery('pg_catalog.simple', %s) q
WHERE i.search_words @@ q
ORDER BY {order} LIMIT %s OFFSET %s
"""


@dataclass(frozen=True, slots=True)
class SearchPage:
    """One page of search results. `total` counts all pages; `terms` are the terms searched for.

    `loose`: no item had the whole words, so these have words that begin with them.
    """

    items: tuple[Item, ...]
    total: int
    terms: tuple[Term, ...]
    page: int
    loose: bool = False

    @property
    def only_excluded(self) -> bool:
        """Return whether every term excludes something, so that there is nothing to search for."""
        return bool(self.terms) and all(term.excluded for term in self.terms)

    @property
    def cut(self) -> bool:
        """Return whether this is the last page that is offered although more items match."""
        return self.page == PAGES_MAX and self.total > self.within

    @property
    def within(self) -> int:
        """Return how many items all pages together can show."""
        return PAGES_MAX * SEARCH_PAGE

    @property
    def more(self) -> bool:
        """Return whether there is a page after this one."""
        return self.page < PAGES_MAX and self.page * SEARCH_PAGE < self.total


def items_search(*, reader_id: UUID, query: str, order: Order = "best", page: int = 1) -> SearchPage:
    """Return the reader's items with every term of `query` in title or text, twenty a page (1 to 50).

    Only items that `item_for` would show them. Two queries, and up to two more where this page is empty. Any
    text is a query: see `digest.items.search_query`. Without a word to search for, nothing is found.
    """
    terms, page = terms_of(query), min(max(page, 1), PAGES_MAX)
    if all(term.excluded for term in terms):
        return SearchPage((), 0, terms, page)
    ids, total = _matches(reader_id, terms, order, page)
    loose = not ids and (page == 1 or not _matches(reader_id, terms, order, 1)[0])
    if loose and (looser := terms_loosen(terms)) != terms:
        terms = looser
        ids, total = _matches(reader_id, terms, order, page)
    items = Item.objects.filter(pk__in=ids).select_related("source").in_bulk()
    return SearchPage(tuple(items[pk] for pk in ids if pk in items), total, terms, page, loose and bool(ids))


def items_about(*, query: str) -> QuerySet[Item]:
    """Return all items, of any reader, with every term of `query`, found by the index; for operators.

    Empty where there is no word to search for.
    """
    terms = terms_of(query)
    if all(term.excluded for term in terms):
        return Item.objects.none()
    if connection.vendor == "sqlite":
        found = RawSQL(
            "SELECT rowid FROM digest_item_search WHERE digest_item_search MATCH %s", [_fts5(terms)]
        )
    else:
        words = "search_words @@ to_tsquery('pg_catalog.simple', %s)"
        found = RawSQL(f"SELECT id FROM digest_item WHERE {words}", [_tsquery(terms)])
    return Item.objects.filter(pk__in=found)


def _matches(reader_id: UUID, terms: Sequence[Term], order: Order, page: int) -> tuple[list[int], int]:
    """Return one page of ids, in order, and how many there are on all pages; one query."""
    visible = [part.query.sql_with_params() for part in visible_ids(reader_id=reader_id)]
    visible_params = [param for _, params in visible for param in params]
    if connection.vendor == "sqlite":
        template, by_score, params = _SQLITE, "score, found.id DESC", [_fts5(terms), *visible_params]
    else:
        template, by_score = _POSTGRESQL, f"{_TS_RANK} DESC, i.id DESC"
        params = [*visible_params, _tsquery(terms)]
    newest = order == "newest"
    sql = template.format(
        visible=" UNION ".join(sql for sql, _ in visible),
        score="0" if newest else f"bm25(digest_item_search, {TITLE_WEIGHT}, 1.0)",
        join=" JOIN digest_item i ON i.id = found.id" if newest else "",
        order="i.dated_at DESC, i.id DESC" if newest else by_score,
    )
    with connection.cursor() as cursor:
        cursor.execute(sql, [*params, SEARCH_PAGE, (page - 1) * SEARCH_PAGE])
        rows = cursor.fetchall()
    return [row[0] for row in rows], rows[0][1] if rows else 0


def _fts5(terms: Sequence[Term]) -> str:
    """Return the terms as an FTS5 query; every word is quoted, so none is read as an operator."""
    wanted: list[str] = []
    excluded: list[str] = []
    for term in terms:
        star = "*" if term.prefix else ""
        forms = " OR ".join(f'"{" ".join(form)}"{star}' for form in term.forms)
        (excluded if term.excluded else wanted).append(f"({forms})")
    query = " AND ".join(wanted)
    return f"({query}) NOT ({' OR '.join(excluded)})" if excluded else query


def _tsquery(terms: Sequence[Term]) -> str:
    """Return the terms as a `to_tsquery` query; every word is quoted, so none is read as an operator."""
    query = []
    for term in terms:
        sign, star = "!" if term.excluded else "", ":*" if term.prefix else ""
        forms = " | ".join(" <-> ".join(f"'{word}'" for word in form) + star for form in term.forms)
        query.append(f"{sign}({forms})")
    return " & ".join(query)

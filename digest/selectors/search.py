"""Searching a reader's own items in full text, on SQLite and PostgreSQL alike."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal
from uuid import UUID

from django.db import connection
from django.db.models import QuerySet
from django.db.models.expressions import RawSQL

from digest.models import Item
from digest.searching import Term, loosened, terms_of
from digest.selectors.items import visible_ids

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
# Materialised: what one reader may see is some thousands of items, a common word stands in a fifth of all.
_POSTGRESQL = """
WITH visible AS MATERIALIZED ({visible})
SELECT i.id, COUNT(*) OVER ()
FROM visible JOIN digest_item i ON i.id = visible.item_id, to_tsquery('pg_catalog.simple', %s) q
WHERE i.search_words @@ q
ORDER BY {order} LIMIT %s OFFSET %s
"""


@dataclass(frozen=True, slots=True)
class Found:
    """One page of what a search found. `total` counts all pages; `terms` are what was looked for.

    `loose`: no item had the whole words, so these have words that begin with them.
    """

    items: tuple[Item, ...]
    total: int
    terms: tuple[Term, ...]
    page: int
    loose: bool = False

    @property
    def only_excluded(self) -> bool:
        """Whether every term leaves something out, so that nothing was looked for."""
        return bool(self.terms) and all(term.excluded for term in self.terms)

    @property
    def cut(self) -> bool:
        """Whether this is the last page to be had though more was found."""
        return self.page == PAGES_MAX and self.total > self.within

    @property
    def within(self) -> int:
        """How many items all pages together can show."""
        return PAGES_MAX * SEARCH_PAGE

    @property
    def more(self) -> bool:
        """Whether there is a page after this one."""
        return self.page < PAGES_MAX and self.page * SEARCH_PAGE < self.total


def items_search(*, reader_id: UUID, query: str, order: Order = "best", page: int = 1) -> Found:
    """The reader's items that hold every term of `query` in title or text, twenty a page (1 to 50).

    Only what `item_for` would show them. Two queries, and up to two more where this page is empty. Any text
    is a query: see `digest.searching`. Without a word to look for, nothing is found and nothing asked.
    """
    terms, page = terms_of(query), min(max(page, 1), PAGES_MAX)
    if all(term.excluded for term in terms):
        return Found((), 0, terms, page)
    ids, total = _matches(reader_id, terms, order, page)
    loose = not ids and (page == 1 or not _matches(reader_id, terms, order, 1)[0])
    if loose and (looser := loosened(terms)) != terms:
        terms = looser
        ids, total = _matches(reader_id, terms, order, page)
    items = Item.objects.filter(pk__in=ids).select_related("source").in_bulk()
    return Found(tuple(items[pk] for pk in ids if pk in items), total, terms, page, loose and bool(ids))


def items_about(*, query: str) -> QuerySet[Item]:
    """All items, whoever may see them, that hold every term of `query`, by the index; for operators.

    Nothing where there is no word to look for.
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
    """One page of ids, in order, and how many there are on all pages; one query."""
    parts_of = [part.query.sql_with_params() for part in visible_ids(reader_id=reader_id)]
    mine = [param for _, some in parts_of for param in some]
    if connection.vendor == "sqlite":
        template, by, asked = _SQLITE, "score, found.id DESC", [_fts5(terms), *mine]
    else:
        template, by, asked = _POSTGRESQL, f"{_TS_RANK} DESC, i.id DESC", [*mine, _tsquery(terms)]
    newest = order == "newest"
    parts = {
        "visible": " UNION ".join(sql for sql, _ in parts_of),
        "score": "0" if newest else f"bm25(digest_item_search, {TITLE_WEIGHT}, 1.0)",
        "join": " JOIN digest_item i ON i.id = found.id" if newest else "",
        "order": "i.dated_at DESC, i.id DESC" if newest else by,
    }
    sql = template.format(**parts)
    with connection.cursor() as cursor:
        cursor.execute(sql, [*asked, SEARCH_PAGE, (page - 1) * SEARCH_PAGE])
        rows = cursor.fetchall()
    return [row[0] for row in rows], rows[0][1] if rows else 0


def _fts5(terms: Sequence[Term]) -> str:
    """The terms in the language of FTS5; every word is quoted, so none is taken for an operator."""
    wanted = " AND ".join(_fts5_term(term) for term in terms if not term.excluded)
    unwanted = " OR ".join(_fts5_term(term) for term in terms if term.excluded)
    return f"({wanted}) NOT ({unwanted})" if unwanted else wanted


def _fts5_term(term: Term) -> str:
    star = "*" if term.prefix else ""
    return "(" + " OR ".join(f'"{" ".join(form)}"{star}' for form in term.forms) + ")"


def _tsquery(terms: Sequence[Term]) -> str:
    """The terms in the language of `to_tsquery`; every word is quoted, so none is taken for an operator."""
    return " & ".join(("!" if term.excluded else "") + _tsquery_term(term) for term in terms)


def _tsquery_term(term: Term) -> str:
    star = ":*" if term.prefix else ""
    forms = (" <-> ".join(f"'{word}'" for word in form) + star for form in term.forms)
    return "(" + " | ".join(forms) + ")"

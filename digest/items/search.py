"""Full-text search of a reader's items, on SQLite and PostgreSQL.

`digest.items.search_query` parses the typed query. This module has the database queries, filters and results.
"""

import time
import unicodedata
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Literal, NamedTuple, get_args
from uuid import UUID

from django.db import OperationalError, connection, transaction
from django.db.models import QuerySet
from django.db.models.expressions import RawSQL

from digest.items.listing import ListFilter, feeds_among
from digest.items.search_query import (
    Term,
    query_correct,
    query_terms,
    terms_as_beginnings,
    terms_begin,
    terms_begun_also,
    terms_correct,
    terms_fuzzy,
    terms_literal,
    terms_loosen,
    terms_short,
    terms_whole,
    word_is_marks,
)
from digest.items.selectors import items_hidden, items_labelled, mutes_in_force, visible_ids
from digest.models import Item, Reading
from ranking.mutes import MuteFilter

SEARCH_PAGE = 20
PAGES_MAX = 50
# Twelve beginnings of one letter each, over 22 MB of a publisher's invented words, took 6 s. The order of a
# thousand articles of nothing but the twelve searched words took PostgreSQL 29 s. A query is stopped after so
# many seconds, looked at every so many steps of SQLite's.
QUERY_S, QUERY_STEPS = 2.0, 10_000
# How many items are read to find the intended spelling of a word.
TYPO_SAMPLE = 20
Order = Literal["best", "newest", "oldest"]
# SQLite counts days from noon of 24 November 4714 BC.
JULIAN_DAY_OF_1970 = 2_440_587.5

# A word in the title says more about an item than one in its text. Both databases count repeated words less
# and less, so a factor inside their score would not reach this: the title's part is a sum of its own.
TITLE_WEIGHT = 4.0
_BM25 = f"bm25(digest_item_search, 1.0, 1.0) + {TITLE_WEIGHT - 1} * bm25(digest_item_search, 1.0, 0.0)"
# 32: rank / (rank + 1), so a text that repeats a word has no more than 1. 1: long texts count less.
_TS_RANK = (
    "ts_rank_cd('{1, 0, 0, 1}', i.search_words, q, 33)"
    f" + {TITLE_WEIGHT - 1} * ts_rank_cd('{{0, 0, 0, 1}}', i.search_words, q, 32)"
)
# A whole word counts so much more than a longer one, and an item of so many days half. BM25 gives a plural
# that is rare up to eight times what it gives a common word.
WHOLE_WEIGHT = 4.0
HALF_DAYS = 90.0
_WORTH = f"score * (1 + {WHOLE_WEIGHT - 1} * whole) / (1 + {{days}} / {HALF_DAYS})"
_BY_DATE = {"newest": "whole DESC, dated_at DESC, id DESC", "oldest": "whole DESC, dated_at, id"}
# Materialised, because bm25 cannot be used on rows that are already counted and sorted. The plus keeps the
# planner from asking the index once per visible item.
_SQLITE = """
WITH found AS MATERIALIZED (
    SELECT rowid AS id, {score} AS score FROM digest_item_search
    WHERE digest_item_search MATCH %s AND +rowid IN ({visible})
), once AS (
    SELECT i.id, i.dated_at, score, {whole} AS whole,
        ROW_NUMBER() OVER (PARTITION BY i.article ORDER BY i.own DESC, i.id) AS n
    FROM found JOIN digest_item i ON i.id = found.id WHERE {filters}
)
SELECT id, COUNT(*) OVER (), SUM(whole) OVER (), whole FROM once WHERE n = 1
ORDER BY {order} LIMIT %s OFFSET %s
"""
_SQLITE_WHOLE = "i.id IN (SELECT rowid FROM digest_item_search WHERE digest_item_search MATCH %s)"
# Materialised: one reader may see some thousands of items, but a common word is in a fifth of all. And the
# rows to sort must not carry all words of the items.
_POSTGRESQL = """
WITH visible AS MATERIALIZED ({visible}), found AS MATERIALIZED (
    SELECT i.id, i.dated_at, i.article, i.own, {score} AS score, {whole} AS whole
    FROM visible JOIN digest_item i ON i.id = visible.item_id, to_tsquery('pg_catalog.simple', %s) q
    WHERE i.search_words @@ q AND {filters}
), once AS (
    SELECT id, dated_at, score, whole, ROW_NUMBER() OVER (PARTITION BY article ORDER BY own DESC, id) AS n
    FROM found
)
SELECT id, COUNT(*) OVER (), SUM(whole) OVER (), whole FROM once WHERE n = 1
ORDER BY {order} LIMIT %s OFFSET %s
"""
_POSTGRESQL_WHOLE = "(i.search_words @@ to_tsquery('pg_catalog.simple', %s))::int"
# Testing each visible item for hundreds of spellings takes ten times as long as asking the index for all of
# them. An intersection, because the planner cannot know how few items they match.
_POSTGRESQL_FUZZY = """
WITH matching AS MATERIALIZED (
    SELECT item_id FROM ({visible}) AS visible INTERSECT
    SELECT id FROM digest_item WHERE search_words @@ to_tsquery('pg_catalog.simple', %s)
), once AS (
    SELECT i.id, i.dated_at, ROW_NUMBER() OVER (PARTITION BY i.article ORDER BY i.own DESC, i.id) AS n
    FROM matching JOIN digest_item i ON i.id = matching.item_id WHERE {filters}
)
SELECT id, COUNT(*) OVER (), COUNT(*) OVER (), 1 FROM once WHERE n = 1
ORDER BY dated_at DESC, id DESC LIMIT %s OFFSET %s
"""


@dataclass(frozen=True, slots=True)
class SearchFilters:
    """Limits a search: to a source (its key), a folder, from `since`, before `until`, unread, saved.

    `category` and `author` are names in any spelling. They filter the best (or newest) thousand results.
    """

    source: str = ""
    folder: str = ""
    since: datetime | None = None
    until: datetime | None = None
    unread: bool = False
    saved: bool = False
    category: str = ""
    author: str = ""


NO_FILTERS = SearchFilters()


def order_of(typed: str, *, default: Order) -> Order:
    """Return the order that `typed` names, or the `default` for any other text."""
    return next((order for order in get_args(Order) if order == typed), default)


@dataclass(frozen=True, slots=True)
class SearchPage:
    """One page of search results. `total` counts all pages; `terms` are the terms searched for.

    `whole` of the total have the whole words; in the others the last word is longer. `loose`: no item had
    the whole words, so words that begin with them were searched. `instead`: no item had those either, so this
    query was searched, which differs in one letter of a word. `stopped`: it took too long, so only whole
    words were searched, and if their order took too long, too, the newest are first. `muted` counts matches
    that mutes hide, of the first thousand.
    """

    items: tuple[Item, ...]
    total: int
    terms: tuple[Term, ...]
    page: int
    whole: int = 0
    loose: bool = False
    instead: str = ""
    stopped: bool = False
    muted: int = 0

    @property
    def only_excluded(self) -> bool:
        """Return whether every term excludes something, so there is nothing to search for."""
        return bool(self.terms) and all(term.excluded for term in self.terms)

    @property
    def longer(self) -> bool:
        """Return whether some items have the whole words, and others longer ones."""
        return 0 < self.whole < self.total

    @property
    def cut(self) -> bool:
        """Return whether this is the last page on offer although more items match."""
        return self.page == PAGES_MAX and self.total > self.within

    @property
    def within(self) -> int:
        """Return how many items all pages together can show."""
        return PAGES_MAX * SEARCH_PAGE

    @property
    def more(self) -> bool:
        """Return whether another page follows."""
        return self.page < PAGES_MAX and self.page * SEARCH_PAGE < self.total


def items_search(
    *,
    reader_id: UUID,
    query: str,
    order: Order = "best",
    page: int = 1,
    filters: SearchFilters = NO_FILTERS,
    with_muted: bool = False,
    now: datetime,
) -> SearchPage:
    """Return a page (20 items, pages 1 to 50) of the reader's items that contain every term of `query`.

    Terms match in title or text. In items without the whole words, a longer word begins like the last term:
    the newest, and the oldest, come after those with the whole words. The best are ordered by words in the
    title, whole words and age, too. Each article appears once. Only items that `item_for` would show
    are found, and muted items only among the saved ones or `with_muted`. Any text is a valid query
    (`digest.items.search_query`). Without a word to search for, nothing is found.

    Three queries, one more with mutes, one more in a folder, one more for each word of three letters beside
    OR. If nothing is found, some more, at most one per word. If one takes too long, only whole words are
    searched.
    """
    terms, page = query_terms(query), min(max(page, 1), PAGES_MAX)
    if all(term.excluded for term in terms):
        return SearchPage((), 0, terms, page)
    shows_muted = filters.saved or with_muted
    mutes = MuteFilter() if shows_muted else mutes_in_force(reader_id=reader_id, now=now)
    search = _Search(reader_id, filters, order, mutes, now, _feeds_of(reader_id, filters))
    stopped, begun = False, terms_begin(terms)
    try:
        begun = search.alternatives(begun)
        tried, matches = search.first_page(begun, page)
    except SearchTooLong:
        stopped, tried = True, terms_whole(terms)
        matches = search.page_in_time(tried, page)
    instead = query_correct(query, terms, tried) if matches.ids and not stopped else ""
    is_other = tried != begun or not matches.whole
    loose = bool(matches.ids) and not instead and not stopped and is_other
    items = Item.objects.filter(pk__in=matches.ids).select_related("source").in_bulk()
    found = tuple(items[pk] for pk in matches.ids if pk in items)
    rest = matches.whole, loose, instead, stopped, matches.muted
    return SearchPage(found, matches.total, tried, page, *rest)


def search_ids(*, reader_id: UUID, query: str, filters: SearchFilters, now: datetime) -> list[int]:
    """Return the newest thousand items with the whole words of `query`, newest first.

    If there are none, those with longer words that begin so, or with a typing error corrected. None if that
    takes too long.
    """
    terms = query_terms(query)
    if all(term.excluded for term in terms):
        return []
    mutes = MuteFilter() if filters.saved else mutes_in_force(reader_id=reader_id, now=now)
    search = _Search(reader_id, filters, "newest", mutes, now, _feeds_of(reader_id, filters))
    found = (search.matches(tried, PAGES_MAX * SEARCH_PAGE) for tried in search.spellings(terms))
    try:
        return next((ids for ids in found if ids), [])
    except SearchTooLong:
        return []


def items_with_words(*, query: str) -> QuerySet[Item]:
    """Return all items of any reader that contain every term of `query`, through the index; for operators.

    Empty if there is no word to search for.
    """
    terms = query_terms(query)
    if all(term.excluded for term in terms):
        return Item.objects.none()
    if connection.vendor == "sqlite":
        found = RawSQL(
            "SELECT rowid FROM digest_item_search WHERE digest_item_search MATCH %s", [fts5_query(terms)]
        )
    else:
        words = "search_words @@ to_tsquery('pg_catalog.simple', %s)"
        found = RawSQL(f"SELECT id FROM digest_item WHERE {words}", [tsquery_of(terms)])
    return Item.objects.filter(pk__in=found)


class SearchTooLong(Exception):
    """A query that was stopped because it took too long."""


@contextmanager
def in_time(seconds: float | None = None) -> Iterator[None]:
    """Stop the query of the block after so many seconds, or `QUERY_S`. Raises `SearchTooLong`."""
    seconds = QUERY_S if seconds is None else seconds
    connection.ensure_connection()
    if connection.vendor == "sqlite":
        end, session = time.monotonic() + seconds, connection.connection
        session.set_progress_handler(lambda: time.monotonic() > end, QUERY_STEPS)
        try:
            yield
        except OperationalError as error:
            raise (SearchTooLong() if "interrupted" in str(error) else error) from error
        finally:
            session.set_progress_handler(None, 0)
        return
    try:
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute("SELECT set_config('statement_timeout', %s, true)", [f"{seconds * 1000:.0f}"])
            yield
            cursor.execute("SET LOCAL statement_timeout TO DEFAULT")
    except OperationalError as error:
        # The code of a query that was cancelled (PostgreSQL, appendix A).
        raise (SearchTooLong() if getattr(error.__cause__, "sqlstate", "") == "57014" else error) from error


class _Matches(NamedTuple):
    """Matching ids in order, their number on all pages, how many of these have the whole words, and which.

    `muted` counts those that mutes hide.
    """

    ids: list[int]
    total: int
    whole: int
    with_whole: frozenset[int] = frozenset()
    muted: int = 0


@dataclass(frozen=True, slots=True)
class _Search:
    """One reader's searches with the same order, filters, mutes and feeds (`None`: all); one query each."""

    reader_id: UUID
    filters: SearchFilters
    order: Order
    mutes: MuteFilter
    now: datetime
    feeds: Sequence[int] | None = None

    def first_page(self, terms: Sequence[Term], page: int) -> tuple[tuple[Term, ...], _Matches]:
        """Return the first spelling of `terms` with matches, and a page of these. Raises `SearchTooLong`.

        Muted ones are matches, too: no other word is searched in place of a muted one.
        """
        for tried in self.spellings(terms):
            matches = self.page(tried, page)
            if matches.ids or matches.muted or self.has_page(tried, page):
                break
        return tried, matches

    def page_in_time(self, terms: Sequence[Term], page: int) -> _Matches:
        """Return one page of matches, newest first if their order takes too long; none if that does, too."""
        for order in dict.fromkeys((self.order, "newest")):
            with suppress(SearchTooLong):
                return replace(self, order=order).page(terms, page)
        return _Matches([], 0, 0)

    def page(self, terms: Sequence[Term], page: int) -> _Matches:
        """Return one page of matches."""
        return self._matches(terms, SEARCH_PAGE, (page - 1) * SEARCH_PAGE, self.order)

    def matches(self, terms: Sequence[Term], most: int) -> list[int]:
        """Return the first `most` ids in order."""
        return self._matches(terms, most, 0, self.order).ids

    def has_page(self, terms: Sequence[Term], page: int) -> bool:
        """Return whether an empty page follows others. No query for the first page."""
        return page > 1 and bool(self._matches(terms, 1, 0, "newest").ids)

    def spellings(self, terms: Sequence[Term]) -> Iterator[tuple[Term, ...]]:
        """Yield the terms as typed, then as beginnings of words, then with a typo corrected."""
        yield (*terms,)
        tried = terms_as_beginnings(terms)
        terms = terms_literal(terms)
        if (looser := terms_loosen(terms)) not in (terms, tried):
            yield looser
        if (corrected := self.correction(terms)) != terms:
            yield corrected

    def correction(self, terms: Sequence[Term]) -> tuple[Term, ...]:
        """Return the terms in the spelling, one letter away, that most of the reader's newest matches use."""
        # Each word may occur, only never together. Many spellings are tried only for words that do not occur.
        known = {term for term in terms if len(terms) > 1 and term.may_be_typo and self._is_known(term)}
        fuzzy = terms_fuzzy(terms, known)
        if fuzzy == terms:
            return fuzzy
        ids = self._matches(fuzzy, TYPO_SAMPLE, 0, "newest").ids
        texts = Item.objects.filter(pk__in=ids).values_list("title", "text") if ids else []
        return terms_correct(fuzzy, [f"{title} {text}" for title, text in texts])

    def alternatives(self, terms: tuple[Term, ...]) -> tuple[Term, ...]:
        """Return the terms; short words of OR that no item has begin longer ones, as without OR.

        One query for each short word.
        """
        short = terms_short(terms)
        rest = [term for term in terms if not any(one in short for one in terms_short((term,)))]
        return terms_begun_also(terms, [one for one in short if not self._is_known(one, *rest)])

    def _is_known(self, *terms: Term) -> bool:
        found = self._matches(terms, 1, 0, "newest")
        return bool(found.ids or found.muted)

    def _matches(self, terms: Sequence[Term], limit: int, offset: int, order: Order) -> _Matches:
        """Return the matches. None of the ids that pages can show is muted."""
        labelled = bool(self.filters.category or self.filters.author)
        if not self.mutes and not labelled:
            return self._search_ids(terms, limit, offset, order)
        found, total, _whole, with_whole, _muted = self._search_ids(terms, PAGES_MAX * SEARCH_PAGE, 0, order)
        hidden = muted = items_hidden(mutes=self.mutes, item_ids=found)
        if labelled:
            labels = {"category": self.filters.category, "author": self.filters.author}
            others = {*found} - items_labelled(item_ids=found, **labels)
            hidden, muted = hidden | others, muted - others
        shown = [pk for pk in found if pk not in hidden]
        page, whole = shown[offset : offset + limit], len(with_whole - hidden)
        return _Matches(page, len(shown) if labelled else total - len(hidden), whole, muted=len(muted))

    def _search_ids(self, terms: Sequence[Term], limit: int, offset: int, order: Order) -> _Matches:
        visible = [part.query.sql_with_params() for part in visible_ids(reader_id=self.reader_id)]
        visible_params = [param for _, params in visible for param in params]
        filters, filter_params = search_conditions(self.reader_id, self.filters, self.feeds)
        literal = terms_literal(terms) if any(one.begins for term in terms for one in term.either) else ()
        if connection.vendor == "sqlite":
            template, score, by_score = _SQLITE, _BM25, f"{_worth_sqlite(self.now)}, id DESC"
            whole, whole_params = _SQLITE_WHOLE, [fts5_query(literal)]
            params = [fts5_query(terms), *visible_params, *(whole_params if literal else ())]
        else:
            fuzzy = any(term.variants for term in terms)
            template, score = _POSTGRESQL_FUZZY if fuzzy else _POSTGRESQL, _TS_RANK
            by_score = f"{_worth_postgresql(self.now)} DESC, id DESC"
            whole, whole_params = _POSTGRESQL_WHOLE, [tsquery_of(literal)]
            params = [*visible_params, *(whole_params if literal else ()), tsquery_of(terms)]
        sql = template.format(
            visible=" UNION ".join(sql for sql, _ in visible),
            score=score if order == "best" else "0",
            filters=filters,
            whole=whole if literal else "1",
            order=_BY_DATE.get(order, by_score),
        )
        # On PostgreSQL the limit costs three statements, which one word is not worth.
        words = sum(len(one.words) for term in terms for one in term.either)
        limit_time = connection.vendor == "sqlite" or words > 1
        with (
            in_time() if limit_time else nullcontext(),
            _index_only(template is _POSTGRESQL_FUZZY),
            connection.cursor() as cursor,
        ):
            cursor.execute(sql, [*params, *filter_params, limit, offset])
            rows = cursor.fetchall()
        if not rows:
            return _Matches([], 0, 0)
        _id, total, whole, _is_whole = rows[0]
        return _Matches([row[0] for row in rows], total, whole, frozenset(row[0] for row in rows if row[3]))


def _worth_sqlite(now: datetime) -> str:
    """Return the SQL of an item's worth in the order of the best: the least is best, as of `bm25`."""
    day = now.timestamp() / 86_400 + JULIAN_DAY_OF_1970
    return _WORTH.format(days=f"max(0, {day:.5f} - julianday(dated_at))")


def _worth_postgresql(now: datetime) -> str:
    """Return the SQL of an item's worth in the order of the best: the greatest is best."""
    return _WORTH.format(days=f"(greatest(0, {now.timestamp():.0f} - extract(epoch FROM dated_at)) / 86400)")


@contextmanager
def _index_only(wanted: bool) -> Iterator[None]:
    """Keep PostgreSQL from a full scan: it takes hundreds of rare words for a common one."""
    if not wanted:
        yield
        return
    with transaction.atomic(savepoint=False), connection.cursor() as cursor:
        cursor.execute("SET LOCAL enable_seqscan = off")
        yield
        cursor.execute("SET LOCAL enable_seqscan = on")


def _feeds_of(reader_id: UUID, filters: SearchFilters) -> list[int] | None:
    """Return the feeds of the folder that a search is limited to; `None` without one."""
    return feeds_among(reader_id=reader_id, chosen=ListFilter(folder=filters.folder or None))


def search_conditions(
    reader_id: UUID, filters: SearchFilters, feeds: Sequence[int] | None
) -> tuple[str, list[Any]]:
    """Return the condition of a search on items `i`, which are of these `feeds`, and its parameters.

    Read and saved apply to all items of an article.
    """
    conditions: list[str] = ["1 = 1"]
    params: list[Any] = []
    if feeds is not None:
        # Written out: fifty searches in a folder of a thousand feeds are more parameters than SQLite takes.
        conditions.append(f"i.feed_id IN ({', '.join(f'{pk:d}' for pk in feeds)})" if feeds else "1 = 0")
    if filters.source:
        conditions.append("i.source_id = %s")
        params.append(filters.source)
    for sign, moment in ((">=", filters.since), ("<", filters.until)):
        if moment is not None:
            conditions.append(f"i.dated_at {sign} %s")
            params.append(connection.ops.adapt_datetimefield_value(moment))
    readings = Reading.objects.filter(reader_id=reader_id)
    for wanted, sign, rows in (
        (filters.unread, "NOT IN", readings.filter(read_at__isnull=False)),
        (filters.saved, "IN", readings.filter(saved_at__isnull=False)),
    ):
        if wanted:
            sql, found = rows.values("article").query.sql_with_params()
            conditions.append(f"i.article {sign} ({sql})")
            params += found
    return " AND ".join(conditions), params


def fts5_query(terms: Sequence[Term]) -> str:
    """Return the terms as an FTS5 query. Every word is quoted, so none is read as an operator."""
    wanted: list[str] = []
    excluded: list[str] = []
    for term in terms:
        forms = " OR ".join(
            f'"{" ".join(form)}"{"*" if one.indexed_prefix else ""}'
            for one in term.either
            for form in one.indexed
        )
        forms += "".join(f' OR "{" ".join(one.beginning)}"*' for one in term.either if one.begins)
        (excluded if term.excluded else wanted).append(f"({forms})")
    query = " AND ".join(wanted)
    return f"({query}) NOT ({' OR '.join(excluded)})" if excluded else query


def tsquery_of(terms: Sequence[Term]) -> str:
    """Return the terms as a `to_tsquery` query. Every word is quoted, so none is read as an operator."""
    query = []
    for term in terms:
        sign = "!" if term.excluded else ""
        forms = " | ".join(
            f"({_phrase(form)}{':*' if one.indexed_prefix else ''})"
            for one in term.either
            for form in one.indexed
        )
        forms += "".join(f" | ({_phrase(one.beginning)}:*)" for one in term.either if one.begins)
        query.append(f"{sign}({forms})")
    return " & ".join(query)


def _phrase(words: Sequence[str]) -> str:
    """Join the words in order, but not across marks without a letter, which have no position in the index."""
    marks = [word_is_marks(word) for word in words]
    query = ""
    for n, word in enumerate(words):
        if not marks[n]:
            sign = "" if not query else " & " if marks[n - 1] else " <-> "
            query += f"{sign}'{_bare(word)}'"
    return query


def _bare(word: str) -> str:
    """Remove all accents, also those of letters that are not Latin, as `digest_words` does."""
    marks = dict.fromkeys(range(0x300, 0x370))
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKD", word).translate(marks))

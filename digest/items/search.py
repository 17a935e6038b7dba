"""Full-text search of a reader's items, on SQLite and PostgreSQL: queries, results and highlighted words.

No query is an error: quotes make a phrase, a trailing `*` means "begins with", a leading `-` excludes, and
every other sign is white space.
"""

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal
from uuid import UUID

from django.db import connection
from django.db.models import QuerySet
from django.db.models.expressions import RawSQL

from digest.items.selectors import visible_ids
from digest.models import Item
from ranking.common.text import topic_key

QUERY_CHARS = 200
TERMS_MAX = 12
SNIPPET_CHARS = 260
SNIPPET_BEFORE = 80
# A letter may be two characters: one and the accent that follows it.
_WORD = re.compile(r"(?:[^\W_][\u0300-\u036f]*)+")
_TYPED = re.compile(r'(-?)"([^"]*)"?(\*?)|(\S+)')
# How German is typed without its own letters; the index folds ü to u by itself.
_DIGRAPHS = {"ae": "a", "oe": "o", "ue": "u"}

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
class Term:
    """Words in this order.

    `prefix`: the last may be the beginning of a word; `excluded`: they must not occur; `exact`: a phrase.
    """

    words: tuple[str, ...]
    prefix: bool = False
    excluded: bool = False
    exact: bool = False

    @property
    def forms(self) -> tuple[tuple[str, ...], ...]:
        """Return all spellings that match: a single word also in singular, plural and with German letters."""
        if self.exact or self.prefix or len(self.words) > 1:
            return (self.words,)
        return tuple((form,) for form in _forms(self.words[0]))


@dataclass(frozen=True, slots=True)
class TextPart:
    """A piece of a text, marked where it matches a term."""

    text: str
    marked: bool


class _Fold(dict[int, int]):
    """Map each letter to its plain lower-case one, for `str.translate`, which leaves positions unchanged."""

    def __missing__(self, code: int) -> int:
        plain = unicodedata.normalize("NFKD", chr(code).lower())
        base = "".join(c for c in plain if not unicodedata.combining(c))
        self[code] = ord(base) if len(base) == 1 else code
        return self[code]


_FOLD = _Fold()


def query_terms(typed: str) -> tuple[Term, ...]:
    """Return the terms of a query: at most twelve, from its first 200 characters."""
    terms = []
    for minus, phrase, star, word in _TYPED.findall(typed[:QUERY_CHARS].replace("\0", " ")):
        text = word or phrase
        words = tuple(filter(None, (_fold(found) for found in _WORD.findall(text))))
        if words:
            terms.append(
                Term(
                    words,
                    prefix=bool(star) or word.endswith("*"),
                    excluded=bool(minus) or word.startswith("-"),
                    exact=not word,
                )
            )
    return tuple(terms[:TERMS_MAX])


def terms_loosen(terms: Sequence[Term]) -> tuple[Term, ...]:
    """Return the same terms, each plain word of three letters or more as the beginning of a longer one."""
    return tuple(
        term if term.exact or term.excluded or len(term.words[-1]) < 3 else replace(term, prefix=True)
        for term in terms
    )


def highlight(text: str, terms: Sequence[Term]) -> tuple[TextPart, ...]:
    """Return the whole `text` with every match of the terms marked."""
    return _parts(text, 0, len(text), _match_spans(text, terms))


def terms_snippet(text: str, terms: Sequence[Term]) -> tuple[TextPart, ...]:
    """Return some 260 characters of `text` around the first match, else its beginning; cut at words."""
    flat = " ".join(text.split())
    matches = _match_spans(flat, terms)
    start = max(0, matches[0][0] - SNIPPET_BEFORE) if matches else 0
    if start:
        start = flat.find(" ", start) + 1
    end = len(flat)
    if end - start > SNIPPET_CHARS:
        end = max(flat.rfind(" ", start, start + SNIPPET_CHARS), start + SNIPPET_CHARS // 2)
    parts = _parts(flat, start, end, matches)
    before, after = "… " if start else "", " …" if end < len(flat) else ""
    return tuple(part for part in (TextPart(before, False), *parts, TextPart(after, False)) if part.text)


def _fold(word: str) -> str:
    plain = unicodedata.normalize("NFKD", word.lower())
    return "".join(c for c in plain if c.isalnum())


def _forms(word: str) -> list[str]:
    forms = {word, topic_key(word)}
    if len(word) > 2 and word.isalpha() and word.isascii():
        forms |= {f"{word}s", f"{word}es"}
        forms |= {f"{word[:-1]}ies"} if word.endswith("y") else set()
    plain = word
    for typed, letter in _DIGRAPHS.items():
        plain = plain.replace(typed, letter)
    forms |= {plain, word.replace("ß", "ss"), word.replace("ss", "ß")}
    return sorted(forms)


def _match_spans(text: str, terms: Sequence[Term]) -> list[tuple[int, int]]:
    """Return the spans of the terms in `text`, in order, none inside another."""
    wanted = [term for term in terms if not term.excluded]
    if not wanted:
        return []
    alternatives = [
        r"[\W_]+".join(re.escape(word) for word in form) + (r"\w*" if term.prefix else "")
        for term in wanted
        for form in term.forms
    ]
    longest_first = "|".join(sorted(alternatives, key=len, reverse=True))
    pattern = re.compile(rf"(?<![^\W_])(?:{longest_first})(?![^\W_])")
    return [match.span() for match in pattern.finditer(text.translate(_FOLD))]


def _parts(text: str, start: int, end: int, matches: Sequence[tuple[int, int]]) -> tuple[TextPart, ...]:
    parts, at = [], start
    for first, last in matches:
        if first < at or last > end:
            continue
        parts += [TextPart(text[at:first], False), TextPart(text[first:last], True)]
        at = last
    return tuple(part for part in (*parts, TextPart(text[at:end], False)) if part.text)


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
    text is a query: see `digest.items.search`. Without a word to search for, nothing is found.
    """
    terms, page = query_terms(query), min(max(page, 1), PAGES_MAX)
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
    terms = query_terms(query)
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

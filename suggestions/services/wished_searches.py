"""Wishes about saved searches: drafts with their search results, and accepting one."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop

from digest.errors import DigestError
from digest.items.own_names import items_name_sources
from digest.items.search import SearchFilters, items_search
from digest.items.search_query import QUERY_CHARS, query_terms
from digest.items.selectors import reader_source_titles, subscribed_titles
from digest.models import Item, Reader
from digest.searches.selectors import SearchAsked, search_name, searches_saved
from digest.searches.services import search_remove, search_save, search_topic_add
from digest.signed import DRAFT_LIFETIME_S, values_read, values_sign
from ranking.common.text import fold
from ranking.entities import RankingError
from suggestions.proposals import Refusal
from suggestions.wishes.left import left_note
from suggestions.wishes.searches import REMOVE, SAVE, TOPIC, SearchWish, searches_read, source_last
from suggestions.wishes.wish import WISHES_MAX

SALT = "suggestions.services.wished_searches"
TITLES_SHOWN = 5
SENTENCES = {
    SAVE: gettext_noop("Save the search “{search}” in the list beside your pages"),
    REMOVE: gettext_noop("Remove the search “{search}” from your list"),
    TOPIC: gettext_noop("Make the search “{search}” one of your topics"),
}
DONE = {
    SAVE: gettext_noop("Saved: the search “{search}”. It stands in the list of your sources."),
    REMOVE: gettext_noop("Removed from your list: {search}."),
    TOPIC: gettext_noop("The search “{search}” is one of your topics now."),
}


@dataclass(frozen=True, slots=True)
class SearchDraft:
    """A change of saved searches that waits for a yes. `signed` names it.

    `items` are the newest of the `finds` items that the search finds; none for a search to be removed.
    """

    signed: str
    sentence: str
    query: str
    finds: int
    items: tuple[Item, ...] = ()


@dataclass(frozen=True, slots=True)
class SearchAnswer:
    """The drafts of a text, the rest of it for the grammar of settings, and notes.

    `left` are the sentences beyond the third draft.
    """

    drafts: tuple[SearchDraft, ...]
    rest: str
    notes: tuple[str, ...] = ()
    left: str = ""


def searches_draft(*, reader: Reader, words: str, now: datetime) -> SearchAnswer:
    """Return the wishes in `words` about saved searches. Changes nothing. No query if there are none."""
    wishes, rest = searches_read(words)
    if not wishes:
        return SearchAnswer((), words)
    saved = searches_saved(reader_id=reader.pk)
    drafts, notes = [], []
    for wish in wishes[:WISHES_MAX]:
        found = _found(reader, wish, saved)
        if found is None and not wish.is_named:
            rest = f"{rest}; {wish.deed} search {wish.query}".strip("; ")
        elif found is None:
            notes.append(_("You have no saved search “{search}”.").format(search=wish.query[:QUERY_CHARS]))
        elif wish.deed == SAVE and all(term.excluded for term in query_terms(found[1].query)):
            notes.append(_("There is no word to search for. Type one, then save the search."))
        else:
            drafts.append(_draft(reader, wish.deed, *found, now))
    if beyond := wishes[WISHES_MAX:]:
        notes.append(left_note([wish.query for wish in beyond]))
    return SearchAnswer(tuple(drafts), rest, tuple(notes), "; ".join(wish.typed for wish in beyond))


def searches_draft_again(*, reader: Reader, signed: list[str], now: datetime) -> tuple[SearchDraft, ...]:
    """Return the signed drafts that can still be accepted."""
    saved = dict(searches_saved(reader_id=reader.pk)) if signed else {}
    read = [values for one in signed if (values := _read(reader, one)) is not None]
    return tuple(
        _draft(reader, one["deed"], one["search_id"], SearchAsked(**one["asked"]), now)
        for one in read
        if one["deed"] == SAVE or one["search_id"] in saved
    )


def search_draft_accept(*, reader: Reader, signed: str, now: datetime) -> str | Refusal | None:
    """Carry out a draft and return the result in a sentence, or `None` if `signed` is no draft of a search.

    Refuses with the code of the service's own refusal, such as `search_missing`.
    """
    values = _read(reader, signed)
    if values is None:
        return None
    asked, search_id = SearchAsked(**values["asked"]), values["search_id"]
    try:
        if values["deed"] == SAVE:
            search_save(reader=reader, asked=asked, now=now)
        elif values["deed"] == REMOVE:
            search_remove(reader=reader, search_id=search_id)
        else:
            search_topic_add(reader=reader, search_id=search_id, now=now)
    except (DigestError, RankingError) as error:
        return Refusal(error.code, error.message, asked.query)
    return _(DONE[values["deed"]]).format(search=search_name(asked, _titles(reader, asked)))


def _found(
    reader: Reader, wish: SearchWish, saved: list[tuple[int, SearchAsked]]
) -> tuple[int, SearchAsked] | None:
    """Return the intended search with its id, 0 for a new one, or `None` if it is none of the reader's."""
    if wish.deed == SAVE:
        titles = subscribed_titles(reader_id=reader.pk)
        keys = {fold(title): key for key, title in titles.items()} | {fold(key): key for key in titles}
        query, source = source_last(wish.query, keys.keys())
        filters = {"source": keys[fold(source)]} if source else {}
        return 0, SearchAsked(query[:QUERY_CHARS], "best", filters)
    wanted = fold(wish.query.strip('“”"„'))
    named = _titles(reader, *(asked for _id, asked in saved))
    return next(
        (
            (search_id, asked)
            for search_id, asked in saved
            if wanted in (fold(asked.query), fold(asked.query.strip('"')), fold(search_name(asked, named)))
        ),
        None,
    )


def _draft(reader: Reader, deed: str, search_id: int, asked: SearchAsked, now: datetime) -> SearchDraft:
    values: dict[str, Any] = {
        "deed": deed,
        "search_id": search_id,
        "asked": {"query": asked.query, "order": asked.order, "filters": dict(asked.filters)},
    }
    signed = values_sign(salt=SALT, reader_id=reader.pk, values=values)
    sentence = _(SENTENCES[deed]).format(search=search_name(asked, _titles(reader, asked)))
    if deed == REMOVE:
        return SearchDraft(signed, sentence, asked.query, 0)
    filters = SearchFilters(source=asked.filters.get("source", ""))
    page = items_search(reader_id=reader.pk, query=asked.query, order="newest", filters=filters, now=now)
    items = page.items[:TITLES_SHOWN]
    items_name_sources(reader_id=reader.pk, items=items)
    return SearchDraft(signed, sentence, asked.query, page.total, items)


def _titles(reader: Reader, *searches: SearchAsked) -> Mapping[str, str]:
    """Return the titles of the sources that these searches name, as far as the reader may know them."""
    keys = {asked.filters["source"] for asked in searches if "source" in asked.filters}
    return reader_source_titles(reader_id=reader.pk, keys=keys) if keys else {}


def _read(reader: Reader, signed: str) -> dict[str, Any] | None:
    return values_read(salt=SALT, reader_id=reader.pk, signed=signed, lifetime_s=DRAFT_LIFETIME_S)

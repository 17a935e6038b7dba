"""Muting: preview of the items a mute would hide, and mutes suggested for an item."""

import datetime as dt
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

from django.utils.translation import gettext as _

from digest.days import day_of
from digest.feeds.selectors import subscriptions_of
from digest.items.selectors import (
    item_candidate,
    items_candidates,
    mutes_in_force,
    subscribed_own_names,
    subscribed_titles,
)
from digest.models import Item, Reader
from digest.places import articles_shared
from ranking.common.text import FUNCTION_WORDS, fold, search_terms
from ranking.entities import InvalidMute, Mute
from ranking.mutes import AUTHOR, CATEGORY, SOURCE, WORD, MuteFilter, mute_check, mute_key
from ranking.selectors import config_hiding

# How many titles a preview shows, and how many categories and words an item suggests.
TITLES_MAX, CATEGORIES_MAX, WORDS_MAX = 10, 5, 8
WORD_CHARS_MIN = 3
# English and German words, one line for each kind.
COMMON_FILE = Path(__file__).parent / "common_words.txt"
# How much of a typed name is repeated in a message.
NAME_CHARS = 120


@dataclass(frozen=True, slots=True)
class MutePreview:
    """How many of the reader's `total` articles of the last seven days a mute would hide.

    Articles that are muted already are in neither number. `titles` are those of the ten newest articles that
    it would hide.
    """

    mute: Mute
    hides: int
    total: int
    titles: tuple[str, ...]


def mute_named(
    *, reader: Reader, kind: str, value: str, until: dt.date | None, within: str = "", now: dt.datetime
) -> Mute:
    """Return the mute for a typed value. A source may be given by key, title or the reader's own name.

    `within` is the only source in which it hides items; "" for everywhere.

    Raises `InvalidMute` if the value is invalid, the reader does not read the source, or the last day is
    before today.
    """
    if until is not None and until < day_of(now, reader.zone):
        raise InvalidMute(
            _("{until} is over. Choose today or a later day, or none for ever.").format(until=until)
        )
    mute = mute_check(Mute(kind, value, until, within))
    there = {mute_key(one) for one in config_hiding(reader_id=reader.pk).mutes}
    if kind == SOURCE:
        return replace(mute, value=_source_key(reader, mute.value, known=mute_key(mute) in there))
    if within:
        return replace(mute, within=_source_key(reader, within, known=mute_key(mute) in there))
    return mute


def _source_key(reader: Reader, typed: str, *, known: bool) -> str:
    """Return the key of one of the reader's sources. If a mute names it already, it is `known` as it is."""
    titles = subscribed_titles(reader_id=reader.pk)
    own = subscribed_own_names(reader_id=reader.pk)
    names = {fold(name): key for name, key in own.items()}
    names |= {fold(title): key for key, title in sorted(titles.items(), reverse=True)}
    key = typed if typed in titles else names.get(fold(typed))
    if key is None and not known:
        raise InvalidMute(
            _("You read no source called “{value}”. Its name is on your Sources page.").format(
                value=typed[:NAME_CHARS]
            )
        )
    return key or typed


def mute_preview(*, reader: Reader, mute: Mute, now: dt.datetime) -> MutePreview:
    """Return the effect that `mute` would have on the last seven days; a constant number of queries.

    Items of sources that are not in Today count, too, because a mute hides them from every list.
    """
    candidates = items_candidates(reader_id=reader.pk, now=now)
    hides = MuteFilter([mute])
    found = [candidate.title for candidate in articles_shared(candidates) if hides.finds(candidate)]
    return MutePreview(mute, len(found), len(candidates), tuple(found[:TITLES_MAX]))


def is_common(word: str) -> bool:
    """Return whether a word is in titles about anything, so that its mute would hide what nobody meant."""
    return word in FUNCTION_WORDS or word in _common_words()


@cache
def _common_words() -> frozenset[str]:
    return frozenset(COMMON_FILE.read_text(encoding="utf-8").split())


def feeds_hidden(*, reader: Reader, mute: Mute) -> list[str]:
    """Return the names of the reader's feeds that a mute of a source hides, if these are several. One query.

    A source is a publisher's domain, so its mute may hide more than the feed that a reader thinks of.
    """
    if mute.kind != SOURCE:
        return []
    rows = [row for row in subscriptions_of(reader_id=reader.pk) if row.feed.source_id == mute.value]
    return [row.name for row in rows] if len(rows) > 1 else []


def mutes_suggested(*, item: Item) -> list[Mute]:
    """Return mutes that fit an item: its source, author, categories, and words of its title."""
    author = [Mute(AUTHOR, item.author)] if item.author else []
    words = (
        word
        for word in dict.fromkeys(search_terms(item.title))
        if len(word) >= WORD_CHARS_MIN and not is_common(word) and not word.isdecimal()
    )
    categories = [Mute(CATEGORY, name) for name in item.categories[:CATEGORIES_MAX]]
    titled = [Mute(WORD, word) for word in [*words][:WORDS_MAX]]
    return [Mute(SOURCE, item.source_id), *author, *categories, *titled]


def item_mute(*, reader: Reader, item: Item, now: dt.datetime) -> Mute | None:
    """Return the mute that hides the item from the reader's lists; `None` if none does."""
    return mutes_in_force(reader_id=reader.pk, now=now).finds(item_candidate(item))

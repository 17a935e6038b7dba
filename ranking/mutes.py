"""Check mutes, and find the mute that hides an item. Pure.

A reader's text is never used as a regular expression, and each check takes time linear in the item's text.
"""

import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import date
from typing import Any, Final

from ranking.common.categories import author_names, category_key
from ranking.common.text import LEAD_CHARS, TOPIC_MAX_CHARS, fold, fold_lightly, term_places
from ranking.entities import Candidate, InvalidMute, Mute, TooManyMutes
from ranking.language import gettext as _
from ranking.language import gettext_noop

WORD: Final = "word"
PHRASE: Final = "phrase"
SOURCE: Final = "source"
AUTHOR: Final = "author"
ADDRESS: Final = "address"
CATEGORY: Final = "category"
# The most characters of a value, by kind.
KINDS: Final[Mapping[str, int]] = {
    WORD: TOPIC_MAX_CHARS,
    PHRASE: 120,
    SOURCE: 120,
    AUTHOR: 200,
    ADDRESS: 300,
    CATEGORY: 120,
}
# Kinds that can be limited to a source. A source is muted as a whole, and an address names its own place.
KINDS_WITHIN: Final = (WORD, PHRASE, AUTHOR, CATEGORY)
MUTES_MAX: Final = 100
ANYTHING: Final = "*"
# An address pattern needs this many characters beside stars. "*" and "*a*" would hide almost everything.
ADDRESS_CHARS_MIN = 4
# Scripts without spaces between words: Thai, Lao, Myanmar, Khmer, kana, Chinese characters.
_SPACELESS = re.compile("[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff]")

# A word hides an item that has it in the title, in the beginning of the text, or so many times.
TIMES_MIN: Final = 2

Finder = Callable[[str], bool]
# Whether a title, a text and the lines of the categories, all folded lightly, are hidden.
Hider = Callable[[str, str, str], bool]


def mutes_read(rows: Sequence[Mapping[str, Any]]) -> tuple[Mute, ...]:
    """Return the mutes in a config's body, given as JSON values."""
    return tuple(
        Mute(
            row["kind"],
            row["value"],
            date.fromisoformat(row["until"]) if row["until"] else None,
            row.get("within", ""),
        )
        for row in rows
    )


# The name of each kind in a sentence.
KIND_WORDS: Mapping[str, str] = {
    WORD: gettext_noop("word"),
    PHRASE: gettext_noop("phrase"),
    SOURCE: gettext_noop("source"),
    AUTHOR: gettext_noop("author"),
    ADDRESS: gettext_noop("address"),
    CATEGORY: gettext_noop("category"),
}


def mutes_check(rows: Sequence[Mapping[str, Any]]) -> list[Mute]:
    """Check the mutes of a body and return them cleaned. Raises `InvalidMute` or `TooManyMutes`."""
    if len(rows) > MUTES_MAX:
        raise TooManyMutes(
            _("At most {mutes_max} mutes; remove one that you no longer need.").format(mutes_max=MUTES_MAX)
        )
    return list(mutes_distinct(mute_check(mute) for mute in mutes_read(rows)))


def mutes_distinct(mutes: Iterable[Mute]) -> tuple[Mute, ...]:
    """Return `mutes` without duplicates by `mute_key`. The last one of each key stays."""
    return tuple({mute_key(mute): mute for mute in mutes}.values())


def mute_check(mute: Mute) -> Mute:
    """Return the mute with its value on one line and without invisible characters. Raises `InvalidMute`."""
    if mute.kind not in KINDS:
        raise InvalidMute(
            _("One can mute a {kinds}; not a “{kind}”.").format(
                kinds=", ".join(map(_, KIND_WORDS.values())), kind=mute.kind[:20]
            )
        )
    if mute.within and mute.kind not in KINDS_WITHIN:
        raise InvalidMute(
            _("A {kind} is muted everywhere. Leave out the source.").format(kind=_(KIND_WORDS[mute.kind]))
        )
    value = " ".join("".join(c for c in mute.value if c.isspace() or c.isprintable()).split())
    most = KINDS[mute.kind]
    if len(value) > most:
        raise InvalidMute(
            _("A muted {kind} may have {most} characters; you gave {value}.").format(
                kind=_(KIND_WORDS[mute.kind]), most=most, value=len(value)
            )
        )
    if not any(unicodedata.category(c)[0] not in "CZP" for c in value):
        raise InvalidMute(
            _("Type the {kind} to mute: at least a letter, a number or a sign.").format(
                kind=_(KIND_WORDS[mute.kind])
            )
        )
    if mute.kind == WORD and " " in value:
        raise InvalidMute(_("“{value}” is more than one word. Choose “phrase” for it.").format(value=value))
    if mute.kind == ADDRESS and len(_bare(value).replace(ANYTHING, "")) < ADDRESS_CHARS_MIN:
        raise InvalidMute(
            _("An address needs {address_chars_min} characters beside the stars.").format(
                address_chars_min=ADDRESS_CHARS_MIN
            )
        )
    return replace(mute, value=value)


def mute_key(mute: Mute) -> tuple[str, str, str]:
    """Return a mute's identity. Mutes that differ only in spelling or last day have the same."""
    if mute.kind == SOURCE:
        return mute.kind, mute.value, ""
    value = category_key(mute.value) if mute.kind == CATEGORY else fold(mute.value)
    return mute.kind, value, mute.within


def mute_over(mute: Mute, today: date) -> bool:
    """Return whether the mute's last day is before the reader's `today`."""
    return mute.until is not None and mute.until < today


def text_finder(phrase: str) -> Finder:
    """Return a function that tells whether a text contains the words of `phrase` in a row.

    The text must be folded by `fold_lightly`.

    Spaces and punctuation between the words do not count. In scripts without spaces between words, a match
    may begin and end inside a word.
    """
    wanted = fold(phrase)
    if _SPACELESS.search(wanted):
        return lambda text: wanted in text
    words = _words(wanted).split()
    if not words:
        return lambda text: wanted in text
    row = f" {' '.join(words)} "

    def finds(text: str) -> bool:
        # Most texts lack one of the words, and `in` is far faster than splitting the text into words.
        return all(word in text for word in words) and row in f" {' '.join(_words(text).split())} "

    return finds


def address_matches(pattern: str, url: str) -> bool:
    """Return whether `url` matches `pattern`, in which `*` stands for anything.

    Scheme, `www.` and case are ignored. The search takes the parts between stars one after the other, each
    after the end of the last one, so it is linear.
    """
    first, *rest = _bare(pattern).split(ANYTHING)
    address = _bare(url)
    if not rest:
        return address.rstrip("/") == first.rstrip("/")
    if not address.startswith(first):
        return False
    at = len(first)
    for part in rest[:-1]:
        found = address.find(part, at)
        if found < 0:
            return False
        at = found + len(part)
    return len(address) - len(rest[-1]) >= at and address.endswith(rest[-1])


def _bare(url: str) -> str:
    return url.casefold().removeprefix("https://").removeprefix("http://").removeprefix("www.")


def _words(text: str) -> str:
    """Return `text` with spaces in place of all characters that are no letters, digits or their marks."""
    return "".join(c if c.isalnum() or unicodedata.category(c)[0] == "M" else " " for c in text)


class MuteFilter:
    """The active mutes of one day, prepared for checking many items. It is false if there are none."""

    def __init__(self, mutes: Iterable[Mute] = (), today: date = date.min) -> None:
        """Keep those of `mutes` that are still active on the reader's day `today`."""
        self.mutes = tuple(mute for mute in mutes if not mute_over(mute, today))
        self.sources = {mute.value: mute for mute in self.mutes if mute.kind == SOURCE}
        self._authors = {mute_key(mute)[1:]: mute for mute in self.mutes if mute.kind == AUTHOR}
        self._categories = {mute_key(mute)[1:]: mute for mute in self.mutes if mute.kind == CATEGORY}
        self._addresses = [mute for mute in self.mutes if mute.kind == ADDRESS]
        self._texts = [(mute, _hider(mute)) for mute in self.mutes if mute.kind in (WORD, PHRASE)]

    def __bool__(self) -> bool:
        return bool(self.mutes)

    @property
    def reads_items(self) -> bool:
        """Return whether items must be read, because not all mutes are about sources."""
        return len(self.sources) < len(self.mutes)

    def finds(self, item: Candidate) -> Mute | None:
        """Return the mute that hides `item`, or `None` if it is shown."""
        if item.source in self.sources:
            return self.sources[item.source]
        for name in (item.author, *author_names(item.author)) if self._authors else ():
            if mute := _mute_of(self._authors, fold(name), item.source):
                return mute
        if self._categories:
            for key in map(category_key, item.categories):
                if mute := _mute_of(self._categories, key, item.source):
                    return mute
        for mute in self._addresses:
            if address_matches(mute.value, item.url):
                return mute
        here = [(mute, hides) for mute, hides in self._texts if mute.within in ("", item.source)]
        if not here:
            return None
        title, text = fold_lightly(item.title), fold_lightly(item.text)
        labels = fold_lightly("\n".join(item.categories)).replace("_", " ")
        return next((mute for mute, hides in here if hides(title, text, labels)), None)


def _mute_of(mutes: Mapping[tuple[str, str], Mute], key: str, source: str) -> Mute | None:
    """Return the mute of this key that holds everywhere, or in this source."""
    return mutes.get((key, "")) or mutes.get((key, source))


def mute_finder(mute: Mute) -> Finder:
    """Return whether a text, folded lightly, has the word or phrase of a mute anywhere."""
    if not _is_spaced_word(mute):
        return text_finder(mute.value)
    places = term_places(mute.value)
    return lambda text: any(True for _ in places(text))


def _hider(mute: Mute) -> Hider:
    """Return a function that tells whether a mute hides a title, a text and the lines of the categories.

    A phrase hides at any place of title and text. A word must stand in the title, in a category, at the
    beginning of the text, or twice, because a word said once, far down, is not the subject of an article.
    """
    if mute.kind == PHRASE:
        found = text_finder(mute.value)
        return lambda title, text, labels: found(f"{title}\n{text}")
    places = term_places(mute.value) if _is_spaced_word(mute) else _places_spaceless(mute.value)

    def hides(title: str, text: str, labels: str) -> bool:
        if any(True for line in (title, labels) for _ in places(line)):
            return True
        found = enumerate(places(text), start=1)
        return any(place < LEAD_CHARS or times == TIMES_MIN for times, place in found)

    return hides


def _is_spaced_word(mute: Mute) -> bool:
    return mute.kind == WORD and not _SPACELESS.search(mute.value)


def _places_spaceless(word: str) -> Callable[[str], Iterator[int]]:
    """Return a function that yields the places of a word in a script without spaces."""
    folded = fold(word)

    def places(text: str) -> Iterator[int]:
        at = text.find(folded)
        while at >= 0:
            yield at
            at = text.find(folded, at + len(folded))

    return places

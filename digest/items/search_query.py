"""Search queries as terms with their spellings, and where terms are found in a text.

No query is an error: quotes make a phrase, a trailing `*` means "begins with", a leading `-` excludes, and
every other sign is white space. Pure."""

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass, replace

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
class Part:
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


def terms_of(typed: str) -> tuple[Term, ...]:
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


def marked(text: str, terms: Sequence[Term]) -> tuple[Part, ...]:
    """Return the whole `text` with every match of the terms marked."""
    return _parts(text, 0, len(text), _matches(text, terms))


def terms_snippet(text: str, terms: Sequence[Term]) -> tuple[Part, ...]:
    """Return some 260 characters of `text` around the first match, else its beginning; cut at words."""
    flat = " ".join(text.split())
    matches = _matches(flat, terms)
    start = max(0, matches[0][0] - SNIPPET_BEFORE) if matches else 0
    if start:
        start = flat.find(" ", start) + 1
    end = len(flat)
    if end - start > SNIPPET_CHARS:
        end = max(flat.rfind(" ", start, start + SNIPPET_CHARS), start + SNIPPET_CHARS // 2)
    parts = _parts(flat, start, end, matches)
    before, after = "… " if start else "", " …" if end < len(flat) else ""
    return tuple(part for part in (Part(before, False), *parts, Part(after, False)) if part.text)


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


def _matches(text: str, terms: Sequence[Term]) -> list[tuple[int, int]]:
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


def _parts(text: str, start: int, end: int, matches: Sequence[tuple[int, int]]) -> tuple[Part, ...]:
    parts, at = [], start
    for first, last in matches:
        if first < at or last > end:
            continue
        parts += [Part(text[at:first], False), Part(text[first:last], True)]
        at = last
    return tuple(part for part in (*parts, Part(text[at:end], False)) if part.text)

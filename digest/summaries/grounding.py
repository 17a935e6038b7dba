"""Check that a summary is grounded in its text: exact citations, shared words, no new numbers or names.

The checks are cheap and work in any language: they compare words, numbers and capitals, never meanings. They
detect a summary of another text, and invented facts. They cannot detect "rose" in place of "fell". `python -m
tests.lab summaries` measures their error rates. Pure.
"""

import re
import unicodedata
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from ranking.common.text import fold

# The share of a summary's content words that must occur in the text. Agentic-FinSearch (pull request 302)
# reports 0.64 to 0.88 for faithful summaries and 0.07 for summaries of another article.
OVERLAP_MIN = 0.34
# Shorter quotations may occur in any text.
CITATION_CHARS_MIN = 12
CITATION_CHARS_MAX = 400
WORD_CHARS_MIN = 4
# English words without content: the list of the Glasgow information retrieval group, as used in scikit-learn.
STOP_WORDS_FILE = Path(__file__).with_name("stop_words.txt")
# Words with the same root mostly share their first letters: "announced" and "announces", "Germany" and
# "German".
STEM_CHARS = 5
# German capitalises every noun. If more than this share of the words inside sentences is capitalised, a
# capital says nothing about names. (English news: a median of 0.16, German: 0.33; measured.)
CAPITALS_MAX = 0.25
# Publishers write these numbers in words more often than in figures.
_SMALL = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven")
NUMBER_WORDS = {**dict(enumerate(_SMALL)), 12: "twelve", 100: "hundred", 1000: "thousand"}

_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)?")
_NUMBER = re.compile(r"\d+(?:[.,:  ’']\d+)*")
_CJK = re.compile("[぀-ヿ㐀-䶿一-鿿가-힯฀-๿]+")
_SENTENCE_START = re.compile(r"(?:^|[.!?:;…。！？]|[\"“”„«»'‘’(\[–—-])\s*+$|\n[^\S\n]*+$")
_SPLIT_NUMBER = re.compile(r"(?<=\d)[,  ’'](?=\d{3}\b)")
_LINK = re.compile(r"(?:https?:|www\.)\S+", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Grounding:
    """The result of a check. `overlap` is 0 to 1.

    `citations` were found in the text. The other fields list parts of the summary that the text lacks.
    """

    overlap: float
    citations: tuple[str, ...]
    lost_citations: tuple[str, ...]
    numbers: tuple[str, ...]
    names: tuple[str, ...]
    link: bool = False

    @property
    def grounded(self) -> bool:
        """Return whether the summary may be shown."""
        foreign = self.numbers or self.names or self.lost_citations or self.link
        return bool(self.citations) and self.overlap >= OVERLAP_MIN and not foreign

    @property
    def fault(self) -> str:
        """Return the first failed check as a stable code; "" if all passed."""
        faults = {
            "overlap": self.overlap < OVERLAP_MIN,
            "citation": self.lost_citations or not self.citations,
            "number": self.numbers,
            "name": self.names,
            "link": self.link,
        }
        return next((name for name, found in faults.items() if found), "")


def grounding_of(summary: str, citations: Sequence[str], *, title: str, text: str) -> Grounding:
    """Check a summary of the item with this title and text.

    Citations must be substrings of the text (except for white space), not of the title, and must share a word
    with the summary. Numbers and names may come from the title, too.
    """
    flat, whole = whitespace_collapse(text), f"{title}\n{text}"
    numbers, words = frozenset(numbers_of(whole)), frozenset(fold(whole).split())
    found = {citation: _citation_find(citation, flat) for citation in citations}
    stems = set(content_stems(summary))
    relevant = [
        quote for quote in found.values() if quote and (not stems or stems & set(content_stems(quote)))
    ]
    return Grounding(
        overlap=overlap_of(summary, whole),
        citations=tuple(dict.fromkeys(relevant)),
        lost_citations=tuple(citation for citation in citations if not found[citation]),
        numbers=tuple(n for n in numbers_of(summary) if not _number_in(n, numbers, words)),
        names=_names_missing(summary, whole),
        link=any(link.rstrip(".,;)") not in whole for link in _LINK.findall(summary)),
    )


def whitespace_collapse(text: str) -> str:
    """Return `text` with every run of white space as one space. Citations are compared in this form."""
    return " ".join(text.split())


def overlap_of(summary: str, text: str) -> float:
    """Return the share of the summary's content words (by stem) that occur in `text`; 0 if it has none."""
    stems, in_text = list(content_stems(summary)), set(content_stems(text))
    return sum(stem in in_text for stem in stems) / len(stems) if stems else 0.0


def content_stems(text: str) -> Iterator[str]:
    """Yield the stems of content words; in scripts without spaces, pairs of characters."""
    folded, stop_words = fold(text), _stop_words()
    for run in _CJK.findall(folded):
        yield from (run[n : n + 2] for n in range(max(1, len(run) - 1)))
    for word in _WORD.findall(_CJK.sub(" ", folded)):
        if len(word) >= WORD_CHARS_MIN and word not in stop_words:
            yield word[:STEM_CHARS]


@cache
def _stop_words() -> frozenset[str]:
    return frozenset(STOP_WORDS_FILE.read_text(encoding="utf-8").split())


def numbers_of(text: str) -> list[str]:
    """Return the numbers in `text` without thousands separators and with decimal points."""
    plain = _SPLIT_NUMBER.sub("", unicodedata.normalize("NFKC", text))
    return [number.replace(",", ".") for number in _NUMBER.findall(plain)]


def _citation_find(citation: str, flat: str) -> str:
    """Return `citation` as it stands in `flat`, without outer quotation marks; "" if it is not there."""
    bare = whitespace_collapse(citation)
    for quoted in (bare, bare.strip("\"“”„«»'‘’ ").strip("…").strip()):
        if CITATION_CHARS_MIN <= len(quoted) <= CITATION_CHARS_MAX and quoted in flat:
            return quoted
    return ""


def _number_in(number: str, numbers: Collection[str], words: Collection[str]) -> bool:
    """Return whether a text with these `numbers` and `words` contains `number`.

    It may be written in figures, as a word, or more exactly.
    """
    if number in numbers or number.rstrip("0").rstrip(".") in numbers:
        return True
    if number.isdigit() and (word := NUMBER_WORDS.get(int(number))):
        return word in words
    return any(_rounds_to(found, number) for found in numbers)


def _rounds_to(found: str, number: str) -> bool:
    """Return whether `found` is a more exact form of `number`: 5.67 of 5.7 or of 6."""
    try:
        exact, rounded = float(found), float(number)
    except ValueError:
        return False
    places = len(number.partition(".")[2])
    return "." in found and round(exact, places) == rounded


def _names_missing(summary: str, text: str) -> tuple[str, ...]:
    """Return the summary's names that the text lacks; none if the language capitalises all nouns."""
    inside = [word for word, starts in _words(text[:4000]) if not starts]
    if inside and sum(word[0].isupper() for word in inside) / len(inside) > CAPITALS_MAX:
        return ()
    in_text = set(_WORD.findall(fold(text)))
    return tuple(name for name in dict.fromkeys(names_of(summary)) if not _has_name(name, in_text))


def names_of(text: str) -> Iterator[str]:
    """Yield capitalised words of at least three letters that do not start a sentence or quotation."""
    stop_words = _stop_words()
    for word, starts in _words(text):
        if not starts and len(word) > 2 and word[0].isupper() and fold(word) not in stop_words:
            yield word


def _words(text: str) -> Iterator[tuple[str, bool]]:
    """Yield the words of `text`, each with whether it starts a sentence or quotation."""
    for found in _WORD.finditer(text):
        before = text[max(0, found.start() - 4) : found.start()]
        yield found.group(), bool(_SENTENCE_START.search(before))


def _has_name(name: str, words: Collection[str]) -> bool:
    """Return whether `words` contain the name's stem: "German" for "Germany's"."""
    folded = re.split("['’]", fold(name))[0]
    if folded in words:
        return True
    stem = folded[: max(4, len(folded) - 2)]
    return len(folded) > 4 and any(word.startswith(stem) for word in words)

"""Whether a summary is grounded in its text: exact citations, shared words, no facts of its own. Pure.

The checks are cheap and know no language: they compare words, numbers and capitals, never meanings. They
catch a summary of another text and invented facts; they cannot catch "rose" in the place of "fell".
How often they are wrong is measured by `manage.py evaluate_summaries`.
"""

import re
import unicodedata
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS

from ranking.matching import fold

# The share of a summary's content words that must occur in the text. Agentic-FinSearch (pull request 302)
# reports 0.64 to 0.88 for faithful summaries and 0.07 for those of another article.
OVERLAP_MIN = 0.34
# Shorter quotes are in any text.
CITATION_CHARS_MIN = 12
CITATION_CHARS_MAX = 400
WORD_CHARS_MIN = 4
# Words of one root mostly share their first letters: "announced" and "announces", "Germany" and "German".
STEM_CHARS = 5
# German capitalises every noun: where more than this share of the words inside sentences is capitalised, a
# capital says nothing about names (English news: a median of 0.16, German: 0.33; measured).
CAPITALS_MAX = 0.25
# Said in words by publishers more often than in figures.
_SMALL = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven")
NUMBER_WORDS = {**dict(enumerate(_SMALL)), 12: "twelve", 100: "hundred", 1000: "thousand"}

_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)?")
_NUMBER = re.compile(r"\d+(?:[.,:  ’']\d+)*")
_CJK = re.compile("[぀-ヿ㐀-䶿一-鿿가-힯฀-๿]+")
_SENTENCE_START = re.compile(r"(?:^|[.!?:;…。！？\n]|[\"“”„«»'‘’(\[–—-])\s*$")
_SPLIT_NUMBER = re.compile(r"(?<=\d)[,  ’'](?=\d{3}\b)")
_LINK = re.compile(r"(?:https?:|www\.)\S+", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Grounding:
    """What a check found. `overlap` is 0 to 1; the rest lists what is not in the text."""

    overlap: float
    citations: tuple[str, ...]
    lost_citations: tuple[str, ...]
    numbers: tuple[str, ...]
    names: tuple[str, ...]
    link: bool = False

    @property
    def grounded(self) -> bool:
        """Whether the summary may be shown."""
        foreign = self.numbers or self.names or self.lost_citations or self.link
        return bool(self.citations) and self.overlap >= OVERLAP_MIN and not foreign

    @property
    def fault(self) -> str:
        """The first thing that is wrong, as a stable word; "" where nothing is."""
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

    Citations must be substrings of the text alone (white space apart) and share a word with the summary.
    Numbers and names may come from the title too.
    """
    flat, whole = spaced(text), f"{title}\n{text}"
    kept = {cited: None for citation in citations if (cited := cited_exactly(citation, flat))}
    lost = tuple(citation for citation in citations if not cited_exactly(citation, flat))
    said = set(content_stems(summary))
    about = tuple(citation for citation in kept if not said or said & set(content_stems(citation)))
    return Grounding(
        overlap=overlap_of(summary, whole),
        citations=about,
        lost_citations=lost,
        numbers=tuple(n for n in numbers_of(summary) if not _number_said(n, whole)),
        names=_names_missing(summary, whole),
        link=any(link.rstrip(".,;)") not in whole for link in _LINK.findall(summary)),
    )


def spaced(text: str) -> str:
    """`text` with every run of white space as one space: the form in which citations are compared."""
    return " ".join(text.split())


def cited_exactly(citation: str, flat: str) -> str:
    """`citation` as it stands in `flat` (see `spaced`), without outer quotation marks; "" if it does not."""
    bare = spaced(citation)
    for quoted in (bare, bare.strip("\"“”„«»'‘’ ").strip("…").strip()):
        if CITATION_CHARS_MIN <= len(quoted) <= CITATION_CHARS_MAX and quoted in flat:
            return quoted
    return ""


def overlap_of(summary: str, text: str) -> float:
    """The share of the summary's content words, by root, that occur in `text`; 0 where it has none."""
    said = list(content_stems(summary))
    if not said:
        return 0.0
    there = set(content_stems(text))
    return sum(stem in there for stem in said) / len(said)


def content_stems(text: str) -> Iterator[str]:
    """The roots of the words that carry meaning; pairs of characters where words are not spaced apart."""
    folded = fold(text)
    for run in _CJK.findall(folded):
        yield from (run[n : n + 2] for n in range(max(1, len(run) - 1)))
    for word in _WORD.findall(_CJK.sub(" ", folded)):
        if len(word) >= WORD_CHARS_MIN and word not in ENGLISH_STOP_WORDS:
            yield word[:STEM_CHARS]


def numbers_of(text: str) -> list[str]:
    """The numbers in `text`, thousands joined and decimal commas as points."""
    plain = _SPLIT_NUMBER.sub("", unicodedata.normalize("NFKC", text))
    return [number.replace(",", ".") for number in _NUMBER.findall(plain)]


def _number_said(number: str, text: str) -> bool:
    """Whether `text` holds `number` in figures or as a word, as it is or rounded to what the summary says."""
    there = set(numbers_of(text))
    if number in there or number.rstrip("0").rstrip(".") in there:
        return True
    if number.isdigit() and (word := NUMBER_WORDS.get(int(number))):
        return word in fold(text).split()
    return any(_rounds_to(found, number) for found in there)


def _rounds_to(found: str, number: str) -> bool:
    """Whether `found` is the more exact form of `number`: 5.67 of 5.7 or of 6."""
    try:
        exact, said = float(found), float(number)
    except ValueError:
        return False
    places = len(number.partition(".")[2])
    return "." in found and round(exact, places) == said


def _names_missing(summary: str, text: str) -> tuple[str, ...]:
    """The capitalised words of the summary, the first of a sentence apart, that the text nowhere has."""
    if _capitals_share(text) > CAPITALS_MAX:
        return ()
    there = {word for word in _WORD.findall(fold(text))}
    return tuple(name for name in dict.fromkeys(names_of(summary)) if not _named(name, there))


def names_of(text: str) -> Iterator[str]:
    """Capitalised words of three letters and more that do not begin a sentence or a quotation."""
    for found in _WORD.finditer(text):
        word = found.group()
        inside = not _SENTENCE_START.search(text[max(0, found.start() - 4) : found.start()])
        if inside and len(word) > 2 and word[0].isupper() and fold(word) not in ENGLISH_STOP_WORDS:
            yield word


def _named(name: str, there: Collection[str]) -> bool:
    """Whether a word with the name's root is among `there`: "Germany's" in "German"."""
    folded = re.split("['’]", fold(name))[0]
    if folded in there:
        return True
    root = folded[: max(4, len(folded) - 2)]
    return len(folded) > 4 and any(word.startswith(root) for word in there)


def _capitals_share(text: str) -> float:
    words = [
        found.group()
        for found in _WORD.finditer(text[:4000])
        if not _SENTENCE_START.search(text[max(0, found.start() - 4) : found.start()])
    ]
    if not words:
        return 0.0
    return sum(word[0].isupper() for word in words) / len(words)

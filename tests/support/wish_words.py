"""Sentences of readers with their intended effect, and the grading of a reading.

The sentences stand in `tests/suggestions/wishes/words/*.txt`. They were written before the grammar was read,
half of them in German. `told` has those with a story around the wish. Every second one of `en` and `de` is
held out: nothing is tuned on it.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

from ranking.common.text import fold
from ranking.entities import Candidate
from suggestions.changes.change import ADD, FRESHER, LESS, MORE, NONE, OLDER, REMOVE, UNMUTE
from suggestions.changes.never_missed import KEEP
from suggestions.wishes.wish import FRESHNESS, WORD, Names, Reading, Wish

FOLDER = Path(__file__).parents[1] / "suggestions" / "wishes" / "words"
# A Saturday.
TODAY = date(2026, 11, 28)
PHRASE_WORDS_MAX = 4
# How notes begin that say nothing of the part but that it was not understood.
UNREAD = ("Not understood", "Nothing there could be understood")
RIGHT, ASKS, WRONG = "right", "asks", "wrong"
FILES = (
    *("en", "de", "ux", "later", "sources", "sources_later", "starts", "starts_later"),
    *("plain", "plain_later", "told"),
)
SOURCES = {
    "kottke.org": "kottke.org",
    "daringfireball.net": "Daring Fireball",
    "time.com": "TIME",
    "tech.time.com": "Tech – TIME",
    "arstechnica.com": "Ars Technica",
    "bbc.co.uk": "BBC News",
    "sport.bbc.co.uk": "BBC Sport",
    "heise.de": "heise online",
    "tagesschau.de": "tagesschau.de",
    "netzpolitik.org": "netzpolitik.org",
    "news.ycombinator.com": "Hacker News",
    "theverge.com": "The Verge",
    "lwn.net": "LWN.net",
    "spiegel.de": "SPIEGEL ONLINE",
    "xkcd.com": "xkcd",
    "simonwillison.net": "Simon Willison's Weblog",
    "nasa.gov": "NASA Breaking News",
    "der-postillon.com": "Der Postillon",
    "golem.de": "Golem.de",
    "theguardian.com": "The Guardian",
}
# Topics of the week's articles. They cover some of the wishes, not all.
TITLES = (
    *(
        "New AI model writes code",
        "AI hype meets the market",
        "Elon Musk buys a stadium",
        "Crypto falls again",
    ),
    *("Football: cup final tonight", "Trump speaks in Ohio", "War enters its fourth winter", "The octopus"),
    *("Linux kernel 7.1 is out", "Apple opens a store", "Climate change and the coast", "A space telescope"),
    *(
        "Politics of water",
        "European politics after the vote",
        "American politics this week",
        "Tennis rankings",
    ),
    *(
        "Books of the year",
        "Phones compared",
        "Gaming on a plane",
        "The history of tea",
        "Recipes for winter",
    ),
    *("Python 3.16 is faster", "Science of sleep", "Election day in Chile", "Mark Zuckerberg testifies"),
    *("Fußball: Pokal am Abend", "Raumfahrt: die neue Rakete", "Künstliche Intelligenz im Amt", "Mehr Linux"),
    *(
        "Krieg und Winter",
        "Der Klimaschutz stockt",
        "Deutschland wählt",
        "Wissenschaft vom Schlaf",
        "USA heute",
    ),
    *("Technik im Alltag", "Kultur in Hamburg", "Medizin: ein neues Mittel", "Sport am Sonntag", "Bücher"),
    *("Handys im Vergleich", "Windows bekommt ein Update", "Tennis: die Rangliste", "Geschichte des Tees"),
)
LISTED = ("linux",)


@dataclass(frozen=True)
class Sentence:
    """A reader's sentence, and the ways to be right: each a tuple of parts such as `more AI`."""

    language: str
    text: str
    ways: tuple[tuple[str, ...], ...]
    is_held: bool


def sentences() -> Iterator[Sentence]:
    """Yield every sentence of the files, in order."""
    for name in FILES:
        lines = (FOLDER / f"{name}.txt").read_text("utf-8").splitlines()
        rows = [line for line in lines if not line.startswith("#")]
        for n, row in enumerate(rows):
            text, _, meant = row.rpartition(" | ")
            ways = tuple(tuple(part.strip() for part in way.split(";")) for way in meant.split("~"))
            yield Sentence(name, text, ways, name == "later" or (name in ("en", "de") and n % 2 == 1))


def names() -> Names:
    """Return the sources, topics and items of the reader of these sentences."""
    dated_at = datetime(2026, 11, 27, tzinfo=UTC)
    items = tuple(Candidate(n, "bbc.co.uk", title, "", dated_at) for n, title in enumerate(TITLES))
    return Names(SOURCES, LISTED, LISTED, items)


def grade(sentence: Sentence, reading: Reading) -> str:
    """Grade a reading: it is right, it asks or tells which words it left out, or it is wrong.

    It is wrong if it has a wish that nobody made, or silently drops a part of the sentence. A likely wish is
    of a thing that was named, and on the side that was meant; it may ask for less where none was meant.
    """
    if _is_echoed(reading) or not all(_is_meant(wish, sentence) for wish in reading.likely):
        return WRONG
    if any(_is_right(way, reading) for way in sentence.ways):
        return RIGHT
    return ASKS if any(_is_told(way, reading) for way in sentence.ways) else WRONG


def _is_meant(wish: Wish, sentence: Sentence) -> bool:
    side = (LESS, NONE) if wish.direction in (LESS, NONE) else (wish.direction,)
    wished = [replace(wish, direction=one, until=until) for one in side for until in (wish.until, None)]
    parts = [part for way in sentence.ways for part in way]
    named = [fold(part.removeprefix("ask ")) for part in parts if part.startswith("ask ")]
    is_asked = any(one in fold(wish.target.label) or fold(wish.target.label) in one for one in named)
    return is_asked or any(_means(one, part) for one in wished for part in parts)


def _is_echoed(reading: Reading) -> bool:
    """Return whether a phrase of more than four words is called "the word"."""
    labels = [choice.label for choice in reading.question.choices] if reading.question else []
    labels += [f"the word “{wish.target.label}”" for wish in reading.wishes if wish.target.kind == WORD]
    named = [found for label in labels for found in re.findall("the word “([^”]*)”", label)]
    return any(len(phrase.split()) > PHRASE_WORDS_MAX for phrase in named)


def _is_right(way: tuple[str, ...], reading: Reading) -> bool:
    return all(_has(part, reading) for part in way) and _is_nothing_else(way, reading)


def _is_told(way: tuple[str, ...], reading: Reading) -> bool:
    parts_told = all(_has(part, reading) or _mentions(part, reading) for part in way)
    return parts_told and _is_nothing_else(way, reading)


def _is_nothing_else(way: tuple[str, ...], reading: Reading) -> bool:
    return all(any(_means(wish, part) for part in way) for wish in reading.wishes)


def _has(part: str, reading: Reading) -> bool:
    kind, _, about = part.partition(" ")
    if kind in ("say", "varied", "surprise", "never"):
        # A part that the settings cannot express has a message of its own. "Not understood" is a different
        # one.
        return bool(reading.question) or any(not note.startswith(UNREAD) for note in reading.notes)
    if kind == "tell":
        # One of these words stands in what is said.
        said = [note for note in reading.notes if not note.startswith(UNREAD)]
        said += [reading.question.text] if reading.question else []
        return any(fold(word) in fold(" ".join(said)) for word in about.split("/"))
    if kind == "out":
        # The switch is no setting: a note says where it is.
        said = [note for note in reading.notes if "Today" in note and about in note]
        return bool(said) and all(wish.target.label != about for wish in reading.wishes)
    if kind == "ask":
        return reading.question is not None and _mentions(part, reading)
    if kind == "cap":
        source = about.rpartition(" ")[0]
        if any(_means(wish, part) for wish in reading.wishes):
            return True
        choices = reading.question.choices if reading.question else ()
        return any(choice.label == f"Less of the source “{source}”" for choice in choices)
    return any(_means(wish, part) for wish in reading.wishes)


def _means(wish: Wish, part: str) -> bool:
    kind, _, about = part.partition(" ")
    if kind in ("newest", "older"):
        return wish.target.kind == FRESHNESS and wish.direction == {"newest": FRESHER, "older": OLDER}[kind]
    if kind == "cap":
        source, _, most = about.rpartition(" ")
        return wish.target.label == source and str(wish.most) == most
    if kind == "shelf":
        source, _, days = about.rpartition(" ")
        return wish.target.label == source and wish.hours == 24 * float(days)
    if kind == "first":
        return wish.target.label == about and wish.direction == KEEP
    if wish.most is not None or wish.hours is not None:
        return False
    about, _, until = about.partition(" until ")
    directions = {"more": (MORE, ADD), "less": (LESS, REMOVE), "hide": (NONE,), "unhide": (UNMUTE,)}.get(
        kind, ()
    )
    if wish.direction not in directions or fold(about) not in (
        fold(wish.target.key),
        fold(wish.target.label),
    ):
        return False
    return _is_day(wish.until, until)


def _is_day(day: date | None, until: str) -> bool:
    if not until:
        return day is None
    if day is None:
        return False
    if counted := re.fullmatch(r"\+(\d+)([dm])", until):
        ahead = int(counted[1]) * (1 if counted[2] == "d" else 30)
        return abs((day - TODAY).days - ahead) <= 2
    wanted = TODAY + timedelta(days=1) if until == "weekend" else date.fromisoformat(until)
    return abs((day - wanted).days) <= 1


def _mentions(part: str, reading: Reading) -> bool:
    _, _, about = part.partition(" ")
    about = about.partition(" until ")[0]
    asked = [reading.question.text, *(c.label for c in reading.question.choices)] if reading.question else []
    said = fold(" ".join([*asked, *reading.notes]))
    words = [word for word in fold(about).split() if len(word) > 2]
    return any(word in said for word in words) if words else bool(said)

"""No clause of a wish vanishes: it is a change, or a question, a note or what is left names it."""

import pytest

from ranking.common.text import fold
from suggestions.wishes.lexicon import EVERY_WORDS, PHRASES, PRONOUNS, SETS
from suggestions.wishes.lookup import Lookup
from suggestions.wishes.reading import wishes_look_up
from suggestions.wishes.wish import Reading
from tests.support.wish_words import TODAY, names

LOOKUP = Lookup(names())
WORDS = sorted(
    {
        word
        for words in (*SETS.values(), *PHRASES)
        for word in words
        if word.isalpha() and len(word) > 2 and word not in PRONOUNS | EVERY_WORDS
    }
)


def read(sentence: str) -> Reading:
    return wishes_look_up(LOOKUP.of_sentence(sentence), TODAY)


def said(reading: Reading) -> str:
    """Return all that an answer names."""
    words = [reading.left, *reading.notes, *(wish.target.label for wish in reading.wishes)]
    if asked := reading.question:
        words += [asked.text, asked.part, *asked.others, *(choice.label for choice in asked.choices)]
    return fold(" ".join(words))


def parts(reading: Reading) -> int:
    """Return the number of changes, questions and notes of an answer."""
    asked = 1 + len(reading.question.others) if reading.question else 0
    return len(reading.wishes) + asked + len(reading.notes) + bool(reading.left)


@pytest.mark.parametrize(
    ("shape", "clauses"), [("less football, more {}, more from LWN.net", 3), ("more {}", 1)]
)
def test_no_word_of_the_grammar_takes_its_clause_with_it(shape: str, clauses: int):
    found = ((word, read(shape.format(word))) for word in WORDS)
    lost = [word for word, reading in found if parts(reading) < clauses and word not in said(reading)]
    assert len(WORDS) > 1000 and lost == []


@pytest.mark.parametrize(
    "words",
    [
        "less football, more space, more from LWN.net",
        "football less, more space",
        "mute football. More space!",
        "more space",
        "kein Fußball, mehr Raum",
    ],
)
def test_space_is_a_subject_if_nothing_else_is_named(words: str):
    assert ("more", "space") in {
        (w.direction, w.target.label.replace("Raum", "space")) for w in read(words).wishes
    }


@pytest.mark.parametrize("words", ["more space for chess", "chess: more space", "Golem, more room please"])
def test_space_is_room_for_what_is_named(words: str):
    [wish] = read(words).wishes
    assert wish.direction == "more" and wish.target.label in ("chess", "Golem.de")


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ("less football, more articles", "“more articles”"),
        ("more chess, more paper", "“more paper”"),
        ("weniger Fußball, mehr Beiträge", "“mehr Beiträge”"),
    ],
)
def test_a_word_that_names_nothing_is_told(words: str, told: str):
    reading = read(words)
    assert len(reading.wishes) == 1 and any(told in note for note in reading.notes)


def test_words_that_say_a_wish_again_are_no_wish_of_their_own():
    for words in ("less football, less please", "I like chess, more of it", "no football, no more please"):
        assert len(read(words).wishes) == 1 and read(words).notes == (), words

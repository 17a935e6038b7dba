"""A mute of one source in the reader's own words, in two languages."""

from datetime import date

import pytest

from suggestions.wishes.reading import wishes_read
from suggestions.wishes.wish import Reading
from tests.support.paraphrases import TODAY, names

NAMES = names()
GAZETTE, HERALD, WIRED = "gazette.example", "herald.example", "wired.example"


def read(sentence: str) -> Reading:
    return wishes_read(sentence, NAMES, TODAY)


def mutes(sentence: str) -> list[tuple[str, str]]:
    reading = read(sentence)
    assert reading.question is None and not reading.notes, reading
    return [(wish.target.key, wish.within) for wish in reading.wishes if wish.direction == "none"]


@pytest.mark.parametrize(
    "sentence",
    [
        "mute chess in Gazette",
        "no chess from Gazette",
        "don't show me chess in the Gazette",
        "nothing about chess from The Gazette",
        "nothing from Gazette about chess",
        "in Gazette, no chess",
        "Gazette without chess",
        "show me in Gazette no chess",
        'mute the word "chess" in source "gazette.example"',
        "blende chess in der Gazette aus",
        "kein chess bei der Gazette",
        "nichts über chess von der Gazette",
        "in der Gazette nichts über chess",
        "zeig mir in der Gazette kein chess mehr",
    ],
)
def test_something_is_muted_in_one_source(sentence: str):
    assert mutes(sentence) == [("chess", GAZETTE)]


def test_several_sources_and_last_days_are_read():
    assert mutes("mute chess in Gazette, Herald and Wired") == [
        ("chess", GAZETTE), ("chess", HERALD), ("chess", WIRED)
    ]  # fmt: skip
    (wish,) = read("hide football from Gazette until Friday").wishes
    assert (wish.within, wish.until) == (GAZETTE, date(2026, 3, 20))
    assert mutes("less crypto, no chess in Gazette, more gardening") == [("chess", GAZETTE)]


@pytest.mark.parametrize("sentence", ["no climate in Europe", "mute chess in Oslo", "kein Schach in Berlin"])
def test_a_place_is_no_source(sentence: str):
    assert all(not wish.within for wish in read(sentence).wishes)


def test_more_of_a_source_without_a_word_is_two_wishes():
    assert [(w.direction, w.within) for w in read("more Gazette, no chess").wishes] == [
        ("more", ""),
        ("none", ""),
    ]


def test_less_of_something_in_one_source_is_asked_and_a_mute_there_is_an_answer():
    question = read("less chess from Gazette").question
    assert question is not None
    last = question.choices[-1]
    assert last.label == "Mute the word “chess” in The Gazette"
    assert mutes(last.words) == [("chess", GAZETTE)]


@pytest.mark.parametrize("sentence", ["unmute chess in Gazette", "show chess in Gazette again"])
def test_a_mute_of_one_source_ends_in_words(sentence: str):
    (wish,) = read(sentence).wishes
    assert (wish.direction, wish.target.key, wish.within) == ("unmute", "chess", GAZETTE)

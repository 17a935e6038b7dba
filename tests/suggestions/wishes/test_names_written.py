"""Names of sources and interests in other spellings, and an interest inside a phrase that nothing says."""

from dataclasses import replace

import pytest

from suggestions.wishes.lookup import Lookup
from suggestions.wishes.reading import wishes_look_up
from suggestions.wishes.wish import Reading
from tests.support.wish_words import TODAY, names

OWN = {
    "gigawow.example": "Gigawow",
    "ledger.example": "Ledger & Line",
    "spoke.example": "The Long Spoke",
    "daily.example": "Everyday",
}
LOOKUP = Lookup(
    replace(
        names(), sources={**names().sources, **OWN}, topics=("linux", "ai", "food & drink"), listed=("ai",)
    )
)


def read(sentence: str) -> Reading:
    return wishes_look_up(LOOKUP.of_sentence(sentence), TODAY)


@pytest.mark.parametrize(
    ("words", "labels"),
    [
        ("weniger von Gigawow und Ledger and Line", ["Gigawow", "Ledger & Line"]),
        ("less Ledger & Line", ["Ledger & Line"]),
        ("less from Ledger + Line", ["Ledger & Line"]),
        ("weniger Ledger und Line", ["Ledger & Line"]),
        ("more from the long spokes, less giga wow", ["The Long Spoke", "Gigawow"]),
        ("more longspoke", ["The Long Spoke"]),
        ("mehr heiseonline, weniger hackernews", ["heise online", "Hacker News"]),
        ("less food and drink", ["food & drink"]),
    ],
)
def test_a_name_is_known_in_other_spellings(words: str, labels: list[str]):
    reading = read(words)
    assert [wish.target.label for wish in reading.wishes] == labels
    assert reading.question is None and reading.notes == ()


def test_two_words_of_the_grammar_are_not_written_together_to_a_name():
    for words in ("less politics every day", "more football every day"):
        assert "Everyday" not in [wish.target.label for wish in read(words).wishes], words


@pytest.mark.parametrize(
    ("words", "labels"),
    [
        ("NO MORE AI HYPE!!!", ["Mute the word “AI”", "Mute the word “AI HYPE”"]),
        ("less linux drama", ["Less of the topic “linux”", "Less of the word “linux drama”"]),
        ("mehr ai quark", ["More of the topic “ai”", "More of the word “ai quark”"]),
    ],
)
def test_an_interest_inside_a_phrase_that_nothing_says_is_asked_about(words: str, labels: list[str]):
    reading = wishes_look_up(LOOKUP_WITHOUT_ITEMS.of_sentence(words), TODAY)
    assert reading.wishes == () and reading.question
    assert [choice.label.casefold() for choice in reading.question.choices] == [
        one.casefold() for one in labels
    ]


def test_a_phrase_that_an_article_says_is_not_asked_about():
    assert [wish.target.label for wish in read("less AI hype").wishes] == ["AI hype"]


LOOKUP_WITHOUT_ITEMS = Lookup(replace(LOOKUP.names, items=()))

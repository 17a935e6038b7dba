"""Denials, questions, irony and orders to be silent change nothing: likely deeds are offered."""

import pytest

from suggestions.wishes.reading import wishes_read
from suggestions.wishes.stance import DENIED, IRONY, SILENCE, sentences_in, stances_in
from suggestions.wishes.wish import Reading
from tests.support.wish_words import TODAY, names

NAMES = names()


def read(words: str) -> Reading:
    return wishes_read(words, NAMES, TODAY)


@pytest.mark.parametrize(
    "words",
    [
        "It's not that I want less Apple",
        "I never said I want less Apple",
        "I don't think we need more Apple",
        "nobody asked for more Apple, did I ask for that?",
        "Why do you think I want more Apple?",
        "if I wanted less Apple I would say so",
        "my wife says I should read less Apple",
        "there is more Apple here than politics",
        "I used to skip Apple",
        "If I see one more Apple story I will scream",
        "never less Apple",
        "never enough Apple",
        "rather than less Apple, keep it so",
        "Oh great, another Apple story",
        "more Apple, just what I needed",
        "thanks for yet another Apple story",
        "Es ist nicht so, dass ich weniger Apple will",
        "Ich habe nie gesagt, dass ich weniger Apple will",
        "Wieso denkst du, dass ich mehr Apple will?",
        "Wenn ich weniger Apple wollte, würde ich es sagen",
        "Na toll, noch mehr Apple",
        "Mehr Apple, genau was ich brauche",
        "Apple, halt die Klappe",
        "halt endlich die Klappe, Apple",
        "shut up, Apple",
        "if Apple could shut its trap",
        "Is it just me or is there no Apple here any more?",
        "Gibt es hier denn nie was von Apple? Hier steht nichts über Apple",
        "not a day without Apple",
        "Ohne Apple ist der Tag gelaufen",
        "Less Apple? Over my dead body.",
        "Apple weg? Auf keinen Fall!",
        "don't you dare give me less Apple",
        "Weniger Apple wäre ein Verbrechen",
        "I can't get rid of Apple",
    ],
)
def test_what_asks_for_something_else_than_it_says_is_asked_about(words: str):
    reading = read(words)
    assert reading.wishes == ()
    choices = reading.question.choices if reading.question else ()
    assert any("Apple" in one for one in (*reading.notes, *(choice.label for choice in choices)))


@pytest.mark.parametrize(
    ("words", "first"),
    [
        ("Oh great, another Apple story", "less"),
        ("shut up, Golem", "mute"),
        ("Golem, halt die Klappe", "mute"),
    ],
)
def test_the_likeliest_deed_comes_first(words: str, first: str):
    question = read(words).question
    assert question is not None and question.choices[0].words.startswith(first)


@pytest.mark.parametrize(
    "words",
    [
        "Great, more Apple please",
        "I think we need more Apple",
        "nothing beats Apple, more of it",
        "super, mehr Apple bitte",
        "don't stop, more Apple",
        "Could I have less Apple? Thank you.",
        "no Apple would be great",
    ],
)
def test_a_sincere_wish_is_none_of_them(words: str):
    assert stances_in(words) == []


@pytest.mark.parametrize(
    ("words", "kind"),
    [("Not that I want less", DENIED), ("as if I needed more", IRONY), ("be quiet", SILENCE)],
)
def test_a_stance_counts_for_its_own_sentence(words: str, kind: str):
    [stance] = stances_in(f"More Golem. {words}. Less Apple.")
    assert (stance.kind, stance.begin, stance.end) == (kind, 11, 13 + len(words))


def test_a_name_with_a_dot_ends_no_sentence():
    assert sentences_in("More Golem.de. Less Apple") == [(0, 14), (14, 25)]


@pytest.mark.parametrize("words", ["Ich habe nichts gegen Golem", "nothing against Golem"])
def test_who_has_nothing_against_something_wants_no_less_of_it(words: str):
    reading = read(words)
    assert reading.wishes == () and "“Golem.de” stays as it is." in reading.notes


@pytest.mark.parametrize(
    ("words", "way"),
    [
        ("my thumbs don't seem to do anything, make them count more", "more"),
        ("meine Daumen sollen mehr zählen, ihr ignoriert die ja komplett", "more"),
        ("my likes do nothing", "more"),
        ("meine Bewertungen bringen nichts", "more"),
        ("ignore my ratings", "none"),
        ("my ratings should not count", "none"),
        ("meine Daumen sollen nicht zählen", "none"),
    ],
)
def test_who_complains_that_ratings_do_nothing_wants_them_to_count(words: str, way: str):
    assert [(wish.target.kind, wish.direction) for wish in read(words).wishes] == [("taste", way)]


@pytest.mark.parametrize("words", ["gegen Sport hab ich nichts", "ich habe nichts gegen Sport"])
def test_what_one_has_nothing_against_stays(words: str):
    found = read(words)
    assert not found.wishes and found.question is None
    assert any("stays as it is" in note for note in found.notes)

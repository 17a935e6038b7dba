"""What readers write in plain words, in English and German: most is understood, the rest is asked or told."""

from collections import Counter
from dataclasses import replace
from datetime import date, timedelta

import pytest

from suggestions.changes.change import FRESHER
from suggestions.wishes.reading import wishes_read
from suggestions.wishes.wish import Reading
from tests.support.wish_words import ASKS, RIGHT, TODAY, WRONG, Sentence, grade, names, sentences

NAMES = names()
# Of the sentences held out when the grammar was made.
HELD_RIGHT_MIN = 0.85
OPEN = [one for one in sentences() if not one.is_held]


def read(sentence: str) -> Reading:
    return wishes_read(sentence, NAMES, TODAY)


@pytest.mark.parametrize("sentence", OPEN, ids=lambda one: one.text)
def test_what_readers_write_is_understood_or_asked(sentence: Sentence):
    assert grade(sentence, read(sentence.text)) in (RIGHT, ASKS)


def test_of_sentences_held_out_most_are_understood():
    held = [one for one in sentences() if one.is_held]
    grades = Counter(grade(one, read(one.text)) for one in held)
    assert len(held) == 102 and grades[RIGHT] >= HELD_RIGHT_MIN * len(held), grades


def test_a_grade_knows_a_wrong_reading():
    [politics] = [one for one in OPEN if one.text == "Less politics please"]
    right = read(politics.text)
    assert grade(politics, right) == RIGHT
    turned = replace(right, wishes=(replace(right.wishes[0], direction="more"),))
    assert grade(politics, turned) == WRONG and grade(politics, Reading()) == WRONG


def test_what_is_clear_stands_beside_a_question():
    reading = read("newest first, and more Time Machine")
    assert next(wish.direction for wish in reading.wishes) == FRESHER
    both = read("fewer tech stories from TIME on weekends, and more AI")
    assert [wish.target.label for wish in both.wishes] == ["ai"] and both.question


def test_an_answer_leaves_the_next_question_open():
    question = read("less Sport, mehr Bücher, only xkcd when it's about space").question
    assert question is not None
    again = read(question.choices[0].words)
    assert len(again.wishes) == 1 and again.question is not None and "xkcd" in again.question.choices[0].label


@pytest.mark.parametrize(
    ("words", "days"),
    [
        ("for a week, hide football", 7),
        ("hide football for a week", 7),
        ("eine Woche lang kein Fußball", 7),
        ("Fußball für zwei Wochen ausblenden", 14),
        ("bis Ende des Monats nichts über Trump", 2),
        ("keine Wahlen bis zum 3. Januar", 36),
        ("mute crypto over the weekend", 1),
        ("until new year no crypto", 34),
    ],
)
def test_a_mute_for_a_time_has_an_end(words: str, days: int):
    [wish] = read(words).wishes
    assert (wish.direction, wish.until) == ("none", TODAY + timedelta(days=days))


@pytest.mark.parametrize(
    "words", ["hide football during the cup", "hide football while I'm away", "kein Fußball während der WM"]
)
def test_a_mute_whose_end_nobody_knows_is_asked(words: str):
    assert read(words).wishes == () and read(words).question is not None


def test_counts_and_conditions_are_asked_never_dropped():
    for words in ("höchstens 2 pro Woche von Golem", "no more than 30 from Golem a day"):
        question = read(words).question
        assert question and [choice.label for choice in question.choices] == ["Less of the source “Golem.de”"]
    question = read("hide Apple unless it's from Daring Fireball").question
    assert question is not None and "unless it's from daring fireball" in question.text


@pytest.mark.parametrize(
    ("words", "most"),
    [
        ("höchstens 2 am Tag von Golem", 2),
        ("no more than three from Golem a day", 3),
        ("Golem, max 2 per day", 2),
    ],
)
def test_a_count_of_one_source_by_the_day_is_its_daily_limit(words: str, most: int):
    [wish] = read(words).wishes
    assert (wish.target.label, wish.most) == ("Golem.de", most)


def test_a_long_phrase_is_never_called_the_word():
    reading = read("more of whatever it was that my cousin read on the train last summer")
    assert reading.wishes == () and reading.question is None and "Not understood" in reading.notes[0]


def test_words_that_nothing_has_are_taken_only_if_the_sentence_is_clear():
    assert [wish.target.key for wish in read("more archaeology").wishes] == ["archaeology"]
    unclear = read("colourless green ideas sleep. more archaeology")
    assert unclear.wishes == () and unclear.question is not None


def test_names_nearly_right_are_taken_or_asked():
    assert [wish.target.label for wish in read("more ars tecnica").wishes] == ["Ars Technica"]
    assert [wish.target.label for wish in read("less gamign").wishes] == ["gaming"]
    question = read("hide the gardian").question
    assert question is not None and question.choices[0].label == "Mute the source “The Guardian”"


def test_a_source_called_like_an_everyday_word_is_known_as_it_is_spelled():
    assert [wish.target.label for wish in read("a bit less TIME").wishes] == ["TIME"]


def test_what_is_muted_is_asked_for_again():
    for words in ("unmute crypto", "zeig Krypto wieder", "Krypto wieder anzeigen", "show me crypto again"):
        assert [wish.direction for wish in read(words).wishes] == ["unmute"], words


def test_german_dates_are_read_in_the_readers_calendar():
    assert read("kein Trump bis Montag").wishes[0].until == date(2026, 11, 30)

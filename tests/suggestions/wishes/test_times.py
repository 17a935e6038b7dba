"""When a wish ends: before a day, after a weekend, today, and for all that share its direction."""

from datetime import date, timedelta

import pytest

from suggestions.wishes.lookup import Lookup
from suggestions.wishes.reading import wishes_look_up
from suggestions.wishes.wish import Reading
from tests.support.wish_words import names

LOOKUP = Lookup(names())
MONDAY = date(2026, 11, 30)
FRIDAY, SATURDAY, SUNDAY = (MONDAY + timedelta(days=days) for days in (4, 5, 6))


def read(sentence: str, today: date = MONDAY) -> Reading:
    return wishes_look_up(LOOKUP.of_sentence(sentence), today)


def ends(sentence: str, today: date = MONDAY) -> list[date | None]:
    reading = read(sentence, today)
    assert reading.question is None, reading
    return [wish.until for wish in reading.wishes]


@pytest.mark.parametrize(
    ("words", "last"),
    [
        ("nothing about sport before the weekend", FRIDAY),
        ("nichts über Sport vor dem Wochenende", FRIDAY),
        ("no football before Friday", FRIDAY - timedelta(days=1)),
        ("kein Fußball vor Freitag", FRIDAY - timedelta(days=1)),
        ("hide football before next week", SUNDAY),
        ("hide football before Christmas", date(2026, 12, 23)),
        ("no football before the 10th", date(2026, 12, 9)),
    ],
)
def test_a_mute_before_a_day_ends_the_day_before(words: str, last: date):
    assert ends(words) == [last]


def test_before_the_weekend_is_before_the_next_one_if_it_is_here():
    for today in (SATURDAY, SUNDAY):
        assert ends("no football before the weekend", today) == [FRIDAY + timedelta(days=7)]
    assert ends("no football before the weekend", FRIDAY) == [FRIDAY]


@pytest.mark.parametrize(
    "words", ["kein Fußball bis nach dem Wochenende", "no football until after the weekend"]
)
@pytest.mark.parametrize("today", [MONDAY, FRIDAY, SATURDAY, SUNDAY])
def test_until_after_the_weekend_ends_on_its_sunday(words: str, today: date):
    assert ends(words, today) == [SUNDAY]


def test_what_is_no_day_stays_a_condition():
    for words in (
        "no politics before breakfast",
        "kein Fußball vor dem Frühstück",
        "no Trump before the election",
    ):
        reading = read(words)
        assert reading.wishes == () and reading.question and "no conditions" in reading.question.text, words


@pytest.mark.parametrize(
    "words",
    [
        "ich hab heute Lust auf Linux",
        "heute mehr Linux",
        "today more Linux",
        "I feel like Linux today",
        "today I'm in the mood for Linux",
    ],
)
def test_a_wish_for_today_says_so_and_is_for_more(words: str):
    [wish] = read(words).wishes
    assert (wish.direction, wish.target.label, wish.until) == ("more", "linux", MONDAY)


def test_a_mute_for_today_ends_today():
    for words in ("ich habe heute keine Lust auf Fußball", "heute kein Fußball", "no football today"):
        assert ends(words) == [MONDAY], words


@pytest.mark.parametrize(
    "words",
    [
        "Bitte bis Sonntag nichts über Kriege und Krisen, ich kann nicht mehr",
        "until Sunday no wars and crises",
        "no wars until Sunday, and crises",
    ],
)
def test_a_day_counts_for_all_that_share_its_direction(words: str):
    assert ends(words) == [SUNDAY] * 2


def test_a_german_noun_is_not_taken_for_its_verb():
    assert [wish.target.label for wish in read("nichts über Kriege").wishes] == ["Kriege"]
    assert [wish.target.label for wish in read("KRIEGE AUSBLENDEN").wishes] == ["KRIEGE"]
    assert [wish.target.label for wish in read("Kriege ich mehr Linux?").wishes] == ["linux"]

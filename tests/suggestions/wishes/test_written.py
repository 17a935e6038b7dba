"""Wishes that a reader writes beside ratings: how often, on which days, and against what, they count."""

import random
from dataclasses import replace
from datetime import datetime, timedelta

import pytest

from digest.entities import RatedItem
from ranking.entities import Config, EffectiveConfig
from suggestions.changes.change import Change
from suggestions.proposals import Facts
from suggestions.wishes.wish import Names
from suggestions.wishes.written import changes_written
from tests.conftest import NOW
from tests.support.pace import processor_within

SPORT, NO_SPORT = "I want to read more about sport", "No sport"
TITLES = {"gazette.example": "Gazette", "herald.example": "Herald"}


def rated(*written: str | tuple[str, ...], first: datetime = NOW) -> list[RatedItem]:
    """Return an article a day, the newest first, each with what is written beside it ("": nothing)."""
    found = []
    for n, words in enumerate(written):
        lines = (words,) if isinstance(words, str) else words
        lines, at = tuple(line for line in lines if line), first - timedelta(days=n)
        url = f"https://gazette.example/{n}"
        found.append(RatedItem(n, url, "Sport", "sport", "gazette.example", n % 2 == 0, (), lines, at, at))
    return found


def asked(items: list[RatedItem], *topics: str, decided: datetime | None = None) -> list[Change]:
    """Return the changes that are asked for, of a reader with these interests."""
    effective = EffectiveConfig(Config(version=1, topics=topics))
    known = {} if decided is None else {("topics", "sport"): (decided, False)}
    facts = Facts(effective=effective, sources=frozenset(TITLES))
    return [*changes_written(items, Names(TITLES, topics, topics), facts, known, NOW.date())]


def told(items: list[RatedItem], *topics: str) -> list[tuple[str, str]]:
    return [(one.suggestion_type, one.target) for one in asked(items, *topics)]


@pytest.mark.parametrize(
    ("words", "found"),
    [
        (SPORT, ("add_topic", "sport")),
        ("Ich möchte mehr über Sport lesen", ("add_topic", "sport")),
        ("More from Gazette", ("boost_source", "gazette.example")),
        ("less from the Herald", ("reduce_source", "herald.example")),
        (NO_SPORT, ("mute_word", "sport")),
    ],
)
def test_the_same_wish_beside_three_articles_is_one_change(words: str, found: tuple[str, str]):
    assert told(rated(words, "", words, words)) == [found]
    assert told(rated(words, "", words)) == []


def test_the_evidence_are_the_articles_with_the_words_and_the_newest_line_is_quoted():
    [change] = asked(rated("more about sport", "", SPORT, SPORT))
    assert [item.item_id for item in change.evidence] == [0, 2, 3]
    assert (change.words, change.names) == ("more about sport", ())


def test_titles_and_texts_never_count_and_neither_does_one_article_with_two_lines():
    articles = [replace(item, title=SPORT, text=SPORT) for item in rated("", "", "")]
    twice = (SPORT, "more about sport")
    assert told(articles) == [] == told(rated(twice, twice))


def test_articles_of_one_day_are_no_wish_yet():
    items = [replace(item, at=NOW) for item in rated(SPORT, SPORT, SPORT)]
    assert told(items) == []


@pytest.mark.parametrize("against", [NO_SPORT, "less sport", "More about sport until Friday"])
def test_another_wish_about_the_same_thing_holds_it_back(against: str):
    assert told(rated(SPORT, SPORT, SPORT, against)) == []


@pytest.mark.parametrize(
    "words", ["sport", "More about sport, less about chess", "only sport", "Great read!"]
)
def test_what_is_open_or_more_than_one_wish_counts_for_nothing(words: str):
    assert told(rated(words, words, words)) == []


def test_what_is_in_force_is_not_asked_for():
    assert told(rated(SPORT, SPORT, SPORT), "Sport") == []


def test_less_of_an_interest_is_its_end():
    assert told(rated(*["less sport"] * 3), "Sport") == [("remove_topic", "sport")]
    assert told(rated(*["less sport"] * 3)) == []


def test_after_a_decision_new_words_are_needed():
    items = rated(SPORT, SPORT, SPORT, SPORT)
    assert asked(items, decided=NOW) == []
    assert asked(items, decided=NOW - timedelta(days=2)) == []
    assert len(asked(items, decided=NOW - timedelta(days=3))) == 1


def test_who_asks_for_everything_in_turn_is_asked_about_nothing():
    subjects = ("sport", "politics", "business", "technology", "entertainment", "chess")
    assert told(rated(*[f"more about {one}" for one in subjects * 2])) == []
    assert told(rated(SPORT, SPORT, SPORT, "more about chess")) == [("add_topic", "sport")]


def test_only_the_newest_different_lines_are_read():
    other = [tuple(f"lovely {n} {line}" for line in range(3)) for n in range(40)]
    assert told(rated(*[SPORT] * 3, *other)) == [("add_topic", "sport")]
    assert told(rated(*other, *[SPORT] * 3)) == []


def test_a_line_that_is_no_wish_spoils_no_other():
    lines = ("If only it were always so good", "When?", "unless at most two a day", '"“')
    assert told(rated((SPORT, lines[0]), (SPORT, lines[1]), (SPORT, lines[2]), lines[3])) == [
        ("add_topic", "sport")
    ]


@pytest.mark.parametrize("name", ["{words} {n}", "ab{n} {same}", "{same}{n:04}"])
def test_many_lines_are_read_in_time_whatever_a_reader_called_hundreds_of_feeds(name: str):
    """Each line split all names anew: with a thousand of 200 characters a hundred lines took a minute."""
    chance = random.Random(1)
    letters = "abcdefgh"

    def words() -> str:
        return " ".join("".join(chance.choices(letters, k=6)) for _ in range(28))

    same = "".join(chance.choices("ab", k=56))
    called = {name.format(words=words(), n=n, same=same)[:200]: f"{n}.example" for n in range(500)}
    titles = {key: title for title, key in called.items()}
    lines = [f"less {''.join(chance.choices('ab', k=60))}" for _ in range(20)]
    lines += [f"more {' a' * 80} a day", f"never miss {words()}"[:200], "more of a, b " * 15] * 14
    items = rated(*(f"{line[:190]} {n}" for n, line in enumerate(lines)))
    facts = Facts(effective=EffectiveConfig(Config(version=1)), sources=frozenset(titles))
    with processor_within(5):
        changes_written(items, Names(titles, called=called), facts, {}, NOW.date())

"""Which headline is asked about next, and whether asking so teaches faster than asking anything."""

import random
from collections import Counter
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from digest.feedback.onboarding import (
    QUESTIONS,
    Headline,
    information_gains,
    question_choose,
)
from ranking.entities import SourceTally
from ranking.learning import base_rate, posterior

SIZES = {f"s{n}.example": size for n, size in enumerate((60, 40, 25, 15, 10, 8, 6, 4, 3, 2))}


def headlines(sizes: dict[str, int]) -> list[Headline]:
    keys = [(source, n) for source, size in sizes.items() for n in range(size)]
    return [Headline(i, source, 1000 + i, 1000 + i) for i, (source, _) in enumerate(keys)]


def tally(source: str, likes: int, n: int) -> SourceTally:
    return SourceTally(source, float(n), float(likes), n)


def course(sizes: dict[str, int], seed: str = "ada") -> list[Headline]:
    """Return the questions of an interview whose reader skips all of them."""
    asked: list[Headline] = []
    for n in range(QUESTIONS):
        question = question_choose(
            headlines(sizes), waiting=sizes, tallies=[], asked=asked, seed=f"{seed}{n}"
        )
        if question is None:
            break
        asked.append(question.headline)
    return asked


def test_no_source_follows_itself_nor_has_more_than_a_quarter_while_others_wait():
    asked = course(SIZES)
    assert len(asked) == QUESTIONS
    assert all(a.source != b.source for a, b in pairwise(asked))
    assert max(Counter(one.source for one in asked).values()) <= 5


def test_a_single_source_is_asked_about_to_its_end():
    assert len({one.item_id for one in course({"only.example": 7})}) == 7


def test_two_sources_take_turns():
    assert Counter(one.source for one in course({"a.example": 30, "b.example": 30})) == {
        "a.example": 10,
        "b.example": 10,
    }


def test_of_the_items_of_one_article_or_story_one_is_asked_about():
    first, twin, mate, other = headlines({"a.example": 2, "b.example": 2})
    twin = replace(twin, source="c.example", article=first.article)
    mate = replace(mate, story=first.story)
    for n in range(10):
        question = question_choose(
            [first, twin, mate, other], waiting={}, tallies=[], asked=[first], seed=str(n)
        )
        assert question is not None and question.headline == other
    assert question_choose([first, twin, mate], waiting={}, tallies=[], asked=[first], seed="") is None


def test_the_least_known_source_and_the_one_with_most_waiting_tell_most():
    gains = information_gains(
        ["known.example", "new.example", "busy.example"],
        waiting={"known.example": 5, "new.example": 5, "busy.example": 50},
        tallies=[tally("known.example", 4, 8)],
    )
    assert gains["known.example"] < gains["new.example"] < gains["busy.example"]


def test_a_source_that_is_always_liked_tells_less_than_one_of_mixed_answers():
    gains = information_gains(
        ["sure.example", "mixed.example"],
        waiting={},
        tallies=[tally("sure.example", 10, 10), tally("mixed.example", 5, 10)],
    )
    assert gains["sure.example"] < gains["mixed.example"]


def test_a_propensity_is_the_share_of_draws_that_choose_the_headline():
    pool = headlines({"a.example": 3, "b.example": 3})
    waiting = {"a.example": 3, "b.example": 3}
    drawn = Counter()
    for n in range(3000):
        question = question_choose(pool, waiting=waiting, tallies=[], asked=[], seed=str(n))
        assert question is not None and question.propensity == pytest.approx(1 / 6)
        drawn[question.headline.item_id] += 1
    assert len(drawn) == 6 and min(drawn.values()) > 400 and max(drawn.values()) < 600


def test_the_same_seed_asks_the_same():
    assert course(SIZES, "ada") == course(SIZES, "ada") != course(SIZES, "ben")


def test_headlines_with_and_without_meaning_are_asked_about_in_proportion():
    pool = headlines({f"s{n}.example": 4 for n in range(10)})
    tells = {one.item_id: float(one.item_id) for one in pool if one.item_id % 2}
    asked: list[Headline] = []
    for n in range(12):
        question = question_choose(pool, waiting={}, tallies=[], asked=asked, seed=str(n), tells=tells)
        assert question is not None
        asked.append(question.headline)
    assert 4 <= sum(one.item_id in tells for one in asked) <= 8
    assert asked[0].item_id == max(tells)


def test_a_source_that_tells_most_still_does_not_follow_itself():
    pool = headlines({"a.example": 10, "b.example": 10})
    tells = {one.item_id: 2.0 if one.source == "a.example" else 1.0 for one in pool}
    asked: list[Headline] = []
    for n in range(6):
        question = question_choose(pool, waiting={}, tallies=[], asked=asked, seed=str(n), tells=tells)
        assert question is not None
        asked.append(question.headline)
    assert all(a.source != b.source for a, b in pairwise(asked))


# --- Synthetic readers: chosen questions against random and newest ones -------------------------------


def taught(way: str, rates: dict[str, float], seed: int) -> dict[str, tuple[int, int]]:
    """Likes and answers by source after twenty questions to a reader who likes each source at its rate."""
    rng, pool = random.Random(seed), headlines(SIZES)
    # The newest items come from prolific sources.
    order = rng.sample(pool, len(pool))
    asked: list[Headline] = []
    found: dict[str, tuple[int, int]] = {}
    for n in range(QUESTIONS):
        if way == "chosen":
            tallies = [tally(source, *counts) for source, counts in found.items()]
            question = question_choose(pool, waiting=SIZES, tallies=tallies, asked=asked, seed=f"{seed}{n}")
            assert question is not None
            headline = question.headline
        else:
            headline = order[n] if way == "random" else pool[n]
        asked.append(headline)
        likes, total = found.get(headline.source, (0, 0))
        found[headline.source] = likes + (rng.random() < rates[headline.source]), total + 1
    return found


def errors(way: str, readers: int = 300) -> tuple[float, float]:
    """Return the mean Brier score above that of the true rates: over all waiting items, and per source."""
    rng = np.random.default_rng(5)
    over_items, over_sources = [], []
    weights = np.array(list(SIZES.values())) / sum(SIZES.values())
    for seed in range(readers):
        rates = dict(zip(SIZES, rng.beta(0.8, 0.8, len(SIZES)).tolist(), strict=True))
        found = taught(way, rates, seed)
        base = base_rate(sum(k for k, _ in found.values()), sum(n for _, n in found.values()))
        means = [posterior(*found.get(source, (0, 0)), base).mean for source in SIZES]
        squares = (np.array(means) - np.array(list(rates.values()))) ** 2
        over_items.append(float(squares @ weights))
        over_sources.append(float(squares.mean()))
    return float(np.mean(over_items)), float(np.mean(over_sources))


def test_chosen_questions_predict_better_than_random_or_newest_ones():
    chosen, at_random, newest = errors("chosen"), errors("random"), errors("newest")
    for which in (0, 1):
        assert chosen[which] < at_random[which] < newest[which]
    assert chosen[0] < 0.95 * at_random[0]

"""How probable it is that a reader prefers anything: from thumbs at one rate, and from thumbs that differ."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ranking.taste.leans import Tallies
from suggestions.changes.columns import attributes_of
from suggestions.changes.mutes import WORDS
from suggestions.planner.preference import ODDS_BEFORE, Preference, false_signs, preference_of
from suggestions.planner.tastes import FALSE_SIGN_MAX, Taste, reader_preference, tallies_of
from tests.support.factories import CLOCK
from tests.support.suggestion_worlds import thumb

BEFORE = ODDS_BEFORE / (1 + ODDS_BEFORE)
SOURCES, EACH = 10, 10


def thumbs(rates: list[float], seed: int = 1):
    """Ten thumbs on each of some sources, liked at their rates."""
    rng = np.random.default_rng(seed)
    rows = [(n, rng.random() < rate) for n, rate in enumerate(rates) for _ in range(EACH)]
    return [thumb(k, source=f"s{n}.example", title=f"{k}", useful=bool(up)) for k, (n, up) in enumerate(rows)]


def prefers(rates: list[float], seed: int = 1) -> float:
    rated = thumbs(rates, seed)
    return reader_preference(rated, attributes_of(rated, titles={})).p_anything


def test_without_thumbs_it_is_as_probable_as_beforehand():
    nothing = attributes_of([], titles={})
    assert reader_preference([], nothing).p_anything == pytest.approx(BEFORE)


def test_thumbs_at_one_rate_make_it_less_probable_and_such_that_differ_certain():
    even = [prefers([0.5] * SOURCES, seed) for seed in range(20)]
    uneven = [prefers([0.9] * 5 + [0.1] * 5, seed) for seed in range(20)]
    assert np.median(even) < BEFORE and np.mean(even) < BEFORE
    assert min(uneven) > 0.99


def test_of_readers_who_prefer_nothing_few_seem_certain():
    found = [prefers([0.4] * SOURCES, seed) for seed in range(100)]
    assert np.mean([p > 0.95 for p in found]) <= 0.1


def test_age_takes_nothing_from_it():
    rated = thumbs([0.9] * 5 + [0.1] * 5)
    attributes = attributes_of(rated, titles={})
    whole, decayed = (
        tallies_of(rated, attributes, now) for now in (None, CLOCK.replace(year=CLOCK.year + 1))
    )
    assert whole.thumbs_all == len(rated) > 10 * decayed.thumbs_all


def test_words_that_were_chosen_by_dislikes_prove_nothing():
    rated = thumbs([0.5] * SOURCES)
    titled = [
        thumb(n, source=one.source, title="fine" if one.useful else "moan", useful=one.useful)
        for n, one in enumerate(rated)
    ]
    alone = attributes_of(titled, titles={})
    bare = reader_preference(titled, alone)
    with_word = attributes_of(titled, titles={}, given={WORDS: ["moan"]})
    assert reader_preference(titled, with_word) == bare


@given(st.integers(0, 12), st.floats(0, 1))
def test_a_wrong_sign_is_never_less_probable_than_that_nothing_is_preferred(likes, p):
    """At most half of the preferences may have the other sign."""
    tallies = Tallies(
        *map(np.array, ([12.0], [float(likes)], [12.0])), 1, 98, 49, np.array([98.0]), np.array([49.0])
    )
    (rate,) = false_signs(Preference((p / 5,) * 5), tallies)
    assert 1 - p - 1e-9 <= rate <= 1 - p / 2 + 1e-9


def test_a_large_lean_of_somebody_who_may_prefer_nothing_is_not_asked_about():
    assert Taste(0.5, 0.3, 0.2, 50, 100, false_sign=FALSE_SIGN_MAX).is_clear
    assert not Taste(0.5, 0.3, 0.2, 50, 100, false_sign=FALSE_SIGN_MAX + 0.01).is_clear


def test_without_columns_nothing_is_learned():
    tallies = tallies_of([], attributes_of([], titles={}), None)
    assert preference_of(tallies, 0).p_anything == pytest.approx(BEFORE)

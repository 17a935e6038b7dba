"""How much tastes vary, from many readers: bounded contributions, noise, a prior where nothing is known."""

import numpy as np
import pytest

from ranking.community import EPSILON_SPREAD, SPREAD_ESTIMATES, SPREAD_STEPS, spread_with_noise
from suggestions.planner.spread import PRIOR, Batch, batch_sum, contribution_of, spread_of
from suggestions.planner.tastes import Tallies

SOURCES = 10


def reader(rng: np.random.Generator, spread: float, thumbs: int = 80, rate: float = 0.0) -> Tallies:
    """A reader of ten sources whose true log-odds vary so much."""
    source = rng.integers(0, SOURCES, thumbs)
    taste = rng.normal(rate, spread**0.5, SOURCES)
    liked = rng.random(thumbs) < 1 / (1 + np.exp(-taste[source]))
    counted = np.bincount(source, minlength=SOURCES).astype(float)
    likes = np.bincount(source, weights=liked, minlength=SOURCES)
    return tallied(counted, likes, float(thumbs), float(liked.sum()))


def tallied(counted: np.ndarray, likes: np.ndarray, thumbs: float, liked: float) -> Tallies:
    everything = np.full(SOURCES, thumbs), np.full(SOURCES, liked)
    return Tallies(counted, likes, counted, SOURCES, thumbs, liked, *everything)


def batch(rng: np.random.Generator, spread: float, readers: int = 500) -> Batch:
    """What is published of so many readers."""
    total = batch_sum([contribution_of(reader(rng, spread)) for _ in range(readers)])
    sums = (total.source_estimates, total.source_weights, total.topic_estimates, total.topic_weights)
    return Batch(*spread_with_noise(sums, 1 - rng.random((2, 4))))


def test_many_readers_tell_how_much_tastes_vary():
    rng = np.random.default_rng(3)
    found = [spread_of([batch(rng, spread)]).sources for spread in (0.0, 0.1, 0.3)]
    assert found[0] < 0.04
    assert found[1] == pytest.approx(0.1, abs=0.06)
    assert 0.2 < found[2] < 0.5


def test_before_anything_is_published_tastes_vary_as_in_the_prior():
    assert spread_of([]).sources == spread_of([]).topics == PRIOR
    assert spread_of([Batch(0, 0, 0, 0)]).sources == PRIOR


def test_one_small_batch_moves_the_prior_a_little_and_never_below_zero():
    few = Batch(-900, 3000, 40 * 50, 40 * 80)
    assert 0 <= spread_of([few]).sources < PRIOR
    assert PRIOR < spread_of([few]).topics < 2 * PRIOR
    assert spread_of([Batch(-90_000, 30_000, 0, 0)]).sources == 0


def test_no_reader_adds_more_than_the_bounds_whatever_they_rate():
    rng = np.random.default_rng(4)
    low, high = (round(SPREAD_STEPS * bound) for bound in SPREAD_ESTIMATES)
    for spread, thumbs, rate in ((9.0, 400, 0.0), (0.0, 20, 3.0), (2.0, 25, -2.0), (0.0, 3, 0.0)):
        for _ in range(50):
            found = contribution_of(reader(rng, spread, thumbs, rate))
            assert low <= found.source_estimates <= high and 0 <= found.source_weights <= SPREAD_STEPS
            assert (found.topic_estimates, found.topic_weights) == (0, 0)


def test_a_weight_knows_nothing_of_what_thumbs_say():
    rng = np.random.default_rng(5)
    one = reader(rng, 0.3)
    other = tallied(one.thumbs, one.thumbs - one.likes, 80.0, 80.0 - one.likes_all)
    loud = tallied(one.thumbs, one.thumbs, 80.0, 80.0)
    weights = {contribution_of(t).source_weights for t in (one, other, loud)}
    assert len(weights) == 1


def test_the_noise_on_a_sum_hides_the_range_of_one_reader():
    rng = np.random.default_rng(6)
    drawn = np.array([spread_with_noise((0, 0, 0, 0), 1 - rng.random((2, 4)))[0] for _ in range(6000)])
    low, high = SPREAD_ESTIMATES
    step = SPREAD_STEPS * (high - low)
    ratio = (drawn > 0).mean() / (drawn > step).mean()
    assert ratio == pytest.approx(np.exp(EPSILON_SPREAD), rel=0.15)

"""Beliefs are sure only with many thumbs, and always relative to the reader's own base rate."""

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from scipy.special import betainc, logit
from scipy.stats import binomtest

from ranking.learning import KAPPA, base_rate, posterior, wilson

RATE = st.floats(min_value=0.05, max_value=0.95)
COUNT = st.integers(min_value=0, max_value=500)


@given(likes=COUNT, dislikes=COUNT)
def test_a_base_rate_is_never_certain(likes, dislikes):
    assert 0.05 <= base_rate(likes, likes + dislikes) <= 0.95


def test_a_base_rate_without_thumbs_is_even():
    assert base_rate(0, 0) == 0.5


@given(base=RATE)
def test_without_thumbs_the_belief_is_the_prior(base):
    belief = posterior(0, 0, base)
    assert belief.mean == pytest.approx(base)
    assert belief.log_odds == pytest.approx(0, abs=1e-9)


@given(base=RATE, likes=COUNT, dislikes=COUNT)
def test_the_mean_lies_between_prior_and_data(base, likes, dislikes):
    n = likes + dislikes
    belief = posterior(likes, n, base)
    rate = likes / n if n else base
    assert min(base, rate) - 1e-9 <= belief.mean <= max(base, rate) + 1e-9
    assert belief.mean == pytest.approx((KAPPA * base + likes) / (KAPPA + n))


@given(base=RATE, likes=COUNT, dislikes=COUNT)
def test_one_more_like_never_lowers_the_belief(base, likes, dislikes):
    before = posterior(likes, likes + dislikes, base)
    after = posterior(likes + 1, likes + 1 + dislikes, base)
    assert after.mean >= before.mean
    assert after.p_better >= before.p_better - 1e-12


@given(base=RATE, likes=COUNT, dislikes=COUNT)
def test_liking_and_disliking_mirror_each_other(base, likes, dislikes):
    n = likes + dislikes
    mirrored = posterior(dislikes, n, 1 - base)
    assert posterior(likes, n, base).p_better == pytest.approx(1 - mirrored.p_better, abs=1e-9)


def test_the_probability_is_that_of_the_beta_distribution():
    belief = posterior(9, 10, 0.5)
    draws = np.random.default_rng(1).beta(KAPPA * 0.5 + 9, KAPPA * 0.5 + 1, 200_000)
    assert belief.p_better == pytest.approx((draws > 0.5).mean(), abs=0.005)


def test_five_lucky_thumbs_do_not_convince_and_fifty_do():
    assert posterior(4, 5, 0.5).p_better < 0.9 < posterior(40, 50, 0.5).p_better


def test_those_who_know_better_can_move_the_prior_within_bounds():
    assert posterior(0, 0, 0.5, prior=0.7).mean == pytest.approx(0.7)
    assert posterior(0, 0, 0.9, prior=1.4).mean == pytest.approx(0.95)


def test_a_rounding_error_in_decayed_sums_is_no_dislike():
    assert posterior(3.0000000001, 3.0, 0.5).p_better <= 1.0


@given(likes=st.integers(0, 2000), dislikes=st.integers(0, 2000))
@example(likes=34, dislikes=2)
@example(likes=28, dislikes=31)
def test_a_reader_of_one_source_has_a_belief_about_it(likes, dislikes):
    """Its like-rate is then the reader's own, at which the two ways to compute the probability meet."""
    n = likes + dislikes
    base = base_rate(likes, n)
    expected = betainc(KAPPA * (1 - base) + dislikes, KAPPA * base + likes, 1 - base)
    assert posterior(likes, n, base).p_better == pytest.approx(expected, abs=1e-9)


@given(rates=st.tuples(RATE, RATE), likes=st.floats(0, 5000), dislikes=st.floats(0, 5000))
def test_every_belief_is_scipys_and_has_log_odds(rates, likes, dislikes):
    base, prior = rates
    belief = posterior(likes, likes + dislikes, base, prior)
    expected = betainc(KAPPA * (1 - prior) + dislikes, KAPPA * prior + likes, 1 - base)
    assert belief.p_better == pytest.approx(expected, abs=1e-9)
    assert belief.log_odds == pytest.approx(logit(belief.mean) - logit(base), abs=1e-9)


@given(total=st.integers(1, 5000), part=st.floats(0, 1))
def test_every_interval_of_wilsons_is_scipys(total, part):
    hits = round(part * total)
    expected = binomtest(hits, total).proportion_ci(confidence_level=0.95, method="wilson")
    assert wilson(hits, total) == pytest.approx((expected.low, expected.high), abs=1e-6)


@pytest.mark.parametrize(("hits", "total"), [(5, 5), (8, 10), (0, 7), (1, 400), (250, 400)])
def test_wilsons_interval_is_the_one_of_scipy(hits, total):
    expected = binomtest(hits, total).proportion_ci(confidence_level=0.95, method="wilson")
    assert wilson(hits, total) == pytest.approx((expected.low, expected.high), abs=1e-6)


def test_of_nothing_anything_may_be():
    assert wilson(0, 0) == (0.0, 1.0)


@given(st.integers(0, 200), st.integers(0, 200))
def test_one_more_hit_never_lowers_an_end_of_the_interval_and_a_miss_never_raises_one(hits, misses):
    total = hits + misses
    before, hit, miss = wilson(hits, total), wilson(hits + 1, total + 1), wilson(hits, total + 1)
    assert 0 <= before[0] <= before[1] <= 1
    for lower, end, upper in zip(miss, before, hit, strict=True):
        assert lower <= end + 1e-12 and end <= upper + 1e-12

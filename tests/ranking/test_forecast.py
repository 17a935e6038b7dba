"""What a change would have done is measured, or admitted to be unknown."""

from math import log2

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ranking.forecast import MIN_THUMBS, measure, ndcg

ROW = st.tuples(st.booleans(), st.floats(0, 9), st.floats(0, 9))
CASE = st.lists(ROW, min_size=8, max_size=40)
# Ties fall by the luck of the deal, so an exact comparison needs distinct scores.
DISTINCT = st.lists(ROW, min_size=8, max_size=40, unique_by=(lambda row: row[1], lambda row: row[2]))


def plain_ndcg(liked: list[bool], order: list[float], k: int = 10) -> float:
    """nDCG as the textbook writes it."""
    shown = sorted(range(len(liked)), key=lambda i: -order[i])[:k]
    dcg = sum(liked[i] / log2(place + 2) for place, i in enumerate(shown))
    ideal = sum(1 / log2(place + 2) for place in range(min(k, sum(liked))))
    return dcg / ideal if ideal else 0.0


@given(CASE)
def test_ndcg_equals_the_textbook_and_stays_within_0_and_1(case):
    liked, order, _ = (list(column) for column in zip(*case, strict=True))
    value = ndcg(np.array(liked, dtype=float), np.array(order))
    assert value == pytest.approx(plain_ndcg(liked, order))
    assert -1e-9 <= value <= 1 + 1e-9


def test_ndcg_is_1_for_the_ideal_order_and_0_where_nothing_is_liked():
    assert ndcg(np.array([1.0, 1.0, 0.0]), np.array([3.0, 2.0, 1.0])) == pytest.approx(1)
    assert ndcg(np.zeros(3), np.arange(3.0)) == 0
    assert ndcg(np.array([0.0, 1.0]), np.array([2.0, 1.0])) == pytest.approx(1 / log2(3))


@given(DISTINCT)
def test_a_measured_gain_is_the_difference_and_repeats_with_its_seed(case):
    liked, before, after = (list(column) for column in zip(*case, strict=True))
    first = measure(liked, before, after, seed=7)
    assert first == measure(liked, before, after, seed=7)
    assert first.gain == pytest.approx(plain_ndcg(liked, after) - plain_ndcg(liked, before))
    assert first.low <= first.high and first.n == len(case)


def test_many_later_thumbs_are_measured_in_pools_the_size_of_a_digest():
    # 90 items, every third disliked; the change sinks the disliked ones, below a top 10 that was all liked.
    liked = [n % 3 > 0 for n in range(90)]
    before = [float(n % 3 > 0) if n < 15 else 0.5 for n in range(90)]
    after = [float(useful) for useful in liked]
    assert plain_ndcg(liked, before) == plain_ndcg(liked, after) == 1
    assert measure(liked, before, after, seed=1).gain > 0.05


def test_a_change_that_changes_no_order_gains_nothing_for_certain():
    forecast = measure([True, False] * 10, list(range(20)), [2.0 * n for n in range(20)], seed=1)
    assert (forecast.gain, forecast.low, forecast.high) == (0, 0, 0)


def test_a_change_that_lifts_what_was_liked_gains_for_certain():
    liked = [n < 10 for n in range(40)]
    forecast = measure(liked, list(range(40)), [40.0 - n for n in range(40)], seed=1)
    assert forecast.gain == pytest.approx(1) and forecast.low > 0


def test_too_few_later_thumbs_say_so():
    few = measure([True] * (MIN_THUMBS - 1), [1.0] * 7, [2.0] * 7, seed=1)
    assert (few.gain, few.low, few.high, few.n) == (None, None, None, 7)

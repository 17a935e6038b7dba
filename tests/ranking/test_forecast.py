"""What a change would have done is measured, or admitted to be unknown."""

from math import log2

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ranking.forecast import MIN_THUMBS, measure

ROW = st.tuples(st.booleans(), st.floats(0, 9), st.floats(0, 9))
# Ties fall by the luck of the deal, so an exact comparison needs distinct scores.
DISTINCT = st.lists(ROW, min_size=8, max_size=40, unique_by=(lambda row: row[1], lambda row: row[2]))


def plain_ndcg(liked: list[bool], order: list[float], k: int = 10) -> float:
    """nDCG as the textbook writes it."""
    shown = sorted(range(len(liked)), key=lambda i: -order[i])[:k]
    dcg = sum(liked[i] / log2(place + 2) for place, i in enumerate(shown))
    ideal = sum(1 / log2(place + 2) for place in range(min(k, sum(liked))))
    return dcg / ideal if ideal else 0.0


@given(DISTINCT)
def test_a_measured_gain_is_the_difference_and_repeats_with_its_seed(case):
    liked, before, after = (list(column) for column in zip(*case, strict=True))
    first = measure(liked, before, after, seed=7)
    assert first == measure(liked, before, after, seed=7)
    assert first.gain == pytest.approx(plain_ndcg(liked, after) - plain_ndcg(liked, before))
    assert first.low <= first.high and first.n == len(case)


def test_the_gain_is_that_of_ndcg_at_10():
    # One liked item climbs from the 9th place (1 / log2(10)) to the 2nd (1 / log2(3)).
    liked = [n == 0 for n in range(12)]
    before, after = ([place, *(n - 0.5 for n in range(12, 1, -1))] for place in (4.0, 11.0))
    assert measure(liked, before, after, seed=1).gain == pytest.approx(1 / log2(3) - 1 / log2(10))
    assert measure(liked, [0.0, *before[1:]], after, seed=1).gain == pytest.approx(1 / log2(3))
    assert measure([False] * 12, before, after, seed=1).gain == 0


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

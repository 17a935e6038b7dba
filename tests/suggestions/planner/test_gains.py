"""The worth of a change: expected under draws, measured on holdout ratings, or admitted to be unknown."""

from math import log2

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from suggestions.planner.gains import (
    HOLDOUT_RATINGS_MIN,
    ConfigColumns,
    ReplayEvaluator,
    ReplayPools,
    information_value,
    ndcg_change,
    p_better,
    p_helps,
)
from suggestions.planner.hypotheses import SILENCE_SENTENCES, silence_code

ROOM = {"ratings": 50, "tried": 5, "not_permitted": 0, "dropped": 0, "best": 0.0}


def replay(items: int = 40) -> ReplayPools:
    """Two pools of twenty items; every second item is of source 0, every fourth about the topic."""
    about = (np.arange(items) % 4 == 0).astype(float)[:, None]
    return ReplayPools(
        source_index=np.arange(items) % 2,
        title_topics=about,
        text_topics=about,
        base_interest=np.ones(items),
        pools=np.arange(items).reshape(2, -1),
        recency=np.linspace(1, 0.2, items).reshape(2, -1),
    )


def evaluator(source: float, topic: float) -> ReplayEvaluator:
    return ReplayEvaluator(replay(), np.tile([0.0, source, 0.0, topic], (50, 1)), 1)


def setting(weight: float = 1.0, topic: float = 0.0) -> ConfigColumns:
    return ConfigColumns(np.array([weight, 1.0]), np.array([topic]))


def test_a_boost_of_what_is_liked_gains_and_of_what_is_not_loses():
    liked, disliked = evaluator(1.5, 0.0), evaluator(-1.5, 0.0)
    assert (liked.value(setting(1.3)) > liked.value(setting())).all()
    assert (disliked.value(setting(1.3)) < disliked.value(setting())).all()


def test_a_topic_gains_when_it_is_liked():
    assert (evaluator(0.0, 2.0).value(setting(topic=1.0)) > evaluator(0.0, 2.0).value(setting())).all()


def test_the_perfect_order_is_worth_one_and_nothing_more():
    values = evaluator(5.0, 0.0).value(setting(2.0))
    assert (values <= 1 + 1e-9).all() and values.mean() > 0.9


def test_short_pools_are_padded_with_what_is_never_liked():
    full = replay()
    pools = full.pools.copy()
    pools[1, 5:] = -1
    short = ReplayPools(
        full.source_index, full.title_topics, full.text_topics, full.base_interest, pools, full.recency
    )
    values = ReplayEvaluator(short, np.tile([0.0, 1.5, 0.0, 0.0], (50, 1)), 1).value(setting())
    assert ((values > 0) & (values <= 1 + 1e-9)).all()


def test_probabilities_count_draws_and_never_reach_certainty():
    surely, never = np.full(100, 0.1), np.full(100, -0.1)
    assert 0.95 < p_helps(surely, surely) < 1
    assert 0 < p_helps(never, surely) < 0.05
    assert p_better(np.zeros(10)) == 0.5 and p_better(surely) == 1


def test_a_gain_without_a_leaning_is_no_reason_to_ask():
    leaning = np.where(np.arange(100) < 40, 1.0, -1.0)
    assert p_helps(np.full(100, 0.1), leaning) == pytest.approx(0.4)


def test_knowing_is_worth_most_where_it_could_change_the_decision():
    sure, unsure = np.full(100, 0.1), np.where(np.arange(100) % 2, 0.1, -0.1)
    assert information_value(sure) == pytest.approx(0)
    assert information_value(unsure) == pytest.approx(0.05)


@pytest.mark.parametrize(
    ("changed", "code"),
    [
        ({"ratings": 9}, "too_little_said"),
        ({"tried": 0}, "too_little_said"),
        ({"dropped": 1, "not_permitted": 1}, "later_thumbs_against"),
        ({"not_permitted": 1, "best": 0.7}, "all_decided"),
        ({"best": 0.7}, "undecided"),
        ({"best": 0.5}, "balanced"),
    ],
)
def test_silence_has_a_reason(changed, code):
    assert silence_code(**ROOM | changed) == code
    assert SILENCE_SENTENCES[code].endswith(".")


def test_reasons_lower_the_bar_that_a_leaning_has_to_take():
    surely, leaning = np.full(100, 0.1), np.where(np.arange(100) < 65, 1.0, -1.0)
    assert p_helps(surely, leaning, 0.0) == pytest.approx(0.65)
    assert p_helps(surely, leaning, 1.0) > 0.95


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
    first = ndcg_change(liked, before, after, seed=7)
    assert first == ndcg_change(liked, before, after, seed=7)
    assert first.gain == pytest.approx(plain_ndcg(liked, after) - plain_ndcg(liked, before))
    assert first.low <= first.high and first.n == len(case)


def test_the_gain_is_that_of_ndcg_at_10():
    # One liked item climbs from the 9th place (1 / log2(10)) to the 2nd (1 / log2(3)).
    liked = [n == 0 for n in range(12)]
    before, after = ([place, *(n - 0.5 for n in range(12, 1, -1))] for place in (4.0, 11.0))
    assert ndcg_change(liked, before, after, seed=1).gain == pytest.approx(1 / log2(3) - 1 / log2(10))
    assert ndcg_change(liked, [0.0, *before[1:]], after, seed=1).gain == pytest.approx(1 / log2(3))
    assert ndcg_change([False] * 12, before, after, seed=1).gain == 0


def test_many_later_thumbs_are_measured_in_pools_the_size_of_a_digest():
    # 90 items, every third disliked; the change sinks the disliked ones, below a top 10 that was all liked.
    liked = [n % 3 > 0 for n in range(90)]
    before = [float(n % 3 > 0) if n < 15 else 0.5 for n in range(90)]
    after = [float(useful) for useful in liked]
    assert plain_ndcg(liked, before) == plain_ndcg(liked, after) == 1
    assert ndcg_change(liked, before, after, seed=1).gain > 0.05


def test_a_change_that_changes_no_order_gains_nothing_for_certain():
    forecast = ndcg_change([True, False] * 10, list(range(20)), [2.0 * n for n in range(20)], seed=1)
    assert (forecast.gain, forecast.low, forecast.high) == (0, 0, 0)


def test_a_change_that_lifts_what_was_liked_gains_for_certain():
    liked = [n < 10 for n in range(40)]
    forecast = ndcg_change(liked, list(range(40)), [40.0 - n for n in range(40)], seed=1)
    assert forecast.gain == pytest.approx(1) and forecast.low > 0


def test_too_few_later_thumbs_say_so():
    few = ndcg_change([True] * (HOLDOUT_RATINGS_MIN - 1), [1.0] * 7, [2.0] * 7, seed=1)
    assert (few.gain, few.low, few.high, few.n) == (None, None, None, 7)

"""The measures of a suggestion: the split in time, nDCG@10 on holdout ratings; its words and their limits."""

from math import log2

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ranking.entities import Config, EffectiveConfig
from suggestions.planner.forecasts import (
    BOOTSTRAP_DRAWS,
    HOLDOUT_RATINGS_MIN,
    SHUFFLES,
    forecast_of,
    ndcg_change,
    split_by_time,
)
from suggestions.planner.hypotheses import (
    GAIN_MIN,
    SILENCE_SENTENCES,
    confidence_capped,
    confidence_of,
    silence_code,
)
from suggestions.sentences import forecast_words, impact_sentence, reason_clean, reason_sentence
from tests.support.changes import change_applied
from tests.support.factories import CLOCK
from tests.support.suggestion_worlds import thumb

ROOM = {"ratings": 50, "tried": 5, "not_permitted": 0, "declined": 0, "dropped": 0, "best": 0.0}
PLAIN = EffectiveConfig(Config(topics=("Rail",), source_weights={"a": 1.2}), {"a": 0.1})


@pytest.mark.parametrize(
    ("p", "low", "high", "confidence"),
    [
        (0.8, 0.01, 0.1, "high"),
        (0.99, 0.004, 0.1, "medium"),
        (0.99, None, None, "medium"),
        (0.99, -0.01, 0.1, "medium"),
        (0.99, -0.1, -0.01, "low"),
        (0.79, 0.02, 0.1, "medium"),
        (0.59, 0.2, 0.3, "low"),
    ],
)
def test_confidence_needs_both_the_choosing_and_the_checking_thumbs(p, low, high, confidence):
    assert confidence_of(p, low, high) == confidence


@pytest.mark.parametrize("low", [None, -0.1, 0.0, GAIN_MIN])
@pytest.mark.parametrize("stated", ["high", "medium", "low"])
def test_no_confidence_is_high_beside_a_gain_within_chance(stated, low):
    high = None if low is None else 0.3
    assert confidence_capped(stated, low, high) == ("medium" if stated == "high" else stated)
    words = forecast_words({"ndcg_gain": 0.1, "ndcg_low": low, "ndcg_high": high})
    assert ("chance" if low is not None else "Not tested yet") in words


def test_a_stated_confidence_stays_beyond_chance_and_falls_where_thumbs_speak_against():
    assert confidence_capped("high", GAIN_MIN + 0.001, 0.3) == "high"
    assert confidence_capped("high", -0.3, -0.1) == confidence_capped("medium", -0.3, -0.1) == "low"


@given(st.lists(st.integers(0, 50), min_size=100, max_size=200))
def test_no_thumb_both_chooses_and_measures(days):
    split = split_by_time([thumb(n, days_ago=day) for n, day in enumerate(days)])
    ids = [item.item_id for item in (*split.training, *split.holdout)]
    assert sorted(ids) == list(range(len(days)))
    assert len(split.holdout) <= len(days) / 5


def test_below_120_thumbs_all_choose_and_none_measure():
    parts = [split_by_time([thumb(n, days_ago=n) for n in range(count)]) for count in (119, 120)]
    assert [(len(p.training), len(p.holdout)) for p in parts] == [(119, 0), (100, HOLDOUT_RATINGS_MIN)]


def test_blocks_of_five_measure_old_and_recent_times_alike():
    split = split_by_time([thumb(n, days_ago=120 - n) for n in range(120)])
    assert [item.item_id for item in split.holdout] == [
        n for start in (25, 55, 85, 115) for n in range(start, start + 5)
    ]


def test_a_change_is_applied_exactly_and_to_its_target_only():
    boosted = change_applied(PLAIN, "boost_source", "a", "1.5")
    assert (boosted.weight("a"), boosted.weight("b"), boosted.config.topics) == (1.5, 1.0, ("Rail",))
    assert change_applied(PLAIN, "add_topic", "harbour", "Harbour").config.topics == ("Rail", "Harbour")
    assert change_applied(PLAIN, "remove_topic", "rail", "Rail").config.topics == ()


def test_a_forecast_is_repeatable_and_positive_where_the_change_is_right():
    later = [thumb(n, source="ab"[n % 2], useful=n % 2 == 0, days_ago=n) for n in range(40)]
    after = change_applied(PLAIN, "boost_source", "a", "1.6")
    before = change_applied(PLAIN, "reduce_source", "a", "0.7")
    one, two = (forecast_of(later, before, after, now=CLOCK, seed="s") for _ in range(2))
    assert one == two
    assert one.gain > 0


def test_ages_count_at_the_time_of_the_thumb():
    # Both items were an hour old when rated, one of them months ago: the old thumb must not sink.
    old = thumb(1, useful=True, days_ago=90)
    new = [thumb(n, source="b", useful=False, days_ago=1) for n in range(2, 22)]
    boosted = change_applied(PLAIN, "boost_source", "a", "1.4")
    reduced = change_applied(PLAIN, "reduce_source", "a", "0.9")
    assert forecast_of([old, *new], reduced, boosted, now=CLOCK, seed="s").gain > 0.5


def test_the_words_are_plain():
    assert reason_sentence("boost_source", "Reuters", 8, 10, 5, 10) == (
        "You liked 8 of 10 articles from Reuters, against 5 of 10 elsewhere."
    )
    assert reason_sentence("add_topic", "rail", 1, 1, 0, 0) == "You liked 1 of 1 article about rail."
    assert impact_sentence("boost_source", "Reuters", 0.1) == (
        "Articles from Reuters will rank a bit higher in your digest."
    )
    assert "higher" in impact_sentence("add_topic", "rail")


@given(st.text() | st.none() | st.integers())
def test_a_reason_is_one_short_printable_line(reason):
    cleaned = reason_clean(reason)
    assert len(cleaned) <= 500
    assert cleaned.isprintable()


@pytest.mark.parametrize(
    ("changed", "code"),
    [
        ({"ratings": 9}, "too_little_said"),
        ({"tried": 0}, "too_little_said"),
        ({"dropped": 1, "not_permitted": 1}, "later_thumbs_against"),
        ({"not_permitted": 1, "best": 0.6}, "all_decided"),
        ({"not_permitted": 2, "declined": 1, "best": 0.6}, "all_decided"),
        ({"not_permitted": 2, "declined": 2, "best": 0.6}, "types_declined"),
        ({"not_permitted": 2, "declined": 2, "dropped": 1}, "later_thumbs_against"),
        ({"best": 0.6}, "undecided"),
        ({"best": 0.5}, "balanced"),
    ],
)
def test_silence_has_a_reason(changed, code):
    assert silence_code(**ROOM | changed) == code
    assert SILENCE_SENTENCES[code].endswith(".")


ROW = st.tuples(st.booleans(), st.floats(0, 9), st.floats(0, 9))
# Ties fall by the luck of the deal, so an exact comparison needs distinct scores.
DISTINCT = st.lists(ROW, min_size=20, max_size=40, unique_by=(lambda row: row[1], lambda row: row[2]))


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


@given(st.lists(ROW, min_size=20, max_size=44))
def test_the_interval_is_numpys_over_resampled_thumbs(case):
    """Up to 44 thumbs are one pool, so each draw is one textbook top 10; ties may fall either way."""
    liked, before, after = (list(column) for column in zip(*case, strict=True))
    found = ndcg_change(liked, before, after, seed=3)
    rng = np.random.default_rng(3)
    rng.permuted(np.tile(np.arange(len(case)), (SHUFFLES, 1)), axis=1)
    changes = [
        plain_ndcg([liked[n] for n in draw], [after[n] for n in draw])
        - plain_ndcg([liked[n] for n in draw], [before[n] for n in draw])
        for draw in rng.integers(0, len(case), (BOOTSTRAP_DRAWS, len(case))).tolist()
    ]
    assert (found.low, found.high) == pytest.approx(tuple(np.quantile(changes, (0.05, 0.95))))
    assert -1 <= found.low <= found.high <= 1


def test_the_gain_is_that_of_ndcg_at_10():
    # One liked item climbs from the 9th place (1 / log2(10)) to the 2nd (1 / log2(3)).
    liked = [n == 0 for n in range(20)]
    before, after = ([place, *(n - 0.5 for n in range(20, 1, -1))] for place in (12.0, 19.0))
    assert ndcg_change(liked, before, after, seed=1).gain == pytest.approx(1 / log2(3) - 1 / log2(10))
    assert ndcg_change(liked, [0.0, *before[1:]], after, seed=1).gain == pytest.approx(1 / log2(3))
    assert ndcg_change([False] * 20, before, after, seed=1).gain == 0


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
    few = ndcg_change([True] * 19, [1.0] * 19, [2.0] * 19, seed=1)
    assert (few.gain, few.low, few.high, few.n) == (None, None, None, 19)

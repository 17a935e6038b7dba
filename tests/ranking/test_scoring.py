"""The score is a product: weights scale it, age halves it, and its parts explain it."""

from datetime import UTC, datetime, timedelta

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ranking.entities import Candidate, Config, EffectiveConfig
from ranking.pool import ItemValues, Pool
from ranking.scoring import Signals, rank, rank_all

NOW = datetime(2026, 3, 18, 12, tzinfo=UTC)
BREAKFAST = NOW.replace(hour=7)
HOURS = st.floats(min_value=0, max_value=24 * 7)
TITLES = st.lists(st.sampled_from(["rust", "linux", "ai", "cars", "said", "plain"]), max_size=6)


def item(hours: float = 0.0, title: str = "plain", source: str = "a", item_id: int = 1) -> Candidate:
    return Candidate(item_id, source, title, "", NOW - timedelta(hours=hours))


def total(candidate: Candidate, config: Config | None = None, **deltas: float) -> float:
    return rank([candidate], EffectiveConfig(config or Config(), deltas), NOW)[0].total


def naive_score(candidate: Candidate, config: Config, deltas: dict[str, float], signals: Signals) -> float:
    """Return the score by the documented formula, written again for one item."""
    weight = min(2.0, max(0.1, config.source_weights.get(candidate.source, 1.0) + deltas.get("a", 0.0)))
    age = max(0.0, (NOW - candidate.dated_at).total_seconds() / 3600)
    words = candidate.title.split()
    interest = 1 + sum(topic in words for topic in config.topics)
    interest += sum(boost for word, boost in config.keyword_boosts.items() if word in words)
    interest += config.ai_score_alpha * signals.similarity.get(candidate.item_id, 0.0)
    interest += 3.0 * signals.community.get(candidate.item_id, 0.0)
    freshness = 0.5 ** (age / config.recency_half_life_hours)
    if config.recency_by_day:
        days = 0
        while candidate.dated_at < BREAKFAST - timedelta(days=1 + days):
            days += 1
        freshness = 0.5 ** (24 * days / config.recency_half_life_hours) / (1 + age / 1e6)
    return weight * freshness * max(0.05, interest)


@given(
    hours=HOURS,
    words=TITLES,
    weight=st.floats(min_value=0.1, max_value=2.0),
    delta=st.floats(min_value=-1, max_value=1),
    boost=st.floats(min_value=-5, max_value=5),
    half_life=st.floats(min_value=1, max_value=24 * 90),
    similarity=st.floats(min_value=0, max_value=1),
    community=st.floats(min_value=0, max_value=1),
    by_day=st.booleans(),
)
def test_scores_equal_a_naive_second_writing_of_the_formula(
    hours, words, weight, delta, boost, half_life, similarity, community, by_day
):
    config = Config(
        topics=("rust", "ai"),
        source_weights={"a": weight},
        keyword_boosts={"linux": boost},
        recency_half_life_hours=half_life,
        recency_by_day=by_day,
    )
    signals = Signals({1: similarity}, {1: community})
    candidate = item(hours, " ".join(words))
    score = rank([candidate], EffectiveConfig(config, {"a": delta}), NOW, signals)[0]
    assert score.total == pytest.approx(naive_score(candidate, config, {"a": delta}, signals), rel=1e-9)
    parts = score.parts
    assert parts.source_weight * parts.recency * parts.interest == pytest.approx(score.total)


@given(hours=HOURS, weight=st.floats(min_value=0.1, max_value=1.0))
def test_twice_the_weight_is_twice_the_score(hours, weight):
    once, twice = (total(item(hours), Config(source_weights={"a": w})) for w in (weight, 2 * weight))
    assert twice == pytest.approx(2 * once)


@given(hours=HOURS, half_life=st.floats(min_value=1, max_value=240))
def test_by_the_hour_a_score_halves_with_every_half_life(hours, half_life):
    config = Config(recency_half_life_hours=half_life, recency_by_day=False)
    assert total(item(hours + half_life), config) == pytest.approx(total(item(hours), config) / 2)


@given(hours=st.floats(min_value=0.01, max_value=23.99), days=st.integers(min_value=1, max_value=10))
def test_by_whole_days_a_score_halves_with_every_half_life(hours, days):
    """`NOW` is noon, so 29 hours ago was breakfast of the day before, since when all count in full."""
    config = Config(recency_half_life_hours=24.0 * days)
    older = item(29 + hours + 24 * (days - 1))
    assert total(older, config) == pytest.approx(0.5, rel=1e-3)


@given(st.floats(min_value=-3, max_value=3), st.floats(min_value=0.1, max_value=2.0))
def test_no_weight_leaves_its_bounds(delta, weight):
    score = rank([item()], EffectiveConfig(Config(source_weights={"a": weight}), {"a": delta}), NOW)[0]
    assert 0.1 <= score.parts.source_weight <= 2.0


def test_each_matching_topic_adds_one_and_each_boost_its_value():
    config = Config(topics=("rust", "linux", "ai"), keyword_boosts={"kernel": 0.5, "hype": -0.75})
    assert total(item(title="Rust in the Linux kernel"), config) == pytest.approx(1 + 2 + 0.5)
    assert total(item(title="Hype, she said"), config) == pytest.approx(0.25)


def test_topics_are_looked_for_in_the_text_too():
    candidate = Candidate(1, "a", "Plain", "Deep inside: rust.", NOW)
    assert rank([candidate], EffectiveConfig(Config(topics=("rust",))), NOW)[0].parts.topics == ("rust",)


def test_a_phrase_does_not_run_on_from_title_to_text_unnoticed_but_words_do_not_merge():
    candidate = Candidate(1, "a", "A car", "pet", NOW)
    assert rank([candidate], EffectiveConfig(Config(topics=("carpet",))), NOW)[0].total == 1.0


def test_negative_boosts_never_turn_the_order_of_an_item_upside_down():
    config = Config(keyword_boosts={"hype": -5.0})
    assert 0 < total(item(title="hype"), config) < total(item(title="plain"), config)


def test_an_item_dated_ahead_counts_as_new():
    assert total(item(hours=-5)) == total(item(hours=0)) == 1.0


def test_ties_go_to_the_newer_then_to_the_lower_id():
    # Both dates are in the future, so both items score as new.
    older, newer = item(hours=-1, item_id=1), item(hours=-2, item_id=9)
    twin = item(hours=-2, item_id=3)
    order = rank([older, newer, twin], EffectiveConfig(Config()), NOW)
    assert [score.candidate.item_id for score in order] == [3, 9, 1]


@given(st.permutations(list(range(8))))
def test_the_order_does_not_depend_on_the_order_of_arrival(ids):
    candidates = [item(hours=n % 3, item_id=n) for n in ids]
    order = [score.candidate.item_id for score in rank(candidates, EffectiveConfig(Config()), NOW)]
    assert order == [0, 3, 6, 1, 4, 7, 2, 5]


def test_nothing_to_rank_is_an_empty_order():
    assert rank([], EffectiveConfig(Config()), NOW) == []


@given(st.lists(st.tuples(st.integers(0, 3), HOURS, TITLES), min_size=1, max_size=12), st.data())
def test_a_pool_ranks_a_readers_rows_as_ranking_those_items_alone_would(made, data):
    candidates = [
        Candidate(n, f"s{source}", " ".join(words), "", NOW - timedelta(hours=hours))
        for n, (source, hours, words) in enumerate(made)
    ]
    rows = data.draw(st.lists(st.sampled_from(range(len(candidates))), unique=True))
    config = Config(topics=("rust", "ai"), keyword_boosts={"hype": -0.5}, source_weights={"s1": 1.7})
    signals = Signals(ItemValues(np.array([2, 0]), np.array([0.5, 1.0])), {1: 0.3})
    effective, pool = EffectiveConfig(config), Pool(candidates)
    ranking = rank_all(pool, effective, NOW, signals, np.array(rows, dtype=np.int64))
    alone = rank([candidates[row] for row in rows], effective, NOW, signals)
    assert list(ranking) == alone
    assert ranking.ids.tolist() == [score.candidate.item_id for score in alone]
    assert ranking.totals.tolist() == [score.total for score in alone]
    assert ranking[:3] == alone[:3]


def test_figures_read_alike_one_by_one_and_by_column():
    figures = ItemValues(np.array([7, 3, 5]), np.array([0.7, 0.3, 0.5]))
    assert dict(figures) == {3: 0.3, 5: 0.5, 7: 0.7}
    assert figures.values_for(np.array([5, 4, 7, 99])).tolist() == [0.5, 0.0, 0.7, 0.0]
    assert figures.get(4) is None
    nothing = ItemValues(np.array([], dtype=np.int64), np.array([]))
    assert nothing.values_for(np.array([1])).tolist() == [0.0] and dict(nothing) == {}

"""The planner's choices, without a database: what ratings support, and silence where they support nothing."""

import random
import statistics

import pytest

from ranking.entities import Config, EffectiveConfig
from suggestions.planner.gains import ReplayEvaluator, forecast_of, replay_pools_of, split_by_time
from suggestions.planner.hypotheses import (
    DecisionHistory,
    candidate_changes,
    evaluate_change,
    evidence_pick,
    select_changes,
)
from suggestions.planner.posterior import attributes_of, design_of, posterior_draws
from suggestions.rules import change_applied
from tests.support.factories import CLOCK
from tests.support.suggestion_worlds import thumb


def test_a_topic_that_is_liked_in_every_source_is_found():
    rated = [
        thumb(n, source="abc"[n % 3], title="Harbour" if n % 4 == 0 else "Plain", useful=n % 4 == 0)
        for n in range(120)
    ]
    assert [(c.suggestion_type, c.key) for c in _chosen(rated)] == [("add_topic", "harbour")]


def test_a_topic_of_a_single_source_is_no_topic():
    rated = [thumb(n, source="a", title=f"Harbour {n}", useful=True, days_ago=n) for n in range(30)]
    rated += [thumb(n, source="b", useful=False, days_ago=n - 30) for n in range(30, 60)]
    assert not [c for c in _chosen(rated) if c.field == "topics"]


def test_a_topic_gets_no_credit_for_the_sources_it_occurs_in():
    # "Harbour" stands in two sources whose items are liked with it and without it.
    rated = [
        thumb(n, source="ab"[n % 2], title="Harbour" if n % 3 else "Plain", useful=True, days_ago=n % 50)
        for n in range(60)
    ] + [thumb(n, source="cd"[n % 2], useful=False, days_ago=n % 50) for n in range(60, 120)]
    assert not [c for c in _chosen(rated) if c.field == "topics"]


def test_of_nested_topics_the_longer_one_is_chosen():
    def title(n: int) -> str:
        return f"Electric cars {n}x" if n % 2 else f"Gas prices {n}x"

    rated = [
        thumb(n, source="abc"[n % 3], title=title(n), useful=bool(n % 2), days_ago=n % 40) for n in range(120)
    ]
    assert {c.key for c in _chosen(rated) if c.suggestion_type == "add_topic"} == {"electric car"}


def test_evidence_for_a_topic_spans_sources():
    rated = [thumb(n, source="a", title="Harbour", days_ago=n) for n in range(9)]
    assert evidence_pick(rated, "add_topic", "harbour", "Harbour") == ()
    rated.append(thumb(9, source="b", title="Harbour", days_ago=9))
    assert {item.source for item in evidence_pick(rated, "add_topic", "harbour", "Harbour")} == {"a", "b"}


@pytest.mark.parametrize(("thumbs", "base"), [(60, 0.75), (150, 0.5)])
def test_readers_without_preferences_get_no_suggestions(thumbs, base):
    rng = random.Random(20260318)
    readers = 24
    noisy = sum(bool(_chosen(_coin_flips(rng, thumbs, base))) for _ in range(readers))
    # Chance alone may fool it once or twice in 24; the rate is measured by `python -m tests.lab advisor`.
    assert noisy <= 2


@pytest.mark.parametrize("useful", [True, False])
def test_who_likes_or_dislikes_everything_prefers_nothing(useful):
    rated = [
        thumb(n, source="abc"[n % 3], title="Harbour", useful=useful, days_ago=n / 10) for n in range(300)
    ]
    assert _chosen(rated) == []


def test_on_shuffled_ratings_the_measured_gain_of_the_chosen_change_is_zero():
    # Chosen with no bar at all, so that chance has every chance: the best change of each reader.
    rng = random.Random(4)
    gains = []
    for _ in range(40):
        rated = _coin_flips(rng, 120, 0.5)
        best = max(_judged(rated), key=lambda choice: choice.expected_gain)
        change, plain = best.change, EffectiveConfig(Config())
        after = change_applied(plain, change.suggestion_type, change.key, change.value)
        found = forecast_of(split_by_time(rated).holdout, plain, after, now=CLOCK, seed="s")
        gains.append(found.gain)
    error = statistics.stdev(gains) / len(gains) ** 0.5
    assert abs(statistics.mean(gains)) < 3 * error


def _judged(rated):
    effective = EffectiveConfig(Config())
    attributes = attributes_of(rated, sources=(), topics=(), titles={})
    design = design_of(split_by_time(rated).training, attributes, older=(), deviation={}, now=CLOCK)
    evaluator = ReplayEvaluator(
        replay_pools_of((), rated, attributes, effective, CLOCK), posterior_draws(design, 1), 1
    )
    changes = candidate_changes(attributes, effective, rated)
    return [evaluate_change(change, evaluator, attributes, effective) for change in changes]


def _coin_flips(rng: random.Random, thumbs: int, base: float):
    return [
        thumb(
            n,
            source=f"s{rng.randrange(12)}",
            title=f"w{rng.randrange(60)}a topic{chr(97 + rng.randrange(25))} w{rng.randrange(60)}b",
            useful=rng.random() < base,
            days_ago=40 * n / thumbs,
        )
        for n in range(thumbs)
    ]


def _chosen(rated):
    return [choice.change for choice in _choices(rated).chosen]


def _choices(rated):
    """What the training part of `rated` chooses; `rated` is what was on offer, too."""
    effective = EffectiveConfig(Config())
    newest = sorted(rated, key=lambda item: item.at, reverse=True)
    titles = {item.source: item.source for item in rated}
    attributes = attributes_of(newest, sources=(), topics=effective.config.topics, titles=titles)
    design = design_of(split_by_time(rated).training, attributes, older=(), deviation={}, now=CLOCK)
    replay = replay_pools_of((), newest, attributes, effective, CLOCK)
    return select_changes(
        candidate_changes(attributes, effective, newest),
        ReplayEvaluator(replay, posterior_draws(design, 1), 1),
        attributes,
        effective,
        newest,
        permitted=lambda change: True,
        history=DecisionHistory(),
        limit=10,
    )

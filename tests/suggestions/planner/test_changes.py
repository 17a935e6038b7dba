"""The planner's choices, without a database: changes that ratings support, and silence without support."""

import random
import statistics
from dataclasses import replace

import pytest

from ranking.entities import Config, EffectiveConfig
from suggestions.changes.columns import TOPICS, attributes_of
from suggestions.changes.topics import ADD_TOPIC
from suggestions.planner.forecasts import forecast_of, split_by_time
from suggestions.planner.hypotheses import (
    DecisionHistory,
    candidate_changes,
    evaluate_change,
    evidence_pick,
    select_changes,
)
from suggestions.planner.tastes import batch_sum, contribution_of, spread_of, tallies_of, tastes_of
from suggestions.rules import rule_on_target
from tests.support.factories import CLOCK
from tests.support.suggestion_worlds import thumb

USUAL = 0.2
PLAIN = EffectiveConfig(Config())


def test_a_topic_that_is_liked_in_every_source_is_found():
    rated = [
        thumb(n, source="abc"[n % 3], title="Harbour" if n % 4 == 0 else "Plain", useful=n % 4 == 0)
        for n in range(120)
    ]
    assert [(c.suggestion_type, c.target) for c in _chosen(rated)] == [("add_topic", "harbour")]


def test_a_topic_of_a_single_source_is_no_topic():
    rated = [thumb(n, source="a", title=f"Harbour {n}", useful=True, days_ago=n) for n in range(30)]
    rated += [thumb(n, source="b", useful=False, days_ago=n - 30) for n in range(30, 60)]
    assert not [c for c in _chosen(rated) if c.field == "topics"]


def test_of_nested_topics_the_longer_one_is_chosen():
    def title(n: int) -> str:
        return f"Electric cars {n}x" if n % 2 else f"Gas prices {n}x"

    rated = [
        thumb(n, source="abc"[n % 3], title=title(n), useful=bool(n % 2), days_ago=n % 40) for n in range(120)
    ]
    assert {c.target for c in _chosen(rated) if c.suggestion_type == "add_topic"} == {"electric car"}


def test_evidence_for_a_topic_spans_sources():
    rated = [thumb(n, source="a", title="Harbour", days_ago=n) for n in range(9)]
    assert evidence_pick(rated, ADD_TOPIC.change("Harbour", PLAIN)) == ()
    rated.append(thumb(9, source="b", title="Harbour", days_ago=9))
    assert {item.source for item in evidence_pick(rated, ADD_TOPIC.change("Harbour", PLAIN))} == {"a", "b"}


def test_what_says_another_name_of_a_topic_speaks_for_and_against_the_topic():
    rated = [
        thumb(n, source="abc"[n % 3], title="Wimbledon" if n % 4 == 0 else "Plain", useful=n % 4 != 0)
        for n in range(120)
    ]
    tennis = EffectiveConfig(Config(topics=("Tennis",)))
    named = EffectiveConfig(Config(topics=("Tennis",), other_names={"tennis": ("Wimbledon",)}))

    assert ("remove_topic", "tennis") not in [
        (c.suggestion_type, c.target) for c in _chosen(rated, of=tennis)
    ]
    (removed,) = [c for c in _chosen(rated, of=named) if c.suggestion_type == "remove_topic"]
    assert removed.target == "tennis"
    assert {item.title for item in removed.evidence} == {"Wimbledon"}
    assert rule_on_target(removed) is None and rule_on_target(replace(removed, names=())) is not None


def test_another_name_of_a_topic_is_no_new_topic():
    rated = [
        thumb(n, source="abc"[n % 3], title="Wimbledon" if n % 4 == 0 else "Plain", useful=n % 4 == 0)
        for n in range(120)
    ]
    named = EffectiveConfig(Config(topics=("Tennis",), other_names={"tennis": ("Wimbledon",)}))

    assert [c.target for c in _chosen(rated) if c.field == "topics"] == ["wimbledon"]
    assert [c.target for c in _chosen(rated, of=named) if c.field == "topics"] == []


def test_the_change_that_moves_most_comes_first_and_answers_reorder():
    # Both sources are liked equally; b has a third of the thumbs, and a has a tenth.
    rated = [
        thumb(
            n,
            source="a" if n % 10 == 0 else "b" if n % 3 == 0 else "cd"[n % 2],
            useful=n % 10 == 0 or n % 3 == 0,
        )
        for n in range(120)
    ]
    boosts = [c.target for c in _chosen(rated) if c.suggestion_type == "boost_source"]
    assert boosts == ["b", "a"]
    tired = DecisionHistory(acceptance={"boost_source": 0.01, "reduce_source": 0.9})
    assert [c.suggestion_type for c in _chosen(rated, history=tired)][:2] == ["reduce_source"] * 2


@pytest.mark.parametrize(("thumbs", "base"), [(60, 0.75), (100, 0.5)])
def test_among_readers_without_preferences_nobody_gets_a_suggestion(thumbs, base):
    rng = random.Random(20260318)
    readers = [_coin_flips(rng, thumbs, base) for _ in range(100)]
    # As published by five hundred such readers.
    spread = spread_of([batch_sum(5 * [contribution_of(_tallies(rated)) for rated in readers])])
    assert sum(len(_chosen(rated, spread)) for rated in readers) <= 0.05 * len(readers)
    # The same thumbs among readers as usual: the spread alone keeps it quiet.
    assert sum(bool(_chosen(rated)) for rated in readers[:20]) > 4


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
        change = max(_judged(rated), key=lambda choice: choice.expected_gain).change
        after = change.applied(PLAIN)
        found = forecast_of(split_by_time(rated).holdout, PLAIN, after, now=CLOCK, seed="s")
        gains.append(found.gain)
    error = statistics.stdev(gains) / len(gains) ** 0.5
    assert abs(statistics.mean(gains)) < 3 * error


def _of_three(n: int) -> str:
    return "a" if n % 10 == 0 else "b" if n % 3 == 0 else "cd"[n % 2]


def _tallies(rated):
    return tallies_of(rated, _attributes(rated), CLOCK)


def _attributes(rated, of=PLAIN):
    config, titles = of.config, {item.source: item.source for item in rated}
    return attributes_of(rated, titles=titles, given={TOPICS: config.topics}, names=config.other_names)


def _tastes(rated, spread=USUAL, of=PLAIN):
    return tastes_of(tallies_of(split_by_time(rated).training, _attributes(rated, of), CLOCK), spread)


def _judged(rated):
    attributes, tastes = _attributes(rated), _tastes(rated)
    changes = candidate_changes(attributes, PLAIN, rated)
    return [evaluate_change(change, tastes, attributes) for change in changes]


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


def _chosen(rated, spread=USUAL, history=None, of=PLAIN):
    """Return the choice from the training part of `rated`."""
    newest = sorted(rated, key=lambda item: item.at, reverse=True)
    attributes = _attributes(newest, of)
    found = select_changes(
        candidate_changes(attributes, of, newest),
        _tastes(newest, spread, of),
        attributes,
        newest,
        history=history or DecisionHistory(),
        limit=10,
    )
    return [choice.change for choice in found.chosen]

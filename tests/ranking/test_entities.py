"""Effective weights are limited, and each source has exactly one."""

import json
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ranking.entities import Candidate, Config, EffectiveConfig, Score, WeightChange, clamp_weight
from ranking.scoring import rank

NOW = datetime(2026, 3, 18, 12, tzinfo=UTC)


@given(st.floats(allow_nan=False))
def test_a_clamped_weight_stays_in_bounds_and_is_left_alone_within_them(weight):
    clamped = clamp_weight(weight)
    assert 0.1 <= clamped <= 2.0
    assert clamped == weight or not 0.1 <= weight <= 2.0


@pytest.mark.parametrize(
    ("config_weight", "delta", "effective"),
    [(None, 0.0, 1.0), (1.3, 0.0, 1.3), (None, -0.15, 0.85), (1.9, 0.3, 2.0), (0.2, -0.3, 0.1)],
)
def test_the_effective_weight_is_config_plus_delta_clamped(config_weight, delta, effective):
    weights = {} if config_weight is None else {"a": config_weight}
    assert EffectiveConfig(Config(source_weights=weights), {"a": delta}).weight("a") == effective


def test_weights_lists_each_source_with_a_weight_or_a_delta_of_its_own():
    effective = EffectiveConfig(Config(source_weights={"a": 1.2}), {"b": 0.5})
    assert effective.weights() == {"a": 1.2, "b": 1.5}
    assert effective.weight("unheard of") == 1.0


def test_the_parts_of_a_score_are_plain_json_and_multiply_to_the_total():
    effective = EffectiveConfig(Config(topics=("rust",), keyword_boosts={"linux": 0.5}), {"a": 0.2})
    score: Score = rank([Candidate(1, "a", "Rust in Linux", "", NOW)], effective, NOW)[0]
    parts = json.loads(json.dumps(score.parts.as_dict()))
    assert parts["source_weight"] * parts["recency"] * parts["interest"] == score.total
    assert (parts["config_weight"], parts["learned_delta"]) == (1.0, 0.2)
    assert (parts["topics"], parts["boosts"]) == (["rust"], {"linux": 0.5})


def test_a_change_that_changes_nothing_did_not_move():
    assert not WeightChange("a", 1.0, 1.0, 0.5, 9.0, "undecided").moved
    assert WeightChange("a", 1.0, 1.15, 0.9, 9.0, "liked_more_than_usual").moved

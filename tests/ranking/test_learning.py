"""The learning loop takes small steps, and only if the thumbs are clear."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ranking.entities import Config, EffectiveConfig, SourceTally
from ranking.learning import STEP_MAX, base_rate, learn, posterior

TALLY = st.builds(
    lambda likes, dislikes: (likes, likes + dislikes),
    st.floats(min_value=0, max_value=80),
    st.floats(min_value=0, max_value=80),
)


def tally(source: str, likes: float, n: float) -> SourceTally:
    return SourceTally(source, n, likes, round(n))


def effective(**weights: float) -> EffectiveConfig:
    return EffectiveConfig(Config(source_weights=weights))


# A reader with an even base rate, which the thumbs on "rest" keep even.
REST = tally("rest", 100, 200)


@given(TALLY, st.floats(min_value=0.1, max_value=2.0), st.floats(min_value=-1, max_value=1))
def test_a_step_is_small_stays_in_bounds_and_follows_the_belief(counts, weight, delta):
    tallies = [tally("a", *counts), REST]
    config = EffectiveConfig(Config(source_weights={"a": weight}), {"a": delta})
    change = learn(tallies, config)[0]
    assert abs(change.after - change.before) <= STEP_MAX + 1e-9
    assert 0.1 <= change.after <= 2.0 and change.before == config.weight("a")
    if change.moved:
        assert change.n >= 5
        assert change.p_better > 0.8 if change.after > change.before else change.p_better < 0.2


@given(TALLY)
def test_the_belief_is_the_posterior_against_the_readers_own_base(counts):
    tallies = [tally("a", *counts), REST]
    base = base_rate(counts[0] + 100, counts[1] + 200)
    assert learn(tallies, effective())[0].p_better == posterior(*counts, base).p_better


@pytest.mark.parametrize(
    ("likes", "n", "weight", "reason", "after"),
    [
        (30, 30, 1.0, "liked_more_than_usual", 1.15),
        (0, 30, 1.0, "liked_less_than_usual", 0.85),
        (4.9, 4.9, 1.0, "too_few_thumbs", 1.0),
        (15, 30, 1.0, "undecided", 1.0),
        (60, 60, 2.0, "at_target", 2.0),
        (18, 26, 1.8, "beyond_target", 1.8),
        (8, 26, 0.2, "beyond_target", 0.2),
    ],
)
def test_each_decision_has_its_reason(likes, n, weight, reason, after):
    change = learn([tally("a", likes, n), REST], effective(a=weight))[0]
    assert (change.reason, change.after) == (reason, pytest.approx(after))


def test_the_last_step_ends_at_the_target_not_beyond_it():
    tallies, weight = [tally("a", 20, 26), REST], 1.0
    for _ in range(20):
        weight = learn(tallies, effective(a=weight))[0].after
    settled = learn(tallies, effective(a=weight))[0]
    assert 1.0 < weight < 2.0 and settled.reason == "at_target"


def test_a_held_source_stays_whatever_the_thumbs_say():
    change = learn([tally("a", 30, 30), REST], effective(a=1.2), on_hold={"a": "locked"})[0]
    assert (change.moved, change.reason, change.before) == (False, "locked", 1.2)


@pytest.mark.parametrize("likes", [0, 30])
def test_who_says_the_same_of_everything_moves_nothing(likes):
    changes = learn([tally(source, likes, 30) for source in "abc"], effective())
    assert {change.reason for change in changes} == {"no_contrast"}


def test_the_same_thumbs_mean_less_from_a_generous_reader():
    source, generous = tally("a", 24, 30), tally("rest", 160, 200)
    assert learn([source, REST], effective())[0].reason == "liked_more_than_usual"
    assert learn([source, generous], effective())[0].reason == "undecided"


def test_what_the_community_knows_tips_an_undecided_belief():
    tallies = [tally("a", 6, 10), REST]
    alone = learn(tallies, effective())[0]
    helped = learn(tallies, effective(), deviation={"a": 0.3})[0]
    assert (alone.reason, helped.reason) == ("undecided", "liked_more_than_usual")


def test_a_reader_without_thumbs_has_nothing_to_learn():
    assert learn([], effective()) == []

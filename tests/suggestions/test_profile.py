"""A profile says no more than the decisions behind it."""

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from suggestions.profile import TYPES, Settled, acceptance_confidence, profile_compute
from tests.factories import CLOCK


def settled(*outcomes: str, kind: str = "add_topic") -> list[Settled]:
    """The given outcomes, newest first, one a day."""
    return [Settled(kind, outcome, CLOCK - timedelta(days=n)) for n, outcome in enumerate(outcomes)]


def patterns(**counts: tuple[int, int]) -> dict[str, bool]:
    pairs = {}
    for kind, (accepted, rejected) in counts.items():
        pairs |= {(kind, "accepted"): accepted, (kind, "rejected"): rejected}
    return profile_compute(pairs, [], now=CLOCK).patterns


@pytest.mark.parametrize(
    ("accepted", "rejected", "confidence"),
    [(8, 2, "high"), (0, 6, "high"), (1, 5, "medium"), (4, 3, "medium"), (4, 0, "low"), (0, 0, "low")],
)
def test_confidence_grows_with_clear_and_many_decisions(accepted, rejected, confidence):
    assert acceptance_confidence(accepted, rejected) == confidence


def test_stats_name_only_types_that_were_decided():
    stats = profile_compute({("add_topic", "accepted"): 8, ("add_topic", "rejected"): 2}, [], now=CLOCK)
    assert stats.acceptance_stats == {
        "add_topic": {"accepted": 8, "rejected": 2, "rate": 0.8, "confidence": "high"}
    }


@pytest.mark.parametrize(
    ("counts", "pattern", "expected"),
    [
        ({"reduce_source": (0, 3)}, "never_reduce_sources", True),
        ({"reduce_source": (0, 2)}, "never_reduce_sources", False),
        ({"reduce_source": (1, 9)}, "never_reduce_sources", False),
        ({"add_topic": (3, 2)}, "open_to_new_topics", True),
        ({"add_topic": (2, 0)}, "open_to_new_topics", False),
        ({"add_topic": (2, 2)}, "open_to_new_topics", False),
        ({"remove_topic": (1, 1), "reduce_source": (0, 2)}, "protective_of_existing_config", True),
        ({"remove_topic": (0, 3)}, "protective_of_existing_config", False),
        ({"boost_source": (3, 0), "remove_topic": (2, 1)}, "prefers_additions_over_removals", True),
        ({"boost_source": (3, 0), "remove_topic": (1, 1)}, "prefers_additions_over_removals", False),
    ],
)
def test_a_pattern_needs_its_threshold(counts, pattern, expected):
    assert patterns(**counts)[pattern] is expected


@pytest.mark.parametrize(
    ("outcomes", "engagement"),
    [
        ((), "unknown"),
        (("accepted", "rejected", "accepted", "expired"), "high"),
        (("accepted", "expired"), "medium"),
        (("expired", "superseded", "expired"), "low"),
    ],
)
def test_engagement_is_the_share_that_was_answered(outcomes, engagement):
    assert profile_compute({}, settled(*outcomes), now=CLOCK).trends["engagement"] == engagement


@pytest.mark.parametrize(
    ("outcomes", "stability"),
    [
        (["accepted"] * 14, "unknown"),
        (["accepted"] * 20, "stable"),
        (["accepted"] * 10 + ["rejected"] * 10, "shifting"),
    ],
)
def test_stability_compares_the_newest_ten_with_the_ten_before(outcomes, stability):
    assert profile_compute({}, settled(*outcomes), now=CLOCK).trends["preference_stability"] == stability


def test_velocity_counts_the_last_four_weeks():
    trends = profile_compute({}, settled(*["accepted"] * 60), now=CLOCK).trends
    assert trends["suggestion_velocity_per_week"] == 7.0


@given(
    st.dictionaries(
        st.tuples(st.sampled_from(TYPES), st.sampled_from(["accepted", "rejected"])), st.integers(0, 99)
    )
)
def test_any_history_makes_a_profile(counts):
    profile = profile_compute(counts, [], now=CLOCK)
    assert all(0 <= stat["rate"] <= 1 for stat in profile.acceptance_stats.values())
    assert profile.total_outcomes == sum(counts.values())

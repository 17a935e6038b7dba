"""Freshness by whole days: the reader's own days, so that no order changes by the minute."""

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ranking.entities import Candidate, Config, EffectiveConfig
from ranking.freshness import day_ages
from ranking.scoring import rank_all

BERLIN, AUCKLAND = ZoneInfo("Europe/Berlin"), ZoneInfo("Pacific/Auckland")
MIDNIGHT = datetime(2026, 11, 28, 0, 0, tzinfo=BERLIN)


def age(at: datetime, now: datetime) -> int:
    return int(day_ages(np.array([at.timestamp()]), now)[0])


@pytest.mark.parametrize(
    ("at", "days"),
    [
        (datetime(2026, 11, 28, 6, tzinfo=BERLIN), 0),
        (datetime(2026, 11, 27, 7, tzinfo=BERLIN), 0),
        (datetime(2026, 11, 27, 6, 59, tzinfo=BERLIN), 1),
        (datetime(2026, 11, 26, 7, tzinfo=BERLIN), 1),
        (datetime(2026, 11, 26, 6, 59, tzinfo=BERLIN), 2),
        (datetime(2025, 11, 26, 7, tzinfo=BERLIN), 366),
    ],
)
def test_a_day_begins_at_breakfast_and_the_page_has_a_whole_one(at, days):
    assert age(at, MIDNIGHT.replace(hour=7)) == days


@given(minutes=st.integers(min_value=0, max_value=24 * 60 - 1), hours=st.floats(min_value=0, max_value=400))
def test_no_age_changes_from_midnight_to_midnight(minutes, hours):
    at = MIDNIGHT - timedelta(hours=hours)
    assert age(at, MIDNIGHT + timedelta(minutes=minutes)) == age(at, MIDNIGHT)


def test_at_midnight_every_older_item_ages_by_one_day():
    at = MIDNIGHT - timedelta(hours=30)
    assert age(at, MIDNIGHT - timedelta(minutes=1)) + 1 == age(at, MIDNIGHT)


def test_days_are_the_readers_own():
    at = datetime(2026, 11, 27, 3, tzinfo=UTC)
    now = datetime(2026, 11, 28, 4, tzinfo=UTC)
    assert age(at, now.astimezone(BERLIN)) == 1
    assert age(at, now.astimezone(AUCKLAND)) == 0


@pytest.mark.parametrize(("month", "day"), [(3, 29), (10, 25)])
def test_a_day_of_23_or_25_hours_is_one_day(month, day):
    """Clocks change in the night before; breakfast of the day before is 28 or 30 hours ago at noon."""
    now = datetime(2026, month, day, 12, tzinfo=BERLIN)
    breakfast = datetime(2026, month, day - 1, 7, tzinfo=BERLIN)
    assert age(breakfast, now) == 0
    assert age(breakfast - timedelta(minutes=1), now) == 1


@given(hours=st.lists(st.floats(min_value=0, max_value=200), min_size=2, unique=True))
def test_among_equals_the_newer_comes_first_and_the_order_is_the_same_all_day(hours):
    candidates = [Candidate(n, "a", "plain", "", MIDNIGHT - timedelta(hours=h)) for n, h in enumerate(hours)]
    first, last = (
        rank_all(candidates, EffectiveConfig(Config()), MIDNIGHT + later).ids.tolist()
        for later in (timedelta(), timedelta(hours=23, minutes=59))
    )
    newest = sorted(candidates, key=lambda one: one.dated_at, reverse=True)
    by_day = sorted(newest, key=lambda one: age(one.dated_at, MIDNIGHT))
    assert [candidates[n].dated_at for n in first] == [one.dated_at for one in by_day]
    assert [candidates[n].dated_at for n in last] == [candidates[n].dated_at for n in first]

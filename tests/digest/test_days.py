"""A reader's day ends at their midnight, also when the clock changes."""

from datetime import UTC, date, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from digest.days import day_end, day_of, utc_day

CHANGES_AT_MIDNIGHT = ["Africa/Cairo", "America/Havana", "America/Asuncion"]
ZONES = st.sampled_from(
    ["UTC", "Europe/Berlin", "America/New_York", "Asia/Kathmandu", "Pacific/Apia", *CHANGES_AT_MIDNIGHT]
).map(ZoneInfo)
MOMENTS = st.integers(0, 20 * 366 * 86400).map(
    lambda s: datetime(2015, 1, 1, tzinfo=UTC) + timedelta(seconds=s)
)


@pytest.mark.parametrize(
    ("zone", "day", "end"),
    [
        ("Europe/Berlin", date(2026, 3, 18), datetime(2026, 3, 18, 23, tzinfo=UTC)),
        ("Europe/Berlin", date(2026, 3, 29), datetime(2026, 3, 29, 22, tzinfo=UTC)),  # 23 hours
        ("Europe/Berlin", date(2026, 10, 25), datetime(2026, 10, 25, 23, tzinfo=UTC)),  # 25 hours
        ("America/New_York", date(2026, 3, 8), datetime(2026, 3, 9, 4, tzinfo=UTC)),  # 23 hours
        ("America/New_York", date(2026, 11, 1), datetime(2026, 11, 2, 5, tzinfo=UTC)),  # 25 hours
    ],
)
def test_a_day_ends_at_the_readers_midnight(zone, day, end):
    assert day_end(day, ZoneInfo(zone)) == end


@given(MOMENTS, ZONES)
def test_every_moment_lies_in_its_day_and_before_its_end(at, zone):
    day = day_of(at, zone)
    assert at < day_end(day, zone)
    assert day_end(day - timedelta(days=1), zone) <= at


@given(MOMENTS)
def test_a_utc_day_changes_at_midnight_utc_whatever_the_zone_of_the_moment(at):
    assert utc_day(at) == int(at.timestamp() // 86400)
    assert utc_day(at.astimezone(ZoneInfo("Asia/Kathmandu"))) == utc_day(at)

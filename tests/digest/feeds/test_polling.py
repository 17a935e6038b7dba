"""When a feed is asked next, as sums that can be checked by hand."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from digest.feeds.polling import (
    Move,
    count_sighting,
    document_ttl_minutes,
    failure_next_at,
    fresh_seconds,
    gap_interval_minutes,
    mean_gap,
    next_interval_minutes,
    retry_after_seconds,
    success_next_at,
)

NOW = datetime(2026, 3, 18, 12, 0, tzinfo=UTC)
HOUR, DAY = timedelta(hours=1), timedelta(days=1)
RULES = {"minutes": 60, "retry_after_s": None, "jitter": 0.0}


@pytest.mark.parametrize(("failures", "hours"), [(1, 1), (2, 2), (3, 4), (4, 8), (5, 16), (6, 24), (400, 24)])
def test_each_failure_in_a_row_doubles_the_wait_up_to_a_day(failures: int, hours: int):
    assert failure_next_at(now=NOW, failures=failures, **RULES) == NOW + hours * HOUR


@given(st.floats(0, 1), st.integers(1, 50))
def test_chance_only_ever_lengthens_a_wait_and_by_a_tenth_at_most(jitter: float, failures: int):
    exact = failure_next_at(now=NOW, failures=failures, **RULES) - NOW
    drawn = failure_next_at(now=NOW, failures=failures, **RULES | {"jitter": jitter}) - NOW
    assert exact <= drawn <= exact * 1.1 + timedelta(microseconds=1)


def test_feeds_that_met_once_are_spread_over_a_tenth_of_their_wait():
    full = RULES | {"jitter": 1.0}
    assert failure_next_at(now=NOW, failures=1, **full) == NOW + timedelta(minutes=66)
    assert success_next_at(now=NOW, **full) == NOW + timedelta(minutes=66)
    assert success_next_at(now=NOW, **RULES | {"jitter": 0.5}) == NOW + timedelta(minutes=63)


@pytest.mark.parametrize(("asked_s", "hours"), [(60, 1), (3 * 3600, 3), (10**9, 24), (-5, 1)])
def test_a_server_that_asks_for_a_pause_gets_it_up_to_a_day(asked_s: float, hours: int):
    assert failure_next_at(now=NOW, failures=1, **RULES | {"retry_after_s": asked_s}) == NOW + hours * HOUR
    at = success_next_at(now=NOW, minutes=60, retry_after_s=asked_s, jitter=0.0)
    assert at == NOW + hours * HOUR


def test_a_slow_feed_that_fails_is_not_asked_more_often_for_it():
    assert failure_next_at(now=NOW, failures=1, **RULES | {"minutes": 600}) == NOW + 10 * HOUR


@pytest.mark.parametrize(
    ("failures", "waits"), [(1, 10), (2, 20), (3, 40), (7, 640), (8, 1280), (9, 1440), (400, 1440)]
)
def test_a_feed_whose_server_cannot_be_reached_is_asked_within_minutes_whatever_its_interval(
    failures: int, waits: int
):
    for minutes in (5, 60, 1440):
        at = failure_next_at(now=NOW, failures=failures, **RULES | {"minutes": minutes}, unreachable=True)
        assert at == NOW + timedelta(minutes=waits)


@pytest.mark.parametrize(
    ("gap", "minutes"),
    [
        (timedelta(0), 5),
        (timedelta(minutes=10), 24),
        (HOUR, 60),
        (DAY, 294),
        (7 * DAY, 778),
        (30 * DAY, 1440),
        (900 * DAY, 1440),
    ],
)
def test_the_interval_grows_with_the_root_of_the_gap_between_items(gap: timedelta, minutes: int):
    assert gap_interval_minutes(gap=gap) == minutes


def test_the_mean_gap_follows_from_dates_that_can_be_true():
    daily = [NOW - n * DAY for n in range(1, 40)]
    assert mean_gap(daily, now=NOW) == DAY
    assert mean_gap([NOW + DAY, *daily], now=NOW) == DAY
    assert mean_gap([NOW - 100 * DAY - n * DAY for n in range(5)], now=NOW) == 50 * DAY
    assert mean_gap([NOW] * 20, now=NOW) is None
    assert mean_gap(daily[:2], now=NOW) is None


def test_a_silent_feed_is_asked_less_and_less_and_one_that_wakes_at_once_more():
    minutes, asked = 60, []
    for days in (0.1, 1, 5, 30):
        minutes = next_interval_minutes(
            before=minutes, gap=None, last_new_at=NOW - days * DAY, wishes_s=[None, None], now=NOW
        )
        asked.append(minutes)
    assert asked == sorted(asked) and (asked[0], asked[-1]) == (66, 1138)
    assert next_interval_minutes(before=minutes, gap=HOUR, last_new_at=NOW, wishes_s=[None], now=NOW) == 60


def test_wishes_of_the_server_lengthen_the_interval_up_to_a_day():
    for wish, minutes in ((30 * 60, 60), (2 * 3600, 120), (10**8, 1440)):
        found = next_interval_minutes(before=60, gap=HOUR, last_new_at=None, wishes_s=[None, wish], now=NOW)
        assert found == minutes


def test_a_move_counts_at_the_third_sighting_in_a_row():
    first = count_sighting(url="https://b.example/", previous=Move(), now=NOW)
    second = count_sighting(url="https://b.example/", previous=first, now=NOW + DAY)
    third = count_sighting(url="https://b.example/", previous=second, now=NOW + DAY)
    assert [m.adopt for m in (first, second, third)] == [False, False, True]
    elsewhere = Move("https://c.example/", 1, NOW + DAY)
    assert count_sighting(url="https://c.example/", previous=second, now=NOW + DAY) == elsewhere
    assert count_sighting(url="", previous=second, now=NOW + DAY) == Move()


def test_a_move_does_not_count_on_the_day_it_is_first_seen():
    previous, adopted = Move(), list[timedelta]()
    for quarters in range(100):  # asked every 15 minutes, for a day and an hour
        previous = count_sighting(url="https://b.example/", previous=previous, now=NOW + quarters * HOUR / 4)
        adopted += [quarters * HOUR / 4] * previous.adopt
    assert (adopted[0], previous.since) == (DAY, NOW)


def test_sightings_without_a_day_begin_anew():
    previous = Move("https://b.example/", 2, None)
    assert count_sighting(url="https://b.example/", previous=previous, now=NOW) == Move(
        "https://b.example/", 1, NOW
    )


@pytest.mark.parametrize(
    ("header", "seconds"),
    [
        ("90", 90),
        (" 0 ", 0),
        ("Wed, 18 Mar 2026 13:00:00 GMT", 3600),
        ("Wed, 18 Mar 2026 11:00:00 GMT", 0),
        ("soon", None),
        ("", None),
        ("-5", None),
        ("1e9", None),
    ],
)
def test_retry_after_holds_seconds_or_a_date(header: str, seconds: float | None):
    assert retry_after_seconds(header, now=NOW) == seconds


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"cache-control": "public, max-age=600"}, 600),
        ({"cache-control": 'Max-Age="600"', "age": "200"}, 400),
        ({"cache-control": "max-age=60", "age": "200"}, 0),
        ({"cache-control": "s-maxage=9"}, None),
        ({"cache-control": "no-cache, max-age=600"}, None),
        ({"expires": "Wed, 18 Mar 2026 14:00:00 GMT"}, 7200),
        ({"expires": "Wed, 18 Mar 2026 14:00:00 GMT", "date": "Wed, 18 Mar 2026 13:00:00 GMT"}, 3600),
        ({"expires": "0"}, None),
        ({"expires": "Thu, 01 Jan 1970 00:00:00 GMT"}, 0),
        ({}, None),
    ],
)
def test_headers_say_how_long_an_answer_is_fresh(headers: dict[str, str], seconds: float | None):
    assert fresh_seconds(headers, now=NOW) == seconds


@pytest.mark.parametrize(
    ("head", "minutes"),
    [
        ("<ttl>90</ttl>", 90),
        ("<ttl>0</ttl>", None),
        ("<ttl>often</ttl>", None),
        ("<sy:updatePeriod>hourly</sy:updatePeriod>", 60),
        ("<sy:updatePeriod>\n daily \n</sy:updatePeriod><sy:updateFrequency>4</sy:updateFrequency>", 360),
        ("<sy:updatePeriod>hourly</sy:updatePeriod><sy:updateFrequency>0</sy:updateFrequency>", 60),
        ("<sy:updatePeriod>never</sy:updatePeriod>", None),
        ("<item><ttl>90</ttl></item>", None),
        ("", None),
    ],
)
def test_a_document_says_how_often_it_changes(head: str, minutes: int | None):
    assert document_ttl_minutes(f"<rss><channel>{head}<item/></channel></rss>") == minutes

"""The calendar of digests, and times in a reader's own zone."""

from datetime import UTC, date, datetime, timedelta

import pytest
from django.test import Client
from django.utils import timezone

from digest.days import month_first, month_of
from digest.models import Digest, Item, Reader
from tests.support.browser import fresh_item

TODAY = date(2026, 3, 18)
OLDEST = date(2024, 3, 18)


def days(month) -> list[int]:
    return [day.date.day for week in month.weeks for day in week if day.open and not day.outside]


@pytest.fixture
def page(client: Client, ada: Reader) -> Client:
    client.force_login(ada)
    return client


def test_weeks_begin_on_monday_and_hold_seven_days():
    month = month_of(date(2026, 3, 1), TODAY, set(), OLDEST)
    assert [len(week) for week in month.weeks] == [7] * 6
    assert all(week[0].date.weekday() == 0 for week in month.weeks)


def test_days_with_a_digest_can_be_opened_and_so_can_today():
    made = {date(2026, 3, 2), date(2026, 3, 17), date(2026, 2, 28)}
    month = month_of(date(2026, 3, 1), TODAY, made, OLDEST)
    assert days(month) == [2, 17, 18]
    assert [d.date.day for week in month.weeks for d in week if d.today] == [18]


def test_there_is_no_month_to_come_and_none_before_the_oldest_day():
    assert month_of(date(2026, 3, 1), TODAY, set(), OLDEST).next is None
    assert month_of(date(2026, 2, 1), TODAY, set(), OLDEST).next == date(2026, 3, 1)
    assert month_of(date(2026, 1, 1), TODAY, set(), OLDEST).previous == date(2025, 12, 1)
    assert month_of(date(2024, 3, 1), TODAY, set(), OLDEST).previous is None


@pytest.mark.parametrize("typed", ["", "2026-3", "2026-13", "2026-00", "x", "9999-12", "2026-03-18", "0"])
def test_what_is_no_month_is_this_one(typed: str):
    assert month_first(typed, TODAY) == date(2026, 3, 1)


def test_a_leap_day_is_there():
    assert month_first("2024-02", TODAY) == date(2024, 2, 1)
    month = month_of(date(2024, 2, 1), TODAY, {date(2024, 2, 29)}, date(2023, 1, 1))
    assert days(month) == [29]


def test_the_page_links_a_readers_own_days(page: Client, ada: Reader, ben: Reader):
    today = timezone.now().astimezone(ada.zone).date()
    first = today.replace(day=1) - timedelta(days=1)
    other = first.replace(day=2)
    for reader, day in ((ada, first), (ben, other)):
        Digest.objects.create(reader=reader, date=day, config_version=0, built_at=timezone.now())
    body = page.get(f"/ui/calendar?month={first:%Y-%m}").content.decode()
    assert f'href="/ui/date/{first}"' in body
    assert f'href="/ui/date/{other}"' not in body
    assert "1 day with a digest." in body


@pytest.mark.parametrize("typed", ["1900-01", "0001-01", "2999-01", "'; --", "\0"])
def test_no_month_breaks_the_page(page: Client, typed: str):
    assert page.get("/ui/calendar", {"month": typed}).status_code == 200


@pytest.mark.parametrize(
    ("moment", "shown"),
    [
        # Berlin's clocks went from 2:00 to 3:00 on 29 March 2026, and from 3:00 back to 2:00 on 25 October.
        (datetime(2026, 3, 29, 0, 59, tzinfo=UTC), "Sunday, 29 March 2026, 01:59 CET"),
        (datetime(2026, 3, 29, 1, 0, tzinfo=UTC), "Sunday, 29 March 2026, 03:00 CEST"),
        (datetime(2025, 10, 26, 0, 30, tzinfo=UTC), "Sunday, 26 October 2025, 02:30 CEST"),
        (datetime(2025, 10, 26, 1, 30, tzinfo=UTC), "Sunday, 26 October 2025, 02:30 CET"),
    ],
)
def test_times_are_in_the_readers_zone_which_is_named(page: Client, ada: Reader, moment, shown):
    item = fresh_item(ada)
    Item.objects.filter(pk=item.pk).update(dated_at=moment, published_at=moment)
    assert f'title="{shown}"' in page.get(f"/ui/item/{item.pk}").content.decode()

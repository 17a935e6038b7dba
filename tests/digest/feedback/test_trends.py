"""Charts of like-rates and weights by week."""

import re
from datetime import UTC, date, datetime, timedelta

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from digest.feedback.selectors import feedback_weeks
from digest.feedback.trends import WeekTally, trends_of, weeks_until
from ranking.entities import WeightPoint
from ranking.selectors import weight_history
from ranking.services import ConfigEdit, config_edit
from tests.support.browser import fresh_item
from tests.support.factories import FeedbackFactory, ItemFactory, SourceFactory

STARTS = weeks_until(date(2026, 3, 18), 4)


def at(day: int) -> datetime:
    return datetime(2026, 3, day, 12, tzinfo=UTC)


def test_weeks_begin_on_monday_and_the_last_one_is_the_current_one():
    assert [date(2026, 2, 23), date(2026, 3, 2), date(2026, 3, 9), date(2026, 3, 16)] == STARTS
    assert weeks_until(date(2026, 3, 16), 1) == [date(2026, 3, 16)]
    assert weeks_until(date(2026, 3, 22), 1) == [date(2026, 3, 16)]


def test_ratings_are_counted_by_source_and_week_of_one_reader(ada, ben, django_assert_num_queries):
    wire, port = SourceFactory(key="wire.example"), SourceFactory(key="port.example")
    for source, day, useful in [(wire, 1, True), (wire, 2, True), (wire, 8, False), (port, 16, True)]:
        FeedbackFactory(reader=ada, item=ItemFactory(source=source), at=at(day), useful=useful)
    FeedbackFactory(reader=ben, item=ItemFactory(source=wire), at=at(2), useful=False)
    too_old = datetime(2026, 2, 22, 23, 59, tzinfo=UTC)
    FeedbackFactory(reader=ada, item=ItemFactory(source=wire), at=too_old)

    with django_assert_num_queries(1):
        found = feedback_weeks(reader_id=ada.pk, starts=STARTS)

    assert sorted(found, key=lambda t: (t.source, t.week)) == [
        WeekTally("port.example", 3, 1, 1),
        WeekTally("wire.example", 0, 1, 1),
        WeekTally("wire.example", 1, 2, 1),
    ]


def test_a_week_without_ratings_breaks_the_line():
    tallies = [WeekTally("wire", n, 2, likes) for n, likes in ((0, 2), (1, 1), (3, 0))]
    (trend,) = trends_of(tallies, [], {}, {"wire": "The Wire"}, STARTS)

    assert [week.rate for week in trend.weeks] == [1.0, 0.5, None, 0.0]
    assert len(trend.rate_lines) == 1 and len(trend.rate_lines[0].split()) == 2
    assert len(trend.rate_dots) == 3
    assert trend.title == "The Wire" and trend.thumbs == 6


def test_the_chart_puts_all_likes_at_the_top_and_none_at_the_bottom():
    tallies = [WeekTally("wire", 0, 1, 1), WeekTally("wire", 3, 1, 0)]
    (trend,) = trends_of(tallies, [], {}, {}, STARTS)

    assert trend.rate_dots == ((4.0, 4.0), (236.0, 60.0))


def test_a_weeks_weight_is_the_one_in_force_at_its_end():
    points = [
        WeightPoint("wire", at(3), 1.2, 1.3, "accept"),
        WeightPoint("wire", at(12), 1.3, 1.1, "learned"),
    ]
    (trend,) = trends_of([WeekTally("wire", 0, 1, 1)], points, {"wire": 1.1}, {}, STARTS)

    assert [week.weight for week in trend.weeks] == [1.2, 1.3, 1.1, 1.1]


def test_a_weight_set_before_the_weeks_is_in_force_in_all_of_them():
    (trend,) = trends_of([WeekTally("wire", 0, 1, 1)], [], {"wire": 1.6}, {}, STARTS)

    assert {week.weight for week in trend.weeks} == {1.6}


def test_a_constant_weight_is_described_unless_it_is_the_usual_one_and_a_changing_one_is_drawn():
    tallies = [WeekTally("wire", 0, 1, 1)]
    (flat,) = trends_of(tallies, [], {"wire": 1.0}, {}, STARTS)
    (high,) = trends_of(tallies, [], {"wire": 1.3}, {}, STARTS)
    moved = WeightPoint("wire", at(12), 1.0, 1.1, "learned")
    (course,) = trends_of(tallies, [moved], {"wire": 1.1}, {}, STARTS)

    assert (flat.steady, high.steady, course.steady) == ("", "more than usual all along", "")
    assert [trend.is_steady for trend in (flat, high, course)] == [True, True, False]


def test_the_page_names_the_first_and_the_last_week_and_draws_where_all_would_be(ada, client: Client):
    FeedbackFactory(reader=ada, item=fresh_item(ada), at=timezone.now())
    client.force_login(ada)
    body = client.get(reverse("digest:trends")).content.decode()
    weeks = body.partition('class="weeks"')[2].partition("</p>")[0]
    starts = weeks_until(timezone.now().date())

    assert all(f"{day.day} {day:%b}" in weeks for day in (starts[0], starts[-1]))
    assert 'y1="4"' in body


def test_a_chart_is_drawn_by_points_whatever_the_language_writes(ada, client: Client):
    FeedbackFactory(reader=ada, item=fresh_item(ada), at=timezone.now())
    client.force_login(ada)
    body = client.get(reverse("digest:trends"), HTTP_ACCEPT_LANGUAGE="de").content.decode()
    assert re.findall(r'<circle cx="[\d.]+" cy="[\d.]+"', body) and not re.search(r'c[xy]="[\d.]*,', body)


def test_only_the_most_rated_sources_are_shown_most_first():
    tallies = [WeekTally(f"s{n:02}", 0, n, 0) for n in range(1, 12)]

    assert [t.source for t in trends_of(tallies, [], {}, {}, STARTS)] == [
        f"s{n:02}" for n in range(11, 3, -1)
    ]


def test_the_course_of_weights_has_the_readers_edits(ada, ben, now):
    edit = ConfigEdit(source_weights={"wire": 1.4})
    config_edit(reader_id=ada.pk, edit=edit, expected_version=0, now=now)
    config_edit(reader_id=ben.pk, edit=edit, expected_version=0, now=now)

    assert weight_history(reader_id=ada.pk, since=now - timedelta(days=1)) == [
        WeightPoint("wire", now, 1.0, 1.4, "edit")
    ]
    assert weight_history(reader_id=ada.pk, since=now + timedelta(days=1)) == []


@pytest.mark.parametrize("sources", [1, 6])
def test_the_page_costs_the_same_for_many_sources(
    ada, client: Client, sources, django_assert_max_num_queries
):
    for n in range(sources):
        item = fresh_item(ada, key=f"source{n}.example")
        FeedbackFactory(reader=ada, item=item, at=timezone.now())
    client.force_login(ada)

    with django_assert_max_num_queries(9):
        page = client.get(reverse("digest:trends"))

    assert page.content.count(b"<svg") == sources  # a constant weight has no chart
    assert b"all along" not in page.content  # and the usual one no words
    assert page.content.count(b"As a table") == sources


def test_without_ratings_the_page_says_what_to_do(ada, client: Client):
    client.force_login(ada)

    assert "Rate a few items" in client.get(reverse("digest:trends")).content.decode()

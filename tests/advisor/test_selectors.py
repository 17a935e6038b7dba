"""Selectors of runs read only the columns they need."""

from datetime import timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from advisor.models import Run
from advisor.selectors import feedback_missing_many, readers_due, run_last
from tests.support.browser import suggested
from tests.support.histories import opinionated

pytestmark = pytest.mark.django_db


def test_of_many_readers_only_the_thumbs_of_those_asked_for_are_counted(ada, ben):
    opinionated(ben)
    with CaptureQueriesContext(connection) as queries:
        assert list(feedback_missing_many(reader_ids=[ada.pk])) == [ada.pk]
    (query,) = queries.captured_queries
    assert "WHERE" in query["sql"] and ada.pk.hex in query["sql"].replace("-", "")


def test_nobody_to_ask_about_costs_no_query(db, django_assert_num_queries):
    with django_assert_num_queries(0):
        assert feedback_missing_many(reader_ids=[]) == {}


def test_the_last_run_is_the_readers_own_and_newest(ada, ben, now):
    rows = [(ada, 1), (ada, 3), (ada, 2), (ben, 9)]
    for reader, day in rows:
        at = now.replace(day=day)
        Run.objects.create(reader=reader, day=at.date(), trigger="ui", status="agent_error", created_at=at)
    assert run_last(reader_id=ada.pk).day.day == 3


@pytest.mark.parametrize(("hours", "due"), [(-1, False), (0, False), (1, True)])
def test_a_suggestion_whose_snooze_is_over_waits_though_nothing_woke_it_yet(ada, now, hours, due):
    opinionated(ada)
    until = now + timedelta(hours=hours)
    suggested(ada, evidence=0, status="snoozed", snoozed_until=until, created_at=now - timedelta(days=8))
    assert bool(readers_due(now=now)) is due

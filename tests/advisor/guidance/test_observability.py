"""The page of figures counts guidance correctly, at a cost that does not grow."""

from datetime import timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from advisor.guidance.events import HOLDOUT, guidance_observed
from advisor.models import GuidanceEvent


def event(reader, at, **more):
    fields = {"n": 1, "tool": "write_suggestion", "phase": "write", "level": "silent", "why": "too_weak"}
    return GuidanceEvent.objects.create(reader=reader, at=at, **fields | more)


@pytest.mark.django_db
def test_calls_are_counted_by_day_and_level_and_those_held_out_apart(ada, now):
    event(ada, now, level="note", why="told")
    event(ada, now - timedelta(days=1), level="block", why="blocked")
    event(ada, now, why="held_out", holdout=True)
    event(ada, now, why="shown")
    seen = guidance_observed(now=now, days=3)
    assert (seen.calls, seen.holdout) == (4, 1)
    assert seen.levels["note"] == [0, 0, 1] and seen.levels["block"] == [0, 1, 0]
    assert seen.levels[HOLDOUT] == [0, 0, 1]
    assert seen.reasons == {"shown": [0, 0, 1]}


@pytest.mark.django_db
def test_what_a_run_was_told_at_its_start_is_no_call_and_older_days_are_out(ada, now):
    event(ada, now, n=0, level="note")
    event(ada, now - timedelta(days=4))
    event(ada, now + timedelta(seconds=1))
    assert guidance_observed(now=now, days=4).calls == 0


@pytest.mark.django_db
def test_a_day_is_a_utc_day(ada, now):
    midnight = now.replace(hour=0)
    event(ada, midnight)
    event(ada, midnight - timedelta(microseconds=1))
    assert guidance_observed(now=now, days=2).reasons["too_weak"] == [1, 1]


@pytest.mark.django_db
def test_errors_are_counted_of_calls_and_of_starts(ada, now):
    event(ada, now, why="failed", error_code="KeyError")
    event(ada, now - timedelta(hours=1), why="failed", error_code="KeyError")
    event(ada, now - timedelta(hours=1), n=0, why="failed", error_code="OSError")
    seen = guidance_observed(now=now)
    assert list(seen.faults) == [("KeyError", 2, now), ("OSError", 1, now - timedelta(hours=1))]
    assert seen.failed == 2


@pytest.mark.django_db
def test_the_percentile_is_of_the_calls_milliseconds(ada, now):
    assert guidance_observed(now=now).p95_ms is None
    for n, ms in ((0, 900), *((1, ms) for ms in range(1, 41))):
        event(ada, now, n=n, ms=ms)
    assert guidance_observed(now=now).p95_ms == 39


@pytest.mark.django_db
def test_the_page_costs_the_same_for_one_call_and_for_many(operator, ada, client):
    client.force_login(operator)

    def queries(calls):
        now = timezone.now()
        GuidanceEvent.objects.bulk_create(
            GuidanceEvent(reader=ada, n=n + 1, level="note", why="told", at=now) for n in range(calls)
        )
        with CaptureQueriesContext(connection) as seen:
            assert client.get(reverse("admin:advisor_guidance")).status_code == 200
        return len(seen)

    queries(1)
    assert queries(1) == queries(300) <= 12


@pytest.mark.django_db
def test_the_page_says_that_there_is_nothing_yet(operator, client):
    client.force_login(operator)
    body = client.get(reverse("admin:advisor_guidance")).content.decode()
    assert "No call was looked at yet." in body and "<svg class=" not in body


@pytest.mark.django_db
def test_the_page_draws_and_tabulates_and_escapes(operator, ada, client):
    client.force_login(operator)
    event(ada, timezone.now(), level="note", why="told")
    event(ada, timezone.now(), why="failed", error_code="<i>")
    body = client.get(reverse("admin:advisor_guidance")).content.decode()
    assert 'role="img" aria-label="28 days: 1 note."' in body
    assert "As a table" in body and "&lt;i&gt;" in body
    assert "<i>" not in body
    assert "Nothing to compare yet" in body

"""Days that are over are counted once and shown as counted; what has had its time goes, and nothing else."""

from datetime import timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from advisor.guidance import events
from advisor.guidance.events import DAYS_SPAN, EVENTS_SPAN, guidance_days_count, guidance_prune
from advisor.guidance.figures import UPLIFT_WINDOW, guidance_observed, uplift_latest, uplift_report
from advisor.models import GuidanceDay, GuidanceEvent, GuidancePacket
from advisor.tasks import guidance_learn_task
from tests.advisor.guidance.test_observability import event, packet

pytestmark = pytest.mark.django_db
DAY = timedelta(days=1)
SECOND = timedelta(seconds=1)


def busy_days(reader, now):
    """Calls of every temper over five days up to `now`, errors and a run's start among them."""
    for back in range(5):
        at = now - back * DAY
        event(reader, at, level="note", why="told")
        event(reader, at, why="held_out", holdout=True)
        event(reader, at - timedelta(hours=back), why="failed", error_code="KeyError")
        event(reader, at, n=0, why="failed", error_code="export_OSError")


def figures(now):
    seen = guidance_observed(now=now)
    return seen.calls, seen.levels, seen.reasons, seen.faults


def test_the_figures_are_the_same_whether_days_are_counted_or_read(ada, now):
    busy_days(ada, now)
    before = figures(now)
    assert guidance_days_count(now=now) == 4
    assert figures(now) == before
    event(ada, now, why="shown")
    assert figures(now)[0] == before[0] + 1


def test_a_counted_day_is_not_read_again_and_names_no_reader(ada, now):
    busy_days(ada, now)
    guidance_days_count(now=now)
    before = figures(now)
    GuidanceEvent.objects.filter(at__lt=now - DAY / 2).delete()
    assert figures(now) == before
    assert str(ada.pk) not in str(list(GuidanceDay.objects.values_list("calls", "errors", "uplift")))


def test_counting_again_changes_nothing_and_missed_days_are_made_up_for(ada, now):
    event(ada, now - 3 * DAY)
    assert guidance_days_count(now=now - 2 * DAY) == 1
    kept = list(GuidanceDay.objects.values())
    assert guidance_days_count(now=now - 2 * DAY) == 0
    event(ada, now - DAY)
    assert guidance_days_count(now=now) == 2
    assert list(GuidanceDay.objects.order_by("day").values())[:1] == kept
    assert [len(day.calls) for day in GuidanceDay.objects.order_by("day")] == [1, 0, 1]


def test_a_day_is_over_two_hours_after_its_end(ada, now):
    midnight = now.replace(hour=0, minute=0, second=0, microsecond=0)
    event(ada, midnight - SECOND)
    assert guidance_days_count(now=midnight + timedelta(hours=2) - SECOND) == 0
    assert guidance_days_count(now=midnight + timedelta(hours=2)) == 1
    assert GuidanceDay.objects.get().day == (midnight - DAY).date()


def test_what_telling_was_worth_stands_as_counted_until_the_next_day(ada, now):
    assert uplift_latest(now=now) == (uplift_report(since=now - UPLIFT_WINDOW, now=now), now)
    told = {"suggestion_type": "boost_source", "target_key": "x.example", "emitted_ids": [1]}
    event(ada, now - DAY, level="note", **told)
    guidance_days_count(now=now)
    assert uplift_latest(now=now + DAY / 2) == (uplift_report(since=now - UPLIFT_WINDOW, now=now), now)


def test_counting_and_the_figures_cost_the_same_for_few_calls_and_for_many(ada, now):
    def cost(calls, moment):
        GuidanceEvent.objects.bulk_create(
            GuidanceEvent(reader=ada, n=n + 1, level="silent", why="shown", at=moment - DAY)
            for n in range(calls)
        )
        with CaptureQueriesContext(connection) as seen:
            assert guidance_days_count(now=moment) == 1
            assert guidance_observed(now=moment).reasons["shown"][-2] == calls
        return len(seen)

    cost(1, now)
    assert cost(1, now + DAY) == cost(200, now + 2 * DAY)


def test_calls_go_after_half_a_year_and_not_before(ada, now):
    """What answers, told against held out, previews and figures look back on is younger."""
    old = [event(ada, now - EVENTS_SPAN - SECOND).pk for _ in range(3)]
    young = event(ada, now - EVENTS_SPAN).pk
    guidance_days_count(now=now)
    assert guidance_prune(now=now)["events"] == len(old)
    assert list(GuidanceEvent.objects.values_list("pk", flat=True)) == [young]
    assert guidance_prune(now=now) == {"events": 0, "packets": 0, "days": 0}


def test_more_than_one_delete_takes_go_all_the_same(ada, now, monkeypatch):
    monkeypatch.setattr(events, "BATCH", 2)
    for _ in range(5):
        event(ada, now - 2 * EVENTS_SPAN)
    guidance_days_count(now=now)
    assert guidance_prune(now=now)["events"] == 5


def test_no_call_goes_before_its_day_is_counted(ada, now):
    event(ada, now - EVENTS_SPAN - DAY)
    assert guidance_prune(now=now)["events"] == 0
    guidance_days_count(now=now - EVENTS_SPAN - DAY)
    assert guidance_prune(now=now)["events"] == 0
    guidance_days_count(now=now)
    assert guidance_prune(now=now)["events"] == 1


def test_stale_packets_go_but_for_those_that_have_notes(ada, now, monkeypatch):
    monkeypatch.setattr(events, "PACKETS_MAX", 1)
    packet(ada, now, "newest", expires_at=now - 2 * DAY)
    packet(ada, now - SECOND, "fresh", expires_at=now + DAY)
    packet(ada, now - SECOND, "just stale", expires_at=now - DAY)
    packet(ada, now - SECOND, "long stale", expires_at=now - DAY - SECOND)
    assert guidance_prune(now=now)["packets"] == 1
    assert set(GuidancePacket.objects.values_list("key", flat=True)) == {"newest", "fresh", "just stale"}


def test_counts_go_after_a_year_and_a_month(now):
    for back in (DAYS_SPAN, DAYS_SPAN + DAY):
        GuidanceDay.objects.create(day=(now - back).date())
    assert guidance_prune(now=now)["days"] == 1


def test_the_daily_job_counts_and_prunes(ada, now):
    event(ada, now - EVENTS_SPAN - 2 * DAY)
    guidance_learn_task()
    assert GuidanceDay.objects.exists() and not GuidanceEvent.objects.exists()

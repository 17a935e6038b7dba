"""A clock that was ahead: once it is right again, nothing waits for the time that it had."""

from datetime import timedelta

import pytest

from advisor.models import Heartbeat, Run
from advisor.run.request import runs_reconcile
from advisor.run.why_none import why_none
from advisor.run.workers import job_claim_if_due, jobs_last_started
from advisor.selectors import worker_alive
from config.jobs.schedule import JOBS, jobs_due
from config.readiness import readiness
from digest.feeds.pauses import feed_pauses
from digest.feeds.selectors import feeds_due
from digest.feeds.services import feeds_check
from digest.models import Feed
from tests.support.factories import FeedFactory, SubscriptionFactory
from tests.support.histories import opinionated

pytestmark = pytest.mark.django_db
YEAR = timedelta(days=300)
MINUTE = timedelta(minutes=1)


@pytest.fixture
def ahead(now):
    """Everything that a worker stores, written by a clock that was 300 days ahead."""
    for job in JOBS:
        Heartbeat.objects.create(worker=f"job:{job.name}", at=now + YEAR)
    Heartbeat.objects.create(worker="host:1", at=now + YEAR)
    return now + YEAR


def test_jobs_run_again_at_once(ahead, now, settings):
    """No job ran for 300 days, and /readyz said “last turn -25920000 s ago”."""
    assert jobs_due(now, jobs_last_started()) == list(JOBS)
    assert job_claim_if_due(name="fetch", every=5 * MINUTE, now=now)
    assert not job_claim_if_due(name="fetch", every=5 * MINUTE, now=now + MINUTE)
    assert not worker_alive(now=now), "a run would wait for a worker of the future"


def test_machines_whose_clocks_differ_by_minutes_do_not_repeat_a_job(now):
    Heartbeat.objects.create(worker="job:nightly", at=now + 2 * MINUTE)
    assert "nightly" not in [job.name for job in jobs_due(now, jobs_last_started())]
    assert not job_claim_if_due(name="nightly", every=MINUTE, now=now)


def test_the_probe_names_the_clock(ahead, now):
    (check,) = [check for check in readiness(now=now) if check.name == "schedule"]
    assert not check.ok and "in the future" in check.detail and "timedatectl" in check.detail


def test_feeds_are_fetched_again_and_pauses_of_the_future_hold_nothing(ahead, now, ada):
    feed = FeedFactory(state="active", last_fetched_at=ahead, next_check_at=ahead, pause_until=ahead)
    later = FeedFactory(state="active", last_fetched_at=now, next_check_at=now + timedelta(hours=26))
    for one in (feed, later):
        SubscriptionFactory(reader=ada, feed=one)
    assert list(feeds_due(now=now)) == [feed] and not feed_pauses(feeds=[feed], now=now)
    feeds_check(feed_ids=[feed.pk], now=now)
    assert Feed.objects.get(pk=feed.pk).next_check_at == now


def test_a_run_whose_worker_is_gone_goes_back_into_the_queue(ahead, now, ada):
    run = Run.objects.create(
        reader=ada,
        day=now.date(),
        trigger="ui",
        status="running",
        created_at=now,
        attempt=1,
        lease_until=ahead,
    )
    assert runs_reconcile(now=now)["requeued"] == 1
    run.refresh_from_db()
    assert run.status == "queued"


def test_a_worker_of_the_future_looks_for_no_suggestions(ahead, now, ada):
    opinionated(ada, now=now)
    assert why_none(reader=ada, now=now).idle

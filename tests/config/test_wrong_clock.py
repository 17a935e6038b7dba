"""A clock that ran ahead and was set back: what it wrote lies in the future, and everything goes on."""

import os
from datetime import timedelta

import pytest

from advisor.agent.alerts import alert_remember, alert_remembered
from advisor.models import Heartbeat, Run
from advisor.run.request import runs_reconcile
from advisor.run.workers import any_worker_at, job_claim, job_claim_if_due, jobs_last_started
from advisor.selectors import BACKUP_JOB, JOB_PREFIX, readers_of_week, worker_alive
from config.jobs.lease import STEP_NAMES, night_claim
from config.jobs.nightly import nightly_run
from config.jobs.schedule import JOBS, jobs_due
from config.metrics import metrics_text
from config.models import NightlyReport
from config.pulse.files import Pulse, worker_has_pulse
from config.readiness import readiness
from config.templatetags.operators_overview import overview_figures
from digest.feeds.pauses import feed_pauses
from digest.feeds.selectors import feeds_due
from digest.models import Feed, NotificationSettings, Reader
from digest.notifications.news import LOOKBACK, news_since
from ranking.common.clocks import SKEW, age_s, is_ahead
from tests.support.factories import FeedFactory, OperatorFactory, ReaderFactory, SubscriptionFactory

YEAR = timedelta(days=400)
MINUTE = timedelta(minutes=1)
pytestmark = pytest.mark.django_db


def test_some_minutes_ahead_are_another_machines_clock(now):
    assert not is_ahead(now + SKEW, now) and is_ahead(now + SKEW + MINUTE, now)
    assert age_s(now - MINUTE, now) == 60 and age_s(now + MINUTE, now) == 0 and age_s(now + YEAR, now) is None


def test_every_job_runs_again_and_its_turn_is_now(now):
    for job in JOBS:
        assert job_claim(name=job.name, last=None, now=now + YEAR)
    last = jobs_last_started()
    assert jobs_due(now, last) == list(JOBS)
    assert job_claim(name="fetch", last=last["fetch"], now=now)
    assert job_claim_if_due(name="nightly", every=MINUTE, now=now)
    assert not job_claim_if_due(name="nightly", every=MINUTE, now=now)
    assert {jobs_last_started()[name] for name in ("fetch", "nightly")} == {now}


def test_a_worker_of_the_future_is_not_alive(now, tmp_path):
    Heartbeat.objects.create(worker="box:7", at=now + YEAR)
    assert not worker_alive(now=now) and any_worker_at(now=now) is None
    file = tmp_path / "worker-box-7.pulse"
    file.touch()
    ahead = file.stat().st_mtime + YEAR.total_seconds()
    os.utime(file, (ahead, ahead))
    assert not worker_has_pulse(tmp_path)
    with Pulse(tmp_path):
        assert not file.exists()


def test_the_probe_says_so_once(now, settings, tmp_path):
    settings.VAR_DIR = tmp_path
    job_claim(name="reconcile", last=None, now=now + YEAR)
    schedule = _check("schedule", now)
    assert not schedule.ok
    assert f"{now + YEAR:%Y-%m-%d %H:%M} UTC, in the future" in schedule.detail
    assert job_claim_if_due(name="reconcile", every=MINUTE, now=now)
    assert _check("schedule", now).detail == "last turn 0 s ago"


def test_the_probe_names_a_worker_whose_file_lies_in_the_future(now, settings, tmp_path):
    settings.VAR_DIR = tmp_path
    file = tmp_path / "worker-box-7.pulse"
    file.touch()
    ahead = file.stat().st_mtime + YEAR.total_seconds()
    os.utime(file, (ahead, ahead))
    workers = _check("workers", now)
    assert not workers.ok and "box-7 lies in the future: the clock was wrong" in workers.detail


def test_no_metric_is_negative(now):
    _future_of_everything(now)
    for line in metrics_text(now=now).decode().splitlines():
        assert line.startswith("#") or not line.startswith("tidings_") or float(line.rpartition(" ")[2]) >= 0


def test_the_first_page_says_so_of_night_and_backup(now):
    _future_of_everything(now)
    operator: Reader = OperatorFactory()
    figures = {one.name: one for one in overview_figures(reader=operator, now=now)}
    for name in ("Last night", "Last backup"):
        assert figures[name].bad and "lies in the future: the clock was wrong" in figures[name].note
    assert "1 due to be fetched" in figures["Feeds in trouble"].note


def test_a_night_of_the_future_goes_and_its_day_keeps_its_own(now):
    steps = {name: lambda now: {} for name in STEP_NAMES}
    nightly_run(now=now + YEAR, steps=steps)
    nightly_run(now=now, steps=steps)
    assert list(NightlyReport.objects.values_list("day", flat=True)) == [now.date()]


def test_a_lease_longer_than_any_holds_no_night(now):
    night_claim(now=now)
    assert night_claim(now=now) is None
    NightlyReport.objects.update(lease_until=now + timedelta(hours=3))
    assert night_claim(now=now)


def test_a_run_whose_lease_is_longer_than_any_is_taken_up(ada, now):
    run = Run.objects.create(
        reader=ada, day=now.date(), trigger="ui", status="running", created_at=now, lease_until=now + YEAR
    )
    runs_reconcile(now=now)
    run.refresh_from_db()
    assert run.lease_until is None and run.status != Run.Status.RUNNING


def test_a_run_of_the_future_is_not_this_weeks(ada, now):
    Run.objects.create(
        reader=ada,
        day=(now + YEAR).date(),
        trigger="scheduled",
        status="completed",
        created_at=now + YEAR,
        finished_at=now + YEAR,
    )
    assert readers_of_week(readers=[ada], now=now) == set()


def test_feeds_whose_check_or_pause_is_further_away_than_any_wait_are_due(ada, now):
    far = FeedFactory(next_check_at=now + YEAR, pause_until=now + YEAR, state=Feed.State.ACTIVE)
    soon = FeedFactory(next_check_at=now + timedelta(hours=24), state=Feed.State.ACTIVE)
    for feed in (far, soon):
        SubscriptionFactory(reader=ada, feed=feed)
    assert list(feeds_due(now=now)) == [far] and feed_pauses(feeds=[far], now=now) == {}


def test_notifications_of_the_future_hold_back_none(ada, now):
    row = NotificationSettings(reader=ada, since=now + YEAR, notified_at=now + YEAR)
    assert news_since(row, now) == now - LOOKBACK


def test_an_alert_of_the_future_is_forgotten(now, settings, tmp_path):
    settings.VAR_DIR = tmp_path
    alert_remember(where="x", reason="y", now=now + YEAR)
    assert alert_remembered(now=now + YEAR)
    assert alert_remembered(now=now) is None


def _future_of_everything(now) -> None:
    later = now + YEAR
    for worker in (BACKUP_JOB, f"{JOB_PREFIX}reconcile", f"{JOB_PREFIX}fetch", "box:7"):
        Heartbeat.objects.create(worker=worker, at=later)
    NightlyReport.objects.create(day=later.date(), started_at=later, status="completed")
    feed = FeedFactory(next_check_at=later, state=Feed.State.ACTIVE)
    reader: Reader = ReaderFactory()
    SubscriptionFactory(feed=feed, reader=reader)
    Run.objects.create(reader=reader, day=later.date(), trigger="ui", created_at=later)


def _check(name: str, now):
    return next(check for check in readiness(now=now) if check.name == name)

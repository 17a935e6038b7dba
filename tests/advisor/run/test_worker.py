"""The embedded worker does due work in order, and survives any failure."""

import os
import signal
import subprocess
import sys
from datetime import timedelta
from pathlib import Path

import pytest
from django.core.management import call_command
from hypothesis import given
from hypothesis import strategies as st

from advisor.models import Decision, Heartbeat, Run
from advisor.run.workers import heartbeat, job_claim, jobs_last_started
from config.celery import app
from config.jobs.schedule import CELERY_BEAT_SCHEDULE, JOBS, jobs_due
from config.tasks import TASKS, Worker
from tests.support.factories import CLOCK
from tests.support.histories import opinionated
from tests.support.processes import database_without_work, wait_until, workers_alive

ROOT = Path(__file__).resolve().parents[3]
MINUTE = timedelta(minutes=1)


def tick(now, worker="w"):
    return Worker(worker).tick(now=now, stopping=lambda: False)


# --- The schedule ---------------------------------------------------------------------------------------


def test_beat_and_worker_run_the_same_jobs_and_each_is_a_task():
    assert {entry["task"] for entry in CELERY_BEAT_SCHEDULE.values()} == set(TASKS)
    assert set(TASKS) <= set(app.tasks)


def test_tasks_can_be_imported_after_celery_is_finalised():
    """The base class of tasks imports the advisor, and its tasks need that class. There must be no import
    cycle."""
    code = (
        "import django; django.setup(); from config.celery import app; app.finalize(); "
        "import advisor.tasks; print(app.tasks['advisor.run_execute'].name)"
    )
    environment = {**os.environ, "DJANGO_SETTINGS_MODULE": "config.settings"}
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.strip() == "advisor.run_execute"


def test_everything_is_due_at_first_in_its_order():
    assert jobs_due(CLOCK, {}) == list(JOBS)


@given(st.sampled_from(JOBS), st.integers(-10, 10))
def test_a_job_is_due_when_its_time_has_passed(job, seconds):
    last = {other.name: CLOCK for other in JOBS}
    last[job.name] = CLOCK - job.interval - timedelta(seconds=seconds)
    assert (job in jobs_due(CLOCK, last)) is (seconds >= 0)


@pytest.mark.django_db
def test_of_two_workers_one_gets_a_turn():
    assert job_claim(name="fetch", last=None, now=CLOCK)
    assert not job_claim(name="fetch", last=None, now=CLOCK + MINUTE)
    last = jobs_last_started()["fetch"]
    assert job_claim(name="fetch", last=last, now=CLOCK + MINUTE)
    assert not job_claim(name="fetch", last=last, now=CLOCK + 2 * MINUTE)
    assert jobs_last_started() == {"fetch": CLOCK + MINUTE}


# --- The worker -----------------------------------------------------------------------------------------


@pytest.mark.django_db
def test_a_tick_gives_a_sign_of_life_and_remembers_what_it_began(now):
    assert tick(now) is False
    assert Heartbeat.objects.get(worker="w").at == now
    assert set(jobs_last_started()) == {job.name for job in JOBS}
    assert not Decision.objects.exists()


@pytest.mark.django_db
def test_a_queued_run_is_carried_out(ada, now):
    opinionated(ada)
    tick(now)
    run = Run.objects.create(reader=ada, day=now.date(), trigger="ui", created_at=now)
    assert tick(now) is True
    run.refresh_from_db()
    assert run.status == "completed"
    assert tick(now) is False


@pytest.mark.django_db
def test_a_run_behind_a_long_round_is_held_from_when_it_begins(ada, now):
    opinionated(ada)
    Run.objects.create(reader=ada, day=now.date(), trigger="ui", created_at=now)
    seconds = iter([0.0, 240.0])
    assert Worker("w", lambda: next(seconds)).tick(now=now, stopping=lambda: False)
    assert Run.objects.get().started_at == now + 4 * MINUTE


@pytest.mark.django_db
def test_one_jobs_failure_is_noted_and_stops_nothing(ada, ben, now, settings):
    opinionated(ada)
    Run.objects.create(reader=ada, day=now.date(), trigger="ui", created_at=now)
    # A list instead of a number breaks its user, here the search for readers to advise.
    settings.ADVISOR_MIN_ITEMS = []
    settings.NIGHTLY_HOUR = 0  # doors read the clock, and it may be night now
    tick(now)
    failed = Decision.objects.get(action="job_failed")
    assert failed.data == {"job": "advise"} and "TypeError" in failed.reason
    assert Run.objects.exclude(status="queued").exists()


@pytest.mark.django_db
def test_a_worker_that_shuts_down_begins_nothing(now):
    Worker("w").tick(now=now, stopping=lambda: True)
    assert jobs_last_started() == {}


@pytest.mark.django_db
def test_once_leaves_no_sign_of_life_behind(db):
    call_command("work", "--once")
    assert set(Heartbeat.objects.values_list("worker", flat=True)) == {f"job:{job.name}" for job in JOBS}


@pytest.mark.django_db
def test_a_worker_that_shuts_down_deletes_only_its_own_heartbeat(now):
    heartbeat(worker="other", now=now)
    tick(now)
    Worker("w").stop()
    assert not Heartbeat.objects.filter(worker="w").exists()
    assert Heartbeat.objects.filter(worker="other").exists()


def test_a_signal_ends_it_in_good_order(installed, tmp_path):
    path, manage = tmp_path / "work.sqlite3", [sys.executable, str(ROOT / "manage.py")]
    database_without_work(installed, path)
    var = {"TIDINGS_VAR_DIR": str(tmp_path), "DATABASE_URL": f"sqlite:///{path}", "REDIS_URL": ""}
    signals = (signal.SIGTERM, signal.SIGINT)
    workers = [
        subprocess.Popen([*manage, "work"], env=os.environ | var, stderr=subprocess.DEVNULL) for _ in signals
    ]
    try:
        wait_until(lambda: workers_alive(path) == 2, "a worker gave no sign of life")
        for worker, number in zip(workers, signals, strict=True):
            worker.send_signal(number)
            assert worker.wait(timeout=60) == 0
        assert workers_alive(path) == 0
    finally:
        for worker in workers:
            worker.kill()
            worker.wait()

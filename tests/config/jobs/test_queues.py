"""Every Celery task has a queue and a limit, and two beats run each scheduled turn once."""

import logging
import os
import subprocess
import sys
import time
from datetime import timedelta
from pathlib import Path

import pytest
from celery.signals import worker_shutting_down
from django.conf import settings
from django.db import connection
from django.utils import timezone

from advisor.models import Heartbeat
from advisor.run.workers import job_claim_if_due
from advisor.tasks import memories_sync_task, runs_reconcile_task
from config.celery import app
from config.jobs.schedule import (
    CELERY_BEAT_SCHEDULE,
    HARD_LIMIT_BY_TASK,
    JOBS,
    QUEUE_BY_TASK,
    QUEUES,
    VISIBILITY_S,
)
from config.models import NightlyReport
from config.tasks import nightly_task
from ranking.common import stopping
from tests.support.concurrency import at_once, database_on_disk

ROOT = Path(__file__).resolve().parents[3]
OURS = ("advisor.", "config.", "digest.", "suggestions.", "ranking.")


def test_every_task_that_is_named_exists_and_goes_to_a_queue_that_is_served():
    app.loader.import_default_modules()
    known = {name for name in app.tasks if name.startswith(OURS)}
    assert set(QUEUE_BY_TASK) | set(HARD_LIMIT_BY_TASK) | {job.task for job in JOBS} <= known
    assert {app.amqp.router.route({}, name)["queue"].name for name in known} == set(QUEUES)


def test_a_task_without_limits_of_its_own_ends_before_its_message_comes_round_again():
    app.loader.import_default_modules()
    for name, task in app.tasks.items():
        if name.startswith(OURS) and name not in HARD_LIMIT_BY_TASK:
            assert task.time_limit is not None and task.time_limit < VISIBILITY_S
    run = app.tasks["advisor.run_execute"]
    assert run.time_limit > settings.ADVISOR_SCHEDULED_TIMEOUT_S
    assert run.time_limit < settings.CELERY_WORKER_SOFT_SHUTDOWN_TIMEOUT


def test_whatever_beat_sends_says_which_job_it_is():
    assert {entry["options"]["headers"]["scheduled"] for entry in CELERY_BEAT_SCHEDULE.values()} == {
        job.name for job in JOBS
    }


@pytest.mark.django_db
def test_a_turn_is_taken_once_a_period_give_or_take_a_fifth(now):
    turn = {"name": "reconcile", "every": timedelta(minutes=1)}
    assert job_claim_if_due(**turn, now=now)
    assert not job_claim_if_due(**turn, now=now + timedelta(seconds=47))
    assert job_claim_if_due(**turn, now=now + timedelta(seconds=48))


@pytest.mark.django_db(transaction=True)
def test_of_many_workers_with_a_message_each_one_takes_the_turn(now, tmp_path):
    with database_on_disk(tmp_path / "copy.sqlite3"):
        assert sum(at_once(lambda _: _fetch_turn(now))) == 1
        assert sum(at_once(lambda _: _fetch_turn(now + timedelta(minutes=5)))) == 1


def _fetch_turn(moment) -> bool:
    return job_claim_if_due(name="fetch", every=timedelta(minutes=5), now=moment)


@pytest.mark.django_db
def test_a_daily_job_whose_worker_was_lost_is_done_again_and_only_once(monkeypatch):
    task, ran = memories_sync_task.celery, []
    monkeypatch.setattr(task, "run", lambda: ran.append(1))
    for redelivered in (False, False, True, True):
        task.push_request(scheduled="memories", delivery_info={"redelivered": redelivered})
        task()
        task.pop_request()
    assert len(ran) == 2


@pytest.mark.django_db
def test_a_worker_that_is_to_stop_leaves_the_rest_of_the_night_to_the_next(settings, monkeypatch):
    settings.NIGHTLY_HOUR = 0
    monkeypatch.setattr(stopping, "_STOPPING", bytearray(1))
    assert not stopping.worker_is_stopping()
    worker_shutting_down.send(sender="work@here", sig="TERM", how="Warm", exitcode=0)
    assert stopping.worker_is_stopping()
    nightly_task()
    night = NightlyReport.objects.get()
    assert (night.status, night.steps, night.lease_until) == ("running", {}, None)


@pytest.mark.services
@pytest.mark.django_db(transaction=True)
def test_the_messages_of_two_beats_move_the_schedule_once(broker_alone):
    """With a real broker and worker, the second beat's message is recognised."""
    app.control.purge()
    options = connection.settings_dict
    database = f"postgres://{options['USER']}@{options['HOST']}:{options['PORT']}/{options['NAME']}"
    environment = os.environ | {"DATABASE_URL": database, "LOG_LEVEL": "INFO"}
    for _ in range(2):
        runs_reconcile_task.celery.apply_async(headers={"scheduled": "reconcile"})
    command = [sys.executable, "-m", "celery", "-A", "config", "worker", "-c", "2"]
    worker = subprocess.Popen(command, cwd=ROOT, env=environment, stderr=subprocess.PIPE, text=True)
    try:
        end = time.monotonic() + 180
        while not Heartbeat.objects.filter(worker="job:reconcile").exists():
            assert time.monotonic() < end, "no worker took the turn"
            time.sleep(0.1)
        time.sleep(1)
    finally:
        worker.terminate()
        _, log = worker.communicate(timeout=60)
    assert log.count('"event": "job_doubled"') == 1, log[-2000:]
    assert Heartbeat.objects.get(worker="job:reconcile").at <= timezone.now()


def test_a_worker_waits_for_a_lost_broker_for_as_long_as_it_takes():
    assert app.conf.broker_connection_max_retries is None
    assert app.conf.broker_connection_retry_on_startup is True


def test_celery_leaves_the_logs_as_django_has_them():
    """Otherwise Celery would set the root logger to WARNING, and workers would not log their runs."""
    root = logging.getLogger()
    before = root.level, list(root.handlers)
    app.log.setup_logging_subsystem(loglevel="WARNING")
    assert (root.level, list(root.handlers)) == before

"""A living worker keeps its run; a dead or late one does not."""

import threading
from datetime import timedelta

import pytest
from django.db import OperationalError

from advisor.models import Run
from advisor.run import execute
from advisor.run.execute import LEASE
from advisor.run.ownership import RunClock
from advisor.run.workers import lease_renewal
from config.jobs.schedule import JOBS
from tests.support.agent_bench import LIMITS
from tests.support.concurrency import database_on_disk, seen_by_writers

PATIENCE_S = 20.0


def test_a_dead_workers_run_is_taken_up_within_a_minute():
    every = next(job.interval for job in JOBS if job.name == "reconcile")
    assert LEASE + every < timedelta(minutes=1) and timedelta(seconds=execute.BEAT_S) * 3 < LEASE


@pytest.mark.django_db(transaction=True)
def test_a_run_keeps_its_lease_for_as_long_as_it_goes_on(ada, now, tmp_path, monkeypatch):
    monkeypatch.setattr(execute, "BEAT_S", 0.01)
    held = {"day": now.date(), "trigger": "ui", "status": "running", "created_at": now, "lease_until": now}
    run = Run.objects.create(reader=ada, attempt=1, fence=1, **held)
    with database_on_disk(tmp_path / "copy.sqlite3"):
        renewed = lambda: seen_by_writers(lambda: Run.objects.get().lease_until) >= now + LEASE  # noqa: E731
        with execute._lease(run, RunClock(now), LIMITS):
            assert any(renewed() for _ in range(500))


def test_signs_of_life_outlast_a_hiccup_of_the_database_and_end_with_the_lease(now):
    lost, answers = threading.Event(), [OperationalError("busy"), True, False]

    def renew() -> bool:
        answer = answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        if not answer:
            lost.set()
        return answer

    with lease_renewal(
        renew=renew, clock=lambda: now, beat_s=0.001, lasting_s=60, failure_event="beat_failed"
    ):
        assert lost.wait(PATIENCE_S)
    assert answers == []


def test_work_that_takes_too_long_gives_no_more_signs_of_life(now):
    asked, clock = [], iter([now, *[now + timedelta(seconds=s) for s in (1, 2, 3, 99)]])
    over = threading.Event()

    def tick():
        moment = next(clock)
        if moment > now + timedelta(seconds=60):
            over.set()
        return moment

    with lease_renewal(
        renew=lambda: asked.append(1) or True,
        clock=tick,
        beat_s=0.001,
        lasting_s=60,
        failure_event="beat_failed",
    ):
        assert over.wait(PATIENCE_S)
    assert len(asked) == 3

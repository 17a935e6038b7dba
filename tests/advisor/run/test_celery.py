"""The distributed mode: a real Celery worker in its own process, on PostgreSQL, woken through Redis."""

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from django.db import connection
from django.utils import timezone
from kombu import Connection
from kombu.exceptions import OperationalError
from redis import Redis

from advisor.models import Run
from advisor.run.request import run_request, run_wait, runs_reconcile
from advisor.tasks import run_execute_task
from config.celery import app
from digest.models import Reader
from suggestions.models import Suggestion
from tests.support.histories import opinionated

pytestmark = [pytest.mark.services, pytest.mark.django_db(transaction=True)]
ROOT = Path(__file__).resolve().parents[3]
START_S = 60


def until(done: Callable[[], object], seconds: float = START_S) -> None:
    """Wait for something another process does."""
    end = time.monotonic() + seconds
    while not done():
        assert time.monotonic() < end, "nothing happened in time"
        time.sleep(0.1)


@pytest.fixture
def worker(broker_alone: None) -> Iterator[Callable[[], None]]:
    """Starts a worker on this test's database; it is gone at the end."""
    app.control.purge()
    running: list[subprocess.Popen[bytes]] = []
    options = connection.settings_dict
    database = f"postgres://{options['USER']}@{options['HOST']}:{options['PORT']}/{options['NAME']}"

    def start() -> None:
        command = [sys.executable, "-m", "celery", "-A", "config", "worker", "-c", "1", "--loglevel", "ERROR"]
        environment = os.environ | {"DATABASE_URL": database}
        running.append(subprocess.Popen(command, cwd=ROOT, env=environment))

    yield start
    for process in running:
        process.terminate()
        process.wait(timeout=30)


def test_a_broker_that_is_down_holds_nobody_up():
    """A page waits while a run is announced; kombu would wait six seconds, unless the settings say less."""
    down = Connection("redis://127.0.0.1:1/0", transport_options=app.conf.broker_transport_options)
    began = time.monotonic()
    with pytest.raises(OperationalError):
        assert down.default_channel
    assert time.monotonic() - began < 3


def test_a_worker_does_what_was_asked_and_a_lost_or_repeated_message_does_no_harm(ada: Reader, worker):
    now, broker = timezone.now(), Redis.from_url(app.conf.broker_url)
    opinionated(ada, now=now)
    asked = run_request(reader=ada, trigger=Run.Trigger.UI, now=now)
    assert asked.status == "in_progress"
    assert Run.objects.get().status == Run.Status.QUEUED

    # Redis forgets; the reconciler does not.
    assert app.control.purge() == 1
    worker()
    runs_reconcile(now=now)
    result = run_wait(run_id=asked.run_id, now=now, timeout_s=START_S)
    assert result.status == "completed" and result.suggestion_ids

    # The same message ten times over changes nothing.
    before = Run.objects.values().get(), list(Suggestion.objects.values())
    for _ in range(10):
        run_execute_task.celery.delay(str(asked.run_id))
    until(lambda: broker.llen("celery") + broker.hlen("unacked") == 0)
    assert (Run.objects.values().get(), list(Suggestion.objects.values())) == before

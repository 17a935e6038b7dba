"""Celery workers tell the broker that they live, and replace their processes that hang."""

import os
import signal
import time
from types import SimpleNamespace

import pytest
from billiard.process import current_process

from config.jobs.schedule import QUEUES
from config.pulse import broker
from config.pulse.broker import KEY, CeleryWorker, broker_client, queues_unserved, workers_known
from config.pulse.celery import PulseStep, process_pulse_start, processes_kill_hung
from config.pulse.files import HUNG_S
from tests.config.pulse.conftest import process_of, workers_check
from tests.config.test_serve import running


@pytest.mark.usefixtures("quick")
def test_a_stopped_process_of_a_celery_worker_is_killed_and_its_sisters_go_on():
    def work(place: int) -> None:
        current_process().index = place
        process_pulse_start()

    with process_of(lambda: work(3)) as stopped, process_of(lambda: work(4)) as well:
        pool = [SimpleNamespace(pid=stopped, index=3), SimpleNamespace(pid=well, index=4)]
        time.sleep(0.5)
        os.kill(stopped, signal.SIGSTOP)
        deadline = time.monotonic() + 30
        while running(stopped) and time.monotonic() < deadline:
            processes_kill_hung(pool, hung_s=5)
            time.sleep(0.1)
        assert not running(stopped) and running(well)


def test_a_queue_without_a_living_worker_is_named():
    living = CeleryWorker("work@a", 3.0, frozenset(QUEUES) - {"fetch"})
    assert queues_unserved([living, CeleryWorker("fetch@a", HUNG_S + 1, frozenset({"fetch"}))]) == ["fetch"]
    assert queues_unserved([living, CeleryWorker("fetch@a", 2.0, frozenset({"fetch"}))]) == []


@pytest.mark.services
@pytest.mark.django_db
def test_celery_workers_tell_the_broker_that_they_live_and_say_goodbye(broker_alone, now, monkeypatch):
    timer = SimpleNamespace(call_repeatedly=lambda *_: SimpleNamespace(cancel=lambda: None))
    queues = SimpleNamespace(consume_from=dict.fromkeys(QUEUES))
    app = SimpleNamespace(amqp=SimpleNamespace(queues=queues))
    consumer = SimpleNamespace(timer=timer, app=app, pool=None, hostname="all@here")
    with broker_client() as redis:
        redis.delete(KEY)
    assert workers_check(now)[1].startswith("no worker serves the queue default")
    step = PulseStep(consumer)
    step.start(consumer)
    assert workers_check(now) == (True, "1 alive")
    at = time.time()
    monkeypatch.setattr(broker.time, "time", lambda: at + 60)
    assert "all@here gave no sign of life for 60 s: restart it; no worker serves" in workers_check(now)[1]
    step.shutdown(consumer)
    assert workers_known() == []

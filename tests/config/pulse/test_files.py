"""An embedded worker that hangs is noticed and replaced: here it is stopped by a real SIGSTOP."""

import os
import signal
import time

import pytest

from advisor.run.workers import heartbeat
from config.management.commands.serve import worker_process, worker_spawn
from config.pulse.files import HUNG_S, Pulse, PulseWatch, pulse_ages, pulse_file
from tests.config.pulse.conftest import process_of, workers_check
from tests.config.test_serve import environment, running
from tests.support.processes import database_without_work, wait_until


def test_a_stopped_worker_is_killed_and_replaced_and_the_operator_reads_why(installed, folder, monkeypatch):
    database_without_work(installed, folder / "tidings.sqlite3")
    for name, value in environment(folder).items():
        monkeypatch.setenv(name, value)
    lines: list[str] = []
    with worker_process(first=worker_spawn, write=lines.append, restart_s=0.05, hung_s=12) as workers:
        wait_until(lambda: pulse_ages(folder), "the worker gave no sign of life")
        os.kill(workers[0], signal.SIGSTOP)
        wait_until(lambda: len(workers) == 2, "the worker was not replaced")
        wait_until(lambda: pulse_file(folder, workers[1]).exists(), "the next gave no sign of life")
        assert not pulse_file(folder, workers[0]).exists()
    assert lines == ["The worker gave no sign of life for 12 seconds, and was killed. "
                     "Another starts in 0.05 seconds."]  # fmt: skip
    assert not any(running(worker) for worker in workers)
    assert not pulse_ages(folder)


@pytest.mark.usefixtures("quick")
def test_a_busy_worker_has_a_pulse_and_a_stopped_one_has_none(folder):
    with process_of(lambda: Pulse(folder).__enter__()) as pid:
        watch = PulseWatch(folder, pid, hung_s=1)
        busy_until = time.monotonic() + 2
        while time.monotonic() < busy_until:
            assert not watch.is_hung()
            time.sleep(0.05)
        os.kill(pid, signal.SIGSTOP)
        wait_until(watch.is_hung, "a stopped worker was not noticed")


@pytest.mark.usefixtures("quick")
def test_a_job_that_takes_longer_than_it_may_has_no_pulse(folder):
    with Pulse(folder) as beating:
        path = pulse_file(folder, os.getpid())
        beating.allow(0)
        time.sleep(0.2)
        before = path.stat().st_mtime_ns
        time.sleep(0.2)
        assert path.stat().st_mtime_ns == before
        beating.allow(60)
        wait_until(lambda: path.stat().st_mtime_ns > before, "the next job had no pulse")
    assert not path.exists()


@pytest.mark.django_db
def test_readyz_names_the_silent_worker_until_another_begins(folder, now):
    heartbeat(worker="one", now=now)
    silent = folder / "worker-one-7.pulse"
    silent.touch()
    assert workers_check(now) == (True, "1 alive")
    os.utime(silent, (time.time() - HUNG_S - 2,) * 2)
    assert workers_check(now) == (False, "one-7 gave no sign of life for 47 s: restart it")
    with Pulse(folder):
        wait_until(lambda: pulse_file(folder, os.getpid()).exists(), "no pulse")
        assert workers_check(now) == (True, "1 alive")

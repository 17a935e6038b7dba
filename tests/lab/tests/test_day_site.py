"""The processes of a day under load: which of them ended by themselves."""

import os
import signal
import subprocess
import threading
import time
from pathlib import Path

import pytest

from tests.lab.load.day import site as site_module
from tests.lab.load.day.site import Site


@pytest.fixture
def site(tmp_path: Path):
    (tmp_path / "Procfile").write_text(
        "slow: sleep 60\nquick: sh -c 'echo begun; exec sleep 60'\n", encoding="utf-8"
    )
    made = Site(tmp_path, {}, tmp_path)
    yield made
    made.stop()


def until(is_so) -> None:
    ends = time.monotonic() + 20
    while not is_so():
        assert time.monotonic() < ends
        time.sleep(0.02)


def test_a_process_that_ends_by_itself_is_told_with_its_log_and_started_again(site: Site, monkeypatch):
    monkeypatch.setattr(site_module, "RESTART_S", 0.1)
    site.start()
    until(lambda: "begun" in site.log("quick"))
    first = site.pid("quick")
    os.killpg(first, signal.SIGKILL)
    until(lambda: site.pid("quick") != first)
    assert site.unasked == [{"name": "quick", "code": -signal.SIGKILL, "log": "begun\n"}]


def test_a_process_that_is_replaced_while_another_is_looked_at_has_not_ended_by_itself(
    site: Site, monkeypatch
):
    looks, goes_on = threading.Event(), threading.Event()
    poll = subprocess.Popen.poll

    def slow_poll(process: subprocess.Popen) -> int | None:
        if threading.current_thread() is site._watcher and process.pid == site.pid("slow"):
            looks.set()
            goes_on.wait(20)
        return poll(process)

    site.start()
    monkeypatch.setattr(subprocess.Popen, "poll", slow_poll)
    assert looks.wait(20)
    site.restart("quick")
    goes_on.set()
    time.sleep(0.5)
    assert site.unasked == []

"""The rate limit per host: one connection at a time and a pause, within a process and between two."""

import json
import os
import subprocess
import sys
import threading
import time
from itertools import pairwise
from pathlib import Path
from uuid import uuid4

import pytest
from django.core.cache import cache

from digest.feeds import rate_limit
from digest.feeds.entities import FeedProblem
from digest.feeds.rate_limit import HostLimiter, HostLock, HostQueue, LookupLock, hold_seconds

HOST = "a.example"


@pytest.fixture(autouse=True)
def locks_of_its_own(monkeypatch, settings, tmp_path):
    """A cache may be shared with other runs, and must not be emptied under them; nor a folder."""
    run, settings.VAR_DIR = uuid4(), tmp_path
    monkeypatch.setattr(rate_limit, "host_key", lambda host: f"test:{run}:{host}")


@pytest.fixture(params=["files", "cache"])
def locks(request, settings) -> None:
    """Locks in files of this machine, or in the cache that the settings name."""
    settings.REDIS_URL = "redis://its.example" if request.param == "cache" else ""


def test_a_host_is_taken_by_one_and_rests_after_it():
    gate = HostLimiter(gap_s=30, shared=False)
    assert gate.enter(HOST) == 0.0
    assert gate.enter(HOST) > 0 and gate.enter("b.example") == 0.0
    gate.leave(HOST)
    assert 0 < gate.enter(HOST) <= 30
    brief = HostLimiter(gap_s=0.05, shared=False)
    brief.enter(HOST)
    brief.leave(HOST)
    time.sleep(0.06)
    assert brief.enter(HOST) == 0.0


def test_a_host_that_wants_its_pause_gets_it():
    gate = HostLimiter(gap_s=0.0)
    gate.enter(HOST)
    gate.leave(HOST, hold_s=600)
    assert 590 < gate.enter(HOST) <= 600


def test_a_host_given_back_unvisited_needs_no_pause():
    gate = HostLimiter(gap_s=5.0)
    gate.enter(HOST)
    gate.leave_unvisited(HOST)
    assert gate.enter(HOST) == 0.0


@pytest.mark.usefixtures("locks")
def test_another_process_waits_while_we_visit_and_rest(monkeypatch):
    ours = HostLimiter(gap_s=5.0)
    assert ours.enter(HOST) == 0.0
    monkeypatch.setattr(rate_limit, "_PROCESS", "another process")
    theirs = HostLimiter(gap_s=5.0)
    assert theirs.enter(HOST) == 5.0
    ours.leave(HOST)
    monkeypatch.setattr(rate_limit, "_PROCESS", "yet another")
    assert HostLimiter(gap_s=5.0).enter(HOST) == 5.0


@pytest.mark.usefixtures("locks")
def test_another_process_knows_how_long_a_host_pauses(monkeypatch):
    ours = HostLimiter(gap_s=5.0)
    assert ours.enter(HOST) == 0.0
    ours.leave(HOST, hold_s=600)
    monkeypatch.setattr(rate_limit, "_PROCESS", "another process")
    assert 590 < HostLimiter(gap_s=5.0).enter(HOST) <= 600


@pytest.mark.usefixtures("locks")
def test_a_process_that_was_forked_from_ours_is_another(monkeypatch):
    assert HostLimiter(gap_s=5.0).enter(HOST) == 0.0
    assert HostLimiter(gap_s=5.0).enter(HOST) == 0.0  # we may come again
    monkeypatch.setattr(os, "getpid", lambda: 1)
    assert HostLimiter(gap_s=5.0).enter(HOST) == 5.0


@pytest.mark.usefixtures("locks")
def test_a_host_given_back_unvisited_is_soon_free_for_others(monkeypatch):
    ours = HostLimiter(gap_s=0.05)
    ours.enter(HOST)
    ours.leave_unvisited(HOST)
    monkeypatch.setattr(rate_limit, "_PROCESS", "another process")
    time.sleep(1.1)  # a cache counts in whole seconds
    assert HostLimiter(gap_s=0.05).enter(HOST) == 0.0


VISITS = """
import sys, time
from digest.feeds.rate_limit import HostLimiter
gate = HostLimiter(gap_s=0.2)
print("ready", flush=True)
sys.stdin.readline()
for _ in range(3):
    while wait := gate.enter("a.example"):
        time.sleep(min(wait, 0.01))
    print(time.monotonic(), flush=True)
    time.sleep(0.05)
    print(time.monotonic(), flush=True)
    gate.leave("a.example")
"""


def test_two_processes_without_a_service_never_meet_at_a_host(tmp_path: Path):
    """As `serve` runs them: the site, with readers' lookups, and its worker."""
    place = {"TIDINGS_VAR_DIR": str(tmp_path), "REDIS_URL": "", "TIDINGS_ENV_FILE": ""}
    env = os.environ | place | {"DJANGO_SETTINGS_MODULE": "config.settings"}
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    both = [subprocess.Popen([sys.executable, "-c", VISITS], env=env, **pipes) for _ in range(2)]
    assert [process.stdout.readline() for process in both] == ["ready\n"] * 2
    for process in both:
        process.stdin.write("go\n")
        process.stdin.flush()
    times = [[float(at) for at in process.communicate(timeout=30)[0].split()] for process in both]
    visits = sorted((at[n], at[n + 1]) for at in times for n in range(0, 6, 2))
    assert len(visits) == 6
    assert all(later[0] - earlier[1] >= 0.19 for earlier, later in pairwise(visits))


def test_locks_stay_few_and_end(tmp_path: Path, monkeypatch):
    locks = rate_limit.FileLocks(tmp_path / "hosts")
    for n in range(1_000):
        assert locks.take(f"{n}.example", 0.0)
    files = list((tmp_path / "hosts").iterdir())
    assert len(files) <= rate_limit.LOCK_FILES
    assert sum(len(json.loads(file.read_text())) for file in files) <= rate_limit.LOCK_FILES


@pytest.mark.parametrize("torn", ["", "{", "[]", '{"a": 1}', "\0"])
def test_locks_that_cannot_be_read_are_none(tmp_path: Path, torn: str):
    locks = rate_limit.FileLocks(tmp_path / "hosts")
    locks.hold(HOST, 60.0)
    next((tmp_path / "hosts").iterdir()).write_text(torn)
    assert locks.take(HOST, 60.0)


def test_a_clock_that_was_set_back_keeps_nobody_away(monkeypatch):
    monkeypatch.setattr(rate_limit, "_PROCESS", "another process")
    with monkeypatch.context() as patch:
        ahead = time.time() + 40 * 24 * 3600
        patch.setattr(rate_limit.time, "time", lambda: ahead)
        rate_limit.host_hold(HOST, 60.0)
    monkeypatch.setattr(rate_limit, "_PROCESS", "us")
    assert rate_limit.host_take(HOST, 60.0)


def test_without_a_disk_each_process_limits_itself(settings, tmp_path: Path):
    (tmp_path / "hosts").write_text("no folder")
    gate = HostLimiter(gap_s=5.0)
    assert gate.enter(HOST) == 0.0
    gate.leave(HOST)
    assert gate.enter(HOST) > 0


def test_with_a_broken_cache_each_process_limits_itself(monkeypatch, settings):
    settings.REDIS_URL = "redis://its.example"

    def broken(*args: object, **kwargs: object) -> None:
        raise ConnectionError("no cache")

    for name in ("add", "get", "set"):
        monkeypatch.setattr(cache, name, broken)
    gate = HostLimiter(gap_s=5.0)
    assert gate.enter(HOST) == 0.0
    gate.leave(HOST)
    assert gate.enter(HOST) > 0


def test_many_threads_never_meet_at_a_host():
    gate, inside, most = HostLimiter(gap_s=0.0), [0], [0]

    def visit() -> None:
        for _ in range(50):
            while gate.enter(HOST):
                time.sleep(0.001)
            inside[0] += 1
            most[0] = max(most[0], inside[0])
            inside[0] -= 1
            gate.leave(HOST)

    threads = [threading.Thread(target=visit) for _ in range(8)]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
    assert most == [1]


def test_a_lock_that_moves_on_leaves_the_first_host_and_takes_the_second():
    gate = HostLimiter(gap_s=0.0)
    gate.enter(HOST)
    lock = HostLock(gate, HOST)
    lock.move_to("b.example", until=time.monotonic() + 1)
    assert gate.enter(HOST) == 0.0 and gate.enter("b.example") > 0
    lock.release()
    assert gate.enter("b.example") == 0.0


def test_a_lock_does_not_wait_for_ever_for_the_next_host():
    gate = HostLimiter(gap_s=0.0)
    gate.enter(HOST), gate.enter("b.example")
    lock = HostLock(gate, HOST)
    with pytest.raises(FeedProblem, match="host_busy"):
        lock.move_to("b.example", until=time.monotonic() + 0.1)
    lock.release()
    assert gate.enter(HOST) == 0.0 and gate.enter("b.example") > 0


def test_the_queue_goes_round_the_hosts_and_keeps_the_order_within_one():
    queue = HostQueue([("a", 1), ("a", 2), ("b", 3), ("a", 4)])
    gate = HostLimiter(gap_s=0.0)
    assert [queue.next(gate), queue.next(gate), queue.next(gate)] == [("a", 1), ("b", 3), None]
    for host in ("a", "b"):
        gate.leave(host)
        queue.requeue(host)
    assert (queue.next(gate), queue.next(gate), len(queue)) == (("a", 2), None, 1)


@pytest.mark.parametrize(("said", "rests"), [(None, 300.0), (10.0, 10.0), (86_400.0, 900.0)])
def test_one_path_that_asks_for_a_day_keeps_its_hosts_other_feeds_for_a_quarter_of_an_hour(said, rests):
    """The owner of one page on a shared host decides that page's answer."""
    problem = FeedProblem("http_429", "It wants a pause.", retry_after_s=said)
    assert hold_seconds(problem) == rests
    assert hold_seconds(FeedProblem("http_503", "It is busy.", retry_after_s=said)) == 0.0


def test_a_lookup_that_takes_long_leaves_its_host_to_others_as_long_again(own_cache: None, monkeypatch):
    """One slow page of a host with many feeds, looked up again and again, would keep all of them away."""
    clock = [100.0]
    monkeypatch.setattr(rate_limit.time, "monotonic", lambda: clock[0])
    limiter = HostLimiter(gap_s=0.0)
    for took_s, rests in ((11.0, True), (9.0, False)):
        host = f"{took_s}.example"
        mallory = LookupLock(limiter, pause_s=0.0, who="Mallory")
        mallory.move_to(host, until=clock[0] + 20)
        clock[0] += took_s
        mallory.release()
        again = LookupLock(limiter, pause_s=0.0, who="Mallory")
        if rests:
            with pytest.raises(FeedProblem):
                again.move_to(host, until=clock[0] + 20)
        else:
            again.move_to(host, until=clock[0] + 20)
            again.release()
        LookupLock(limiter, pause_s=0.0, who="Ada").move_to(host, until=clock[0] + 20)

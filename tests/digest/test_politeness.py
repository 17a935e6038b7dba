"""One visitor at a time, and a pause after each: within a process and between two."""

import threading
import time
from uuid import uuid4

import pytest
from django.core.cache import cache

from digest import politeness
from digest.feeds import FeedProblem
from digest.politeness import HostGate, HostQueue, Visit

HOST = "a.example"


@pytest.fixture(autouse=True)
def keys_of_its_own(monkeypatch):
    """A cache may be shared with other runs, and must not be emptied under them."""
    run = uuid4()
    monkeypatch.setattr(politeness, "_key", lambda host: f"test:{run}:{host}")


def test_a_host_is_taken_by_one_and_rests_after_it():
    gate = HostGate(gap_s=30, shared=False)
    assert gate.enter(HOST) == 0.0
    assert gate.enter(HOST) > 0 and gate.enter("b.example") == 0.0
    gate.leave(HOST)
    assert 0 < gate.enter(HOST) <= 30
    brief = HostGate(gap_s=0.05, shared=False)
    brief.enter(HOST)
    brief.leave(HOST)
    time.sleep(0.06)
    assert brief.enter(HOST) == 0.0


def test_a_host_that_wants_its_pause_gets_it():
    gate = HostGate(gap_s=0.0)
    gate.enter(HOST)
    gate.leave(HOST, hold_s=600)
    assert 590 < gate.enter(HOST) <= 600


def test_a_host_given_back_unvisited_needs_no_pause():
    gate = HostGate(gap_s=5.0)
    gate.enter(HOST)
    gate.forgo(HOST)
    assert gate.enter(HOST) == 0.0


def test_another_process_waits_while_we_visit_and_rest(monkeypatch):
    ours = HostGate(gap_s=5.0)
    assert ours.enter(HOST) == 0.0
    monkeypatch.setattr(politeness, "_US", "another process")
    theirs = HostGate(gap_s=5.0)
    assert theirs.enter(HOST) == 5.0
    ours.leave(HOST)
    monkeypatch.setattr(politeness, "_US", "yet another")
    assert HostGate(gap_s=5.0).enter(HOST) == 5.0


def test_a_broken_cache_leaves_each_process_polite(monkeypatch):
    def broken(*args: object, **kwargs: object) -> None:
        raise ConnectionError("no cache")

    for name in ("add", "get", "set"):
        monkeypatch.setattr(cache, name, broken)
    gate = HostGate(gap_s=5.0)
    assert gate.enter(HOST) == 0.0
    gate.leave(HOST)
    assert gate.enter(HOST) > 0


def test_many_threads_never_meet_at_a_host():
    gate, inside, most = HostGate(gap_s=0.0), [0], [0]

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


def test_a_visit_that_moves_on_leaves_the_first_host_and_takes_the_second():
    gate = HostGate(gap_s=0.0)
    gate.enter(HOST)
    visit = Visit(gate, HOST)
    visit.go("b.example", until=time.monotonic() + 1)
    assert gate.enter(HOST) == 0.0 and gate.enter("b.example") > 0
    visit.end()
    assert gate.enter("b.example") == 0.0


def test_a_visit_does_not_wait_for_ever_for_the_next_host():
    gate = HostGate(gap_s=0.0)
    gate.enter(HOST), gate.enter("b.example")
    visit = Visit(gate, HOST)
    with pytest.raises(FeedProblem, match="host_busy"):
        visit.go("b.example", until=time.monotonic() + 0.1)
    visit.end()
    assert gate.enter(HOST) == 0.0 and gate.enter("b.example") > 0


def test_the_queue_goes_round_the_hosts_and_keeps_the_order_within_one():
    queue = HostQueue([("a", 1), ("a", 2), ("b", 3), ("a", 4)])
    gate = HostGate(gap_s=0.0)
    assert [queue.next(gate), queue.next(gate), queue.next(gate)] == [("a", 1), ("b", 3), None]
    for host in ("a", "b"):
        gate.leave(host)
        queue.again(host)
    assert (queue.next(gate), queue.next(gate), len(queue)) == (("a", 2), None, 1)

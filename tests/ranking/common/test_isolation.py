"""One row's failure is recorded and counted, and the others are done; so are the parts of a job."""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context

import pytest
from billiard.exceptions import SoftTimeLimitExceeded
from django.core.management.base import CommandError
from hypothesis import given
from hypothesis import strategies as st

from ranking.common.isolation import READER, Parts, failures_collected, isolate, isolate_batches
from tests.support.logs import lines, logged


@given(st.lists(st.booleans(), max_size=30), st.integers(1, 7))
def test_whoever_fails_the_others_are_done_once_and_in_order(bad: list[bool], size: int):
    done: list[int] = []

    def work(keys: Sequence[int]) -> Sequence[int]:
        if any(bad[key] for key in keys):
            raise ValueError("bad")
        done.extend(keys)
        return keys

    keys = list(range(len(bad)))
    with failures_collected() as failed:
        found = [key for some in isolate_batches(keys, work, event="x", size=size) for key in some]
    assert found == done == [key for key in keys if not bad[key]]
    assert list(failed.errors) == [(READER, str(key)) for key in keys if bad[key]]


def test_the_time_limit_of_a_task_is_nobodys_failure():
    def late(keys: Sequence[int]) -> None:
        raise SoftTimeLimitExceeded

    with failures_collected() as failed:
        with pytest.raises(SoftTimeLimitExceeded):
            list(isolate_batches([1, 2], late, event="x"))
        with pytest.raises(SoftTimeLimitExceeded), isolate(READER, 1, "x"):
            raise SoftTimeLimitExceeded
    assert failed.count == 0


def test_failures_are_told_by_whoever_collects_them_nearest():
    with failures_collected() as outer, failures_collected() as inner, isolate(READER, "ada", "x"):
        raise KeyError("no such row")
    assert (outer.count, inner.count) == (0, 1)
    outer.exit_if_any()
    with pytest.raises(CommandError, match=r"1 reader; the others are done\. Reader ada: KeyError"):
        inner.exit_if_any()
    assert inner.as_dict() == {
        "failed": 1,
        "errors": [{"reader_id": "ada", "error": "KeyError: 'no such row'"}],
    }


def test_without_a_collector_a_failure_is_logged_and_no_more(caplog):
    with isolate(READER, "ada", "x_failed"):
        raise KeyError("no such row")
    assert "x_failed" in caplog.text and "ada" in caplog.text


def fails() -> None:
    raise ValueError("no luck")


def test_a_part_that_fails_ends_no_other_and_is_raised_at_the_end():
    parts = Parts("the night")
    assert parts.run("one", lambda: 1) == 1
    assert parts.run("two", fails) is None
    assert parts.run("three", lambda: 3) == 3
    assert parts.run("four", fails) is None
    with pytest.raises(ValueError, match="no luck") as raised:
        parts.end()
    assert raised.value.__notes__ == ["the night: these parts failed: two, four"]


def test_where_nothing_failed_nothing_is_raised():
    parts = Parts("the night")
    assert parts.run("one", lambda: 1) == 1
    assert parts.end() is None


def test_a_worker_that_is_asked_to_stop_stops():
    def stops() -> None:
        raise SoftTimeLimitExceeded

    with pytest.raises(SoftTimeLimitExceeded):
        Parts("the night").run("one", stops)


def test_rows_of_different_kinds_are_told_apart():
    with failures_collected() as failed:
        for what, key in (("feed", 7), ("mail", 7), ("mail", 8)):
            with isolate(what, key, "x_failed") as attempt:
                raise ValueError("bad")
            assert isinstance(attempt.error, ValueError)
    assert failed.counts() == {"feeds_failed": 1, "mails_failed": 2}
    assert failed.as_dict()["errors"][0] == {"feed_id": "7", "error": "ValueError: bad"}
    assert failed.words() == "It failed for 1 feed, 2 mails; the others are done. Feed 7: ValueError: bad"


def test_an_error_of_what_is_shared_is_raised():
    with pytest.raises(OSError, match="gone"), isolate("mail", 1, "x", but=(OSError,)):
        raise OSError("gone")


def test_one_bad_row_in_a_hundred_costs_fourteen_calls_more():
    calls: list[int] = []

    def work(keys: Sequence[int]) -> Sequence[int]:
        calls.append(len(keys))
        if 37 in keys:
            raise ValueError("bad")
        return keys

    found = [key for some in isolate_batches(range(100), work, event="x") for key in some]
    assert found == [key for key in range(100) if key != 37]
    assert len(calls) <= 15


def test_what_threads_fail_at_is_collected_if_they_run_in_the_context():
    def fail(key: int) -> None:
        with isolate("feed", key, "x"):
            raise ValueError("bad")

    with failures_collected() as failed, ThreadPoolExecutor(2) as pool:
        for key in range(3):
            pool.submit(copy_context().run, fail, key)
    assert failed.counts() == {"feeds_failed": 3}


def test_only_the_row_that_fails_alone_is_an_error_with_its_trace():
    """The halves tried on the way to it are a line each: an operator finds one trace, not seven."""

    def work(keys: Sequence[int]) -> None:
        if 37 in keys:
            raise ValueError("bad")

    with logged() as log:
        list(isolate_batches(range(100), work, event="x_failed"))
    *on_the_way, last = lines(log)
    assert {one["level"] for one in on_the_way} == {"warning"}
    assert not any("exception" in one for one in on_the_way)
    assert (last["level"], last["reader_id"]) == ("error", "37") and "ValueError: bad" in last["exception"]

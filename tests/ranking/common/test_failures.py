"""One reader's failure is recorded and counted, and the other readers are done."""

from collections.abc import Sequence

import pytest
from billiard.exceptions import SoftTimeLimitExceeded
from django.core.management.base import CommandError
from hypothesis import given
from hypothesis import strategies as st

from ranking.common.failures import batches_apart, failures_collected, reader_apart


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
        found = [key for some in batches_apart(keys, work, event="x", size=size) for key in some]
    assert found == done == [key for key in keys if not bad[key]]
    assert list(failed.errors) == [str(key) for key in keys if bad[key]]


def test_the_time_limit_of_a_task_is_nobodys_failure():
    def late(keys: Sequence[int]) -> None:
        raise SoftTimeLimitExceeded

    with failures_collected() as failed:
        with pytest.raises(SoftTimeLimitExceeded):
            list(batches_apart([1, 2], late, event="x"))
        with pytest.raises(SoftTimeLimitExceeded), reader_apart(1, "x"):
            raise SoftTimeLimitExceeded
    assert failed.count == 0


def test_failures_are_told_by_whoever_collects_them_nearest():
    with failures_collected() as outer, failures_collected() as inner, reader_apart("ada", "x"):
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
    with reader_apart("ada", "x_failed"):
        raise KeyError("no such row")
    assert "x_failed" in caplog.text and "ada" in caplog.text

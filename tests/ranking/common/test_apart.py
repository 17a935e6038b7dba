"""If one part of a task fails, the others still run."""

import pytest
from billiard.exceptions import SoftTimeLimitExceeded

from ranking.common.apart import Apart


def fails() -> None:
    raise ValueError("no luck")


def test_a_part_that_fails_ends_no_other_and_is_raised_at_the_end():
    apart = Apart("the night")
    assert apart.run("one", lambda: 1) == 1
    assert apart.run("two", fails) is None
    assert apart.run("three", lambda: 3) == 3
    assert apart.run("four", fails) is None
    with pytest.raises(ValueError, match="no luck") as raised:
        apart.end()
    assert raised.value.__notes__ == ["the night: these parts failed: two, four"]


def test_where_nothing_failed_nothing_is_raised():
    apart = Apart("the night")
    assert apart.run("one", lambda: 1) == 1
    assert apart.end() is None


def test_a_worker_that_is_asked_to_stop_stops():
    def stops() -> None:
        raise SoftTimeLimitExceeded

    with pytest.raises(SoftTimeLimitExceeded):
        Apart("the night").run("one", stops)

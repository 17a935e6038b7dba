"""A pytest plugin: end a process of the tests that hangs while it puts a test away, and close its browser."""

import faulthandler

import pytest
from _pytest.faulthandler import fault_handler_stderr_fd_key

from tests.support.chromium import chromium_close

# pytest-timeout limits a test, but not the teardown after a failed one.
PUT_AWAY_S = 300


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Close the browser before a test that needs none, since its driver keeps an event loop running."""
    if not item.get_closest_marker("browser"):
        chromium_close()


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_teardown(item: pytest.Item) -> None:
    """Restart the clock: the next teardown must begin within PUT_AWAY_S."""
    _end_when_late(item.config)


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Close the browser, and stop the clock when that is done."""
    _end_when_late(session.config)
    chromium_close()
    faulthandler.cancel_dump_traceback_later()


def _end_when_late(config: pytest.Config) -> None:
    """After PUT_AWAY_S print the stacks of all threads and exit, unless this is called again before."""
    terminal = config.stash[fault_handler_stderr_fd_key]
    faulthandler.dump_traceback_later(PUT_AWAY_S, exit=True, file=terminal)

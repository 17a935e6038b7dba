"""One Chromium for all files of a process, closed before the first test without one; waits for its pages."""

import os
import shutil
from collections.abc import Callable
from dataclasses import dataclass

from playwright.sync_api import Browser, Page, Playwright, sync_playwright

CHROMIUM = "/usr/bin/chromium"
# The browser without windows, if it is installed: a page takes a quarter less.
LEAN = shutil.which("chromium-headless-shell") or CHROMIUM
# Chromium contacts its maker's servers by itself, and would wait for a name server that does not answer.
NO_NAMES = "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE localhost, EXCLUDE 127.0.0.1"
# A page of a test lives for a second: code that is made faster for later costs a fifth and is never used.
NO_LATER = "--js-flags=--no-opt"
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", NO_NAMES, NO_LATER]
ASYNC_UNSAFE = "DJANGO_ALLOW_ASYNC_UNSAFE"
# The scripts of a page listen, and no part of it waits for the server's answer.
SETTLED = (
    """() => document.documentElement.dataset.scripts === "ready" && !document.querySelector("[data-busy]")"""
)
POLL_MS, POLLS = 50, 200


@dataclass
class _Running:
    """The driver and its browsers, by program and the flags they were started with."""

    driver: Playwright
    browsers: dict[tuple[str, ...], Browser]


_running: list[_Running] = []


def chromium(*more: str, program: str = LEAN) -> Browser:
    """Return the browser with these further flags. Start it if it does not run.

    Its driver keeps an event loop in this thread, so Django must allow that.
    """
    if not _running:
        os.environ[ASYNC_UNSAFE] = "true"
        _running.append(_Running(sync_playwright().start(), {}))
    browsers = _running[0].browsers
    key = (program, *more)
    if key not in browsers:
        launch = _running[0].driver.chromium.launch
        browsers[key] = launch(executable_path=program, args=[*FLAGS, *more])
    return browsers[key]


def chromium_close() -> None:
    """End the browsers and their driver: other tests have event loops of their own."""
    while _running:
        running = _running.pop()
        for browser in running.browsers.values():
            browser.close()
        running.driver.stop()
        del os.environ[ASYNC_UNSAFE]


def listening(page: Page) -> None:
    """Wait until the scripts of the page listen. Sooner, a key acts late, and a click sends a plain form."""
    page.wait_for_selector("html[data-scripts=ready]", state="attached")


def until(page: Page, found: Callable[[], object], wanted: object = True) -> None:
    """Wait until the database says `wanted` and the page shows it.

    The database says it first. A key or click before the page does would be about the page before.
    """
    for _ in range(POLLS):
        if found() == wanted:
            break
        page.wait_for_timeout(POLL_MS)
    assert found() == wanted
    page.wait_for_function(SETTLED)

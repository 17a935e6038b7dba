"""Test gunicorn with our settings: a reload delays nobody, and code that does not start harms nobody.

It depends on the clock, so `make day` runs it, not the suite.
"""

import os
import signal
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.config.test_serve import children_of, fetched, port_free

ROOT = Path(__file__).resolve().parents[3]
PATIENCE_S = 60.0
LOADING_S = 2.0
APP = """
import time
time.sleep({sleep})
{more}
def application(environ, start):
    start("200 OK", [])
    return [b"{name}"]
"""

pytestmark = pytest.mark.skipif(not find_spec("gunicorn"), reason="the extra `server` is not installed")


def written(folder: Path, name: str, *, sleep: float = 0.0, more: str = "") -> None:
    (folder / "site_of_one.py").write_text(APP.format(name=name, sleep=sleep, more=more))


def answers(url: str, until: str) -> float:
    """Ask until `until` has answered five times in a row; the longest that anybody waited, in seconds."""
    longest, row, end = 0.0, 0, time.monotonic() + PATIENCE_S
    while row < 5:
        began = time.monotonic()
        with urllib.request.urlopen(url, timeout=PATIENCE_S) as answer:
            row = row + 1 if answer.read() == until.encode() else 0
        longest = max(longest, time.monotonic() - began)
        assert time.monotonic() < end, f"{until} does not answer"
    return longest


def gone(master: int, old: set[int]) -> None:
    """Wait until the old processes have left: until then they answer, too."""
    end = time.monotonic() + PATIENCE_S
    while old & set(children_of(master)):
        assert time.monotonic() < end, "the old processes stay"
        time.sleep(0.1)


@contextmanager
def site_of_one(folder: Path, requests: int = 5000) -> Iterator[tuple[subprocess.Popen[bytes], str, Path]]:
    """gunicorn by our settings with the app in `folder`, its address and its log."""
    for name in ("deploy", "config"):
        (folder / name).mkdir()
    text = (ROOT / "deploy/gunicorn.conf.py").read_text()
    assert "REQUESTS = 5000\n" in text
    (folder / "deploy/gunicorn.conf.py").write_text(text.replace("REQUESTS = 5000", f"REQUESTS = {requests}"))
    (folder / "config/__init__.py").touch()
    (folder / "config/readiness.py").write_text("def process_warm_up():\n    pass\n")
    port, log = port_free(), folder / "log"
    more = {"BIND": f"127.0.0.1:{port}", "TIDINGS_VAR_DIR": str(folder), "WEB_WORKERS": "2"}
    more |= {
        "PWD": str(folder),
        "PYTHONDONTWRITEBYTECODE": "1",
        "PROMETHEUS_MULTIPROC_DIR": str(folder / "counts"),
    }
    command = [sys.executable, "-m", "gunicorn", "--config", "deploy/gunicorn.conf.py"]
    with log.open("w") as said:
        site = subprocess.Popen(
            [*command, "site_of_one:application"], cwd=folder, env=os.environ | more, stderr=said
        )
    try:
        yield site, f"http://127.0.0.1:{port}/", log
    finally:
        site.terminate()
        try:
            site.wait(PATIENCE_S)
        finally:
            site.kill()


def test_a_reload_keeps_nobody_waiting_and_code_that_does_not_start_harms_nobody(tmp_path):
    written(tmp_path, "first")
    with site_of_one(tmp_path) as (site, url, log):
        assert fetched(url) == b"first"
        written(tmp_path, "second", sleep=LOADING_S)
        old = set(children_of(site.pid))
        site.send_signal(signal.SIGHUP)
        assert answers(url, "second") < LOADING_S
        gone(site.pid, old)

        written(tmp_path, "third", more="raise RuntimeError('no ink')")
        site.send_signal(signal.SIGHUP)
        end = time.monotonic() + PATIENCE_S
        while "the old goes on" not in log.read_text():
            assert time.monotonic() < end, log.read_text()
            assert fetched(url) == b"second"
        assert fetched(url) == b"second" and site.poll() is None
        assert "no ink" in log.read_text()


def test_a_process_that_answered_enough_leaves_once_another_answers(tmp_path):
    written(tmp_path, "first")
    with site_of_one(tmp_path, requests=50) as (site, url, _):
        assert fetched(url) == b"first"
        old = set(children_of(site.pid))
        written(tmp_path, "first", sleep=LOADING_S)
        longest, end = 0.0, time.monotonic() + PATIENCE_S
        while old & set(children_of(site.pid)):
            longest = max(longest, answers(url, "first"))
            assert time.monotonic() < end, "the old processes stay"
        assert longest < LOADING_S and len(children_of(site.pid)) >= 2

"""How the web processes run, for the Procfile, the systemd unit and the image alike.

Reload with SIGHUP: processes of the new code start beside the old ones, which finish what they were asked and
leave once the new ones can answer; where new code does not start, the old goes on. Nothing of Tidings may be
imported by the master: what it has loaded, a reload would not load again.
"""

import os
import signal
import time
from itertools import count
from mmap import mmap
from pathlib import Path
from typing import Any

# Where a symbolic link leads to the release, the release itself: what an old process loads late is its own.
chdir = str(Path(__file__).resolve().parent.parent)
bind = os.environ.get("BIND", "127.0.0.1:8000")
workers = int(os.environ.get("WEB_WORKERS", "2"))
# Seven may wait for others (see `digest.feeds.discovery`); one never does.
threads = 8
# A page that takes a minute has failed; a request for suggestions waits 30 s at most.
timeout = 60
graceful_timeout = 45
# Whatever a process loses track of, it loses after so many requests, to a successor that can answer by then.
# Not by `max_requests`: there the next one starts when the last one has left, and nobody answers meanwhile.
REQUESTS = 5000
# Nobody talks to the master but by signals; the socket would be made in a home it may not have.
control_socket_disable = True

# Where the processes count requests together, so that /metrics tells of all of them whichever is asked.
BESIDE = os.environ.get("TIDINGS_VAR_DIR") or "var"
COUNTS = Path(os.environ.get("PROMETHEUS_MULTIPROC_DIR") or f"{BESIDE}/requests").absolute()
os.environ["PROMETHEUS_MULTIPROC_DIR"] = str(COUNTS)

# A byte for each process that was started since this file was read: 1 once it can answer.
LOADED = mmap(-1, 1024)
# What new code may take to load on a busy machine.
PATIENCE_S = 120.0


def on_starting(server: Any) -> None:
    """Begin to count at nothing; a reload goes on counting."""
    COUNTS.mkdir(parents=True, exist_ok=True)
    for kind in ("counter", "histogram"):
        for old in COUNTS.glob(f"{kind}_*.db"):
            old.unlink()


def on_reload(server: Any) -> None:
    """Start the new processes and wait until they can answer; only then gunicorn tells the old ones to leave.

    By itself it would tell them at once, and whoever came meanwhile would wait for the code to load.
    """
    before, age = set(server.WORKERS), server.worker_age
    for _ in range(server.cfg.workers):
        server.spawn_worker()
    fresh = [pid for pid in server.WORKERS if pid not in before]
    slots = [server.WORKERS[pid].slot for pid in fresh]
    # What follows would start as many again; the next reload reads this file anew.
    server.cfg.set("workers", 0)
    end = time.monotonic() + PATIENCE_S
    while not all(LOADED[slot] for slot in slots):
        if time.monotonic() > end or any(_ended(pid) for pid in fresh):
            server.log.error("The new code does not start; the old goes on. What it said stands above.")
            for pid in fresh:
                _forget(server, pid)
            return
        time.sleep(0.05)
    # gunicorn waits until none is left that is no younger than this.
    server.worker_age = age


def post_worker_init(worker: Any) -> None:
    """The code is loaded: take requests. A successor has the oldest process leave, which finishes its own."""
    LOADED[worker.slot] = 1
    if worker.is_successor:
        os.kill(worker.ppid, signal.SIGTTOU)


def post_request(worker: Any, req: Any, environ: Any, resp: Any) -> None:
    """Ask for a successor of the oldest process, after each so many requests of this one."""
    if next(worker.answered) % REQUESTS == 0:
        os.kill(worker.ppid, signal.SIGTTIN)


def _ended(pid: int) -> bool:
    """Whether a child has ended, without burying it."""
    return os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None


def _forget(server: Any, pid: int) -> None:
    """End and bury a process that gunicorn would take for a sign that nothing can start."""
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    worker = server.WORKERS.pop(pid)
    worker.tmp.close()


def pre_fork(server: Any, worker: Any) -> None:
    """Give each process the lowest number nobody has.

    Its successor goes on in the same file: with one for each process id, every restart would leave files that
    each look at /metrics has to read.
    """
    taken = {other.slot for other in server.WORKERS.values()}
    worker.slot = next(n for n in range(len(taken) + 1) if n not in taken)
    LOADED[worker.slot] = 0
    worker.is_successor, worker.answered = server.num_workers > workers, count(1)


def post_fork(server: Any, worker: Any) -> None:
    """Count under that number, before the code that counts is loaded."""
    from prometheus_client import values  # noqa: PLC0415  # after the fork: the master counts nothing

    values.ValueClass = values.MultiProcessValue(process_identifier=lambda: worker.slot)

"""Configure gunicorn for the Procfile, the systemd unit and the image.

Reload with SIGHUP. New processes start beside the old ones. When they can answer, the old ones finish their
requests and stop. If the new code does not start, the old processes go on. The master must not import any
module of Tidings, because a reload would keep the master's old copy.
"""

import os
import signal
import time
from itertools import count
from mmap import mmap
from pathlib import Path
from typing import Any

# Resolve a symbolic link to the release it points to, so that an old process keeps importing its own code.
chdir = str(Path(__file__).resolve().parent.parent)
bind = os.environ.get("BIND", "127.0.0.1:8000")
workers = int(os.environ.get("WEB_WORKERS", "2"))
# At most fifteen threads may wait for others or do long work (see `digest.places`); one is always free.
threads = 16
# A page that takes a minute has failed. A request for suggestions waits 30 s at most.
timeout = 60
graceful_timeout = 45
# Replace a process after this many requests, to free memory that it leaked. gunicorn's `max_requests` would
# stop the old process before the new one can answer.
REQUESTS = 5000
# The master is controlled by signals. gunicorn would create its socket in a home directory that may not
# exist.
control_socket_disable = True

# The folder in which all processes count requests, so that any of them can answer /metrics for all.
BESIDE = os.environ.get("TIDINGS_VAR_DIR") or "var"
COUNTS = Path(os.environ.get("PROMETHEUS_MULTIPROC_DIR") or f"{BESIDE}/requests").absolute()
os.environ["PROMETHEUS_MULTIPROC_DIR"] = str(COUNTS)

# One byte for each process slot, shared with the processes: 1 once the process can answer.
LOADED = mmap(-1, 1024)
# How long new code may take to load on a busy machine.
PATIENCE_S = 120.0


def on_starting(server: Any) -> None:
    """Reset the request counters when the master starts. A reload keeps them."""
    COUNTS.mkdir(parents=True, exist_ok=True)
    for kind in ("counter", "histogram"):
        for old in COUNTS.glob(f"{kind}_*.db"):
            old.unlink()


def on_reload(server: Any) -> None:
    """Start the new processes and wait until they can answer, then let gunicorn stop the old ones.

    By itself gunicorn stops the old ones at once, and requests wait until the new code has loaded. If a new
    process ends, or does not answer within two minutes, kill the new ones and keep the old ones.
    """
    before, age = set(server.WORKERS), server.worker_age
    for _ in range(server.cfg.workers):
        server.spawn_worker()
    fresh = [pid for pid in server.WORKERS if pid not in before]
    slots = [server.WORKERS[pid].slot for pid in fresh]
    # gunicorn would start as many processes again after this hook. The next reload reads this file anew.
    server.cfg.set("workers", 0)
    end = time.monotonic() + PATIENCE_S
    while not all(LOADED[slot] for slot in slots):
        if time.monotonic() > end or any(_has_ended(pid) for pid in fresh):
            server.log.error("The new code does not start; the old goes on. Its error is in the log above.")
            for pid in fresh:
                _forget(server, pid)
            return
        time.sleep(0.05)
    # gunicorn waits until every process of at most this age has ended.
    server.worker_age = age


def post_worker_init(worker: Any) -> None:
    """Mark the process as loaded. A successor makes the oldest process finish its requests and stop."""
    LOADED[worker.slot] = 1
    if worker.is_successor:
        os.kill(worker.ppid, signal.SIGTTOU)


def post_request(worker: Any, req: Any, environ: Any, resp: Any) -> None:
    """Ask the master to replace the oldest process, after every 5,000 requests of this one."""
    if next(worker.answered) % REQUESTS == 0:
        os.kill(worker.ppid, signal.SIGTTIN)


def _has_ended(pid: int) -> bool:
    """Return whether a child process has ended, and leave it for gunicorn to reap."""
    return os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None


def _forget(server: Any, pid: int) -> None:
    """Kill and reap a new process. If gunicorn reaped it, the master would stop as well."""
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    worker = server.WORKERS.pop(pid)
    worker.tmp.close()


def pre_fork(server: Any, worker: Any) -> None:
    """Give each process the lowest free slot number.

    A successor counts in the file of the same number. With one file for each process id, every restart would
    leave files behind that each request of /metrics has to read.
    """
    taken = {other.slot for other in server.WORKERS.values()}
    worker.slot = next(n for n in range(len(taken) + 1) if n not in taken)
    LOADED[worker.slot] = 0
    worker.is_successor, worker.answered = server.num_workers > workers, count(1)


def post_fork(server: Any, worker: Any) -> None:
    """Make prometheus_client count in the file of the slot, before any counter is created."""
    from prometheus_client import values  # noqa: PLC0415  # only after the fork, as the master counts nothing

    values.ValueClass = values.MultiProcessValue(process_identifier=lambda: worker.slot)

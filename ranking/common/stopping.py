"""Whether a Celery worker must stop."""

from mmap import mmap

# One byte that a worker shares with its forked processes, which get no signal: 1 when the worker must stop.
# It has no lock, because a killed process might hold it.
_STOPPING = mmap(-1, 1)


def worker_stop() -> None:
    """Record that this worker must stop, for its processes too."""
    _STOPPING[0] = 1


def worker_is_stopping() -> bool:
    """Return whether the worker must stop. Long tasks call this between their parts."""
    return _STOPPING[0] == 1

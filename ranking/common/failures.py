"""Isolate readers in loops: log and count one reader's failure, and go on with the others.

Every loop over readers in a command or a scheduled job uses this, so that a bad row of one reader cannot cost
the others their digest, mail or learning. Commands, tasks and the nightly run collect these failures
(`failures_collected`) and report them in `--json` and the exit code, in the night's report, and by an alert.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any, TypeVar

import structlog
from billiard.exceptions import SoftTimeLimitExceeded  # Celery raises it; Celery itself is not needed
from django.core.management.base import CommandError
from django.db import InterfaceError, OperationalError, close_old_connections

log = structlog.get_logger(__name__)
Key = TypeVar("Key")
Result = TypeVar("Result")

# A batch of readers shares its queries. Larger batches gain little and hold more in memory.
TOGETHER = 100
ERROR_CHARS = 300


@dataclass(slots=True)
class Failures:
    """The readers for whom something failed, with the text of each one's last error."""

    errors: dict[str, str] = field(default_factory=dict)

    @property
    def count(self) -> int:
        """Return the number of readers for whom something failed."""
        return len(self.errors)

    def as_dict(self) -> dict[str, Any]:
        """Return `{"failed", "errors": [{"reader_id", "error"}]}`, for reports."""
        rows = [{"reader_id": reader_id, "error": error} for reader_id, error in self.errors.items()]
        return {"failed": self.count, "errors": rows}

    def words(self) -> str:
        """Return one line for people: how many readers failed, and the first error; "" if none did."""
        if not self.errors:
            return ""
        reader, error = next(iter(self.errors.items()))
        readers = "1 reader" if self.count == 1 else f"{self.count} readers"
        return f"It failed for {readers}; the others are done. Reader {reader}: {error}"

    def exit_if_any(self) -> None:
        """Raise `CommandError`, for exit code 1, if a reader failed."""
        if self.errors:
            raise CommandError(self.words())


_collecting: ContextVar[Failures | None] = ContextVar("failures_collecting", default=None)


@contextmanager
def failures_collected() -> Iterator[Failures]:
    """Collect the readers' failures within the block. An inner block keeps its own."""
    found = Failures()
    token = _collecting.set(found)
    try:
        yield found
    finally:
        _collecting.reset(token)


@contextmanager
def reader_apart(reader_id: object, event: str) -> Iterator[None]:
    """Log an error of the block as `event` and record it for this reader. Do not raise it.

    The time limit of the whole task is raised, because it is not the reader's error.
    """
    try:
        yield
    except SoftTimeLimitExceeded:
        raise
    except Exception as error:
        reader_failed(reader_id, event, error)


def reader_failed(reader_id: object, event: str, error: Exception) -> None:
    """Log `error` as `event` and record it for this reader.

    Close a broken database connection, so that the next reader gets a new one.
    """
    log.error(event, reader_id=str(reader_id), exc_info=error)
    if (found := _collecting.get()) is not None:
        found.errors[str(reader_id)] = f"{type(error).__name__}: {error}"[:ERROR_CHARS]
    if isinstance(error, OperationalError | InterfaceError):
        close_old_connections()


def batches_apart(
    keys: Sequence[Key],
    work: Callable[[Sequence[Key]], Result],
    *,
    event: str,
    size: int = TOGETHER,
    reader_of: Callable[[Key], object] = lambda key: key,
) -> Iterator[Result]:
    """Yield `work(batch)` for each batch of `keys`. If one fails, yield `work([key])` for its keys.

    A key that fails alone is recorded as its reader's failure and yields nothing. `work` must be safe to
    repeat: it writes in one transaction, or writes the same rows again.
    """
    for start in range(0, len(keys), size):
        some = keys[start : start + size]
        try:
            done = [work(some)]
        except SoftTimeLimitExceeded:
            raise
        except Exception as error:
            if len(some) == 1:
                reader_failed(reader_of(some[0]), event, error)
                continue
            log.warning(f"{event}_together", readers=len(some), exc_info=error)
            done = []
            for key in some:
                with reader_apart(reader_of(key), event):
                    done.append(work([key]))
        yield from done

"""Isolate one row from the others: log and record its failure, and go on.

Every loop over strangers' material uses this (readers, feeds, mails, texts, pages, notifications, imported
rows), and so do the parts of a job. One bad row cannot cost the others their digest, mail or learning.
Commands, tasks and the nightly run collect the failures (`failures_collected`). They report them in `--json`
and the exit code, in the night's report, and by an alert.

```
for item in items:
    with isolate("page", item.pk, "full_text_failed") as attempt:
        page_fetch(item)
    if attempt.error:
        ...  # what the row itself shows of it
```
"""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any, Self, TypeVar

import structlog
from billiard.exceptions import SoftTimeLimitExceeded  # Celery raises it; Celery itself is not needed
from django.db import InterfaceError, OperationalError, connections

from ranking.common.start import FailureReported

log = structlog.get_logger(__name__)
Key = TypeVar("Key")
Result = TypeVar("Result")

# A batch of rows shares its queries. Larger batches gain little and hold more in memory.
TOGETHER = 100
ERROR_CHARS = 300
READER = "reader"


@dataclass(slots=True)
class Failures:
    """The rows for which something failed: (kind of row, key) and the text of the last error of each."""

    errors: dict[tuple[str, str], str] = field(default_factory=dict)

    @property
    def count(self) -> int:
        """Return the number of rows for which something failed."""
        return len(self.errors)

    def counts(self) -> dict[str, int]:
        """Return `{"readers_failed": 1, "feeds_failed": 2}`, with the kinds that failed."""
        return {f"{what}s_failed": n for what, n in Counter(what for what, _ in self.errors).items()}

    def as_dict(self) -> dict[str, Any]:
        """Return `{"failed", "errors": [{"reader_id", "error"}]}`, for reports; other rows by their kind."""
        rows = [{f"{what}_id": key, "error": error} for (what, key), error in self.errors.items()]
        return {"failed": self.count, "errors": rows}

    def words(self) -> str:
        """Return one line for people: how many rows failed, and the first error; "" if none did."""
        if not self.errors:
            return ""
        (what, key), error = next(iter(self.errors.items()))
        kinds = Counter(one for one, _ in self.errors)
        failed = ", ".join(f"{n} {kind}" if n == 1 else f"{n} {kind}s" for kind, n in kinds.items())
        return f"It failed for {failed}; the others are done. {what.capitalize()} {key}: {error}"

    def exit_if_any(self) -> None:
        """Raise `FailureReported`, for exit code 1, if a row failed."""
        if self.errors:
            raise FailureReported(self.words())


_collecting: ContextVar[Failures | None] = ContextVar("failures_collecting", default=None)


@contextmanager
def failures_collected() -> Iterator[Failures]:
    """Collect the failures within the block. An inner block keeps its own.

    A thread that works for the block is submitted with `contextvars.copy_context().run`.
    """
    found = Failures()
    token = _collecting.set(found)
    try:
        yield found
    finally:
        _collecting.reset(token)


@dataclass(slots=True)
class isolate:
    """Log an error of the block as `event` and record it for the row `key` of kind `what`. Do not raise it.

    `what` is a noun that takes an s in the plural. The time limit of the whole task is raised, because it is
    not the row's error, and so are errors in `but`. A broken database connection is closed outside
    transactions, so that the next row gets a new one. With `counted` false the error is only logged, because
    the caller reports it; with `is_final` false in one line, as a warning, because the caller tries again.
    Afterwards `error` is the error, or None.
    """

    what: str
    key: object
    event: str
    but: tuple[type[Exception], ...] = ()
    counted: bool = True
    is_final: bool = True
    error: Exception | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> bool:
        if not isinstance(error, Exception) or isinstance(error, (SoftTimeLimitExceeded, *self.but)):
            return False
        self.error = error
        row = {f"{self.what}_id": str(self.key)}
        if self.is_final:
            log.error(self.event, **row, exc_info=error)
        else:
            log.warning(self.event, **row, error=f"{type(error).__name__}: {error}"[:ERROR_CHARS])
        if self.counted and (found := _collecting.get()) is not None:
            found.errors[self.what, str(self.key)] = f"{type(error).__name__}: {error}"[:ERROR_CHARS]
        if isinstance(error, OperationalError | InterfaceError):
            for connection in connections.all(initialized_only=True):
                # A transaction around the loop ends, or is rolled back, on the connection it began on.
                if not connection.in_atomic_block:
                    connection.close_if_unusable_or_obsolete()
        return True


def isolate_batches(
    keys: Sequence[Key],
    work: Callable[[Sequence[Key]], Result],
    *,
    event: str,
    what: str = READER,
    size: int = TOGETHER,
    key_of: Callable[[Key], object] = lambda key: key,
) -> Iterator[Result]:
    """Yield `work(batch)` for each batch of `keys`. If one fails, do the same with each half of it.

    So one bad key in a hundred costs fourteen calls more. A key that fails alone is recorded as the failure
    of the row `key_of(key)` and yields nothing. `work` must be safe to repeat: it writes in one transaction,
    or writes the same rows again.
    """
    for start in range(0, len(keys), size):
        some = keys[start : start + size]
        done: list[Result] = []
        alone = len(some) == 1
        key = key_of(some[0]) if alone else f"{len(some)} together"
        with isolate(what, key, event, counted=alone, is_final=alone) as attempt:
            done.append(work(some))
        if attempt.error and not alone:
            half = (len(some) + 1) // 2
            done += isolate_batches(some, work, event=event, what=what, size=half, key_of=key_of)
        yield from done


@dataclass(slots=True)
class Parts:
    """The parts of the job `where`, each isolated. `failures` has the errors of failed parts by name.

    ```
    parts = Parts("nightly cluster")
    parts.run("stories", lambda: stories_update(now=now))
    parts.run("vectors", lambda: item_vectors_update(now=now))
    parts.end()
    ```
    """

    where: str
    failures: dict[str, Exception] = field(default_factory=dict)

    def run(self, part: str, work: Callable[[], Result]) -> Result | None:
        """Return the result of `work`. If it fails, log and keep the error and return None."""
        with isolate("part", f"{self.where}: {part}", "part_failed", counted=False) as attempt:
            return work()
        if attempt.error:
            self.failures[part] = attempt.error
        return None

    def end(self) -> None:
        """If a part failed, raise the first failure with the names of all failed parts."""
        if self.failures:
            first = next(iter(self.failures.values()))
            first.add_note(f"{self.where}: these parts failed: {', '.join(self.failures)}")
            raise first

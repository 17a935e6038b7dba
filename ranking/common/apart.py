"""Run the parts of a job separately: log the failure of one part, and go on with the others."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeVar

import structlog
from billiard.exceptions import SoftTimeLimitExceeded
from django.db import InterfaceError, OperationalError, close_old_connections

T = TypeVar("T")

log = structlog.get_logger(__name__)


@dataclass(slots=True)
class Apart:
    """The parts of the job `where`. `failures` has the errors of failed parts by name.

    ```
    apart = Apart("nightly cluster")
    apart.run("stories", lambda: stories_update(now=now))
    apart.run("vectors", lambda: item_vectors_update(now=now))
    apart.end()
    ```
    """

    where: str
    failures: dict[str, Exception] = field(default_factory=dict)

    def run(self, part: str, work: Callable[[], T]) -> T | None:
        """Return the result of `work`. If it fails, log and keep the error and return None.

        Celery's request to stop is raised, because it ends the whole job. A broken connection is closed, so
        that the next part opens a new one.
        """
        try:
            return work()
        except SoftTimeLimitExceeded:
            raise
        except Exception as error:
            log.exception("part_failed", where=self.where, part=part)
            self.failures[part] = error
            if isinstance(error, OperationalError | InterfaceError):
                close_old_connections()
            return None

    def end(self) -> None:
        """If a part failed, raise the first failure with the names of all failed parts."""
        if self.failures:
            first = next(iter(self.failures.values()))
            first.add_note(f"{self.where}: these parts failed: {', '.join(self.failures)}")
            raise first

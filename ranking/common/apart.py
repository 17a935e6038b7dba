"""Work in parts that fail apart: the failure of one part is told, and the rest goes on."""

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
    """Parts of the work called `where`, and those of them that failed, by name.

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
        """Return what `work` returns; None if it fails, which is logged and kept.

        Celery's request to stop is no failure of a part: it ends the whole. A connection that broke is
        closed, so that the next part opens another.
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
        """Raise the first failure, with the names of all; do nothing if there was none."""
        if self.failures:
            first = next(iter(self.failures.values()))
            first.add_note(f"{self.where}: these parts failed: {', '.join(self.failures)}")
            raise first

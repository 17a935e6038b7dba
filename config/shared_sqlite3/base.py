"""The connection of this backend, which leaves the write lock to others after it had it for long.

SQLite lets no writer queue: whoever waits looks for the lock every 0.1 s, and misses the moment between two
transactions. With transactions of 0.25 s that followed at once, an import or a fetch batch kept a reader's
thumb waiting for 3 s (median), and sometimes until it failed after 20 s.
"""

import time
from typing import Final

from django.db.backends.sqlite3 import base

# After so many seconds with the lock, in one transaction or in several that follow at once, a connection
# leaves it alone for longer than others take to look for it.
LOCK_MAX_S: Final = 0.1
PAUSE_S: Final = 0.12


class DatabaseWrapper(base.DatabaseWrapper):
    """A connection that waits before a transaction if its last ones left others no time.

    `is_shared` may be turned off for a database that nobody else can use yet.
    """

    is_shared = True
    _began = _ended = _lock_s = 0.0

    def _start_transaction_under_autocommit(self) -> None:
        left = time.monotonic() - self._ended
        if self.is_shared and left < PAUSE_S and self._lock_s >= LOCK_MAX_S:
            time.sleep(PAUSE_S - left)
            left = PAUSE_S
        if left >= PAUSE_S:
            self._lock_s = 0.0
        super()._start_transaction_under_autocommit()  # type: ignore[misc]  # stubs leave it out
        self._began = time.monotonic()

    def _commit(self) -> None:
        super()._commit()  # type: ignore[misc]  # stubs leave it out
        self._ended = time.monotonic()
        self._lock_s += self._ended - self._began

"""Places: how many requests of a web process may do slow work at once, and how many of these one reader may.

A process has twelve threads. Two may look up sites, three may fetch pictures, two may wait for a run, two may
do long work and two may send exports. One is left for pages, however slow all others are.
"""

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Condition
from typing import Final

# Looking up sites, fetching full texts, sending things on, and first fetches by a page.
LOOKUPS_AT_ONCE: Final = 2
PICTURES_AT_ONCE: Final = 3
# Requests for suggestions that wait for the run's end.
RUNS_AT_ONCE: Final = 2
# Previews, imports and wishes, which need the processor for up to seconds. They share one
# interpreter, so each more that runs slows all pages down.
LONG_AT_ONCE: Final = 2
# Exports are sent while they are read from the database, as slowly as a browser takes them.
EXPORTS_AT_ONCE: Final = 2
# A reader's requests that may wait for a place. Each holds a thread.
WAITING_MAX: Final = 1


class Places:
    """So many places at once. A reader gets the last free one only if they have no other.

    So one reader never has all places, and another finds one. Safe to share between threads.
    """

    def __init__(self, count: int) -> None:
        self._count = count
        self._taken, self._waiting = Counter[object](), Counter[object]()
        self._changed = Condition()

    @contextmanager
    def place(self, who: object, *, wait_s: float = 0.0) -> Iterator[bool]:
        """Yield whether the reader `who` has a place during the block; wait up to `wait_s` for it."""
        has_place = self._take(who, wait_s)
        try:
            yield has_place
        finally:
            if has_place:
                with self._changed:
                    self._less(self._taken, who)
                    self._changed.notify_all()

    def _take(self, who: object, wait_s: float) -> bool:
        with self._changed:
            if not self._is_free(who):
                if wait_s <= 0 or self._waiting[who] >= WAITING_MAX:
                    return False
                self._waiting[who] += 1
                try:
                    if not self._changed.wait_for(lambda: self._is_free(who), timeout=wait_s):
                        return False
                finally:
                    self._less(self._waiting, who)
            self._taken[who] += 1
            return True

    def _is_free(self, who: object) -> bool:
        return self._count - self._taken.total() > (1 if self._taken[who] else 0)

    @staticmethod
    def _less(counts: Counter[object], who: object) -> None:
        counts[who] -= 1
        if not counts[who]:
            del counts[who]  # or every reader there ever was would stay in memory


LOOKUPS: Final = Places(LOOKUPS_AT_ONCE)
PICTURES: Final = Places(PICTURES_AT_ONCE)
RUNS: Final = Places(RUNS_AT_ONCE)
LONG: Final = Places(LONG_AT_ONCE)
EXPORTS: Final = Places(EXPORTS_AT_ONCE)

"""One connection at a time to a host, and a pause between two: for all threads, and for all processes that
share notes.

Threads of one process are held back exactly, by a lock and a monotonic clock. Other processes are told by
notes (`digest.host_notes`): those of this machine through files, those of several through Redis.
"""

import math
import time
from collections import deque
from collections.abc import Iterable
from functools import lru_cache
from heapq import heappop, heappush
from threading import Lock
from typing import Final, Generic, TypeVar

from django.conf import settings

from digest.feeds import FeedProblem
from digest.host_notes import host_hold, host_take

T = TypeVar("T")
# How long a host may be held by a worker that never gave it back.
HELD_MAX_S: Final = 90
HOSTS_KEPT: Final = 10_000
HOP_WAIT_S: Final = 10.0


class HostGate:
    """Who may talk to which host, and when. Safe to share between threads.

    `gap_s` is the pause after each visit, in seconds; `shared` whether other processes are asked as well.
    """

    def __init__(self, *, gap_s: float, shared: bool = True) -> None:
        self._gap_s, self._shared = gap_s, shared and gap_s > 0
        self._lock, self._busy, self._free_at = Lock(), set[str](), dict[str, float]()

    def enter(self, host: str) -> float:
        """Take `host` and return 0.0, or return the seconds after which it is worth asking again."""
        with self._lock:
            now = time.monotonic()
            wait = self._free_at.get(host, 0.0) - now
            if host in self._busy:
                return max(wait, self._gap_s, 0.05)
            if wait > 0:
                return wait
            self._busy.add(host)
        if self._shared and not host_take(host, HELD_MAX_S):
            with self._lock:
                self._busy.discard(host)
                self._free_at[host] = time.monotonic() + self._gap_s
            return self._gap_s
        return 0.0

    def forgo(self, host: str) -> None:
        """Give back a host that was taken and not visited. We may take it at once; other processes, which
        cannot know whether it was still resting, after the pause."""
        if self._shared:
            host_hold(host, self._gap_s)
        with self._lock:
            self._busy.discard(host)

    def leave(self, host: str, *, hold_s: float = 0.0) -> None:
        """Give `host` back; nobody takes it again before the pause, or `hold_s` seconds, are over."""
        rest = max(self._gap_s, hold_s)
        with self._lock:
            self._busy.discard(host)
            self._free_at[host] = time.monotonic() + rest
            if len(self._free_at) > HOSTS_KEPT:
                now = time.monotonic()
                self._free_at = {name: at for name, at in self._free_at.items() if at > now}
        if self._shared:
            host_hold(host, rest)


class Visit:
    """One worker's way from host to host: each is taken before it is dialled and given back after it.

    `host` has been taken already. Never holds one host while it waits for another.
    """

    def __init__(self, gate: HostGate, host: str) -> None:
        self._gate, self._host = gate, host

    def go(self, host: str, *, until: float) -> None:
        """Leave the present host for `host`, waiting for it until the monotonic time `until`, at most 10 s.

        Raises `FeedProblem("host_busy")` where it does not come free.
        """
        if host == self._host:
            return
        self.end()
        until = min(until, time.monotonic() + HOP_WAIT_S)
        while wait := self._gate.enter(host):
            if time.monotonic() + wait > until:
                raise FeedProblem("host_busy", "The feed’s new address is busy; it is asked again soon.")
            time.sleep(min(wait, 0.25))
        self._host = host

    def end(self, *, hold_s: float = 0.0) -> None:
        """Give the present host back; `hold_s` is how long it asked to be left alone, in seconds."""
        if self._host:
            self._gate.leave(self._host, hold_s=hold_s)
        self._host = ""


class Errand(Visit):
    """One lookup's way through a few hosts while somebody waits: it keeps a host for as long as it asks
    there, pauses `pause_s` seconds between two requests, and leaves the host with the gate's own pause.

    Nobody else talks to the host meanwhile, so that the shorter pause is this errand's alone.
    """

    def __init__(self, gate: HostGate, *, pause_s: float) -> None:
        super().__init__(gate, "")
        self._pause_s = pause_s

    def go(self, host: str, *, until: float) -> None:
        """Be at `host` and free to ask before the monotonic time `until`; also before a redirect is followed.

        Raises `FeedProblem("host_busy")` where that cannot be.
        """
        if host != self._host:
            try:
                super().go(host, until=until)
            except FeedProblem as problem:
                raise FeedProblem(problem.code, "This site is being asked by others right now.") from problem
        elif time.monotonic() + self._pause_s > until:
            raise FeedProblem("host_busy", "This site’s answers take too long.")
        else:
            time.sleep(self._pause_s)


class HostQueue(Generic[T]):
    """What waits to be visited, by host. Within a host and between hosts the first to come is the first
    to go; a host that is busy or resting is passed over until its time.
    """

    def __init__(self, entries: Iterable[tuple[str, T]]) -> None:
        self._waiting: dict[str, deque[T]] = {}
        for host, entry in entries:
            self._waiting.setdefault(host, deque()).append(entry)
        self._turns = [(0.0, n, host) for n, host in enumerate(self._waiting)]
        self._count = len(self._turns)

    def __len__(self) -> int:
        return sum(map(len, self._waiting.values()))

    def next(self, gate: HostGate) -> tuple[str, T] | None:
        """Take the first host that may be visited now, and its first entry; None where there is none."""
        while self._turns and self._turns[0][0] <= time.monotonic():
            _, _, host = heappop(self._turns)
            if wait := gate.enter(host):
                self._push(host, time.monotonic() + wait)
            else:
                return host, self._waiting[host].popleft()
        return None

    def again(self, host: str) -> None:
        """Say that `host` was left, so that its next entry gets its turn."""
        if self._waiting[host]:
            self._push(host, 0.0)

    def pause_s(self) -> float:
        """Seconds until the next host may be asked for; infinite where none waits."""
        return max(self._turns[0][0] - time.monotonic(), 0.001) if self._turns else math.inf

    def next_host(self) -> str:
        """The host whose turn comes next; "" where none waits."""
        return self._turns[0][2] if self._turns else ""

    def _push(self, host: str, at: float) -> None:
        self._count += 1
        heappush(self._turns, (at, self._count, host))


def host_gate() -> HostGate:
    """The gate of this process, so that the pause also holds from one round to the next."""
    return _gate(settings.FETCH_HOST_GAP_S)


@lru_cache(maxsize=4)
def _gate(gap_s: float) -> HostGate:
    return HostGate(gap_s=gap_s)

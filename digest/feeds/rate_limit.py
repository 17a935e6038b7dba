"""The rate limit per host: one connection at a time, and a pause between two.

It holds for all threads of this process, by a lock and a monotonic clock, and for all processes that share
host locks: those of one machine through files, those of several through Redis.
"""

import fcntl
import json
import math
import os
import time
from collections import deque
from collections.abc import Callable, Iterable
from functools import lru_cache
from hashlib import sha256
from heapq import heappop, heappush
from pathlib import Path
from threading import Lock
from typing import IO, Final, Generic, Protocol, TypeVar
from uuid import uuid4

import structlog
from django.conf import settings
from django.core.cache import cache

from digest.feeds.entities import FeedProblem
from ranking.language import gettext_noop

T = TypeVar("T")
# By key of the host: which process locks it, and until when (seconds of the epoch).
Locks = dict[str, tuple[str, float]]

# Hosts share this many files. Expired locks are dropped whenever a file is written.
LOCK_FILES: Final = 64
# No host is locked for longer: a lock beyond it was written by a clock that was set back since.
LOCK_MAX_S: Final = 25 * 3600.0
# How long a host stays locked by a worker that died.
VISIT_MAX_S: Final = 90
# How many hosts the limiter remembers before it drops those that are free again.
HOSTS_MAX: Final = 10_000
# How long a redirect waits for its new host.
REDIRECT_WAIT_S: Final = 10.0
# The pause for a host after 429, by default and at most, in seconds. The refused feed waits as long as its
# server asks. Other feeds of the host must not wait a day because one path asks for it.
HOLD_S, HOLD_MAX_S = 300.0, 900.0
# How long a refused lookup makes a host rest for others, in seconds. Rounds of 240 s outlast it. It is also
# the longest pause that a robots.txt may ask for.
LOOKUP_HOLD_MAX_S: Final = 60.0
# If a reader's lookup held a host longer than this, other readers get it for the same time.
LOOKUP_LONG_S: Final = 10.0
_PROCESS: Final = uuid4().hex

log = structlog.get_logger(__name__)


class HostLocks(Protocol):
    """The locks that processes share. At most one process holds the lock of a host."""

    def take(self, host: str, seconds: float) -> bool:
        """Lock `host` for this process for `seconds`. Return False if another process has it."""

    def hold(self, host: str, seconds: float) -> None:
        """Lock `host` for `seconds`, even if another process has it."""

    def pause_s(self, host: str) -> float:
        """Return the seconds left of a pause that the host asked for; 0 if it is only being visited."""


class CacheLocks:
    """Locks in the cache, which counts in whole seconds: a pause is up to a second longer, never shorter."""

    def take(self, host: str, seconds: float) -> bool:
        """Lock `host` by one `add`, which the cache decides, or renew our own lock."""
        if cache.add(host_key(host), _owner(), math.ceil(seconds)):
            return True
        if cache.get(host_key(host)) != _owner():
            return False
        cache.set(host_key(host), _owner(), math.ceil(seconds))
        return True

    def hold(self, host: str, seconds: float) -> None:
        """Lock `host` for `seconds`, even if another process has it."""
        cache.set(host_key(host), _owner(), math.ceil(seconds))
        if seconds > VISIT_MAX_S:
            cache.set(f"{host_key(host)}:until", time.time() + seconds, math.ceil(seconds))

    def pause_s(self, host: str) -> float:
        """Return the seconds left of the last pause that was stored beside the lock."""
        return max(float(cache.get(f"{host_key(host)}:until") or 0) - time.time(), 0.0)


class FileLocks:
    """Locks in files of `folder`, by this machine's clock. Raises `OSError` if the folder cannot be
    written."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def take(self, host: str, seconds: float) -> bool:
        """Lock `host`, under its file's lock."""
        return self._write(host, seconds, respect_others=True)

    def hold(self, host: str, seconds: float) -> None:
        """Lock `host` for `seconds`, even if another process has it."""
        self._write(host, seconds, respect_others=False)

    def pause_s(self, host: str) -> float:
        """Return the seconds left of a lock that is longer than any visit."""
        try:
            with self._path(host).open() as file:
                left = _read(file).get(host_key(host), ("", 0.0))[1] - time.time()
        except FileNotFoundError:
            return 0.0
        return left if VISIT_MAX_S < left < LOCK_MAX_S else 0.0

    def _path(self, host: str) -> Path:
        return self._folder / f"{int(sha256(host_key(host).encode()).hexdigest(), 16) % LOCK_FILES:02}.json"

    def _write(self, host: str, seconds: float, *, respect_others: bool) -> bool:
        name, path = host_key(host), self._path(host)
        self._folder.mkdir(exist_ok=True)
        with os.fdopen(os.open(path, os.O_RDWR | os.O_CREAT, 0o600), "r+") as file:
            fcntl.flock(file, fcntl.LOCK_EX)  # freed when the file is closed, and when the process dies
            now = time.time()
            locks = {host: lock for host, lock in _read(file).items() if now < lock[1] < now + LOCK_MAX_S}
            if respect_others and name in locks and locks[name][0] != _owner():
                return False
            locks[name] = (_owner(), now + seconds)
            file.seek(0)
            file.truncate()
            json.dump(locks, file)
        return True


def _read(file: IO[str]) -> Locks:
    """Return the locks, or none if a process died while it wrote them."""
    try:
        return {host: (str(owner), float(until)) for host, (owner, until) in json.load(file).items()}
    except (ValueError, TypeError, AttributeError):
        return {}


def host_locks() -> HostLocks:
    """Return locks in the shared cache if there is one (`REDIS_URL`), else in the folder `hosts` of
    `VAR_DIR`."""
    return CacheLocks() if settings.REDIS_URL else FileLocks(settings.VAR_DIR / "hosts")


def host_take(host: str, seconds: float) -> bool:
    """Lock `host` for this process for `seconds`. Return False if another process has it.

    If locks cannot be used, return True: never fetching from a host would be worse.
    """
    try:
        return host_locks().take(host, seconds)
    except Exception as error:  # any error of a cache or a disk
        log.warning("rate_limit_cache_failed", error=str(error)[:200])
        return True


def host_pause_s(host: str) -> float:
    """Return the seconds left of a pause that `host` asked another process for, or 0."""
    return host_pauses_s([host]).get(host, 0.0)


def host_pauses_s(hosts: Iterable[str]) -> dict[str, float]:
    """Return the seconds left of the pauses that these hosts asked for. Hosts without one are left out."""
    pauses: dict[str, float] = {}
    try:
        locks = host_locks()
        for host in hosts:
            if left := locks.pause_s(host):
                pauses[host] = left
    except Exception as error:  # the first one ends it: a cache that is down would let each host wait for it
        log.warning("rate_limit_cache_failed", error=str(error)[:200])
    return pauses


def host_hold(host: str, seconds: float) -> None:
    """Lock `host` for `seconds`, so that other processes leave it alone."""
    try:
        host_locks().hold(host, seconds)
    except Exception as error:
        log.warning("rate_limit_cache_failed", error=str(error)[:200])


def host_key(host: str) -> str:
    """Return a short plain key for `host` that every cache accepts."""
    return f"fetch:host:{sha256(host.encode('utf-8', 'replace')).hexdigest()[:32]}"


def _owner() -> str:
    """Return the name of this process. A forked process gets another name."""
    return f"{_PROCESS}:{os.getpid()}"


def hold_seconds(problem: FeedProblem) -> float:
    """Return how long a host is left alone after `problem`, in seconds: 0 for any but too many requests."""
    return min(problem.retry_after_s or HOLD_S, HOLD_MAX_S) if problem.code == "http_429" else 0.0


class HostLimiter:
    """The rate limit of this process: when it may connect to which host. Threads may share it.

    `gap_s` is the pause after each visit, in seconds. `shared` tells whether other processes count too.
    """

    def __init__(self, *, gap_s: float, shared: bool = True) -> None:
        self._gap_s, self._shared = gap_s, shared and gap_s > 0
        self._lock, self._busy, self._free_at = Lock(), set[str](), dict[str, float]()

    def enter(self, host: str) -> float:
        """Take `host` and return 0.0, or return the seconds after which to try again."""
        with self._lock:
            now = time.monotonic()
            wait = self._free_at.get(host, 0.0) - now
            if host in self._busy:
                return max(wait, self._gap_s, 0.05)
            if wait > 0:
                return wait
            self._busy.add(host)
        if self._shared and not host_take(host, VISIT_MAX_S):
            wait = max(self._gap_s, host_pause_s(host))
            with self._lock:
                self._busy.discard(host)
                self._free_at[host] = time.monotonic() + wait
            return wait
        return 0.0

    def leave_unvisited(self, host: str) -> None:
        """Give back a host that was taken and not visited.

        This process may take it again at once. Others must wait, since they cannot know whether its pause had
        ended.
        """
        if self._shared:
            host_hold(host, self._gap_s)
        with self._lock:
            self._busy.discard(host)

    def leave(self, host: str, *, hold_s: float = 0.0) -> None:
        """Give `host` back. It is free again after the pause or after `hold_s` seconds, the longer
        of both."""
        rest = max(self._gap_s, hold_s)
        with self._lock:
            self._busy.discard(host)
            self._free_at[host] = time.monotonic() + rest
            if len(self._free_at) > HOSTS_MAX:
                now = time.monotonic()
                self._free_at = {name: at for name, at in self._free_at.items() if at > now}
        if self._shared:
            host_hold(host, rest)


def host_limiter() -> HostLimiter:
    """Return the limiter of this process, so that the pause also holds from one round to the next."""
    return _limiter(settings.FETCH_HOST_GAP_S)


@lru_cache(maxsize=4)
def _limiter(gap_s: float) -> HostLimiter:
    return HostLimiter(gap_s=gap_s)


class HostLock:
    """The host that one worker has taken. It moves with redirects, and holds no host while it waits for one.

    `host` must be taken already.
    """

    def __init__(self, limiter: HostLimiter, host: str) -> None:
        self._limiter, self._host = limiter, host

    def move_to(self, host: str, *, until: float) -> None:
        """Release the host that is taken now and take `host`.

        It waits until the monotonic time `until`, at most 10 s.
        Raises `FeedProblem("host_busy")` if it does not come free.
        """
        if host == self._host:
            return
        self.release()
        until = min(until, time.monotonic() + REDIRECT_WAIT_S)
        while wait := self._limiter.enter(host):
            if time.monotonic() + wait > until:
                raise FeedProblem(
                    "host_busy", gettext_noop("The feed’s new address is busy; it is asked again soon.")
                )
            time.sleep(min(wait, 0.25))
        self._host = host

    def release(self, *, hold_s: float = 0.0) -> None:
        """Release the host that is taken now, if any. `hold_s` is the pause that it asked for, in seconds."""
        if self._host:
            self._limiter.leave(self._host, hold_s=hold_s)
        self._host = ""


class LookupLock(HostLock):
    """The host of one lookup, while a reader waits. It stays taken between requests.

    Two requests are `pause_s` seconds apart. The limiter's own pause follows after the release.
    Nobody else connects to the host meanwhile, so only this lookup uses the shorter pause. After a 429 this
    reader (`who`) does not ask the host again for the time it says, at most 15 minutes. For other readers it
    rests at most a minute, because this reader chose the address and the number of requests. One reader
    cannot keep a slow host for themselves by many lookups: after a long one, others get the host for the same
    time.
    """

    def __init__(self, limiter: HostLimiter, *, pause_s: float, who: object = "") -> None:
        super().__init__(limiter, "")
        self._pause_s, self._who, self._since = pause_s, who, 0.0

    def release(self, *, hold_s: float = 0.0) -> None:
        """Release the host that is taken now, if any. This reader may have to wait before they take it again.

        `hold_s` is the pause that the host asked for, in seconds.
        """
        had_s = time.monotonic() - self._since
        rest_s = had_s if self._who and had_s > LOOKUP_LONG_S else 0.0
        if hold_s > LOOKUP_HOLD_MAX_S:
            rest_s = max(rest_s, hold_s)
        if self._host and rest_s:
            cache.set(self._rest_key(self._host), 1, math.ceil(rest_s))
        super().release(hold_s=min(hold_s, LOOKUP_HOLD_MAX_S))

    def _rest_key(self, host: str) -> str:
        return host_key(f"{self._who}@{host}")

    def move_to(self, host: str, *, until: float) -> None:
        """Take `host`, or pause if it is taken already. This also happens before a redirect is followed.

        Raises `FeedProblem("host_busy")` if that is not possible before the monotonic time `until`.
        """
        if host != self._host:
            if cache.get(self._rest_key(host)):
                raise FeedProblem("host_busy", gettext_noop("This site is being asked by others right now."))
            try:
                super().move_to(host, until=until)
            except FeedProblem as problem:
                raise FeedProblem(
                    problem.code, gettext_noop("This site is being asked by others right now.")
                ) from problem
            self._since = time.monotonic()
        elif time.monotonic() + self._pause_s > until:
            raise FeedProblem("host_busy", gettext_noop("This site’s answers take too long."))
        else:
            time.sleep(self._pause_s)


class HostQueue(Generic[T]):
    """Entries that wait for their hosts. First come, first served, within a host and between hosts.

    A host that is busy or pausing is skipped until its time. Hosts whose next entry `is_new` come after all
    others.
    """

    def __init__(
        self, entries: Iterable[tuple[str, T]], is_new: Callable[[T], bool] = lambda entry: False
    ) -> None:
        self._waiting: dict[str, deque[T]] = {}
        for host, entry in entries:
            self._waiting.setdefault(host, deque()).append(entry)
        self._is_new, self._count = is_new, 0
        # Hosts with a known entry next, and those with a new one.
        self._turns: tuple[list[tuple[float, int, str]], ...] = ([], [])
        for host in self._waiting:
            self._push(host, 0.0)

    def __len__(self) -> int:
        return sum(map(len, self._waiting.values()))

    def next(self, limiter: HostLimiter) -> tuple[str, T] | None:
        """Take the first host that is free now, and its first entry. Return None if none is free."""
        for turns in self._turns:
            while turns and turns[0][0] <= time.monotonic():
                _, _, host = heappop(turns)
                if wait := limiter.enter(host):
                    self._push(host, time.monotonic() + wait)
                else:
                    return host, self._waiting[host].popleft()
        return None

    def requeue(self, host: str) -> None:
        """Queue the next entry of `host`, which was given back."""
        if self._waiting[host]:
            self._push(host, 0.0)

    def pause_s(self) -> float:
        """Return the seconds until the next host may be tried, or infinity if none waits."""
        first = min((turns[0][0] for turns in self._turns if turns), default=math.inf)
        return max(first - time.monotonic(), 0.001)

    def waits_s(self) -> dict[str, float]:
        """Return the seconds until each host with entries left may be tried."""
        now = time.monotonic()
        return {host: max(at - now, 0.0) for turns in self._turns for at, _, host in turns}

    def next_host(self) -> str:
        """Return the host with the next turn, or "" if none waits."""
        return min((turns[0] for turns in self._turns if turns), default=(0.0, 0, ""))[2]

    def _push(self, host: str, at: float) -> None:
        self._count += 1
        heappush(self._turns[self._is_new(self._waiting[host][0])], (at, self._count, host))

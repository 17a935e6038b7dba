"""A Redis cache that raises no errors: while Redis is down, reads are misses and rate limits do not apply.

While it is full, or takes no writes for another reason, writes are dropped, too.
"""

import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar

import structlog
from django.core.cache.backends.redis import RedisCache, RedisCacheClient
from redis.backoff import NoBackoff
from redis.exceptions import ConnectionError, RedisError, TimeoutError
from redis.retry import Retry

T = TypeVar("T")
log = structlog.get_logger(__name__)
# Short, because every sign-in and API request uses the cache.
TIMEOUT_S = 1.0
# After a failure Redis is not used for this long, so that a page with ten reads waits only once.
PAUSE_S = 5.0
LOG_EVERY_S = 60.0


@dataclass(slots=True)
class _Outage:
    """The last failure in this process, as monotonic times in seconds."""

    until: float = 0.0
    logged_at: float = float("-inf")

    def note(self, error: Exception, *, pause_s: float = PAUSE_S) -> None:
        """Stop using the server for a while, and log `cache_down` at most once a minute."""
        now = time.monotonic()
        self.until = now + pause_s
        if now - self.logged_at >= LOG_EVERY_S:
            self.logged_at = now
            log.warning("cache_down", error=" ".join(str(error).split())[:200])


class _Client(RedisCacheClient):
    """Django's client. While the server is down, a read is a miss and a write is dropped."""

    def __init__(self, servers: Any, **options: Any) -> None:
        defaults: dict[str, Any] = {
            "socket_connect_timeout": TIMEOUT_S,
            "socket_timeout": TIMEOUT_S,
            "retry": Retry(NoBackoff(), 1),  # for connections cut by a restart of the server
        }
        super().__init__(servers, **(defaults | options))
        self._outage = _Outage()

    def _value_or(self, fallback: T, work: Callable[[], T]) -> T:
        if time.monotonic() < self._outage.until:
            return fallback
        try:
            return work()
        except (ConnectionError, TimeoutError) as error:
            self._outage.note(error)
        except RedisError as error:  # it answers, and refuses: out of memory, read-only, a full disk
            self._outage.note(error, pause_s=0.0)
        return fallback

    def add(self, key: Any, value: Any, timeout: Any) -> bool:
        """Return whether the key is new. True while the server is down, so that locks and limits let pass."""
        return self._value_or(True, partial(super().add, key, value, timeout))

    def get(self, key: Any, default: Any) -> Any:
        """Return the value, or `default`."""
        return self._value_or(default, partial(super().get, key, default))

    def set(self, key: Any, value: Any, timeout: Any) -> None:
        """Store the value if possible."""
        self._value_or(None, partial(super().set, key, value, timeout))

    def touch(self, key: Any, timeout: Any) -> bool:
        """Return whether the key exists."""
        return self._value_or(False, partial(super().touch, key, timeout))

    def delete(self, key: Any) -> bool:
        """Return whether the key existed."""
        return self._value_or(False, partial(super().delete, key))

    def get_many(self, keys: Iterable[Any]) -> dict[Any, Any]:
        """Return the values of existing keys."""
        return self._value_or({}, partial(super().get_many, keys))

    def has_key(self, key: Any) -> bool:
        """Return whether the key exists."""
        return self._value_or(False, partial(super().has_key, key))

    def incr(self, key: Any, delta: int) -> int:
        """Return the new count. Raises `ValueError` if the key is missing or the server is down."""
        count: int | None = self._value_or(None, partial(super().incr, key, delta))
        if count is None:
            raise ValueError(f"Key '{key}' not found.")
        return count

    def set_many(self, data: Mapping[Any, Any], timeout: Any) -> None:
        """Store the values if possible."""
        self._value_or(None, partial(super().set_many, data, timeout))

    def delete_many(self, keys: Iterable[Any]) -> None:
        """Delete the keys if possible."""
        self._value_or(None, partial(super().delete_many, keys))

    def clear(self) -> bool:
        """Return whether everything was deleted."""
        return self._value_or(False, super().clear)


class FaultTolerantRedisCache(RedisCache):
    """Django's Redis cache, which treats a lost connection or a refusal as a miss and not as an error."""

    def __init__(self, server: str, params: dict[str, Any]) -> None:
        super().__init__(server, params)
        self._class = _Client

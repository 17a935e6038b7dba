"""Redis as a cache whose loss costs what it held and nothing more: sign-in goes on, without its limits."""

import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar

import structlog
from django.core.cache.backends.redis import RedisCache, RedisCacheClient
from redis.backoff import NoBackoff
from redis.exceptions import ConnectionError, TimeoutError
from redis.retry import Retry

T = TypeVar("T")
log = structlog.get_logger(__name__)
# The cache stands in the way of every sign-in and API request, so that nobody waits long for it.
PATIENCE_S = 1.0
# After a failure it is not asked for so long: a page that asks ten times waits once.
REST_S = 5.0
LOG_EVERY_S = 60.0


@dataclass(slots=True)
class _Outage:
    """What this process knows of the server: monotonic times, in seconds."""

    until: float = 0.0
    told_at: float = float("-inf")

    def note(self, error: Exception) -> None:
        """Leave the server alone for a while, and say `cache_down` at most once a minute."""
        now = time.monotonic()
        self.until = now + REST_S
        if now - self.told_at >= LOG_EVERY_S:
            self.told_at = now
            log.warning("cache_down", error=" ".join(str(error).split())[:200])


class _Client(RedisCacheClient):
    """Django's client; what it cannot ask the server is a miss, what it cannot tell the server is let go."""

    def __init__(self, servers: Any, **options: Any) -> None:
        patience: dict[str, Any] = {
            "socket_connect_timeout": PATIENCE_S,
            "socket_timeout": PATIENCE_S,
            "retry": Retry(NoBackoff(), 1),  # mends a connection that a restart of the server has cut
        }
        super().__init__(servers, **(patience | options))
        self._outage = _Outage()

    def _or(self, missed: T, work: Callable[[], T]) -> T:
        if time.monotonic() < self._outage.until:
            return missed
        try:
            return work()
        except (ConnectionError, TimeoutError) as error:
            self._outage.note(error)
            return missed

    def add(self, key: Any, value: Any, timeout: Any) -> bool:
        """Whether it was not there before: true where nobody knows, so that locks and gates open."""
        return self._or(True, partial(super().add, key, value, timeout))

    def get(self, key: Any, default: Any) -> Any:
        """The value, else `default`."""
        return self._or(default, partial(super().get, key, default))

    def set(self, key: Any, value: Any, timeout: Any) -> None:
        """Keep it if possible."""
        self._or(None, partial(super().set, key, value, timeout))

    def touch(self, key: Any, timeout: Any) -> bool:
        """Whether it was there."""
        return self._or(False, partial(super().touch, key, timeout))

    def delete(self, key: Any) -> bool:
        """Whether it was there."""
        return self._or(False, partial(super().delete, key))

    def get_many(self, keys: Iterable[Any]) -> dict[Any, Any]:
        """Those that are known."""
        return self._or({}, partial(super().get_many, keys))

    def has_key(self, key: Any) -> bool:
        """Whether it is there."""
        return self._or(False, partial(super().has_key, key))

    def incr(self, key: Any, delta: int) -> int:
        """The new count. Raises `ValueError` where there is none, or nobody knows."""
        count: int | None = self._or(None, partial(super().incr, key, delta))
        if count is None:
            raise ValueError(f"Key '{key}' not found.")
        return count

    def set_many(self, data: Mapping[Any, Any], timeout: Any) -> None:
        """Keep them if possible."""
        self._or(None, partial(super().set_many, data, timeout))

    def delete_many(self, keys: Iterable[Any]) -> None:
        """Forget them if possible."""
        self._or(None, partial(super().delete_many, keys))

    def clear(self) -> bool:
        """Whether everything is gone."""
        return self._or(False, super().clear)


class PatientRedisCache(RedisCache):
    """Django's Redis cache, whose lost connection is a miss and no error."""

    def __init__(self, server: str, params: dict[str, Any]) -> None:
        super().__init__(server, params)
        self._class = _Client

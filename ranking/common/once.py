"""What is read once and used by many: answers of the database for the length of one request."""

from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, TypeVar

V = TypeVar("V")
_FOUND: ContextVar[dict[Hashable, Any] | None] = ContextVar("read_once", default=None)


@contextmanager
def reading_once() -> Iterator[None]:
    """Have `read_once` remember what it read until the block ends; one inside another shares the outer's."""
    if _FOUND.get() is not None:
        yield
        return
    token = _FOUND.set({})
    try:
        yield
    finally:
        _FOUND.reset(token)


def read_once(key: Hashable, read: Callable[[], V]) -> V:
    """Return what `read` returned for this key in the current `reading_once`; outside of one, read anew."""
    found = _FOUND.get()
    if found is None:
        return read()
    if key not in found:
        found[key] = read()
    value: V = found[key]
    return value


def read_again() -> None:
    """Forget what was read: something of it was written."""
    if found := _FOUND.get():
        found.clear()

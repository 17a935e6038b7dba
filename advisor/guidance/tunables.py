"""The tunables in force: the defaults of `figures` with `settings.GUIDANCE` over them by name."""

from dataclasses import fields
from functools import lru_cache
from math import inf
from typing import Any

from django.conf import settings

from advisor.guidance.figures import Tunables

__all__ = ["Tunables", "tunables"]


def tunables() -> Tunables:
    """The tunables in force: the defaults with `settings.GUIDANCE` over them. Raises `ValueError`."""
    return _tunables(tuple(sorted(settings.GUIDANCE.items())))


@lru_cache(maxsize=16)
def _tunables(given: tuple[tuple[str, str], ...]) -> Tunables:
    return Tunables(**{name: _value(name, text) for name, text in given})


def _value(name: str, text: Any) -> Any:
    """`text` as the type of the field. Raises `ValueError` naming the field and what it takes."""
    types = {field.name: field.type for field in fields(Tunables)}
    if name not in types:
        raise ValueError(f"GUIDANCE has no {name!r}; it has {', '.join(types)}.")
    kind = types[name]
    try:
        if kind is bool:
            return {"true": True, "false": False}[str(text).strip().casefold()]
        value = kind(text)  # type: ignore[operator]
    except (KeyError, ValueError):
        word = "true or false" if kind is bool else f"a {getattr(kind, '__name__', kind)}"
        raise ValueError(f"GUIDANCE: {name} must be {word}, not {text!r}.") from None
    low, high = _bounds(name, kind)
    if kind is not str and not low <= value <= high:
        most = "or more" if high == inf else f"to {high:g}"
        raise ValueError(f"GUIDANCE: {name} must be {low:g} {most}, not {text!r}.")
    return value


def _bounds(name: str, kind: Any) -> tuple[float, float]:
    """What a number may be: scores and shares 0 to 1, boosts from 1, times and counts from 0."""
    if name.endswith(("_boost", "boost_max")):
        return 1.0, inf
    share = kind is float and not name.endswith(("_s", "_ms", "_days", "_hours"))
    return 0.0, 1.0 if share else inf

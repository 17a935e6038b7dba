"""`settings.GUIDANCE` over the defaults of the tunables, checked."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import fields
from functools import lru_cache
from typing import Any

from django.conf import settings

from advisor.guidance.entities import Tunables

__all__ = ["Tunables", "tunables", "tunables_repeated"]
DAYS_31_S = 31 * 86_400.0
BOUNDS: dict[str, float] = {
    "notes_max": 20, "shown_ttl_s": DAYS_31_S, "packet_ttl_s": DAYS_31_S, "budget_ms": 600_000.0,
}  # fmt: skip
WORDS = {bool: "true or false", int: "a whole number", float: "a number", str: "a text"}


def tunables() -> Tunables:
    """Return the tunables in force. Raises `ValueError`, naming the one that cannot be."""
    return _tunables(tuple(sorted(settings.GUIDANCE.items())))


def tunables_repeated(names: Iterable[str]) -> list[str]:
    """Return the names given more than once, of which only the last would count."""
    return [name for name, times in Counter(name.strip() for name in names).items() if times > 1]


@lru_cache(maxsize=16)
def _tunables(given: tuple[tuple[str, str], ...]) -> Tunables:
    found = Tunables(**{name: _value(name, text) for name, text in given})
    if found.note_min > found.warning_min:
        raise ValueError("GUIDANCE: note_min ≤ warning_min must hold.")
    return found


def _value(name: str, text: Any) -> Any:
    types = {field.name: field.type for field in fields(Tunables)}
    if name not in types:
        raise ValueError(f"GUIDANCE has no {name!r}; it has {', '.join(types)}.")
    kind: Any = types[name]
    try:
        value = {"true": True, "false": False}[str(text).strip().casefold()] if kind is bool else kind(text)
    except (KeyError, ValueError):
        raise ValueError(f"GUIDANCE: {name} must be {WORDS[kind]}, not {repr(text)[:40]}.") from None
    if kind in (int, float) and not 0 <= value <= BOUNDS.get(name, 1.0):
        raise ValueError(
            f"GUIDANCE: {name} must be 0 to {BOUNDS.get(name, 1.0):,.0f}, not {repr(text)[:40]}."
        )
    return value

"""The tunables in force: the defaults of `figures` with `settings.GUIDANCE` over them by name."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import fields
from functools import lru_cache
from typing import Any

from django.conf import settings

from advisor.guidance.figures import Tunables

__all__ = ["Tunables", "tunables", "tunables_repeated"]

# The most that each kind of number may be: a month, ten minutes, a year, ten years. More is a slip, and what
# is far more cannot be added to a date.
LONGEST = {"_s": 31 * 86_400.0, "_ms": 600_000.0, "_hours": 8_760.0, "_days": 3_650.0}
BOOST_MOST = 10.0
# The most that each count may be: above what a call, a run or a folder can hold, it would change nothing.
COUNT_MOST = {
    "items_max": 100,
    "wilson_min": 1_000,
    "note_evidence_min": 1_000,
    "warning_evidence_min": 1_000,
    "warning_sources_min": 10,
    "told_max": 20,
    "note_chars": 5_000,
    "whispers_max": 20,
    "recent_tools": 1_000,
    "export_max": 10_000,
}
# What is divided by, or counts back from the end of a list.
LEAST = {"trust_half_life_days": 1.0, "recent_tools": 1.0, "wilson_min": 1.0}
LEVELS = ("whisper_min", "note_min", "warning_min")
WORDS = {bool: "true or false", int: "a whole number", float: "a number", str: "a text"}


def tunables() -> Tunables:
    """The tunables in force: the defaults with `settings.GUIDANCE` over them.

    Raises `ValueError`, naming the tunable, for a value that cannot be and for levels out of their order.
    """
    return _tunables(tuple(sorted(settings.GUIDANCE.items())))


def tunables_repeated(names: Iterable[str]) -> list[str]:
    """The names given more than once, of which only the last would count."""
    return [name for name, times in Counter(name.strip() for name in names).items() if times > 1]


@lru_cache(maxsize=16)
def _tunables(given: tuple[tuple[str, str], ...]) -> Tunables:
    found = Tunables(**{name: _value(name, text) for name, text in given})
    steps = [getattr(found, name) for name in LEVELS]
    if steps != sorted(steps):
        said = ", ".join(f"{name} {value:g}" for name, value in zip(LEVELS, steps, strict=True))
        raise ValueError(f"GUIDANCE: {' ≤ '.join(LEVELS)} must hold, and they are {said}.")
    return found


def _value(name: str, text: Any) -> Any:
    """`text` as the type of the field. Raises `ValueError` naming the field and what it takes."""
    types = {field.name: field.type for field in fields(Tunables)}
    if name not in types:
        raise ValueError(f"GUIDANCE has no {name!r}; it has {', '.join(types)}.")
    kind: Any = types[name]
    try:
        if kind is bool:
            return {"true": True, "false": False}[str(text).strip().casefold()]
        value = kind(text)
    except (KeyError, ValueError):
        raise ValueError(f"GUIDANCE: {name} must be {WORDS[kind]}, not {_short(text)}.") from None
    if kind is str:
        return value
    low, high = bounds(name)
    if not low <= value <= high:
        raise ValueError(f"GUIDANCE: {name} must be {low:,.0f} to {high:,.0f}, not {_short(text)}.")
    return value


def bounds(name: str) -> tuple[float, float]:
    """The least and the most that a number may be: shares and scores 0 to 1, boosts from 1."""
    if name.endswith(("_boost", "boost_max")):
        return 1.0, BOOST_MOST
    longest = next((most for unit, most in LONGEST.items() if name.endswith(unit)), 1.0)
    return LEAST.get(name, 0.0), COUNT_MOST.get(name, longest)


def _short(text: Any) -> str:
    """What was given, at a length that a message can bear."""
    said = repr(text)
    return said if len(said) <= 40 else f"{said[:36]}…"

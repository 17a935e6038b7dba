"""Token budgets, kept by construction: rows go into a result in order of worth until it is full. Pure."""

import json
from collections.abc import Iterable, Mapping
from typing import Any, TypeVar

from advisor.guard import DROP_NOTE

T = TypeVar("T")
V = TypeVar("V")

FEEDBACK_TOKENS = 2000
# What guidance may add to a result. The fullest one leaves room for it, so that none is larger than 2,000.
GUIDANCE_TOKENS = 140
CONFIG_TOKENS = 500
PROFILE_TOKENS = 500
WRITE_TOKENS = 100
OUTCOMES_TOKENS = 1000
# The tools for a second look come after the long ones in a run's history, so they are kept short.
TRIAL_TOKENS = 600
CRITIQUE_TOKENS = 600
HISTORY_TOKENS = 600
COMPARISON_TOKENS = 600
# A token per four bytes of UTF-8, so that other scripts cost more.
BYTES_PER_TOKEN = 4


def size_of(value: Any) -> int:
    """The bytes of `value` as JSON, as a tool result carries it."""
    return len(as_json(value).encode("utf-8", "replace"))


def as_json(value: Any) -> str:
    """`value` as compact JSON: the only form in which outside text reaches a model."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def fitting(rows: Iterable[T], tokens: float) -> list[T]:
    """The rows that fit into `tokens` together, taken in order; one too large for the rest is passed over."""
    left = int(tokens * BYTES_PER_TOKEN)
    taken: list[T] = []
    for row in rows:
        cost = size_of(row) + 1
        if cost <= left:
            left -= cost
            taken.append(row)
    return taken


def fitting_items(rows: Mapping[str, V], tokens: float) -> dict[str, V]:
    """The same for the entries of a mapping."""
    pairs = [{key: value} for key, value in rows.items()]
    return {key: value for pair in fitting(pairs, tokens) for key, value in pair.items()}


def fitting_text(text: str, tokens: float) -> str:
    """`text` cut, with an ellipsis, to what `tokens` hold."""
    room = max(0, int(tokens * BYTES_PER_TOKEN))
    if size_of(text) <= room:
        return text
    cut = text[:room]
    while cut and size_of(cut) > room - 3:
        cut = cut[: -max(1, len(cut) // 20)]
    return f"{cut}…"


def left_after(result: Any, tokens: int) -> float:
    """The tokens of a budget that `result` leaves free."""
    return max(0.0, tokens - size_of(result) / BYTES_PER_TOKEN)


def filled(result: dict[str, Any], lists: Mapping[str, Iterable[Any]], tokens: int) -> dict[str, Any]:
    """`result` with the rows of `lists` that fit beside it; each list may use what those before left over.

    `left_out` counts what did not fit, by list, where anything did not.
    """
    rows = {name: list(found) for name, found in lists.items()}
    room = left_after(result | {name: [] for name in rows} | {"left_out": dict.fromkeys(rows, 9999)}, tokens)
    given: dict[str, Any] = {}
    for n, (name, found) in enumerate(rows.items()):
        given[name] = fitting(found, left_after(given, int(room)) / (len(rows) - n))
    missing = {name: len(rows[name]) - len(given[name]) for name in rows}
    left_out = {name: count for name, count in missing.items() if count}
    return result | given | ({"left_out": left_out} if left_out else {})


def error_result(code: str, details: str, **valid: list[str]) -> dict[str, Any]:
    """An error as a tool result: what went wrong, cut to a hundred tokens, and what would be right.

    There is room left for the note that a repeated failure gets.
    """
    result: dict[str, Any] = {"success": False, "error": code, "details": ""} | valid
    room = left_after(result | {"note": DROP_NOTE}, WRITE_TOKENS)
    return result | {"details": fitting_text(details, room)}

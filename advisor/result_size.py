"""The size of tool results: rows go in by worth until a budget of tokens is full. Pure."""

import json
import re
from collections.abc import Iterable, Mapping
from typing import Any, TypeVar

# A reference to an item. Of more digits there is no item, and no database takes the number.
_REF = re.compile(r"#([0-9]{1,18})")
T = TypeVar("T")
V = TypeVar("V")
FEEDBACK_TOKENS = 2600
# Tokens that guidance may add to a result. The largest result leaves room for them within its 2,600.
GUIDANCE_TOKENS = 140
CONFIG_TOKENS = 500
PROFILE_TOKENS = 500
WRITE_TOKENS = 100
OUTCOMES_TOKENS = 1000
# The tools for a second look come after the long ones in a run's history, so they are short.
TRIAL_TOKENS = 600
CRITIQUE_TOKENS = 600
HISTORY_TOKENS = 600
COMPARISON_TOKENS = 600
READING_TOKENS = 600
# A token per four bytes of UTF-8, so that other scripts cost more.
BYTES_PER_TOKEN = 4
# Added to the result of a repeated failure.
DROP_NOTE = "Failed again. Drop this hypothesis, list it under skipped, go on."
TITLE_CHARS_MAX = 100


def json_bytes(value: Any) -> int:
    """Return the bytes of `value` as JSON in UTF-8."""
    return len(as_json(value).encode("utf-8", "replace"))


def as_json(value: Any) -> str:
    """Return `value` as compact JSON: the only form in which outside text reaches a model."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def fit_rows(rows: Iterable[T], tokens: float) -> list[T]:
    """Return the rows that fit into `tokens` together, in order; one too large for the rest is left out."""
    left = int(tokens * BYTES_PER_TOKEN)
    taken: list[T] = []
    for row in rows:
        cost = json_bytes(row) + 1
        if cost <= left:
            left -= cost
            taken.append(row)
    return taken


def fit_items(rows: Mapping[str, V], tokens: float) -> dict[str, V]:
    """Return the entries that fit into `tokens` together, in order."""
    pairs = [{key: value} for key, value in rows.items()]
    return {key: value for pair in fit_rows(pairs, tokens) for key, value in pair.items()}


def fit_text(text: str, tokens: float) -> str:
    """Return `text`, cut with an ellipsis if it takes more than `tokens`."""
    room = max(0, int(tokens * BYTES_PER_TOKEN))
    if json_bytes(text) <= room:
        return text
    cut = text[:room]
    while cut and json_bytes(cut) > room - 3:
        cut = cut[: -max(1, len(cut) // 20)]
    return f"{cut}…"


def tokens_left(result: Any, tokens: int) -> float:
    """Return the tokens of a budget that `result` leaves free."""
    return max(0.0, tokens - json_bytes(result) / BYTES_PER_TOKEN)


def fit_lists(lists: Mapping[str, Any], tokens: float) -> tuple[dict[str, Any], dict[str, int]]:
    """Return the rows of each list or mapping that fit, and the number left out by list, if any.

    Each may use the room that those before it left.
    """
    shown: dict[str, Any] = {}
    for n, (name, rows) in enumerate(lists.items()):
        share = tokens_left(shown, int(tokens)) / (len(lists) - n)
        shown[name] = fit_items(rows, share) if isinstance(rows, dict) else fit_rows(rows, share)
    left_out = {name: len(rows) - len(shown[name]) for name, rows in lists.items()}
    return shown, {name: count for name, count in left_out.items() if count}


def result_fill(result: dict[str, Any], lists: Mapping[str, Iterable[Any]], tokens: int) -> dict[str, Any]:
    """Return `result` with the rows of `lists` that fit. `left_out` counts the others, if any."""
    rows = {name: found if isinstance(found, dict) else list(found) for name, found in lists.items()}
    full = result | {name: [] for name in rows} | {"left_out": dict.fromkeys(rows, 9999)}
    shown, left_out = fit_lists(rows, tokens_left(full, tokens))
    return result | shown | ({"left_out": left_out} if left_out else {})


def error_result(code: str, details: str, **valid: list[str]) -> dict[str, Any]:
    """Return an error as a tool result: the problem, cut to a hundred tokens, and the remedy.

    It leaves room for `DROP_NOTE`.
    """
    result: dict[str, Any] = {"success": False, "error": code, "details": ""} | valid
    room = tokens_left(result | {"note": DROP_NOTE}, WRITE_TOKENS)
    return result | {"details": fit_text(details, room)}


def cut_title(title: str, chars: int = TITLE_CHARS_MAX) -> str:
    """Return `title` cut to `chars` characters."""
    return title if len(title) <= chars else f"{title[: chars - 1]}…"


def item_ref(item_id: int) -> str:
    """Return the reference to an item that stands for its address: a dozenth of the tokens."""
    return f"#{item_id}"


def item_of_ref(text: str) -> int | None:
    """Return the item that a reference names; `None` for any other text."""
    found = _REF.fullmatch(text)
    return int(found[1]) if found else None

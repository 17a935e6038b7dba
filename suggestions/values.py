"""The values a suggestion may carry: weights in hundredths and topics on one line. Pure, never raises."""

import re
import unicodedata
from collections.abc import Sequence
from math import ceil, floor, isfinite

from ranking.entities import WEIGHT_MAX, WEIGHT_MIN
from ranking.matching import TOPIC_MAX_CHARS, topic_key
from suggestions.entities import BOOST_SOURCE, REDUCE_SOURCE, WEIGHT_STEP_MAX

_PLAIN_NUMBER = re.compile(r"[+-]?[0-9]{1,12}(?:\.[0-9]{1,12})?")
# Control, format (bidi and zero-width), surrogate, private-use and unassigned characters; line breaks.
_UNPRINTABLE = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})


def weight_parse(value: object) -> float | None:
    """A finite number from a number or a plain decimal string ("1.3"); `None` for anything else."""
    if isinstance(value, str) and _PLAIN_NUMBER.fullmatch(value.strip()):
        return float(value)
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        return float(value) if isfinite(value) else None
    except OverflowError:
        return None


def step_share(chosen: str, current: str, proposed: str) -> float | None:
    """A chosen weight's step as a share of the proposed one; `None` unless all three are weights."""
    values = [weight_parse(value) for value in (chosen, current, proposed)]
    if any(value is None for value in values):
        return None
    mine, before, theirs = (float(value or 0.0) for value in values)
    return None if abs(theirs - before) < 1e-9 else (mine - before) / (theirs - before)


def weight_text(weight: float) -> str:
    """A weight as stored and shown: at most two decimals, at least one ("1.0", "1.25")."""
    text = f"{weight:.2f}"
    return text[:-1] if text.endswith("0") else text


def weight_bounds(current: float, kind: str = "") -> tuple[float, float]:
    """The lowest and highest weight that may be proposed or agreed from `current`.

    With the `kind` of a suggestion those a reader may choose instead: more stays more, less stays less.
    """
    low = current if kind == BOOST_SOURCE else current - WEIGHT_STEP_MAX
    high = current if kind == REDUCE_SOURCE else current + WEIGHT_STEP_MAX
    return max(WEIGHT_MIN, low), min(WEIGHT_MAX, high)


def weight_clamp(wanted: float, current: float) -> float:
    """`wanted` in hundredths, within ±0.3 of `current` and within [0.1, 2.0]."""
    low, high = weight_bounds(current)
    clamped = round(max(low, min(high, wanted)), 2)
    if clamped > high + 1e-9:
        return floor(high * 100) / 100
    return ceil(low * 100) / 100 if clamped < low - 1e-9 else clamped


def topic_clean(value: object) -> str | None:
    """A topic as it will be written (NFKC, single spaces), or `None` if it cannot be one.

    One line of at most 64 characters with a letter or digit in it, and nothing invisible.
    """
    if not isinstance(value, str) or len(value) > 4 * TOPIC_MAX_CHARS:
        return None
    text = unicodedata.normalize("NFKC", value).strip(" ")
    if any(unicodedata.category(char) in _UNPRINTABLE for char in text):
        return None
    text = " ".join(text.split())
    return text if len(text) <= TOPIC_MAX_CHARS and any(map(str.isalnum, text)) else None


def topic_in_config(key: str, topics: Sequence[str]) -> str:
    """The config's own spelling of the topic with this key, or "" if it has none."""
    return next((topic for topic in topics if topic_key(topic) == key), "")

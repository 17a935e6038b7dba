"""One scale for all settings with a number: less, usual, more. Any other number is shown as it is. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass

from ranking.entities import ALPHA_DEFAULT, HALF_LIFE_HOURS_DEFAULT, WEIGHT_MAX, WEIGHT_MIN, InvalidSetting

# Weights of sources: half as much, or half as much again. `None` is the default, from which thumbs move it.
LEVELS: Mapping[str, float | None] = {"less": 0.5, "usual": None, "more": 1.5}
# What a keyword adds to the interest of an item, 1 by itself: so it counts as a source's weight does.
BOOSTS: Mapping[str, float] = {"less": -0.5, "more": 0.5}
# Hours until an item counts half, and the share of likeness, each with what it does to a digest.
FRESHNESS: Mapping[str, tuple[float, str]] = {
    "less": (72.0, "less: good pieces stay for days"),
    "usual": (HALF_LIFE_HOURS_DEFAULT, "usual: a day old counts half"),
    "more": (12.0, "more: the news of the hour first"),
}
LIKENESS: Mapping[str, tuple[float, str]] = {
    "less": (0.0, "less: none at all"),
    "usual": (ALPHA_DEFAULT, "usual: decides between near equals"),
    "more": (0.5, "more: just like my favourites counts half as much again"),
}


@dataclass(frozen=True, slots=True)
class LevelOption:
    """An option of a setting: what the form sends, in words, whether it is chosen."""

    value: str
    words: str
    chosen: bool


def weight_level(weight: float) -> str:
    """Return which of `LEVELS` an effective weight is exactly, to two decimals; "" for any other."""
    return next((name for name, at in LEVELS.items() if f"{weight:.2f}" == f"{at or 1:.2f}"), "")


def weight_read(level: str) -> float | None:
    """Return the weight that is typed as one of `LEVELS`, as a number, or as "" for the default (`None`).

    Raises `InvalidSetting` for anything else.
    """
    level = level.strip()
    if level in LEVELS or not level:
        return LEVELS.get(level)
    try:
        weight = float(level)
    except ValueError:
        raise InvalidSetting(
            f"The weight must be a number such as 1.2, or {', '.join(LEVELS)}; you gave “{level[:40]}”."
        ) from None
    if not WEIGHT_MIN <= weight <= WEIGHT_MAX:
        raise InvalidSetting(
            f"The weight must lie between {WEIGHT_MIN} and {WEIGHT_MAX}; you gave {level[:40]}."
        )
    return weight


def level_options(levels: Mapping[str, tuple[float, str]], value: str) -> list[LevelOption]:
    """Return the options of a setting whose number is `value`, typed or stored; an exact one is the last."""
    options = [LevelOption(f"{at:g}", words, f"{at:g}" == value) for at, words in levels.values()]
    exact = [] if any(option.chosen for option in options) else [LevelOption(value, f"exactly {value}", True)]
    return options + exact

"""One scale for all settings with a number: less, usual, more. Any other number is shown as it is. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass

from ranking.entities import ALPHA_DEFAULT, HALF_LIFE_HOURS_DEFAULT, WEIGHT_MAX, WEIGHT_MIN, InvalidSetting
from ranking.language import gettext as _
from ranking.language import gettext_noop, pgettext

# Weights of sources: half as much, or half as much again. `None` is the default, from which thumbs move it.
LEVELS: Mapping[str, float | None] = {"less": 0.5, "usual": None, "more": 1.5}
# What a keyword adds to the interest of an item, 1 by itself: so it counts as a source's weight does.
BOOSTS: Mapping[str, float] = {"less": -0.5, "more": 0.5}
# Hours until an item counts half, and the share of likeness, each with what it does to a digest.
FRESHNESS: Mapping[str, tuple[float, str]] = {
    "less": (72.0, gettext_noop("less: good pieces stay for days")),
    "usual": (HALF_LIFE_HOURS_DEFAULT, gettext_noop("usual: a day old counts half")),
    "more": (12.0, gettext_noop("more: the news of the hour first")),
}
LIKENESS: Mapping[str, tuple[float, str]] = {
    "less": (0.0, gettext_noop("less: none at all")),
    "usual": (ALPHA_DEFAULT, gettext_noop("usual: decides between near equals")),
    "more": (0.5, gettext_noop("more: just like my favourites counts half as much again")),
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


def level_words(name: str) -> str:
    """Return the name of one of `LEVELS` in the language in force, as it is shown and may be typed."""
    match name:
        case "less":
            return pgettext("level", "less")
        case "usual":
            return pgettext("level", "usual")
        case "more":
            return pgettext("level", "more")
    return name


def level_named(typed: str) -> str:
    """Return which of `LEVELS` was typed, in English or in the language in force; "" for none."""
    wanted = typed.strip().casefold()
    return next((name for name in LEVELS if wanted in (name, level_words(name).casefold())), "")


def weight_read(level: str) -> float | None:
    """Return the weight that is typed as one of `LEVELS`, as a number, or as "" for the default (`None`).

    Raises `InvalidSetting` for anything else.
    """
    level = level.strip()
    if (named := level_named(level)) in LEVELS or not level:
        return LEVELS.get(named)
    try:
        weight = float(level.replace(",", "."))
    except ValueError:
        raise InvalidSetting(
            _("The weight must be a number such as 1.2, or {names}; you gave “{typed}”.").format(
                names=", ".join(map(level_words, LEVELS)), typed=level[:40]
            )
        ) from None
    if not WEIGHT_MIN <= weight <= WEIGHT_MAX:
        raise InvalidSetting(
            _("The weight must lie between {low} and {high}; you gave {typed}.").format(
                low=WEIGHT_MIN, high=WEIGHT_MAX, typed=level[:40]
            )
        )
    return weight


def level_options(levels: Mapping[str, tuple[float, str]], value: str) -> list[LevelOption]:
    """Return the options of a setting whose number is `value`, typed or stored; an exact one is the last."""
    options = [LevelOption(f"{at:g}", _(words), f"{at:g}" == value) for at, words in levels.values()]
    exact = (
        []
        if any(option.chosen for option in options)
        else [LevelOption(value, _("exactly {value}").format(value=value), True)]
    )
    return options + exact

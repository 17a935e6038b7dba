"""The scale less, usual, more for all settings with a number. Other numbers are shown as they are. Pure."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from ranking.entities import ALPHA_DEFAULT, HALF_LIFE_HOURS_DEFAULT, WEIGHT_MAX, WEIGHT_MIN, InvalidSetting
from ranking.language import gettext as _
from ranking.language import gettext_noop, pgettext
from ranking.taste.entities import TasteLevel

LESS, USUAL, MORE = "less", "usual", "more"
# Weights of sources: half as much, or half as much again. `None` is the default, which thumbs may change.
LEVELS: Mapping[str, float | None] = {LESS: 0.5, USUAL: None, MORE: 1.5}
# Boosts of keywords. Interest is 1 without them, so a boost of ±0.5 counts as much as a weight of 0.5 or 1.5.
BOOSTS: Mapping[str, float] = {LESS: -0.5, MORE: 0.5}
# Hours until an item counts half, and the share of similarity, each with its effect on a digest in words.
FRESHNESS: Mapping[str, tuple[float, str]] = {
    "less": (72.0, gettext_noop("less: good pieces stay for days")),
    "usual": (HALF_LIFE_HOURS_DEFAULT, gettext_noop("usual: yesterday’s best stays")),
    "more": (12.0, gettext_noop("more: mostly the news of today")),
}
LIKENESS: Mapping[str, tuple[float, str]] = {
    "less": (0.0, gettext_noop("less: does not count")),
    "usual": (ALPHA_DEFAULT, gettext_noop("usual: between near equals")),
    "more": (0.5, gettext_noop("more: like my favourites")),
}


TASTES: Mapping[TasteLevel, str] = {
    TasteLevel.OFF: gettext_noop("little: only sources, slowly"),
    TasteLevel.ON: gettext_noop("counts: what you like rises"),
    TasteLevel.STRONG: gettext_noop("counts a lot: it rises further"),
}


@dataclass(frozen=True, slots=True)
class LevelOption:
    """An option of a setting: the value that the form sends, its words, and whether it is chosen."""

    value: str
    words: str
    chosen: bool


def weight_level(weight: float) -> str:
    """Return the name of the level that equals an effective weight to two decimals, or ""."""
    return next((name for name, at in LEVELS.items() if f"{weight:.2f}" == f"{at or 1:.2f}"), "")


def level_words(name: str) -> str:
    """Return the name of a level in the current language, as pages show it and readers may type it."""
    match name:
        case "less":
            return pgettext("level", "less")
        case "usual":
            return pgettext("level", "usual")
        case "more":
            return pgettext("level", "more")
    return name


def level_read(typed: str) -> str:
    """Return the level that a person typed in English or in the current language, or ""."""
    wanted = typed.strip().casefold()
    return next((name for name in LEVELS if wanted in (name, level_words(name).casefold())), "")


def weight_read(level: str) -> float | None:
    """Return the weight that a person typed: a level, a number, or "" for the default (`None`).

    Raises `InvalidSetting` for anything else.
    """
    level = level.strip()
    if (named := level_read(level)) in LEVELS or not level:
        return LEVELS.get(named)
    try:
        weight = float(level.replace(",", "."))
    except ValueError:
        raise InvalidSetting(
            _("Type a number such as 1.2, or {names}; you gave “{typed}”.").format(
                names=", ".join(map(level_words, LEVELS)), typed=level[:40]
            )
        ) from None
    if not WEIGHT_MIN <= weight <= WEIGHT_MAX:
        raise InvalidSetting(
            _("Type a number between {low} and {high}; you gave {typed}.").format(
                low=WEIGHT_MIN, high=WEIGHT_MAX, typed=level[:40]
            )
        )
    return weight


def level_options(levels: Mapping[str, tuple[float, str]], value: str) -> list[LevelOption]:
    """Return the options of a setting whose number is `value`. Any other number adds a last option."""
    options = [LevelOption(f"{at:g}", _(words), f"{at:g}" == value) for at, words in levels.values()]
    exact = (
        []
        if any(option.chosen for option in options)
        else [LevelOption(value, _("exactly {value}").format(value=value), True)]
    )
    return options + exact


def word_chips(lines: Iterable[str]) -> list[tuple[str, list[LevelOption]]]:
    """Return the word of each line `word: more` or `word: 0.8`, with its options.

    A number that is no level is one option more.
    """
    chips = []
    for line in lines:
        word, _, boost = line.rpartition(":")
        chosen = level_read(boost)
        options = [LevelOption(name, level_words(name), name == chosen) for name in LEVELS]
        if not chosen:
            options.append(LevelOption(boost.strip(), boost.strip(), True))
        chips.append((word.strip() or line, options))
    return chips


def taste_options(chosen: str) -> list[LevelOption]:
    """Return the options of how much the reader's own taste counts."""
    return [LevelOption(str(level), _(words), str(level) == chosen) for level, words in TASTES.items()]

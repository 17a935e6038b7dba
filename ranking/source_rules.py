"""Rules for single sources: a shelf life, a daily limit, and places kept for never-missed sources. Pure.

- A shelf life is the hours after which an item of the source is in no digest any more.
- A daily limit is how many items of the source a day's digest may have.
- Each item of a never-missed source keeps a place in the digest until one has shown it.

They are parts of the versioned config. Bodies stored before there were such rules have none.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final

from ranking.entities import Config, InvalidSetting
from ranking.language import gettext as _
from ranking.language import gettext_noop, ngettext

SHELF_LIVES: Final = "shelf_lives"
DAILY_LIMITS: Final = "daily_limits"
NEVER_MISSED: Final = "never_missed"
SHELF_HOURS_MIN, SHELF_HOURS_MAX = 1, 24 * 7
DAILY_LIMIT_MAX = 10
# Each is a place less for everything else, and a reader follows few sources that they must not miss.
NEVER_MISSED_MAX = 20
# The rules with a number for each source, and the least and the greatest number.
RANGES: Mapping[str, tuple[int, int]] = {
    SHELF_LIVES: (SHELF_HOURS_MIN, SHELF_HOURS_MAX),
    DAILY_LIMITS: (1, DAILY_LIMIT_MAX),
}
# The shelf lives that a page offers, in hours.
SHELF_CHOICES: Final = (1, 3, 6, 12, 24, 48, 72, 168)


@dataclass(frozen=True, slots=True)
class SourceRules:
    """The rules that a reader has set for one source. `None` and `False` are no rule."""

    shelf_life: int | None = None
    daily_limit: int | None = None
    never_missed: bool = False


def rules_of(config: Config, source: str) -> SourceRules:
    """Return the rules for `source`."""
    return SourceRules(
        config.shelf_lives.get(source), config.daily_limits.get(source), source in config.never_missed
    )


def rules_set(body: dict[str, Any], source: str, rules: SourceRules) -> None:
    """Give `source` exactly these rules, in place."""
    for name, value in ((SHELF_LIVES, rules.shelf_life), (DAILY_LIMITS, rules.daily_limit)):
        others = {key: one for key, one in body.get(name, {}).items() if key != source}
        body[name] = others if value is None else {**others, source: value}
    others_missed = [key for key in body.get(NEVER_MISSED, []) if key != source]
    body[NEVER_MISSED] = [*others_missed, source] if rules.never_missed else others_missed


def rules_read(body: Mapping[str, Any], source: str) -> SourceRules:
    """Return the rules that a body has for `source`."""
    return SourceRules(
        body.get(SHELF_LIVES, {}).get(source),
        body.get(DAILY_LIMITS, {}).get(source),
        source in body.get(NEVER_MISSED, []),
    )


def rules_check(body: dict[str, Any]) -> None:
    """Check the rules of a body, and add missing parts. Raises `InvalidSetting`."""
    for name, (low, high) in RANGES.items():
        for source, value in body.setdefault(name, {}).items():
            if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
                words = _(_RANGE_WORDS[name])
                raise InvalidSetting(words.format(source=source, low=low, high=high, value=value))
    missed = body[NEVER_MISSED] = sorted({*body.get(NEVER_MISSED, [])})
    if len(missed) > NEVER_MISSED_MAX:
        words = _("At most {most} sources can be never missed; you chose {count}.")
        raise InvalidSetting(words.format(most=NEVER_MISSED_MAX, count=len(missed)))


_RANGE_WORDS = {
    SHELF_LIVES: gettext_noop(
        "The shelf life of {source} must be from {low} to {high} whole hours; you gave {value}."
    ),
    DAILY_LIMITS: gettext_noop(
        "The daily limit of {source} must be a whole number from {low} to {high}; you gave {value}."
    ),
}


def rules_sources(body: Mapping[str, Any]) -> set[str]:
    """Return the keys of the sources that have rules in a body."""
    return {*body.get(SHELF_LIVES, {}), *body.get(DAILY_LIMITS, {}), *body.get(NEVER_MISSED, [])}


def rules_rename(body: dict[str, Any], old: str, new: str) -> None:
    """Move the rules of `old` to `new`, in place. Those that `new` has already stay."""
    had, there = rules_read(body, old), rules_read(body, new)
    rules_set(body, old, SourceRules())
    rules_set(
        body,
        new,
        SourceRules(
            had.shelf_life if there.shelf_life is None else there.shelf_life,
            had.daily_limit if there.daily_limit is None else there.daily_limit,
            had.never_missed or there.never_missed,
        ),
    )


def is_past_shelf(lives: Mapping[str, int], source: str, dated_at: datetime, now: datetime) -> bool:
    """Return whether an item of `source` has outlived its shelf life at `now`."""
    hours = lives.get(source)
    return hours is not None and now - dated_at > timedelta(hours=hours)


def hours_words(hours: int | None) -> str:
    """Return a shelf life in words: "6 hours", "2 days", "for as long as others"."""
    if hours is None:
        return _("as long as others")
    if hours % 24 == 0:
        return ngettext("{n} day", "{n} days", hours // 24).format(n=hours // 24)
    return ngettext("{n} hour", "{n} hours", hours).format(n=hours)


def limit_words(limit: int | None) -> str:
    """Return a daily limit in words."""
    return _("no limit") if limit is None else _("at most {n} a day").format(n=limit)

"""Every kind of change, in one list; a new kind is one line here. Pure."""

from collections.abc import Iterable, Mapping
from typing import Any

from ranking.config_body import Body
from ranking.mutes import WORD
from suggestions.changes.boosts import BOOST_WORD, MAKE_FRESHER, MAKE_OLDER, REDUCE_WORD
from suggestions.changes.change import Change, ChangeKind
from suggestions.changes.daily_limits import DAILY_LIMIT
from suggestions.changes.half_lives import AGE_FASTER, AGE_SLOWER, HalfLifeKind
from suggestions.changes.mutes import MUTE_ANYTHING, MUTE_WORD, UNMUTE_ANYTHING
from suggestions.changes.never_missed import NEVER_MISS
from suggestions.changes.shelf_lives import SHELF_LIFE
from suggestions.changes.source_rules import CutKind, SourceRuleKind
from suggestions.changes.tastes import ORDER_BY_TASTE
from suggestions.changes.topics import ADD_TOPIC, REMOVE_TOPIC
from suggestions.changes.weights import BOOST_SOURCE, REDUCE_SOURCE

# What may be suggested, in the order in which tools and pages list it.
SUGGESTED: tuple[ChangeKind, ...] = (
    ADD_TOPIC,
    REMOVE_TOPIC,
    BOOST_SOURCE,
    REDUCE_SOURCE,
    MUTE_WORD,
    ORDER_BY_TASTE,
    SHELF_LIFE,
    DAILY_LIMIT,
    NEVER_MISS,
    AGE_FASTER,
    AGE_SLOWER,
)
# What may only be wished for.
WISHED: tuple[ChangeKind, ...] = (
    BOOST_WORD,
    REDUCE_WORD,
    MAKE_FRESHER,
    MAKE_OLDER,
    MUTE_ANYTHING,
    UNMUTE_ANYTHING,
)

# Kinds of which a run proposes one at most; and what the notes on rules for a source may say.
ONE_A_RUN = tuple(kind for kind in SUGGESTED if isinstance(kind, SourceRuleKind | HalfLifeKind))
RULE_NOTES = tuple(kind.counts for kind in ONE_A_RUN if isinstance(kind, CutKind))
KINDS: Mapping[str, ChangeKind] = {kind.name: kind for kind in SUGGESTED}
# A setting is the same for all of its kinds: any of them says what its targets are.
SETTINGS: Mapping[str, ChangeKind] = {str(kind.field): kind for kind in reversed((*SUGGESTED, *WISHED))}
_BY_DIRECTION = {(str(kind.field), kind.direction): kind for kind in reversed((*SUGGESTED, *WISHED))}
# The groups of the page: key and heading.
PAGE_GROUPS = list(dict.fromkeys(kind.group for kind in (BOOST_SOURCE, *SUGGESTED)))
# Settings whose targets are keys of sources.
FIELDS_OF_SOURCES = tuple(name for name, kind in SETTINGS.items() if kind.of_source)


def kind_names() -> list[str]:
    """Return the codes of the kinds that may be suggested."""
    return list(KINDS)


def field_names() -> list[str]:
    """Return the settings that a suggestion may change."""
    return list(dict.fromkeys(str(kind.field) for kind in SUGGESTED))


def kind_choices() -> list[tuple[str, str]]:
    """Return the codes of kinds with their names, for the admin."""
    return [(name, name.replace("_", " ").capitalize()) for name in kind_names()]


def field_choices() -> list[tuple[str, str]]:
    """Return the settings with their names, for the admin."""
    return [(name, name.replace("_", " ").capitalize()) for name in field_names()]


def change_stored(*, kind: str, target: str, value: str, current: str = "") -> Change:
    """Return the change of a stored suggestion: its type, target, suggested and current value."""
    return KINDS[kind].stored(target, value, current)


def changes_make(changes: Iterable[Change], body: Body) -> None:
    """Make several changes in the body of a config, in place."""
    for change in changes:
        change.make(body)


def change_read(values: Mapping[str, Any]) -> Change:
    """Return the change of `Change.as_dict`."""
    kind = _BY_DIRECTION[values["field"], values["direction"]]
    if values["kind"] not in ("", WORD) and kind is not UNMUTE_ANYTHING:
        kind = MUTE_ANYTHING
    target, variant = values["target"], values["kind"]
    return Change(kind, kind.key(target), target, values["before"], values["after"], variant)

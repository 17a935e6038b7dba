"""Every kind of change, in one list; a new kind is one line here.

An import of this module fails with a sentence if a kind lacks something (`kinds_check`). Pure.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from ranking.config_body import Body
from suggestions.changes.boosts import BOOST_WORD, REDUCE_WORD
from suggestions.changes.change import Change, ChangeKind
from suggestions.changes.daily_limits import DAILY_LIMIT
from suggestions.changes.half_lives import AGE_FASTER, AGE_SLOWER, MAKE_FRESHER, MAKE_OLDER
from suggestions.changes.mutes import MUTE_ANYTHING, MUTE_WORD, UNMUTE_ANYTHING
from suggestions.changes.never_missed import NEVER_MISS
from suggestions.changes.shelf_lives import SHELF_LIFE
from suggestions.changes.tastes import ORDER_BY_TASTE
from suggestions.changes.topics import ADD_TOPIC, REMOVE_TOPIC
from suggestions.changes.weights import BOOST_SOURCE, REDUCE_SOURCE

# Kinds that may be suggested, in the order of tools and pages.
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
# Kinds that may only be wished for.
WISHED: tuple[ChangeKind, ...] = (
    BOOST_WORD,
    REDUCE_WORD,
    MAKE_FRESHER,
    MAKE_OLDER,
    MUTE_ANYTHING,
    UNMUTE_ANYTHING,
)

# A run proposes one of these kinds at most, after all others.
ONE_A_RUN = tuple(kind for kind in SUGGESTED if kind.has_own_rule)
# The notes of kinds that cut at numbers.
RULE_NOTES = tuple(kind.counts for kind in SUGGESTED if kind.counts)
KINDS: Mapping[str, ChangeKind] = {kind.name: kind for kind in SUGGESTED}
# A kind that may be suggested reads wishes of the same setting, direction and variant (`_wishes_check`).
_BY_DIRECTION = {
    (str(kind.field), kind.direction, variant): kind
    for kind in reversed((*SUGGESTED, *WISHED))
    for variant in kind.variants
}
# The groups of the page: key and heading.
PAGE_GROUPS = list(dict.fromkeys(kind.group for kind in (BOOST_SOURCE, *SUGGESTED)))
# The kind that finds the articles of each column's targets. All kinds of a column find the same ones.
COLUMN_KINDS = {kind.column: kind for kind in reversed(SUGGESTED) if kind.column}
# Kinds whose targets are keys of sources, and the settings of these.
KINDS_OF_SOURCES = tuple(kind.name for kind in SUGGESTED if kind.of_source)
FIELDS_OF_SOURCES = frozenset(str(kind.field) for kind in SUGGESTED if kind.of_source)


# What a stored wish does by its kind. A suggested kind that reads wishes of another one agrees in these.
_OF_WISHES = ("key", "finder", "state", "make", "undo", "liked")


def kinds_check(kinds: Sequence[ChangeKind]) -> None:
    """Check kinds that may be suggested. Raises `TypeError` that says what one of them lacks."""
    _patterns_check(kinds)
    read: dict[tuple[str, str, str], ChangeKind] = {}
    keyed: dict[tuple[str, str], ChangeKind] = {}
    for kind in kinds:
        own = type(kind)
        for method in ("read", "stored"):
            if getattr(own, method) is getattr(ChangeKind, method):
                raise TypeError(f"{kind!r} needs a method `{method}`: a suggestion is read by it.")
        if own.candidates is not ChangeKind.candidates and kind.column is None:
            raise TypeError(f"{kind!r} has `candidates`: it needs a `column`, where thumbs are counted.")
        is_compared = not (kind.hides or kind.of_page or kind.has_own_rule)
        if is_compared and own.rescore is ChangeKind.rescore:
            raise TypeError(
                f"{kind!r} needs `rescore`: without one the check after two weeks finds no effect."
            )
        finds = next(one for one in kinds if one.column is kind.column)
        if kind.column and (own.finder, own.text_rated) != (type(finds).finder, type(finds).text_rated):
            raise TypeError(f"{kind!r} finds other articles than {finds!r}: give it a `column` of its own.")
        for variant in kind.variants:
            other = read.setdefault((kind.field, kind.direction, variant), kind)
            if other is not kind:
                raise TypeError(
                    f"{kind!r} is read as {other!r}: give it `variants` or a direction of its own."
                )
        first = next(one for one in kinds if one.field == kind.field)
        if first.has_own_rule is not kind.has_own_rule:
            raise TypeError(f"{kind!r} and {first!r} need the same `has_own_rule`: a run counts settings.")
        heads = next(one for one in kinds if one.group == kind.group)
        if not all(kind.group) or heads.variants != kind.variants:
            raise TypeError(f"{kind!r} has the heading of {heads!r}: give it a `group` of its own.")
        other = keyed.setdefault((kind.field, kind.key("x")), kind)
        if other.variants != kind.variants:
            raise TypeError(f"{kind!r} gives its targets the keys of {other!r}: give it a `key` of its own.")
    _wishes_check(kinds)


def _patterns_check(kinds: Sequence[ChangeKind]) -> None:
    """Refuse a `backfires` that another pattern has: a profile knows patterns by their names."""
    named: dict[str, ChangeKind] = {}
    for kind in kinds:
        for name in filter(None, (kind.patterns.favoured_by, kind.patterns.barred_by)):
            named[name] = kind
    for kind in kinds:
        name = kind.patterns.backfires
        if name and named.setdefault(name, kind) is not kind:
            raise TypeError(f"{kind!r} has the pattern `{name}` of {named[name]!r}: give it one of its own.")


def _wishes_check(kinds: Sequence[ChangeKind]) -> None:
    """Refuse a kind that reads stored wishes of another kind and would do something else."""
    for wished in WISHED:
        of_wished = {(wished.field, wished.direction, variant) for variant in wished.variants}
        for kind in kinds:
            if of_wished.isdisjoint((kind.field, kind.direction, variant) for variant in kind.variants):
                continue
            for part in _OF_WISHES:
                owner, other = (kind, wished) if part == "liked" else (type(kind), type(wished))
                if getattr(owner, part) != getattr(other, part):
                    raise TypeError(
                        f"{kind!r} reads the stored wishes of {wished!r}, with another `{part}`: give it a "
                        f"direction or `variants` of its own, or derive it from `{type(wished).__name__}` "
                        f"with the same `{part}`, or take its variant out of that wish's `variants`."
                    )


kinds_check(SUGGESTED)


def kind_read(field: str, direction: str, variant: str) -> ChangeKind:
    """Return the kind of changes of a setting in this direction, about this type of target."""
    return _BY_DIRECTION[field, direction, variant]


def keys_named(field: str, named: str) -> frozenset[str]:
    """Return the keys of the targets that a pin, or a version of a config, may name of a setting.

    They are one for each type of target; empty for a setting that no kind changes.
    """
    kinds = (kind for kind in (*SUGGESTED, *WISHED) if kind.field == field)
    return frozenset(kind.key_of_setting(named) for kind in kinds)


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


def change_stored(
    *, kind: str, target: str, value: str, current: str = "", names: Sequence[str] = ()
) -> Change:
    """Return the change of a stored suggestion: its type, target, values and other names."""
    return replace(KINDS[kind].stored(target, value, current), names=tuple(names))


def changes_make(changes: Iterable[Change], body: Body) -> None:
    """Make several changes in the body of a config, in place."""
    for change in changes:
        change.make(body)


def change_of_dict(values: Mapping[str, Any]) -> Change:
    """Return the change of `Change.as_dict`."""
    target, variant = values["target"], values["kind"]
    kind = kind_read(values["field"], values["direction"], variant)
    within = values.get("within", "")
    return Change(kind, kind.key(target), target, values["before"], values["after"], variant, within=within)

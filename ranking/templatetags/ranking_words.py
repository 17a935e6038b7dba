"""Template filters and tags that call `ranking.config_words`."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from django import template
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from ranking import config_words
from ranking.common.text import topic_key
from ranking.config_words import PinRow, pin_rows
from ranking.entities import Config, Mute
from ranking.selectors import SnapshotRow

register = template.Library()


@register.filter
def change_words(change: Mapping[str, Any], names: Mapping[str, str]) -> str:
    """Return one change of a config as a sentence."""
    return config_words.change_words(change, names)


@register.filter
def learned_words(step: SnapshotRow) -> str:
    """Return one step of the learning loop as a sentence."""
    return config_words.learned_words(step.before, step.after, step.reason)


@register.filter
def lost_words(changes: Sequence[Mapping[str, Any]], names: Mapping[str, str]) -> str:
    """Return a sentence on learned weights that going back to a version would undo."""
    listed = "; ".join(config_words.change_words(change, names) for change in changes)
    return _("Going back also changes what was learned from your ratings. {changes}.").format(changes=listed)


@register.filter
def matches_by_meaning(topic: str, literal: Sequence[str]) -> bool:
    """Return whether a topic matches by meaning, too: its key is not among the `literal` ones."""
    return topic_key(topic) not in literal


@register.simple_tag
def other_names(topic: str, config: Config, typed: Mapping[str, Sequence[str]]) -> str:
    """Return the other names of a topic as one line: the typed ones, else those of the settings."""
    return ", ".join(typed.get(topic, config.other_names.get(topic_key(topic), ())))


@register.simple_tag
def names_with_topics(names: Mapping[str, str], topics: Iterable[str]) -> dict[str, str]:
    """Return `names` together with the reader's `topics`, by the key that a pin of each has."""
    return {topic_key(topic): topic for topic in topics} | dict(names)


@register.simple_tag
def pins_of(names: Mapping[str, str], config: Config, chosen: Mapping[str, str]) -> dict[str, list[PinRow]]:
    """Return the pin rows by heading: the reader's topics, pinned sources, and pins of the whole page."""
    pinned = {*config.locked, *config.avoided, *chosen}
    of_sources = {key: name for key, name in names.items() if key in pinned}
    return pin_rows(of_sources, config.topics, config.locked, config.avoided, chosen)


@register.filter
def mute_words(mute: Mute, names: Mapping[str, str]) -> str:
    """Return the target of a mute in words."""
    return config_words.mute_label(mute, names)


@register.filter
def body_words(body: Mapping[str, Any], names: Mapping[str, str]) -> list[tuple[str, str]]:
    """Return the settings of a config's body as (label, words)."""
    return config_words.body_words(body, names)


@register.filter
def pin_count(config: Config) -> str:
    """Return the number of pinned targets in words ("3 left alone"), or "" if there are none."""
    pinned = len({*config.locked, *config.avoided})
    return ngettext("{n} left alone", "{n} left alone", pinned).format(n=pinned) if pinned else ""

"""The words of `ranking.presenters`, for templates."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from django import template

from ranking import presenters
from ranking.entities import Config
from ranking.matching import topic_key
from ranking.pins import PinRow, pin_rows
from ranking.selectors import SnapshotRow

register = template.Library()


@register.filter
def change_words(change: Mapping[str, Any], names: Mapping[str, str]) -> str:
    """One change of a config as a sentence."""
    return presenters.change_words(change, names)


@register.filter
def learned_words(step: SnapshotRow) -> str:
    """One step of the learning loop as a sentence."""
    return presenters.learned_words(step.before, step.after, step.reason)


@register.filter
def lost_words(changes: Sequence[Mapping[str, Any]], names: Mapping[str, str]) -> str:
    """What going back takes away of what was learned, as a sentence."""
    said = "; ".join(presenters.change_words(change, names) for change in changes)
    return f"Going back also changes what was learned from your thumbs. {said}."


@register.simple_tag
def names_with_topics(names: Mapping[str, str], topics: Iterable[str]) -> dict[str, str]:
    """`names` and the reader's `topics` as they spell them, by the key under which a topic is pinned."""
    return {topic_key(topic): topic for topic in topics} | dict(names)


@register.simple_tag
def pins_of(names: Mapping[str, str], config: Config, chosen: Mapping[str, str]) -> dict[str, list[PinRow]]:
    """The rows of the reader's sources and topics, by what they are about; empty lists are left out."""
    sources, topics = pin_rows(names, config.topics, config.locked, config.avoided, chosen)
    return {about: rows for about, rows in (("Topics", topics), ("Sources", sources)) if rows}


@register.filter
def pin_count(config: Config) -> str:
    """How many targets are pinned, in words: "3 left alone"; nothing where none is."""
    pinned = len({*config.locked, *config.avoided})
    return f"{pinned} left alone" if pinned else ""

"""Pins as the settings page offers them: for each source and topic, what may be suggested about it. Pure."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from ranking.matching import topic_key

LOCKED, AVOIDED, OPEN = "locked", "avoided", "open"
# What a reader may say of a target, in the words the page offers.
CHOICES = {OPEN: "May be suggested", LOCKED: "Leave as it is", AVOIDED: "Never suggest"}
# A source's key is the longest target there is.
TARGET_MAX_CHARS = 120


@dataclass(frozen=True, slots=True)
class PinRow:
    """One source or topic and its options: what the form sends, in words, whether it is chosen."""

    target: str
    name: str
    options: tuple[tuple[str, str, bool], ...]


def pin_rows(
    names: Mapping[str, str],
    topics: Sequence[str],
    locked: Sequence[str],
    avoided: Sequence[str],
    typed: Mapping[str, str],
) -> tuple[list[PinRow], list[PinRow]]:
    """The rows of the sources (`names`: key -> title, also pinned ones that are no longer read) and those of
    the topics, each in order of name.

    A topic goes by its key, or as it was pinned; what is pinned and neither a source nor a topic any more
    stands among the topics. `typed` (target -> choice) is what was chosen and not saved yet.
    """
    pins = dict.fromkeys(locked, LOCKED) | dict.fromkeys(avoided, AVOIDED)
    of_topics = {topic_key(pin): pin for pin in pins if pin not in names}
    spelled = {topic_key(topic): topic for topic in topics}
    keys = {key: of_topics.get(key, key) for key in {*of_topics, *spelled}}
    about = [(target, spelled.get(key, target)) for key, target in keys.items()]
    return _rows(names.items(), pins, typed), _rows(about, pins, typed)


def _rows(
    about: Iterable[tuple[str, str]], pins: Mapping[str, str], typed: Mapping[str, str]
) -> list[PinRow]:
    rows = [_row(target, name, pins.get(target, OPEN), typed) for target, name in about]
    return sorted(rows, key=lambda row: (row.name.casefold(), row.target))


def _row(target: str, name: str, stands: str, typed: Mapping[str, str]) -> PinRow:
    """The option that stands says nothing, so that a save touches what was changed and no more."""
    chosen = typed.get(target, stands)
    options = (("" if code == stands else code, words, code == chosen) for code, words in CHOICES.items())
    return PinRow(target, name, tuple(options))

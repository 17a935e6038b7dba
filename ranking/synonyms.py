"""Topics that go by several names, and which of them each is found by. They are data: `topic_aliases.toml`.

The list is short and checked by hand; a name that means something else as well is not in it. Pure.
"""

import tomllib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

FILE = Path(__file__).parent / "topic_aliases.toml"


@dataclass(frozen=True, slots=True)
class Known:
    """One topic of the list: what it is called, what finds it, and after which endings a form does not."""

    names: tuple[str, ...]
    match: tuple[str, ...]
    unless: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


@cache
def known_topics() -> tuple[Known, ...]:
    """Every topic of the list, in the order of the file."""
    rows = tomllib.loads(FILE.read_text(encoding="utf-8"))["topic"]
    return tuple(
        Known(
            tuple(row["names"]),
            tuple(row["match"]),
            {form: tuple(ends) for form, ends in row.get("unless", {}).items()},
        )
        for row in rows
    )


@cache
def _by_key(key: Callable[[str], str]) -> dict[str, Known]:
    return {key(name): known for known in known_topics() for name in known.names}


def known_topic(topic: str, key: Callable[[str], str]) -> Known | None:
    """The topic of the list that `topic` is a name of; `key` gives the identity of a name."""
    return _by_key(key).get(key(topic))


def topics_distinct(topics: Iterable[str], key: Callable[[str], str]) -> tuple[str, ...]:
    """`topics` without those that are another name for an earlier one: a text counts once for both."""
    seen: set[str] = set()
    kept = []
    for topic in topics:
        known = known_topic(topic, key)
        identity = known.names[0] if known else key(topic)
        if identity not in seen:
            seen.add(identity)
            kept.append(topic)
    return tuple(kept)

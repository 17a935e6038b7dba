"""Other names of a reader's topics: an article that says "Wimbledon" may match the topic "tennis". Pure.

A reader accepts each name. They are a part of the versioned config, by the key of the topic. Bodies stored
before topics had names have none.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from ranking.common.text import TOPIC_MAX_CHARS, topic_key
from ranking.entities import Config, InvalidSetting
from ranking.language import gettext as _

OTHER_NAMES: Final = "other_names"
# The most names of one topic. More names mean several topics, which are better added separately.
NAMES_MAX = 16


def names_set(body: dict[str, Any], topic: str, names: Sequence[str]) -> None:
    """Give `topic` exactly these other names, in place."""
    key = topic_key(topic)
    others = {one: known for one, known in body.get(OTHER_NAMES, {}).items() if one != key}
    body[OTHER_NAMES] = {**others, key: [*names]} if names else others


def names_check(body: dict[str, Any]) -> None:
    """Check and clean the other names in place. Those of a deleted topic are removed.

    Names that repeat the topic or another name are removed, too. Raises `InvalidSetting` for more than 16
    names of a topic, and for a name that is longer than a topic may be.
    """
    spelled = {topic_key(topic): topic for topic in body["topics"]}
    found = {}
    for key, names in body.get(OTHER_NAMES, {}).items():
        if key not in spelled:
            continue
        distinct = {topic_key(name): name for name in reversed(names) if topic_key(name) not in ("", key)}
        if len(distinct) > NAMES_MAX:
            raise InvalidSetting(
                _("A topic may have {most} other names; “{topic}” has {count}.").format(
                    most=NAMES_MAX, topic=spelled[key], count=len(distinct)
                )
            )
        if long := next((name for name in distinct.values() if len(name) > TOPIC_MAX_CHARS), ""):
            raise InvalidSetting(
                _("A name of a topic may have {most} characters; “{name}…” has {count}.").format(
                    most=TOPIC_MAX_CHARS, name=long[:20], count=len(long)
                )
            )
        if distinct:
            found[key] = [*reversed(distinct.values())]
    body[OTHER_NAMES] = found


def names_read(body: Mapping[str, Any]) -> dict[str, tuple[str, ...]]:
    """Return the other names of each topic, by its key."""
    return {key: tuple(names) for key, names in body.get(OTHER_NAMES, {}).items()}


def topic_names(config: Config) -> dict[str, tuple[str, ...]]:
    """Return the other names of each topic of a config, () for most."""
    return {topic: config.other_names.get(topic_key(topic), ()) for topic in config.topics}

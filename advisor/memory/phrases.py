"""The words that derived memories are made of: ours alone; no reader's and no publisher's get in. Pure.

Every text has the form "When …: … Because …": a situation, what to do, and the figures it rests on. A target
is never named: its key is a column, by which the memory is found.
"""

import hashlib

from suggestions.entities import ADD_TOPIC, BOOST_SOURCE, REDUCE_SOURCE, REMOVE_TOPIC

KEY_CHARS_MAX, HASH_CHARS = 120, 16
CHANGES = {
    ADD_TOPIC: "adding {} topic",
    REMOVE_TOPIC: "removing {} topic",
    BOOST_SOURCE: "boosting {} source",
    REDUCE_SOURCE: "reducing {} source",
}


def advice(situation: str, deed: str, because: str) -> str:
    """One memory's text: "When {situation}: {deed}. Because {because}."."""
    return f"When {situation}: {deed}. Because {because}."


def any_change(kind: str) -> str:
    """A type of change in words: "boosting a source"."""
    return CHANGES[kind].format("a")


def this_change(kind: str) -> str:
    """A change of the target at hand: "boosting this source"."""
    return CHANGES[kind].format("this")


def memory_key(*parts: str) -> str:
    """A key within its kind: the parts joined; a long one ends in a hash of itself."""
    key = ":".join(parts)
    if len(key) <= KEY_CHARS_MAX:
        return key
    digest = hashlib.sha1(key.encode("utf-8", "replace"), usedforsecurity=False).hexdigest()
    return f"{key[: KEY_CHARS_MAX - HASH_CHARS - 1]}~{digest[:HASH_CHARS]}"

"""What a reader's profile says of itself to the next run: one memory for each flag that holds. Pure.

The flags and their thresholds are those of `suggestions.profile`; each says something of one type of change
or of several. A flag is as sure as the acceptance of its type is in the profile's own words.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from advisor.guidance.distilling import Draft
from advisor.guidance.entities import Kind
from advisor.memory.phrases import advice, any_change, memory_key
from suggestions.entities import ADD_TOPIC, BOOST_SOURCE, REDUCE_SOURCE, REMOVE_TOPIC
from suggestions.profile import BACKFIRES

# Two half-lives of decisions, after which a flag would not be read off them either.
PROFILE_SPAN = timedelta(days=180)
CONFIDENCE = {"low": 0.5, "medium": 0.65, "high": 0.8}
PROFILE = "profile"


@dataclass(frozen=True, slots=True)
class Flag:
    """What a flag means: for which types, do it (1), beware (-1) or neither, what to do, and why."""

    types: tuple[str, ...]
    polarity: int
    deed: str
    because: str


BACKFIRED = "take a smaller step, or choose another type of change"
FLAGS = {
    "never_reduce_sources": Flag(
        (REDUCE_SOURCE,),
        -1,
        "leave the source as it is and propose more of what is liked instead",
        "this reader turned down at least three such changes and keeps none",
    ),
    "open_to_new_topics": Flag(
        (ADD_TOPIC,),
        1,
        "propose it where titles from two sources bear it out",
        "this reader accepts most new topics",
    ),
    "protective_of_existing_config": Flag(
        (REMOVE_TOPIC, REDUCE_SOURCE),
        -1,
        "ask for it only where the thumbs are plain, and add something rather than take something away",
        "this reader turns down three of four changes that take something away",
    ),
    "prefers_additions_over_removals": Flag(
        (REMOVE_TOPIC, REDUCE_SOURCE),
        -1,
        "see first whether a new topic or more from a source would do as well",
        "this reader accepts additions far more often than removals",
    ),
    "prefers_smaller_steps": Flag(
        (BOOST_SOURCE, REDUCE_SOURCE),
        0,
        "ask for about two thirds of the step you would otherwise take",
        "this reader chose smaller steps than those proposed",
    ),
    **{
        name: Flag(
            (kind,), -1, BACKFIRED, "such changes harmed this reader's digest, or were taken back, too often"
        )
        for kind, name in BACKFIRES.items()
    },
}


def flag_drafts(
    patterns: Mapping[str, Any],
    acceptance: Mapping[str, Mapping[str, Any]],
    *,
    last_at: datetime | None,
    now: datetime,
) -> list[Draft]:
    """One draft for each flag of `patterns` that holds and each type it is about.

    `acceptance` is the profile's own by type, `last_at` when the newest outcome in it came.
    """
    if last_at is None or last_at <= now - PROFILE_SPAN:
        return []
    return [
        _draft(name, flag, kind, acceptance.get(kind, {}), last_at)
        for name, flag in FLAGS.items()
        if patterns.get(name) is True
        for kind in flag.types
    ]


def _draft(name: str, flag: Flag, kind: str, stats: Mapping[str, Any], last_at: datetime) -> Draft:
    counts = [stats.get(part, 0) for part in ("accepted", "rejected", "reverted")]
    change = any_change(kind)
    return Draft(
        kind=Kind.PROFILE,
        key=memory_key(name, kind),
        title=f"{name.replace('_', ' ').capitalize()}: {change}",
        text=advice(f"thinking of {change}", flag.deed, flag.because),
        suggestion_type=kind,
        polarity=flag.polarity,
        evidence=sum(count for count in counts if isinstance(count, int)),
        confidence=CONFIDENCE.get(str(stats.get("confidence")), CONFIDENCE["low"]),
        data={"flag": name},
        source_ref=PROFILE,
        valid_from=last_at,
        expires_at=last_at + PROFILE_SPAN,
    )

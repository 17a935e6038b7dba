"""The reasons a reader gave, summed up: codes of their words, and tags by source. Pure.

No word of a reader is in here: a reason is one of the codes of `suggestions.reasons`, a tag one of the
taxonomy, and each has its words below; what has none is left out. These are the least certain memories.
"""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta

from advisor.guidance.distilling import Draft
from advisor.guidance.entities import Kind, Level
from advisor.memory.decisions import PATTERN_SPAN, Decided
from advisor.memory.phrases import advice, any_change, memory_key, this_change
from suggestions.entities import BOOST_SOURCE, REDUCE_SOURCE
from suggestions.profile import REJECTED

TAG_SPAN = timedelta(days=90)
REASONS_MIN, TAGS_MIN = 2, 3
REASONS_MAX, TAGS_MAX = 12, 8
GIVEN = "reasons given"
# code: (what the reader meant, what to do about it, 1: do it, -1: beware, 0: neither)
REASON_WORDS = {
    "too_much": ("too large a step", "offer a smaller step", 0),
    "too_little": ("too small a step", "offer a larger step within the limit", 0),
    "bad_timing": ("the wrong moment", "leave it for some weeks unless the thumbs are new", -1),
    "already_done": ("something done already", "check with query_user_config that it is not there yet", 0),
    "fine_as_is": (
        "settings that are right as they stand",
        "leave what is set alone and look for something new",
        -1,
    ),
    "not_interested": ("no interest", "keep to what this reader rates often", -1),
    "unconvinced": ("weak evidence", "bring more and newer evidence, and name counts", 0),
}
TAG_WORDS = {
    "clarity": "clear writing",
    "depth": "real depth",
    "original": "original reporting",
    "practical": "practical use",
    "surprising": "something new",
    "on-topic": "the right topic",
    "hype": "too much hype",
    "clickbait": "clickbait headlines",
    "shallow": "too little depth",
    "known": "nothing new",
    "paywall": "paywalls",
    "off-topic": "the wrong topic",
}


@dataclass(frozen=True, slots=True)
class Tagged:
    """How many thumbs of one direction on one source's items came with one tag, and when the last one did."""

    source: str
    tag: str
    useful: bool
    count: int
    last_at: datetime


def reason_drafts(rows: Iterable[Decided], *, now: datetime) -> list[Draft]:
    """What a reader's reasons against a type of change come to, the commonest first."""
    grouped: defaultdict[tuple[str, str], list[datetime]] = defaultdict(list)
    refused: defaultdict[str, int] = defaultdict(int)
    for row in rows:
        if row.outcome == REJECTED and row.reverted_at is None and row.decided_at > now - PATTERN_SPAN:
            refused[row.suggestion_type] += 1
            if row.reason in REASON_WORDS:
                grouped[row.suggestion_type, row.reason].append(row.decided_at)
    common = sorted(grouped.items(), key=lambda pair: (-len(pair[1]), pair[0]))
    return [
        _reason(kind, code, dates, refused[kind])
        for (kind, code), dates in common[:REASONS_MAX]
        if len(dates) >= REASONS_MIN
    ]


def tag_drafts(rows: Iterable[Tagged]) -> list[Draft]:
    """What a reader names most about single sources: at least three thumbs one way with the same tag."""
    known = [row for row in rows if row.tag in TAG_WORDS and row.count >= TAGS_MIN]
    known.sort(key=lambda row: (-row.count, row.source, row.tag, row.useful))
    return [_tag(row) for row in known[:TAGS_MAX]]


def _reason(kind: str, code: str, dates: list[datetime], refused: int) -> Draft:
    meant, deed, polarity = REASON_WORDS[code]
    change, count, last = any_change(kind), len(dates), max(dates)
    because = f"{count} of {refused} refusals by this reader named {meant}"
    return Draft(
        kind=Kind.BANK,
        key=memory_key("reason", kind, code),
        title=f"Against {change}: {meant}",
        text=advice(f"proposing {change}", deed, because),
        suggestion_type=kind,
        polarity=polarity,
        evidence=count,
        confidence=round(count / (refused + 2), 4),
        data={"code": code, "times": count, "of": refused},
        source_ref=GIVEN,
        ceiling=Level.NOTE,
        valid_from=last,
        expires_at=last + PATTERN_SPAN,
    )


def _tag(row: Tagged) -> Draft:
    kind = BOOST_SOURCE if row.useful else REDUCE_SOURCE
    way, words = "up" if row.useful else "down", TAG_WORDS[row.tag]
    change = this_change(kind)
    return Draft(
        kind=Kind.BANK,
        key=memory_key("tag", row.tag, way, row.source),
        title=f"{words.capitalize()}: {change}",
        text=advice(
            f"proposing {change}",
            f"take items with {words} as evidence and name that in the reason",
            f"this reader gave it with {row.count} thumbs {way}",
        ),
        suggestion_type=kind,
        target_key=row.source,
        polarity=1,
        evidence=row.count,
        confidence=round(row.count / (row.count + 4), 4),
        data={"tag": row.tag, "times": row.count},
        source_ref=GIVEN,
        ceiling=Level.NOTE,
        valid_from=row.last_at,
        expires_at=row.last_at + TAG_SPAN,
    )

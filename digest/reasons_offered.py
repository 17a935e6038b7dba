"""Reasons a reader might give for a thumb on one text: filtered from a model's, or read off the text. Pure.

A tap on a reason stores its tag, so one without a tag of the taxonomy is dropped; its words only say it
more closely. What is read off a text offline are shapes (length, sentences, figures) in any language, and
a few tell-tale words in English.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from digest.sanitise import one_line, plain
from ranking.matching import fold

REASONS_MIN, REASONS_MAX = 3, 5
WORDS_MAX, WORDS_CHARS_MAX = 4, 40
VALUED, DISLIKED = "valued", "disliked"
# Words that fit any text say nothing about this one.
GENERIC = frozenset(
    {"good", "bad", "nice", "great", "interesting", "boring", "useful", "relevant", "irrelevant", "important"}
    | {"good article", "bad article", "great article", "good read", "nice read", "interesting article"}
    | {"interesting topic", "well written", "informative", "news", "not interesting", "not useful"}
    | {"i like it", "i liked it", "liked it", "disliked it", "other", "none", "n/a"}
)
KIND_OF = dict.fromkeys(("clarity", "depth", "original", "practical", "surprising", "on-topic"), VALUED) | (
    dict.fromkeys(("hype", "clickbait", "shallow", "known", "paywall", "off-topic"), DISLIKED)
)
# In a text, unlike in a title, one tell-tale word may stand for anything but a wall.
HITS_MIN = {"paywall": 1}
LONG_WORDS, SHORT_WORDS = 600, 60
PLAIN_SENTENCE = (6, 18)

_MARKS = {
    "paywall": (
        r"subscribers? only|subscribe to (?:read|continue|unlock)|continue reading with|behind the paywall",
        r"this (?:article|post|story) is for (?:paying|paid|premium)|unlock this (?:article|story)",
    ),
    "hype": (
        r"game[- ]?chang\w+|revolution(?:ary|i[sz]e\w*)|ground[- ]?breaking|mind[- ]?blowing|insane",
        r"jaw[- ]dropping|disrupt(?:s|ive|ing)|next big thing|unbelievable|must[- ]have|amazing|incredible",
    ),
    "clickbait": (
        r"you won['’]?t believe|here['’]?s (?:why|what|how)|this is (?:why|what|how)|what happened next",
        r"the reason (?:why )?will|^\d+ (?:things|ways|reasons|tips|facts|signs)|one weird|shock(?:s|ing|ed)",
    ),
    "practical": (
        r"how[- ]to|step[- ]by[- ]step|tutorial|guide to|tips for|cheat ?sheet|getting started|walkthrough",
        r"checklist|recipe|best practices",
    ),
    "original": (
        r"exclusive|investigation|has learned|told (?:us|the|reporters)|interview(?:ed)? with",
        r"we (?:found|tested|measured|analy[sz]ed|asked)|our (?:analysis|reporting|data|survey)",
        r"documents (?:seen|obtained)",
    ),
    "surprising": (
        r"for the first time|unexpected\w*|surpris\w+|contrary to|turns out|counter[- ]?intuitive",
        r"new (?:study|research)|researchers (?:have )?f(?:ou|i)nd|discover(?:ed|y|ies)",
    ),
}
_PATTERNS = {tag: re.compile(rf"\b(?:{'|'.join(marks)})", re.IGNORECASE) for tag, marks in _MARKS.items()}
_WORDS = {
    "paywall": "asks for a subscription",
    "hype": "breathless tone",
    "clickbait": "headline teases",
    "practical": "a how-to",
    "original": "first-hand reporting",
    "surprising": "a new finding",
    "depth": "long and detailed",
    "shallow": "only a few lines",
    "clarity": "short, plain sentences",
    "known": "already reported elsewhere",
}


@dataclass(frozen=True, slots=True)
class Suggested:
    """One reason on offer: the tag that a tap stores, and the words shown for it."""

    tag: str
    text: str


# What only a reader can know, and so may be asked of any text.
NEUTRAL = (
    Suggested("on-topic", "my kind of topic"),
    Suggested("off-topic", "not my topic"),
    Suggested("known", "already knew this"),
)


def reasons_offline(title: str, text: str, *, clustered: bool = False) -> tuple[Suggested, ...]:
    """Three to five reasons read off a text, one at least for each thumb.

    `clustered`: other sources report the same story.
    """
    tags = dict.fromkeys(_marked(title, text))
    tags |= dict.fromkeys(_shaped(text))
    if clustered:
        tags["known"] = None
    return _both_ways([Suggested(tag, _WORDS[tag]) for tag in tags])


def reasons_filtered(
    said: Iterable[tuple[str | None, str]], offline: Sequence[Suggested]
) -> tuple[Suggested, ...]:
    """A model's reasons as (tag of the taxonomy or `None`, words): short, no two alike, none generic.

    At most four words each; where fewer than three remain, those read off the text join them.
    """
    kept: dict[str, Suggested] = {}
    seen: set[str] = set()
    for tag, words in said:
        text = one_line(plain(words), limit=WORDS_CHARS_MAX).strip(" .!,;:")
        key = fold(text)
        if tag is None or tag in kept or not text or key in seen or key in GENERIC:
            continue
        if len(text.split()) <= WORDS_MAX:
            kept[tag] = Suggested(tag, text)
            seen.add(key)
    own = list(kept.values())[:REASONS_MAX]
    fill = [reason for reason in offline if reason.tag not in kept]
    missing = max(0, REASONS_MIN - len(own))
    return _both_ways([*own, *fill[:missing]])


def _marked(title: str, text: str) -> Iterable[str]:
    """The tags whose tell-tale words stand in the text; a headline is judged by the headline alone."""
    for tag, pattern in _PATTERNS.items():
        hits = set() if tag == "clickbait" else set(pattern.findall(text.casefold()))
        if pattern.search(title) or len(hits) >= HITS_MIN.get(tag, 2):
            yield tag
    if title.count("!") or (title.isupper() and len(title) > 12):
        yield "hype"
    if title.rstrip().endswith(("?", "？", "…", "...")):
        yield "clickbait"


def _shaped(text: str) -> Iterable[str]:
    """What length and sentences say, in any script whose words are spaced apart."""
    words = text.split()
    if len(words) >= LONG_WORDS:
        yield "depth"
    elif len(text) < SHORT_WORDS * 6 and len(words) < SHORT_WORDS:
        yield "shallow"
    ends = len(re.findall(r"[.!?。！？]+(?:\s|$)", text))
    if ends >= 3 and PLAIN_SENTENCE[0] <= len(words) / ends <= PLAIN_SENTENCE[1]:
        yield "clarity"


def _both_ways(found: Sequence[Suggested]) -> tuple[Suggested, ...]:
    """At most five of `found`, filled up with what fits any text: three at least, and one for each thumb."""
    sides: dict[str, list[Suggested]] = {VALUED: [], DISLIKED: []}
    for reason in found:
        sides[KIND_OF.get(reason.tag, VALUED)].append(reason)
    for reason in NEUTRAL:
        side = sides[KIND_OF[reason.tag]]
        if not side or (_count(sides) < REASONS_MIN and all(reason.tag != own.tag for own in side)):
            side.append(reason)
    up, down = sides[VALUED], sides[DISLIKED]
    up = up[: REASONS_MAX - min(2, len(down))]
    return (*up, *down[: REASONS_MAX - len(up)])


def _count(sides: dict[str, list[Suggested]]) -> int:
    return sum(map(len, sides.values()))

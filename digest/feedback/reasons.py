"""Reasons for a rating: mapped to the taxonomy, filtered from a model's answer, or found in the text.

A tap on a reason stores its tag, so a reason without a taxonomy tag is dropped. Its words are only more
precise. Offline reasons come from the shape of a text (length, sentences, punctuation) in any language, and
from some typical phrases in English. Pure.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from digest.feeds.sanitise import FIELD_MAX_CHARS, TITLE_MAX_CHARS, clean_text, one_line
from digest.llm.phishing import lure_problem
from ranking.common.text import fold
from ranking.language import gettext_noop

REASONS_MIN, REASONS_MAX = 3, 5
WORDS_MAX, WORDS_CHARS_MAX = 4, 40
# Limits for reasons outside the taxonomy that are stored with a rating.
OTHER_REASONS_MAX = 8
OTHER_REASON_MAX_CHARS = 200
# Of these, how many lines a reader may write beside a rating: a wish is one line, and a rating no diary.
OWN_WORDS_MAX = 3
VALUED, DISLIKED = "valued", "disliked"
KIND_OF = dict.fromkeys(("clarity", "depth", "original", "practical", "surprising", "on-topic"), VALUED) | (
    dict.fromkeys(("hype", "clickbait", "shallow", "known", "paywall", "off-topic"), DISLIKED)
)
# Words that fit any text, so they say nothing.
GENERIC = frozenset(
    {"good", "bad", "nice", "great", "interesting", "boring", "useful", "relevant", "irrelevant", "important"}
    | {"good article", "bad article", "great article", "good read", "nice read", "interesting article"}
    | {"interesting topic", "well written", "informative", "news", "not interesting", "not useful"}
    | {"i like it", "i liked it", "liked it", "disliked it", "other", "none", "n/a"}
)
# No stored text is longer. Of a text from elsewhere no more is read, so all patterns see bounded input.
READ_CHARS_MAX = FIELD_MAX_CHARS
# In a title one typical phrase is enough. In a text it proves nothing, except for a paywall.
HITS_MIN = {"paywall": 1}
LONG_WORDS, SHORT_WORDS = 600, 60
# Words per sentence.
CLEAR_SENTENCE = (6, 18)

_PHRASES = {
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
_PATTERNS = {
    tag: re.compile(rf"\b(?:{'|'.join(phrases)})", re.IGNORECASE) for tag, phrases in _PHRASES.items()
}
_SENTENCE_END = re.compile(r"(?<![.!?。！？])[.!?。！？]++(?:\s|$)")
_WORDS = {
    "paywall": gettext_noop("asks for a subscription"),
    "hype": gettext_noop("breathless tone"),
    "clickbait": gettext_noop("headline teases"),
    "practical": gettext_noop("a how-to"),
    "original": gettext_noop("first-hand reporting"),
    "surprising": gettext_noop("a new finding"),
    "depth": gettext_noop("long and detailed"),
    "shallow": gettext_noop("only a few lines"),
    "clarity": gettext_noop("short, plain sentences"),
    "known": gettext_noop("already reported elsewhere"),
}


@dataclass(frozen=True, slots=True)
class SuggestedReason:
    """One suggested reason: the tag that a tap stores, and the words to show."""

    tag: str
    text: str


# Only a reader can judge these, so they fit any text.
NEUTRAL = (
    SuggestedReason("on-topic", gettext_noop("my kind of topic")),
    SuggestedReason("off-topic", gettext_noop("not my topic")),
    SuggestedReason("known", gettext_noop("already knew this")),
)


def reason_tags_map(
    raw: Iterable[str], spellings: Mapping[str, str]
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return reasons mapped to taxonomy slugs, and those that match none as plain text, without repeats.

    At most 8 unmatched reasons of 200 characters are returned. `spellings` comes from `reason_tag_spellings`.
    """
    slugs: dict[str, None] = {}
    others: dict[str, str] = {}
    for reason in raw:
        text = one_line(clean_text(reason), limit=OTHER_REASON_MAX_CHARS)
        key = fold(text)
        variants = (key, key.replace("-", " "), key.replace(" ", "-"))
        slug = next((spellings[variant] for variant in variants if variant in spellings), None)
        if slug is not None:
            slugs[slug] = None
        elif text:
            others.setdefault(key, text)
    return tuple(slugs), tuple(others.values())[:OTHER_REASONS_MAX]


def reasons_offline(title: str, text: str, *, clustered: bool = False) -> tuple[SuggestedReason, ...]:
    """Return three to five reasons found in a text, at least one for a like and one for a dislike.

    `clustered`: other sources report the same story.
    """
    title, text = title[:TITLE_MAX_CHARS], text[:READ_CHARS_MAX]
    tags = dict.fromkeys([*_phrase_tags(title, text), *_shape_tags(text)])
    if clustered:
        tags["known"] = None
    return _balance([SuggestedReason(tag, _WORDS[tag]) for tag in tags])


def own_words_clean(given: Iterable[str]) -> tuple[str, ...]:
    """Return a reader's own lines without control characters, empty lines and repeats."""
    lines = (" ".join(clean_text(text).split()) for text in given)
    return tuple({fold(line): line for line in lines if line}.values())


def reasons_filter(
    proposed: Iterable[tuple[str | None, str]], offline: Sequence[SuggestedReason]
) -> tuple[SuggestedReason, ...]:
    """Return the usable ones of a model's reasons, given as (taxonomy tag or `None`, words).

    Dropped are reasons without a tag, generic or repeated ones, those with more than four words, and those
    that try to lead a reader somewhere. Offline reasons fill up to three.
    """
    accepted: dict[str, SuggestedReason] = {}
    seen: set[str] = set()
    for tag, words in proposed:
        text = one_line(clean_text(words), limit=WORDS_CHARS_MAX).strip(" .!,;:")
        key = fold(text)
        if tag is None or tag in accepted or not text or key in seen or key in GENERIC:
            continue
        if len(text.split()) <= WORDS_MAX and not lure_problem(text):
            accepted[tag] = SuggestedReason(tag, text)
            seen.add(key)
    own = list(accepted.values())[:REASONS_MAX]
    fill = [reason for reason in offline if reason.tag not in accepted]
    return _balance([*own, *fill[: max(0, REASONS_MIN - len(own))]])


def _phrase_tags(title: str, text: str) -> Iterable[str]:
    """Yield the tags whose typical phrases occur. "clickbait" is judged by the title only."""
    for tag, pattern in _PATTERNS.items():
        hits = set() if tag == "clickbait" else set(pattern.findall(text.casefold()))
        if pattern.search(title) or len(hits) >= HITS_MIN.get(tag, 2):
            yield tag
    if title.count("!") or (title.isupper() and len(title) > 12):
        yield "hype"
    if title.rstrip().endswith(("?", "？", "…", "...")):
        yield "clickbait"


def _shape_tags(text: str) -> Iterable[str]:
    """Yield the tags that length and sentences suggest, in any script that separates words by spaces."""
    words = text.split()
    if len(words) >= LONG_WORDS:
        yield "depth"
    elif len(text) < SHORT_WORDS * 6 and len(words) < SHORT_WORDS:
        yield "shallow"
    sentences = len(_SENTENCE_END.findall(text))
    if sentences >= 3 and CLEAR_SENTENCE[0] <= len(words) / sentences <= CLEAR_SENTENCE[1]:
        yield "clarity"


def _balance(found: Sequence[SuggestedReason]) -> tuple[SuggestedReason, ...]:
    """Return three to five reasons from `found` and the neutral ones, at least one for each answer."""
    sides: dict[str, list[SuggestedReason]] = {VALUED: [], DISLIKED: []}
    for reason in found:
        sides[KIND_OF.get(reason.tag, VALUED)].append(reason)
    for reason in NEUTRAL:
        side, count = sides[KIND_OF[reason.tag]], sum(map(len, sides.values()))
        if not side or (count < REASONS_MIN and all(reason.tag != own.tag for own in side)):
            side.append(reason)
    likes, dislikes = sides[VALUED], sides[DISLIKED]
    likes = likes[: REASONS_MAX - min(2, len(dislikes))]
    return (*likes, *dislikes[: REASONS_MAX - len(likes)])

"""Reasons for a rating: mapped to the taxonomy, filtered from a model's answer, or found in the text.

A tap on a reason stores its tag, so one without a tag of the taxonomy is dropped; its words are only more
precise. What is found offline are shapes of a text (length, sentences, punctuation) in any language, and some
typical phrases in English. Pure."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from digest.feeds.sanitise import FIELD_MAX_CHARS, TITLE_MAX_CHARS, clean_text, one_line
from digest.llm.phishing import lure_problem
from ranking.common.text import fold
from ranking.language import gettext_noop

REASONS_MIN, REASONS_MAX = 3, 5
WORDS_MAX, WORDS_CHARS_MAX = 4, 40
# Reasons outside the taxonomy that are stored with a rating.
OTHER_REASONS_MAX = 8
OTHER_REASON_MAX_CHARS = 64
VALUED, DISLIKED = "valued", "disliked"
KIND_OF = dict.fromkeys(("clarity", "depth", "original", "practical", "surprising", "on-topic"), VALUED) | (
    dict.fromkeys(("hype", "clickbait", "shallow", "known", "paywall", "off-topic"), DISLIKED)
)
# Words that fit any text.
GENERIC = frozenset(
    {"good", "bad", "nice", "great", "interesting", "boring", "useful", "relevant", "irrelevant", "important"}
    | {"good article", "bad article", "great article", "good read", "nice read", "interesting article"}
    | {"interesting topic", "well written", "informative", "news", "not interesting", "not useful"}
    | {"i like it", "i liked it", "liked it", "disliked it", "other", "none", "n/a"}
)
# No stored text is longer, and of one that comes another way no more is read: all patterns see bounded input.
READ_CHARS_MAX = FIELD_MAX_CHARS
# In a text, unlike in a title, one typical phrase proves nothing, except of a paywall.
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
    """One suggested reason: the tag that a tap stores, and the words shown for it."""

    tag: str
    text: str


# Only a reader can know these, so they fit any text.
NEUTRAL = (
    SuggestedReason("on-topic", gettext_noop("my kind of topic")),
    SuggestedReason("off-topic", gettext_noop("not my topic")),
    SuggestedReason("known", gettext_noop("already knew this")),
)


def reason_tags_map(
    raw: Iterable[str], spellings: Mapping[str, str]
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Map reasons to slugs of the taxonomy; return the slugs, and the rest as plain text, without repeats.

    The rest has at most 8 reasons of 64 characters. `spellings`: see `reason_tag_spellings`.
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
    return _balanced([SuggestedReason(tag, _WORDS[tag]) for tag in tags])


def reasons_filter(
    proposed: Iterable[tuple[str | None, str]], offline: Sequence[SuggestedReason]
) -> tuple[SuggestedReason, ...]:
    """Return the usable reasons of a model's (tag of the taxonomy or `None`, words).

    Dropped are those without a tag, generic or repeated ones, those of more than four words, and what leads
    or asks a reader somewhere; offline reasons fill up to three.
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
    return _balanced([*own, *fill[: max(0, REASONS_MIN - len(own))]])


def _phrase_tags(title: str, text: str) -> Iterable[str]:
    """Yield the tags whose typical phrases occur; "clickbait" is judged by the title alone."""
    for tag, pattern in _PATTERNS.items():
        hits = set() if tag == "clickbait" else set(pattern.findall(text.casefold()))
        if pattern.search(title) or len(hits) >= HITS_MIN.get(tag, 2):
            yield tag
    if title.count("!") or (title.isupper() and len(title) > 12):
        yield "hype"
    if title.rstrip().endswith(("?", "？", "…", "...")):
        yield "clickbait"


def _shape_tags(text: str) -> Iterable[str]:
    """Yield what length and sentences show, in any script that separates words by spaces."""
    words = text.split()
    if len(words) >= LONG_WORDS:
        yield "depth"
    elif len(text) < SHORT_WORDS * 6 and len(words) < SHORT_WORDS:
        yield "shallow"
    sentences = len(_SENTENCE_END.findall(text))
    if sentences >= 3 and CLEAR_SENTENCE[0] <= len(words) / sentences <= CLEAR_SENTENCE[1]:
        yield "clarity"


def _balanced(found: Sequence[SuggestedReason]) -> tuple[SuggestedReason, ...]:
    """Return three to five reasons, `found` and neutral ones, at least one for each answer."""
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

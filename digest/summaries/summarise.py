"""Summarise texts: by their own sentences, or by a model whose reply is checked text by text.

An extract is one or two sentences near the beginning that share words with the title and are similar to the
rest (LexRank's degree centrality: Erkan and Radev, 2004). Its citations are exact by construction.

A model gets several texts in one call. A summary that is malformed, missing or not grounded is repaired or
refused, and the others are not affected. The length of texts is bounded, and so is the work between two
checks of a deadline. Pure.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from digest.feeds.sanitise import clean_text, one_line
from digest.items.tfidf import tfidf_rows
from digest.llm.entities import Deadline
from digest.summaries.grounding import content_stems, grounding_of, whitespace_collapse

SUMMARY_CHARS_MAX = 400
SENTENCE_CHARS_MIN = 30
# Chinese and Japanese need a third of the characters.
DENSE_CHARS_MIN = 10
SENTENCES_READ = 60
# Room for that many sentences of the greatest length, so no document can hold back the others.
READ_CHARS_MAX = SENTENCES_READ * SUMMARY_CHARS_MAX
# A second sentence that is more similar to the first adds nothing.
ALIKE_MAX = 0.5
# Weights chosen on 131 publishers' own standfirsts: words shared with them (F1) 0.26, against 0.21 for the
# first two sentences and 0.14 for any two (`python -m tests.lab summaries`).
CENTRAL, EARLY, TITLED = 0.3, 0.25, 0.45
SCORE_DIGITS = 9
# A lead begins after at most so many lines that are none: a byline, a date, a credit, the title again.
LEAD_SKIPPED_MAX = 4
# Room for those lines and for the longest line beside an item (`digest.daily.item_words.LEDE_CHARS`). All of
# 6,164 real articles begin as with 2,000 characters; with 700 five would begin otherwise.
LEAD_READ_CHARS = 900
# A full stop is judged by this many characters before it, so reading stays linear in the length.
ABBREVIATION_CHARS = 12

_END = re.compile(r"(?<![.!?…])[.!?…]++[\"”’»)\]]*+(?=\s)|[。！？]++[」』”]*+|\n++")
_ABBREVIATION = re.compile(
    r"(?:^|[\s(\"“])(?:[^\W\d_]|(?:[^\W\d_]\.)+[^\W\d_]|mr|mrs|ms|dr|prof|st|sen|rep|gov|gen|no|vs|jr|sr|inc|ltd|co|corp"
    r"|etc|eg|ie|approx|usw|bzw|ca|nr|sog|mio|mrd|jan|feb|apr|aug|sept?|oct|nov|dec)\.$",
    re.IGNORECASE,
)
_NEXT = re.compile(r" *(.?)")
_DENSE = re.compile("[぀-ヿ㐀-䶿一-鿿]")
# Phrases that feed tools add to every text.
_BOILERPLATE = re.compile(
    r"appeared first on|^(?:the post|read (?:more|the (?:full|rest|whole))|continue reading|click here"
    r"|subscribe|sign up|share this|follow us|listen to|download|advertisement|photo|image|picture"
    r"|credit|source|tags?|filed under|comments?|leave a comment|originally published"
    r"|this (?:post|article) (?:was|is|originally)|all rights reserved|©|weiterlesen|article url"
    r"|points?:|submitted by)\b",
    re.IGNORECASE,
)
_LINK = re.compile(r"https?://|www\.")
_GOES_ON = ",;:–-："
_FINISHED = re.compile(r"[.!?…。！？][\"”’»)\]」』]*$")

OFFLINE = "offline"
NO_EVIDENCE, GROUNDING_FAIL = "NO_EVIDENCE", "GROUNDING_FAIL"
TIME_LIMIT, FAILED = "TIME_LIMIT", "FAILED"
CITATIONS_MAX = 3
# Texts per call. Four answers of about 250 tokens fit into the 1,500 output tokens of a call.
BATCH = 4
# About 600 tokens: the lead of an article and the next paragraphs. A model cannot cite the rest.
SHOWN_CHARS = 2_400
# A shorter text can be read as fast as its summary, so its extract is enough.
WORTH_CHARS = 600
# The default half-life of an item in the digest (`ranking`).
HALF_LIFE_HOURS = 24.0


class TooSlow(Exception):
    """Extracting a text took longer than its deadline."""


@dataclass(frozen=True, slots=True)
class Extract:
    """Sentences of a text, in its order and exact except for white space."""

    sentences: tuple[str, ...]

    @property
    def text(self) -> str:
        """Return the sentences as one text."""
        return " ".join(self.sentences)


def sentences_of(text: str, deadline: Deadline | None = None) -> list[str]:
    """Return the sentences in the first 24,000 characters of `text`, with single spaces.

    A line break always ends a sentence. A sentence cut by the limit is left out. Raises `TooSlow` after the
    deadline.
    """
    whole, text = len(text) <= READ_CHARS_MAX, text[:READ_CHARS_MAX]
    found, start = [], 0
    for end in _END.finditer(f"{text}\n" if whole else text):
        _check(deadline)
        stop = end.end()
        if end.group() == ".":  # Not the end of a sentence after an abbreviation or before a small letter.
            following = _NEXT.match(text, stop)
            small = following is not None and following.group(1).islower()
            if small or _ABBREVIATION.search(text, max(start, stop - ABBREVIATION_CHARS), stop):
                continue
        if sentence := whitespace_collapse(text[start:stop]):
            found.append(sentence)
        start = stop
    return found


def _check(deadline: Deadline | None) -> None:
    if deadline and deadline.left_s < 0:
        raise TooSlow


def first_sentence(text: str) -> str:
    """Return the first usable sentence, in most feeds the publisher's own summary; "" if there is none."""
    return next(filter(sentence_usable, _lines_whole(sentences_of(text))), "")


def sentence_usable(sentence: str) -> bool:
    """Return whether a sentence can serve as a summary: right length, whole, no link, no boilerplate."""
    if not _is_long_enough(sentence) or len(sentence) > SUMMARY_CHARS_MAX or _begins_small(sentence):
        return False
    return not (_BOILERPLATE.search(sentence) or _LINK.search(sentence) or sentence.endswith((":", "：")))


def lead_of(title: str, text: str) -> str:
    """Return how the publisher begins: the first sentence that is none of a feed's extras, and the next ones.

    After a line that does not end a sentence stands "…". "" if the text begins with extras only
    (`LEAD_SKIPPED_MAX`).
    """
    lines = _lines_whole(sentences_of(text[:LEAD_READ_CHARS]))
    begins = (n for n, line in enumerate(lines[: LEAD_SKIPPED_MAX + 1]) if _is_opening(title, line))
    if (start := next(begins, None)) is None:
        return ""
    shown = [line for line in lines[start:] if _is_long_enough(line) or _FINISHED.search(line)]
    ended = [line if _FINISHED.search(line) or line[-1] in _GOES_ON else f"{line} …" for line in shown[:-1]]
    return " ".join((*ended, shown[-1]))


def _lines_whole(sentences: Sequence[str]) -> list[str]:
    """Join lines that a line break has torn: the next begins with a small letter."""
    lines: list[list[str]] = []
    for sentence in sentences:
        if lines and sentence[0].islower() and not _FINISHED.search(lines[-1][-1]):
            lines[-1].append(sentence)
        else:
            lines.append([sentence])
    return [" ".join(parts) for parts in lines]


def _begins_small(sentence: str) -> bool:
    """Return whether it is the rest of a sentence that began elsewhere: its first letter is small."""
    return next(filter(str.isalnum, sentence), "").islower()


def _is_opening(title: str, sentence: str) -> bool:
    """Return whether a lead may begin with `sentence`."""
    is_extra = _BOILERPLATE.search(sentence) or _LINK.search(sentence) or _repeats(title, sentence)
    return not is_extra and bool(_is_long_enough(sentence) or _FINISHED.search(sentence))


def _is_long_enough(sentence: str) -> bool:
    dense = bool(_DENSE.search(sentence))
    return len(sentence) >= (DENSE_CHARS_MIN if dense else SENTENCE_CHARS_MIN) and (
        dense or sentence.count(" ") >= 3
    )


def _repeats(title: str, sentence: str) -> bool:
    return sentence.casefold().strip(" .!?") == title.casefold().strip(" .!?")


def extract_of(title: str, text: str, deadline: Deadline | None = None) -> Extract | None:
    """Return one or two sentences of `text`, at most 400 characters together; `None` if none is usable.

    Raises `TooSlow` after the deadline.
    """
    lines = _lines_whole(sentences_of(text, deadline)[: 4 * SENTENCES_READ])
    candidates = [s for s in lines if sentence_usable(s)]
    _check(deadline)
    # A sentence that only repeats the title is no summary.
    sentences = [s for s in candidates if not _repeats(title, s)] or candidates
    # A line that ends in the middle of a sentence would run into the next sentence of the extract.
    sentences = ([s for s in sentences if _FINISHED.search(s)] or sentences)[:SENTENCES_READ]
    if len(sentences) < 2:
        return Extract(tuple(sentences)) if sentences else None
    scores, similarity = _scores(title, sentences)
    # Rounded, so that of two equal scores the earlier sentence wins despite rounding errors of sums.
    order = sorted(range(len(sentences)), key=lambda n: -round(float(scores[n]), SCORE_DIGITS))
    first = order[0]
    fitting = (
        n
        for n in order[1:]
        if similarity[first, n] <= ALIKE_MAX and len(sentences[n]) + len(sentences[first]) < SUMMARY_CHARS_MAX
    )
    chosen = sorted({first, next(fitting, first)})
    return Extract(tuple(sentences[n] for n in chosen))


def _scores(title: str, sentences: list[str]) -> tuple[np.ndarray, np.ndarray]:
    """Return the score of each sentence, and the similarity of each pair (cosine of TF-IDF, 0 to 1)."""
    n = len(sentences)
    early = 1.0 / (1.0 + np.arange(n))
    rows = tfidf_rows(list(content_stems(text)) for text in (*sentences, title)).dense()
    if not rows.size:  # No sentence has a content word.
        return early, np.zeros((n, n))
    similarity = rows @ rows.T
    titled, similarity = similarity[:n, n], similarity[:n, :n]
    # Rounded. Otherwise sentences that share nothing could be central by the last bit of a sum.
    central = np.round((similarity.sum(axis=1) - 1.0) / max(1, n - 1), SCORE_DIGITS)
    central = central / (central.max() or 1.0)
    return CENTRAL * central + EARLY * early + TITLED * titled, similarity


@dataclass(frozen=True, slots=True)
class Text:
    """One text to summarise."""

    item_id: int
    fingerprint: str
    title: str
    text: str

    @property
    def shown(self) -> str:
        """Return the part of the text that goes to a model."""
        return self.text[:SHOWN_CHARS]


@dataclass(frozen=True, slots=True)
class SummaryResult:
    """The result to store for one text: a summary with its citations, or the reason why there is none.

    `fault` is the failed check if the summary was repaired or refused.
    """

    text: str = ""
    citations: tuple[str, ...] = ()
    repaired: bool = False
    refusal: str = ""
    fault: str = ""


def text_value(weight: float, dated_at: datetime, now: datetime) -> float:
    """Return the value of summarising a text: the sum of its readers' weights, halved per day of age."""
    age_hours = max(0.0, (now - dated_at) / timedelta(hours=1))
    return float(weight * 0.5 ** (age_hours / HALF_LIFE_HOURS))


class ReasonReply(BaseModel):
    """One reason in a model's reply: a tag of the taxonomy and a few words."""

    model_config = ConfigDict(extra="ignore")
    tag: str = Field(max_length=80)
    text: str = Field(default="", max_length=200)


class SummaryReply(BaseModel):
    """A model's reply about one text."""

    model_config = ConfigDict(extra="ignore")
    n: int
    summary: str = Field(default="", max_length=2_000)
    citations: list[str] = Field(default_factory=list, max_length=10)
    reasons: list[ReasonReply] = Field(default_factory=list, max_length=20)


class BatchReply(BaseModel):
    """The object that a model must reply with. Its items are parsed one by one."""

    model_config = ConfigDict(extra="ignore")
    items: list[Any] = Field(max_length=50)


def batch_prompt(texts: Sequence[Text]) -> dict[str, Any]:
    """Return the texts in the form that goes to a model, numbered from 1. The caller fences them as data."""
    return {"items": [{"n": n, "title": t.title, "text": t.shown} for n, t in enumerate(texts, start=1)]}


def replies_of(reply: BatchReply, count: int) -> Mapping[int, SummaryReply]:
    """Return the valid items of a reply by number, 1 to `count`. Of two with one number, the first counts."""
    valid: dict[int, SummaryReply] = {}
    for item in reply.items:
        try:
            parsed = SummaryReply.model_validate(item)
        except ValidationError:
            continue
        if 1 <= parsed.n <= count:
            valid.setdefault(parsed.n, parsed)
    return valid


def summary_check(text: Text, reply: SummaryReply | None) -> SummaryResult:
    """Return a model's summary if it is grounded, else the publisher's first sentence, else a refusal."""
    fault = "missing"
    if reply is not None:
        summary = one_line(clean_text(reply.summary), limit=SUMMARY_CHARS_MAX)
        if not summary:
            return SummaryResult(refusal=NO_EVIDENCE, fault="no_evidence")
        check = grounding_of(summary, reply.citations, title=text.title, text=text.shown)
        if check.grounded:
            return SummaryResult(summary, check.citations[:CITATIONS_MAX])
        fault = check.fault
    if sentence := first_sentence(text.text):
        return SummaryResult(sentence, (sentence,), repaired=True, fault=fault)
    return SummaryResult(refusal=GROUNDING_FAIL, fault=fault)


def summary_offline(title: str, text: str, deadline: Deadline | None = None) -> SummaryResult:
    """Return the extract of a text. Its sentences are their own citations.

    Raises `TooSlow` after the deadline.
    """
    extract = extract_of(title, text, deadline)
    if extract is None:
        return SummaryResult(refusal=NO_EVIDENCE, fault="no_evidence")
    return SummaryResult(extract.text, extract.sentences)

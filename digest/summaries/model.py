"""Summaries by a model: the texts sent, the shape of its reply, and the checked result for each text.

Several texts share one call. The reply is checked text by text: a summary that is malformed, missing or not
grounded is repaired or refused without effect on the others. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from digest.feeds.sanitise import clean_text, one_line
from digest.summaries.extract import extract_of, first_sentence
from digest.summaries.grounding import grounding_of

OFFLINE = "offline"
NO_EVIDENCE, GROUNDING_FAIL = "NO_EVIDENCE", "GROUNDING_FAIL"
SUMMARY_CHARS_MAX = 400
CITATIONS_MAX = 3
# Four answers of about 250 tokens fit into the 1,500 that a call may put out.
BATCH = 4
# About 600 tokens: the lead of an article and the next paragraphs. A model cannot cite the rest.
SHOWN_CHARS = 2_400
# A shorter text is read as fast as its summary, so its extract is enough.
WORTH_CHARS = 600
# The default half-life of an item in the digest (`ranking`).
HALF_LIFE_HOURS = 24.0


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
    """The stored result for one text: a summary with its citations, or the reason why there is none.

    `fault` is the failed check of a summary that was repaired or refused.
    """

    text: str = ""
    citations: tuple[str, ...] = ()
    repaired: bool = False
    refusal: str = ""
    fault: str = ""


def text_value(weight: float, dated_at: datetime, now: datetime) -> float:
    """Return the value of a summary: its source's weight summed over readers, halved with each day of age."""
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
    """The object a model must reply with; its items are parsed one by one."""

    model_config = ConfigDict(extra="ignore")
    items: list[Any] = Field(max_length=50)


def batch_prompt(texts: Sequence[Text]) -> dict[str, Any]:
    """Return the texts as they are sent to a model, numbered from 1. To be fenced as data."""
    return {"items": [{"n": n, "title": t.title, "text": t.shown} for n, t in enumerate(texts, start=1)]}


def replies_of(reply: BatchReply, count: int) -> Mapping[int, SummaryReply]:
    """Return the valid items of a reply by their number, 1 to `count`; the first of two with one number."""
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


def summary_offline(title: str, text: str) -> SummaryResult:
    """Return the extract of a text: its own sentences, which are their own citations."""
    extract = extract_of(title, text)
    if extract is None:
        return SummaryResult(refusal=NO_EVIDENCE, fault="no_evidence")
    return SummaryResult(extract.text, extract.sentences)

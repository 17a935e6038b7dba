"""What a model is asked about texts, how its answer is read, and what becomes of each summary. Pure.

Several texts share one call. The answer is checked text by text: one that is malformed, missing or not
grounded is repaired or refused and spoils none of the others.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from digest.extractive import Extract, extract_of, first_sentence
from digest.grounding import grounding_of
from digest.sanitise import one_line, plain
from digest.summary_entities import GROUNDING_FAIL, NO_EVIDENCE, Made, Text

SUMMARY_CHARS_MAX = 400
CITATIONS_MAX = 3


class ReasonSaid(BaseModel):
    """One reason a model suggests: a tag of the taxonomy and its own few words."""

    model_config = ConfigDict(extra="ignore")
    tag: str = Field(max_length=80)
    text: str = Field(default="", max_length=200)


class SummarySaid(BaseModel):
    """What a model says about one text."""

    model_config = ConfigDict(extra="ignore")
    n: int
    summary: str = Field(default="", max_length=2_000)
    citations: list[str] = Field(default_factory=list, max_length=10)
    reasons: list[ReasonSaid] = Field(default_factory=list, max_length=20)


class Answer(BaseModel):
    """The object a model must answer with; its items are read one by one."""

    model_config = ConfigDict(extra="ignore")
    items: list[Any] = Field(max_length=50)


def material_of(texts: Sequence[Text]) -> dict[str, Any]:
    """The texts as they are shown to a model, numbered from 1. To be fenced as data."""
    return {"items": [{"n": n, "title": t.title, "text": t.shown} for n, t in enumerate(texts, start=1)]}


def said_of(answer: Answer, count: int) -> Mapping[int, SummarySaid]:
    """The readable parts of an answer by their number, 1 to `count`; the first of two with one number."""
    read: dict[int, SummarySaid] = {}
    for part in answer.items:
        try:
            said = SummarySaid.model_validate(part)
        except ValidationError:
            continue
        if 1 <= said.n <= count:
            read.setdefault(said.n, said)
    return read


def made_of(text: Text, said: SummarySaid | None) -> Made:
    """What becomes of a model's summary: kept, or else the publisher's first sentence, or else none."""
    if said is None:
        return _repaired(text, "missing")
    summary = one_line(plain(said.summary), limit=SUMMARY_CHARS_MAX)
    if not summary:
        return Made(refusal=NO_EVIDENCE, fault="no_evidence")
    found = grounding_of(summary, said.citations, title=text.title, text=text.shown)
    if not found.grounded:
        return _repaired(text, found.fault)
    return Made(summary, found.citations[:CITATIONS_MAX])


def made_offline(title: str, text: str) -> Made:
    """The extract of a text: its own sentences, which are their own citations."""
    extract: Extract | None = extract_of(title, text)
    if extract is None:
        return Made(refusal=NO_EVIDENCE, fault="no_evidence")
    return Made(extract.text, extract.sentences)


def _repaired(text: Text, fault: str) -> Made:
    sentence = first_sentence(text.text)
    if not sentence:
        return Made(refusal=GROUNDING_FAIL, fault=fault)
    return Made(sentence, (sentence,), repaired=True, fault=fault)

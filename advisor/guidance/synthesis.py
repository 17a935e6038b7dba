"""Notes worded anew by a model, where an operator wants that, there is time, and it says nothing else."""

import re
import time
from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field

from advisor.guidance.entities import Level, Scored
from advisor.guidance.tunables import Tunables
from advisor.prompts import ADVISOR, prompt_load, quotes_prompt
from digest.grounding import content_stems, grounding_of, overlap_of
from digest.llm.chain import chain_configured
from digest.llm.entities import Deadline, Model
from digest.llm.ledger import SpendAccount
from digest.llm.typed import fenced, typed_ask
from digest.selectors.subscriptions import models_allowed
from suggestions.wording import reason_clean

PROMPT = ADVISOR.with_name("guidance.md")
PURPOSE = "guidance"
FAILED = "synthesis_"
# What is kept back of the time for telling and storing.
RESERVE_MS = 200.0
# The share of content words that must be the notes' own; a summary needs less, as it may choose.
OVERLAP_MIN = 0.7
LOUD = (Level.NOTE, Level.WARNING)
_NEGATION = re.compile(r"\b(?:not?|never|avoid|without|don['’]t|nicht|kein\w*|nie)\b", re.IGNORECASE)
# Addresses and keys, which are no capitalised words and no numbers.
_KEY = re.compile(r"[\w-]+(?:\.[\w-]+)+|\w+_\w+|“[^”]*”")


class Reworded(BaseModel):
    """A model's answer."""

    model_config = ConfigDict(extra="forbid")
    text: str = Field(min_length=1, max_length=600)


@dataclass(frozen=True, slots=True)
class Wording:
    """The words to tell; `problem` is the code of why they are not a model's, "" where none was asked."""

    text: str
    problem: str = ""


@dataclass(frozen=True, slots=True)
class Writer:
    """Who may word notes of one run: its models, in order, and the account that pays for them."""

    models: Sequence[Model]
    ledger: SpendAccount


def writer_for(*, reader_id: UUID, ledger: SpendAccount, tunables: Tunables) -> Writer | None:
    """The run's writer; `None` where synthesis is off, no model is configured, or the reader wants none."""
    if not tunables.synthesis or not (models := chain_configured()):
        return None
    return Writer(tuple(models), ledger) if models_allowed(reader_id=reader_id) else None


def synthesise(
    *, text: str, level: Level, told: Sequence[Scored], writer: Writer, left_ms: float, tunables: Tunables
) -> Wording:
    """The notes in a model's words where these hold nothing but what the notes say, else `text` as it is.

    Asked only for notes and warnings with 1,800 ms left or more, and given up at the end of the time. Must
    be called outside any transaction. Raises nothing for what a model does: `problem` is `synthesis_` and
    the answer's code, or `synthesis_unfaithful`.
    """
    if level not in LOUD or left_ms < tunables.synthesis_min_ms or not told:
        return Wording(text)
    answer = typed_ask(
        models=writer.models,
        system=prompt_load(PROMPT),
        user=fenced({"notes": [scored.memory.text for scored in told]}),
        shape=Reworded,
        ledger=writer.ledger,
        deadline=Deadline(time.monotonic() + (left_ms - RESERVE_MS) / 1000),
    )
    if answer.value is None:
        return Wording(text, FAILED + answer.error_code)
    worded = reason_clean(answer.value.text)
    faithful = bool(worded) and says_the_same(worded, told, tunables.note_chars)
    return Wording(worded) if faithful else Wording(text, FAILED + "unfaithful")


def says_the_same(text: str, told: Sequence[Scored], chars_max: int) -> bool:
    """Whether `text` could be said from the notes alone: their numbers, names, keys and their "not".

    Compares words, never meanings: it can be fooled by other words for the opposite, not by new facts.
    """
    notes = " ".join(scored.memory.text for scored in told)
    if len(text) > chars_max or quotes_prompt(text) or not any(content_stems(text)):
        return False
    found = grounding_of(text, [notes[:200]], title="", text=notes)
    keys = all(key in notes for key in _KEY.findall(text))
    same_side = bool(_NEGATION.search(text)) == bool(_NEGATION.search(notes))
    foreign = found.numbers or found.names or found.link
    return keys and same_side and not foreign and overlap_of(text, notes) >= OVERLAP_MIN

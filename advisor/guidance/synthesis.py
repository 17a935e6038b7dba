"""Notes worded anew by a model, where an operator wants that, there is time, and it says nothing else."""

import re
import time
from collections.abc import Sequence
from typing import NamedTuple
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field

from advisor.guidance.entities import Tunables
from advisor.guidance.wording import NOTE_CHARS, Scored
from advisor.prompts import ADVISOR_PROMPT, prompt_load, quotes_prompt
from digest.feeds.selectors import models_allowed
from digest.llm.client import chain_configured
from digest.llm.entities import Deadline, Model
from digest.llm.ledger import SpendAccount
from digest.llm.structured_output import data_fence, typed_ask
from digest.summaries.grounding import content_stems, grounding_of, overlap_of
from suggestions.explain import reason_clean

PROMPT, PURPOSE, FAILED = ADVISOR_PROMPT.with_name("guidance.md"), "guidance", "synthesis_"
# The time that must be left to ask at all, and what is reserved for storing.
LEFT_MIN_MS, RESERVE_MS = 1800.0, 200.0
# The share of content words that must be the notes' own.
OVERLAP_MIN = 0.7
_NEGATION = re.compile(r"\b(?:not?|never|avoid|without|don['’]t|nicht|kein\w*|nie)\b", re.IGNORECASE)
# Addresses and keys, which are no capitalised words and no numbers.
_KEY = re.compile(r"\d+(?:[.,]\d+)*|[\w-]+(?:\.[\w-]+)+|\w+_\w+|“[^”]*”")


class Reworded(BaseModel):
    """A model's answer."""

    model_config = ConfigDict(extra="forbid")
    text: str = Field(min_length=1, max_length=600)


class Writer(NamedTuple):
    """Who may word notes of one run: its models, in order, and the account that pays for them."""

    models: Sequence[Model]
    ledger: SpendAccount


def writer_for(*, reader_id: UUID, ledger: SpendAccount, tunables: Tunables) -> Writer | None:
    """Return the run's writer; `None` where synthesis is off, no model is set, or the reader wants none."""
    if not tunables.synthesis or not (models := chain_configured()):
        return None
    return Writer(tuple(models), ledger) if models_allowed(reader_id=reader_id) else None


def synthesise(*, text: str, emitted: Sequence[Scored], writer: Writer, left_ms: float) -> tuple[str, str]:
    """Return the notes in a model's words where these hold nothing else, or `text` and the code of why not.

    Must be called outside any transaction.
    """
    if left_ms < LEFT_MIN_MS or not emitted:
        return text, ""
    answer = typed_ask(
        models=writer.models,
        system=prompt_load(PROMPT),
        user=data_fence({"notes": [scored.memory.text for scored in emitted]}),
        shape=Reworded,
        ledger=writer.ledger,
        deadline=Deadline(time.monotonic() + (left_ms - RESERVE_MS) / 1000),
    )
    if answer.value is None:
        return text, FAILED + answer.error_code
    worded = reason_clean(answer.value.text)
    faithful = bool(worded) and is_grounded(worded, emitted)
    return (worded, "") if faithful else (text, FAILED + "unfaithful")


def is_grounded(text: str, emitted: Sequence[Scored]) -> bool:
    """Return whether `text` follows from the notes alone: their numbers, names, keys and their "not"."""
    notes = " ".join(scored.memory.text for scored in emitted)
    if len(text) > NOTE_CHARS or quotes_prompt(text) or not any(content_stems(text)):
        return False
    found = grounding_of(text, [notes[:200]], title="", text=notes)
    keys = all(key in notes for key in _KEY.findall(text))
    same_side = bool(_NEGATION.search(text)) == bool(_NEGATION.search(notes))
    foreign = found.numbers or found.names or found.link
    return keys and same_side and not foreign and overlap_of(text, notes) >= OVERLAP_MIN

"""Words that the grammar of wishes cannot read, put to the configured models as one typed question."""

import time
from collections.abc import Sequence
from dataclasses import replace
from datetime import date, datetime
from pathlib import Path
from uuid import UUID, uuid4

import structlog

from digest.feeds.selectors import models_allowed
from digest.llm.caller import TypedAnswer, data_fence, prompt_read, typed_ask
from digest.llm.client import chain_configured
from digest.llm.entities import Deadline, Model
from digest.llm.ledger import SpendAccount, advisor_account
from ranking.language import gettext_noop
from suggestions.wishes import reading
from suggestions.wishes.drafting import ModelReading, wish_material, wishes_of
from suggestions.wishes.ways import ways_for_prompt
from suggestions.wishes.wish import Names, Reading

log = structlog.get_logger(__name__)
PROMPT, PURPOSE = Path(reading.__file__).with_name("wish.md"), "wish"
# A reader waits for the page.
TIMEOUT_S = 15.0
NOTE = gettext_noop(
    "A model read your words, since they were not clear to the rules. See that each change is what you mean."
)


def wishes_by_model(
    *, reader_id: UUID, words: str, names: Names, today: date, now: datetime
) -> Reading | None:
    """Return the wishes that a model reads in `words`, paid from the advisor's budget of the reader.

    `None` if no model may be asked, none answers in form, or no wish is left of its answer. Then the
    grammar's own question holds. Stores the spend. Must be called outside any transaction.
    """
    models = chain_configured()
    if not models or not models_allowed(reader_id=reader_id):
        return None
    ledger = advisor_account(reader_id=reader_id, run_id=uuid4(), now=now, purpose=PURPOSE)
    answer = wish_ask(
        models=models, words=words, names=names, today=today, ledger=ledger, timeout_s=TIMEOUT_S
    )
    if answer.value is None:
        log.info("wish_unread", user_id=str(reader_id), error=answer.error_code)
        return None
    found = wishes_of(answer.value.changes, words, names, today)
    return replace(found, notes=(NOTE, *found.notes)) if found.wishes or found.notes else None


def wish_ask(
    *,
    models: Sequence[Model],
    words: str,
    names: Names,
    today: date,
    ledger: SpendAccount,
    timeout_s: float,
) -> TypedAnswer[ModelReading]:
    """Ask `models` in order for the meaning of `words`; `names` are the reader's. Raises `PromptUnusable`."""
    return typed_ask(
        models=models,
        system=prompt_read(PROMPT).replace("{ways}", ways_for_prompt()),
        user=data_fence(wish_material(words, names, today)),
        shape=ModelReading,
        ledger=ledger,
        deadline=Deadline(time.monotonic() + timeout_s),
    )

"""The one thing that a run may ask its reader, stored after the rules. `answers` has the reader's part.

Codes: `invalid_question`, `unsafe_question`, `evidence_not_grounded`, `asked_lately`.
"""

from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

import structlog
from django.db import transaction

from digest.entities import RatedItem
from digest.feedback.selectors import feedback_by_urls
from digest.items.selectors import source_titles
from digest.models import Reader
from suggestions.models import Question
from suggestions.notes import note_grounds, note_named
from suggestions.proposals import Fence, Refusal
from suggestions.questions import ASKED_LATELY, ITEMS_MAX, ITEMS_MIN, OPEN, QuestionDraft, question_refusal

log = structlog.get_logger(__name__)


def question_ask(
    *, reader_id: UUID, run_id: UUID, draft: QuestionDraft, now: datetime, fence: Fence
) -> Question | Refusal:
    """Store a question of a run, or return the refusal. `fence` is called inside the write's transaction."""
    urls = list(dict.fromkeys(draft.urls))
    rated = feedback_by_urls(reader_id=reader_id, urls=urls) if urls else {}
    if not ITEMS_MIN <= len(urls) <= ITEMS_MAX or len(rated) < len(urls):
        message = f"A question is about {ITEMS_MIN} to {ITEMS_MAX} items that the reader rated. Name them."
        return Refusal("evidence_not_grounded", message)
    items = list(rated.values())
    titles = source_titles(keys={item.source for item in items})
    text, *answers = (note_named(words, titles) for words in (draft.text, *draft.answers))
    cited = [(item.title, item.source, item.tags) for item in items]
    grounds = note_grounds(label="", evidence=cited, titles=titles)
    if refusal := question_refusal(text, answers, grounds):
        return refusal
    return _store(reader_id, run_id, text, answers, items, now, fence)


def _store(
    reader_id: UUID,
    run_id: UUID,
    text: str,
    answers: Sequence[str],
    items: Sequence[RatedItem],
    now: datetime,
    fence: Fence,
) -> Question | Refusal:
    with transaction.atomic():
        # One write at a time per reader, so that two runs cannot both ask.
        Reader.objects.select_for_update(no_key=True).get(pk=reader_id)
        fence()
        if Question.objects.filter(reader_id=reader_id, asked_at__gt=now - OPEN).exists():
            message = f"The reader was asked something in the last {OPEN.days} days. Ask nothing now."
            return Refusal(ASKED_LATELY, message)
        row = Question.objects.create(
            reader_id=reader_id,
            run_id=run_id,
            text=text,
            answers=[*answers],
            titles=[item.title for item in items],
            asked_at=now,
        )
    log.info("question_asked", user_id=str(reader_id), question_id=row.pk)
    return row

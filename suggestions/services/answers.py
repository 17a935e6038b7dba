"""The reader's answers to questions of runs.

Protected: no code of an agent imports this module.
"""

from datetime import datetime

import structlog
from django.utils.translation import gettext as _

from digest.accounts.services import reader_early_claim
from digest.models import Reader
from suggestions.models import Question
from suggestions.proposals import Refusal
from suggestions.questions import OPEN

log = structlog.get_logger(__name__)


def question_answer(
    *, reader: Reader, question_id: int, choice: int | None, now: datetime
) -> Question | Refusal:
    """Store the reader's answer, the number of one of those offered, or with `None` that they would not say.

    Refuses with `not_found` what is not the reader's, not open, or no answer that was offered. It counts as
    the day's answer to an early change, so that Today asks no more of its kind.
    """
    row = Question.objects.filter(pk=question_id, reader=reader, asked_at__gt=now - OPEN).first()
    offered = row.answers if row else []
    if row is None or (choice is not None and not 0 <= choice < len(offered)):
        return _gone()
    row.answer = "" if choice is None else offered[choice]
    open_rows = Question.objects.filter(pk=row.pk, answered_at__isnull=True)
    if not open_rows.update(answer=row.answer, answered_at=now):
        return _gone()
    reader_early_claim(reader=reader, now=now)
    log.info("question_answered", user_id=str(reader.pk), question_id=row.pk, is_answer=bool(row.answer))
    return row


def _gone() -> Refusal:
    return Refusal("not_found", _("This question is not open any more."))

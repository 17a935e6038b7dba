"""A run's reviewers, bound to the run: what its tools get to review each write with."""

import time
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime

from advisor.entities import ToolContext
from advisor.models import Run
from advisor.review.compose import review_models, reviewer_for
from advisor.review.entities import ReviewSeat
from advisor.review.reflector import reflect
from advisor.review.rows import rounds_held
from advisor.stopping import Deadline
from digest.llm.ledger import REVIEW, advisor_account
from digest.selectors.subscriptions import models_allowed


def context_reviewed(
    context: ToolContext, run: Run, *, interactive: bool, timeout_s: float, moment: Callable[[], datetime]
) -> ToolContext:
    """`context` with the reviewers of `run` in it, as the settings have them.

    They share the run's money and its time: `timeout_s` seconds from this call. A run that resumes goes on
    counting rounds where it was. `interactive`: somebody waits, so rules review. Two queries.
    """
    writings, rounds = rounds_held(run_id=run.pk)
    seat = ReviewSeat(
        run=run,
        models=review_models(ai_enabled=models_allowed(reader_id=run.reader_id), interactive=interactive),
        ledger=advisor_account(reader_id=run.reader_id, run_id=run.pk, now=context.now, purpose=REVIEW),
        deadline=Deadline(time.monotonic() + timeout_s),
        fence=context.fence,
        moment=moment,
        interactive=interactive,
        writings=writings,
        rounds=rounds,
    )
    return replace(context, review=reviewer_for(seat, reflector=reflect))

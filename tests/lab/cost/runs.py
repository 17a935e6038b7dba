"""The cost of a typical run: its tokens on the wire, and their price with and without a cache.

The reflector and the panel review what it writes, the panel in one call (`ADVISOR_PANEL_THRIFTY`).
"""

import json
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from decimal import Decimal
from itertools import takewhile
from uuid import UUID

from django.db import transaction
from django.test.utils import override_settings

from advisor.agent.loop import RunBudget, agent_run
from advisor.models import Run
from advisor.prompts import opening_messages, prompt_load
from advisor.review.compose import reviewer_for
from advisor.review.context import ReviewContext
from advisor.review.reflector import reflect
from advisor.run_values import Deadline, Limits, RunEnd, StepRecord, ToolContext
from advisor.tools.registry import dispatch, schemas
from digest.feedback.transfer import feedback_import
from digest.llm.entities import Message, ToolSchema, Usage
from digest.llm.ledger import REVIEW, advisor_account
from digest.llm.prices import cost_usd, tokens_estimated
from digest.llm.providers import ModelRef
from suggestions.changes.proposal import Reviewer
from suggestions.models import Suggestion
from tests.lab.cost.model import READER, TypicalModel, TypicalReviewer, typical_history
from tests.support.agent_bench import drive

LIMITS = Limits(turns=20, tool_calls=30, history_turns=15, timeout_s=60)
# OpenAI caches a prompt's beginning from 1,024 tokens on, in steps of 128 (its guide on prompt caching).
CACHED_MIN, CACHED_STEP = 1024, 128


@dataclass(frozen=True, slots=True)
class CallSize:
    """The tokens of one model call. `cached` of the `sent` ones began the call before, too."""

    sent: int
    cached: int
    said: int

    @property
    def usage(self) -> Usage:
        """Return the usage as a caching provider reports it: tokens that it did not read from its cache are
        written there."""
        return Usage(
            input_tokens=self.sent,
            cached_tokens=self.cached,
            written_tokens=self.sent - self.cached,
            output_tokens=self.said,
        )


@dataclass(frozen=True, slots=True)
class TypicalRun:
    """A replayed run: the size of each call and review, its end, and the calls and answers of the tools.

    `stored` counts its suggestions. All runs share the `prefix` of their first call, in tokens, and their
    reviews `reviews_prefix`, as far as a cache keeps it.
    """

    sizes: tuple[CallSize, ...]
    reviews: tuple[CallSize, ...]
    stored: int
    end: RunEnd
    steps: tuple[StepRecord, ...]
    prefix: int
    reviews_prefix: int = 0

    def cost(self, ref: ModelRef, *, caching: bool = True, warm: bool = False) -> Decimal:
        """USD on the prices of `ref`. `warm`: an earlier run's prompt and tools are still in the cache.

        Raises `PriceUnknown`.
        """
        first, *others = self.sizes
        if warm:
            first = replace(first, cached=_cacheable(self.prefix))
        usages = [size.usage for size in (first, *others, *self.reviews)]
        if not caching:
            sizes = (*self.sizes, *self.reviews)
            usages = [Usage(input_tokens=size.sent, output_tokens=size.said) for size in sizes]
        return sum((cost_usd(ref, usage) for usage in usages), Decimal(0))


def typical_run(*, reader_id: UUID | None, now: datetime, model: TypicalModel | None = None) -> TypicalRun:
    """Replay the typical run with the real tools for a reader, or for the typical one. Nothing of it is
    stored.

    All of it happens in one transaction that is rolled back.
    """
    model, reviewer, steps = model or TypicalModel(), TypicalReviewer(), list[StepRecord]()
    with transaction.atomic(), override_settings(ADVISOR_PANEL_THRIFTY=True):
        if reader_id is None:
            imported = feedback_import(lines=typical_history(now), now=now)
            reader_id = UUID(imported.reader_ids[READER])
        begun = {"trigger": Run.Trigger.COMMAND, "status": Run.Status.RUNNING, "created_at": now}
        audit = Run.objects.create(reader_id=reader_id, day=now.date(), **begun)
        context = ToolContext(reader_id, audit.pk, now, fence=_unfenced)
        context = replace(context, review=_review(audit, reviewer, now))
        opening = opening_messages(prompt_load(), context)
        ledger = advisor_account(reader_id=reader_id, run_id=context.run_id, now=now)
        run = agent_run(opening=opening, models=[model], schemas=schemas(), budget=RunBudget(LIMITS, ledger))
        end = drive(run, lambda call: dispatch(context, call), steps.append)
        stored = Suggestion.objects.filter(run_id=audit.pk).count()
        transaction.set_rollback(True)
    sizes, reviews = _sizes(model), _review_sizes(reviewer)
    prefixes = _prefix(*model.asked[0]), _reviews_prefix(reviewer)
    return TypicalRun(sizes, reviews, stored, end, tuple(steps), *prefixes)


def _review(run: Run, reviewer: TypicalReviewer, now: datetime) -> Reviewer | None:
    """Return the reviewers of a run, who all ask the same model."""
    ledger = advisor_account(reader_id=run.reader_id, run_id=run.pk, now=now, purpose=REVIEW)
    deadline = Deadline(time.monotonic() + LIMITS.timeout_s)
    context = ReviewContext(run, (reviewer,), ledger, deadline, _unfenced, lambda: now)
    return reviewer_for(context, reflector=reflect)


def _sizes(model: TypicalModel) -> tuple[CallSize, ...]:
    """Return the size of each call's request and answer, at four characters of JSON per token, as in the
    ledger."""
    sent = [tokens_estimated(len(json.dumps([messages, tools]))) for messages, tools in model.asked]
    said = [tokens_estimated(len(json.dumps(message))) for message in model.said]
    cached = [0, *(_cacheable(tokens) for tokens in sent[:-1])]
    return tuple(CallSize(*row) for row in zip(sent, cached, said, strict=True))


def _review_sizes(reviewer: TypicalReviewer) -> tuple[CallSize, ...]:
    """Return the size of each review. From a cache comes the beginning that an earlier one had, too."""
    sent = [json.dumps(messages) for messages, _tools in reviewer.asked]
    said = [tokens_estimated(len(json.dumps(message))) for message in reviewer.said]
    return tuple(
        CallSize(tokens_estimated(len(text)), _cacheable(tokens_estimated(_shared(text, sent[:n]))), said[n])
        for n, text in enumerate(sent)
    )


def _shared(text: str, earlier: Sequence[str]) -> int:
    """Return the most characters at the beginning of `text` that one of the earlier ones has, too."""
    pairs = (zip(text, one, strict=False) for one in earlier)
    return max((sum(1 for _ in takewhile(lambda two: two[0] == two[1], some)) for some in pairs), default=0)


def _prefix(messages: list[Message], tools: list[ToolSchema]) -> int:
    """Return the tokens that are the same for every reader: the tools and the prompt."""
    return tokens_estimated(len(json.dumps([messages[:1], tools])))


def _reviews_prefix(reviewer: TypicalReviewer) -> int:
    """Return the tokens of the reviewers' prompts that a cache keeps, each prompt once."""
    prompts = {json.dumps(messages[:1]) for messages, _tools in reviewer.asked}
    return sum(_cacheable(tokens_estimated(len(prompt))) for prompt in prompts)


def _cacheable(tokens: int) -> int:
    return tokens // CACHED_STEP * CACHED_STEP if tokens >= CACHED_MIN else 0


def _unfenced() -> None:
    """Do nothing: a run that is not stored cannot be taken over."""

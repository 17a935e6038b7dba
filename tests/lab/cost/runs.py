"""What a typical run costs: its tokens as the wire would carry them, and their price, cached or not."""

import json
from dataclasses import dataclass, replace
from datetime import datetime
from decimal import Decimal
from uuid import UUID, uuid4

from django.db import transaction

from advisor.agent.loop import RunBudget, agent_run
from advisor.prompts import opening_messages, prompt_load
from advisor.run_values import Limits, RunEnd, StepRecord, ToolContext
from advisor.tools.registry import dispatch, schemas
from digest.feedback.transfer import feedback_import
from digest.llm.entities import Message, ToolSchema, Usage
from digest.llm.ledger import advisor_account
from digest.llm.prices import cost_usd, tokens_estimated
from digest.llm.providers import ModelRef
from tests.lab.cost.model import READER, TypicalModel, typical_history
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
        """As a provider that caches reports it: what it did not read from its cache, it wrote there."""
        return Usage(
            input_tokens=self.sent,
            cached_tokens=self.cached,
            written_tokens=self.sent - self.cached,
            output_tokens=self.said,
        )


@dataclass(frozen=True, slots=True)
class TypicalRun:
    """A replayed run: each call's size, how it ended, what the tools were asked and answered."""

    sizes: tuple[CallSize, ...]
    end: RunEnd
    steps: tuple[StepRecord, ...]
    prefix: int

    def cost(self, ref: ModelRef, *, caching: bool = True, warm: bool = False) -> Decimal:
        """USD on the prices of `ref`. `warm`: an earlier run's prompt and tools are still in the cache.

        Raises `PriceUnknown`.
        """
        first, *others = self.sizes
        if warm:
            first = replace(first, cached=_cacheable(self.prefix))
        usages = [size.usage for size in (first, *others)]
        if not caching:
            usages = [Usage(input_tokens=size.sent, output_tokens=size.said) for size in self.sizes]
        return sum((cost_usd(ref, usage) for usage in usages), Decimal(0))


def typical_run(*, reader_id: UUID | None, now: datetime, model: TypicalModel | None = None) -> TypicalRun:
    """Replay the typical run with the real tools for a reader, or for the typical one. Nothing of it stays.

    All of it happens in one transaction that is rolled back.
    """
    model, steps = model or TypicalModel(), list[StepRecord]()
    with transaction.atomic():
        if reader_id is None:
            imported = feedback_import(lines=typical_history(now), now=now)
            reader_id = UUID(imported.reader_ids[READER])
        context = ToolContext(reader_id, uuid4(), now, fence=_unfenced)
        opening = opening_messages(prompt_load(), context)
        ledger = advisor_account(reader_id=reader_id, run_id=context.run_id, now=now)
        run = agent_run(opening=opening, models=[model], schemas=schemas(), budget=RunBudget(LIMITS, ledger))
        end = drive(run, lambda call: dispatch(context, call), steps.append)
        transaction.set_rollback(True)
    return TypicalRun(_sizes(model), end, tuple(steps), _prefix(*model.asked[0]))


def _sizes(model: TypicalModel) -> tuple[CallSize, ...]:
    """What each call sent and said, at four characters of JSON a token as the ledger counts."""
    sent = [tokens_estimated(len(json.dumps([messages, tools]))) for messages, tools in model.asked]
    said = [tokens_estimated(len(json.dumps(message))) for message in model.said]
    cached = [0, *(_cacheable(tokens) for tokens in sent[:-1])]
    return tuple(CallSize(*row) for row in zip(sent, cached, said, strict=True))


def _prefix(messages: list[Message], tools: list[ToolSchema]) -> int:
    """The tokens that are the same for every reader: the tools and the prompt."""
    return tokens_estimated(len(json.dumps([messages[:1], tools])))


def _cacheable(tokens: int) -> int:
    return tokens // CACHED_STEP * CACHED_STEP if tokens >= CACHED_MIN else 0


def _unfenced() -> None:
    """Nobody else can have taken over a run that is not stored."""

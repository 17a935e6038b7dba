"""A bench for the loop: models on a scripted server, a dispatch that answers as told, what the run left."""

import itertools
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from decimal import Decimal

from pytest_httpserver import HTTPServer

from advisor.agent.loop import agent_run
from advisor.entities import Limits, RunEnd, StepRecord, ToolContext, ToolOutcome
from digest.llm.client import chain_configured
from digest.llm.entities import Model, ToolCall, Turn, Usage
from digest.llm.ledger import advisor_account
from tests.support.scripted_model import Script, Step

SUMMARY = '{"suggestions": [], "skipped": [], "meta": {}}'
LIMITS = Limits(turns=50, tool_calls=30, history_turns=15, timeout_s=20)
LOOK, WRITE = "query_user_config", "write_suggestion"
SCHEMAS = [
    {"type": "function", "function": {"name": name, "parameters": {"type": "object", "properties": {}}}}
    for name in (LOOK, WRITE)
]


class Bench:
    """Two models on the scripted server, a dispatch that answers as told, and what the run left behind."""

    def __init__(self, context: ToolContext, server: HTTPServer) -> None:
        self.context, self.server = context, server
        self.steps: list[StepRecord] = []
        self.called: list[ToolCall] = []
        self.waits: list[float] = []
        self.answer: Callable[[ToolCall], ToolOutcome] = lambda call: ToolOutcome('{"success": true}')

    def run(
        self, *steps: Step, limits: Limits = LIMITS, models: Sequence[Model] | None = None, **more
    ) -> RunEnd:
        with Script(self.server, steps) as self.script:
            return agent_run(
                context=self.context,
                models=chain_configured() if models is None else models,
                dispatch=self._dispatch,
                schemas=SCHEMAS,
                limits=limits,
                ledger=advisor_account(
                    reader_id=self.context.reader_id, run_id=self.context.run_id, now=self.context.now
                ),
                record=self.steps.append,
                sleep=self.waits.append,
                **more,
            )

    def _dispatch(self, call: ToolCall) -> ToolOutcome:
        self.called.append(call)
        return self.answer(call)

    def answered(self, n: int) -> list[dict]:
        """The tool results that request `n` (from 0) carried last, read back."""
        last = self.script.bodies[n]["messages"]
        tail = itertools.takewhile(lambda m: m["role"] == "tool", reversed(last))
        return [json.loads(m["content"]) for m in tail][::-1]

    @property
    def tool_codes(self) -> list[str]:
        return [step.error_code for step in self.steps if step.kind == "tool"]


@dataclass
class Canned:
    """A free model in the process, in the place of the planner at the end of a chain."""

    name: str = "offline:canned"
    seen: list[list[dict]] = field(default_factory=list)

    def complete(self, messages, tools, *, timeout_s) -> Turn:
        self.seen.append(list(messages))
        return Turn({"role": "assistant", "content": SUMMARY}, SUMMARY)

    def worst_case_usd(self, messages, tools) -> Decimal:
        return Decimal(0)

    def cost_usd(self, usage: Usage) -> Decimal:
        return Decimal(0)

"""A test bench for the agent loop: models on a scripted server, scripted tool results, and the stored run."""

import itertools
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from unittest.mock import patch

from pydantic import BaseModel, ConfigDict
from pytest_httpserver import HTTPServer

from advisor.agent.loop import Ended, RunBudget, Steps, ToolCalled, agent_run
from advisor.prompts import opening_messages, prompt_load
from advisor.run_values import Limits, RunEnd, StepRecord, ToolContext, ToolOutcome
from advisor.tools import registry
from advisor.tools.registry import Tool
from digest.llm.client import chain_configured
from digest.llm.entities import Model, ToolCall, Turn, Usage
from digest.llm.ledger import advisor_account
from tests.support.scripted_model import Script, Step

SUMMARY = '{"suggestions": [], "skipped": [], "meta": {}}'
LIMITS = Limits(turns=50, tool_calls=30, history_turns=15, timeout_s=20)
LOOK, WRITE, FINISH = "query_user_config", "write_suggestion", "finish"
NAMES = (LOOK, WRITE, FINISH)
SCHEMAS = [
    {"type": "function", "function": {"name": name, "parameters": {"type": "object", "properties": {}}}}
    for name in NAMES
]


class Anything(BaseModel):
    """Arguments of a tool that takes any."""

    model_config = ConfigDict(extra="allow")


def drive(
    steps: Steps, answer: Callable[[ToolCall], ToolOutcome], record: Callable[[StepRecord], object]
) -> RunEnd:
    """Carry out a run outside the product: answer its tool calls, record its steps, return its end."""
    outcome = None
    while True:
        step = steps.send(outcome)
        outcome = None
        if isinstance(step, Ended):
            return step.end
        if isinstance(step, ToolCalled):
            outcome = answer(step.call)
        else:
            record(step.step)


class Bench:
    """Two models on the scripted server, scripted tool results, and the stored run."""

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
            ledger = advisor_account(
                reader_id=self.context.reader_id, run_id=self.context.run_id, now=self.context.now
            )
            steps = agent_run(
                opening=opening_messages(prompt_load(), self.context),
                models=chain_configured() if models is None else models,
                schemas=SCHEMAS,
                budget=RunBudget(limits, ledger, sleep=self.waits.append, **more),
            )
            return drive(steps, self._answer, self.steps.append)

    def _answer(self, call: ToolCall) -> ToolOutcome:
        """Answer a call as a run does, with three tools that answer as told."""
        tools = {name: Tool(name, "", Anything, lambda *_: self._called(call)) for name in NAMES}
        with patch.object(registry, "TOOLS", tools), patch.object(registry, "_outcome", lambda found: found):
            return registry.dispatch(self.context, call)

    def _called(self, call: ToolCall) -> ToolOutcome:
        self.called.append(call)
        return self.answer(call)

    def answered(self, n: int) -> list[dict]:
        """Return the tool results that request `n` (from 0) carried last, read back."""
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

    def complete(self, messages, tools, *, timeout_s, form=None) -> Turn:
        self.seen.append(list(messages))
        return Turn({"role": "assistant", "content": SUMMARY}, SUMMARY)

    def worst_case_usd(self, messages, tools) -> Decimal:
        return Decimal(0)

    def cost_usd(self, usage: Usage) -> Decimal:
        return Decimal(0)

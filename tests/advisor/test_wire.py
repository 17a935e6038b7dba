"""The loop against a scripted server on a real socket: every cap, every failure, what is kept."""

import itertools
import json
import time
import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal

import pytest
from pytest_httpserver import HTTPServer

from advisor.agent import agent_run
from advisor.entities import Limits, RunEnd, StepRecord, StopReason, ToolContext, ToolOutcome
from digest.llm.chain import chain_configured
from digest.llm.entities import Model, ToolCall, Turn, Usage
from digest.llm.ledger import advisor_account
from digest.models import Spend
from suggestions.entities import FenceLost
from tests.scripted import Script, Step, assert_paired, calls, checked, garbage, status, text

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


@pytest.fixture
def bench(ada, now, httpserver: HTTPServer, settings) -> Bench:
    settings.OPENAI_API_KEY, settings.OPENAI_BASE_URL = "k", httpserver.url_for("/v1")
    settings.LLM_CHAIN = ["openai:gpt-6-luna", "openai:gpt-4o"]
    return Bench(ToolContext(ada.pk, uuid.uuid4(), now, lambda: None), httpserver)


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


def test_a_happy_run_ends_with_its_summary_and_everything_on_record(bench, ada):
    end = bench.run(
        calls((LOOK, {}), (WRITE, {"reason": "x"}), content="They like harbours."),
        text(f"```json\n{SUMMARY}```"),
    )
    assert (end.reason, end.summary) == (StopReason.DONE, {"suggestions": [], "skipped": [], "meta": {}})
    assert [call.name for call in bench.called] == [LOOK, WRITE]
    assert [(s.kind, s.tool, s.error_code) for s in bench.steps] == [
        ("model", "", ""),
        ("tool", LOOK, ""),
        ("tool", WRITE, ""),
        ("model", "", ""),
    ]
    first, _, write, _ = bench.steps
    assert (first.model, first.reasoning) == ("openai:gpt-6-luna", "They like harbours.")
    assert (first.input_tokens, first.output_tokens) == (1000, 100)
    assert write.arguments == {"reason": "x"}
    assert (end.totals.turns, end.totals.tool_calls, end.totals.input_tokens) == (2, 2, 2000)
    assert end.totals.cost_usd == sum(s.cost_usd for s in bench.steps) > 0
    opening = bench.script.bodies[0]["messages"]
    assert [m["role"] for m in opening] == ["system", "system", "user"]
    assert str(ada.pk) in opening[1]["content"] and str(ada.pk) not in opening[0]["content"]


def test_the_ledger_holds_every_call_settled_at_its_real_cost(bench):
    end = bench.run(calls((LOOK, {})), text(SUMMARY))
    spent = list(Spend.objects.order_by("id"))
    assert [s.settled_usd for s in spent] == [Decimal("0.000114")] * 2
    assert all(s.reserved_usd > s.settled_usd for s in spent)
    assert {s.run_id for s in spent} == {bench.context.run_id}
    assert end.totals.cost_usd == Decimal("0.000228")


def test_fifty_turns_are_the_end_and_every_request_stays_in_the_window(bench):
    def window(body: dict) -> None:
        spoken = [m for m in body["messages"] if m["role"] == "assistant"]
        assert len(spoken) <= 15 and body["messages"][0]["role"] == "system"

    steps = [checked(calls((LOOK, {}), (WRITE, {})), window)] * 50
    end = bench.run(*steps, limits=replace(LIMITS, tool_calls=1000))
    assert (end.reason, end.totals.turns, len(bench.called)) == (StopReason.TURN_LIMIT, 50, 100)
    assert sum(m["role"] == "assistant" for m in bench.script.bodies[-1]["messages"]) == 15


def test_the_31st_call_is_not_run_but_answered_and_so_is_the_rest_of_its_batch(bench):
    end = bench.run(*[calls(*[(LOOK, {})] * 8)] * 4)
    assert (end.reason, end.totals.tool_calls, len(bench.called)) == (StopReason.TOOL_CALL_LIMIT, 30, 30)
    assert bench.tool_codes == [""] * 30 + ["not_executed"] * 2
    assert "Not executed" in bench.steps[-1].result


def test_exactly_thirty_calls_and_a_summary_are_a_finished_run(bench):
    end = bench.run(*[calls(*[(LOOK, {})] * 10)] * 3, text(SUMMARY))
    assert (end.reason, end.totals.tool_calls) == (StopReason.DONE, 30)


def test_the_same_failure_twice_drops_the_hypothesis_and_three_times_ends_the_run(bench):
    def answer(call: ToolCall) -> ToolOutcome:
        if call.name == LOOK:
            return ToolOutcome('{"success": true}')
        return ToolOutcome('{"success": false, "error": "cooldown"}', "cooldown", "theverge")

    bench.answer = answer
    again = calls((WRITE, {"target_key": "theverge"}), (LOOK, {}))
    end = bench.run(again, again, again)
    assert end.reason is StopReason.REPEATED_FAILURE
    assert "note" not in bench.answered(1)[0]
    assert "Drop this hypothesis" in bench.answered(2)[0]["note"]
    assert bench.tool_codes == ["cooldown", "", "cooldown", "", "cooldown", "not_executed"]


@pytest.mark.parametrize("counted", [True, False])
def test_failures_on_different_targets_or_not_counted_never_end_a_run(bench, counted):
    targets = itertools.count() if counted else itertools.repeat("same")
    bench.answer = lambda call: ToolOutcome("{}", "cooldown", str(next(targets)), counted)
    end = bench.run(*[calls((WRITE, {}))] * 5, text(SUMMARY))
    assert (end.reason, bench.tool_codes) == (StopReason.DONE, ["cooldown"] * 5)


def test_a_tool_that_raises_once_is_simply_tried_again(bench):
    fails = iter([True, False])

    def answer(call: ToolCall) -> ToolOutcome:
        if next(fails):
            raise ConnectionError("database gone, password hunter2")
        return ToolOutcome('{"topics": []}')

    bench.answer = answer
    assert bench.run(calls((LOOK, {})), text(SUMMARY)).reason is StopReason.DONE
    assert bench.answered(1) == [{"topics": []}] and bench.tool_codes == [""]


def test_a_tool_that_raises_twice_is_an_error_result_and_three_of_those_are_the_end(bench):
    def answer(call: ToolCall) -> ToolOutcome:
        raise ConnectionError("database gone, password hunter2")

    bench.answer = answer
    end = bench.run(*[calls((LOOK, {}))] * 3)
    assert (end.reason, len(bench.called)) == (StopReason.REPEATED_FAILURE, 6)
    assert bench.tool_codes == ["tool_failed"] * 3
    assert bench.answered(1)[0]["error"] == "tool_failed" and "hunter2" not in str(bench.answered(1))


@pytest.mark.parametrize(
    ("name", "arguments", "code"),
    [
        (LOOK, "{broken", "invalid_arguments"),
        (LOOK, "[1, 2]", "invalid_arguments"),
        (LOOK, '{"a": "\\u0000"}', "invalid_arguments"),
        ("accept_suggestion", {}, "unknown_tool"),
        ("x" * 500, {}, "unknown_tool"),
    ],
)
def test_a_call_that_cannot_be_run_is_told_what_can(bench, name, arguments, code):
    end = bench.run(calls((name, arguments), (LOOK, {})), text(SUMMARY))
    assert end.reason is StopReason.DONE
    told = bench.answered(1)[0]
    assert (told["success"], told["error"], told["valid_tools"]) == (False, code, [LOOK, WRITE])
    assert [call.name for call in bench.called] == [LOOK], "the good call of the batch is run"
    assert bench.tool_codes == [code, ""] and len(bench.steps[1].tool) <= 64


def test_a_slow_drip_ends_at_the_deadline_and_keeps_what_was_written(bench):
    with_drip = [calls((WRITE, {})), garbage(b" " * 60, drip=True)]
    started = time.monotonic()
    bench.answer = lambda call: ToolOutcome('{"success": true, "suggestion_id": 7}')
    end = bench.run(*with_drip, limits=replace(LIMITS, timeout_s=0.8))
    assert time.monotonic() - started < 2.5
    assert (end.reason, end.totals.tool_calls) == (StopReason.DEADLINE, 1)
    cut = Spend.objects.order_by("id").last()
    assert cut.settled_usd == cut.reserved_usd, "a call cut off may be billed"
    assert bench.steps[-1].error_code == "deadline_exceeded"


def test_time_also_ends_in_the_middle_of_a_batch(bench):
    def answer(call: ToolCall) -> ToolOutcome:
        time.sleep(0.3)
        return ToolOutcome("{}")

    bench.answer = answer
    end = bench.run(calls(*[(LOOK, {})] * 5), limits=replace(LIMITS, timeout_s=0.5))
    assert end.reason is StopReason.DEADLINE and 1 <= len(bench.called) <= 2
    assert bench.tool_codes.count("not_executed") == 5 - len(bench.called)


def test_a_429_is_waited_for_as_asked_and_the_same_model_goes_on(bench):
    end = bench.run(status(429, headers={"Retry-After": "3"}), calls((LOOK, {})), text(SUMMARY))
    assert (end.reason, bench.waits) == (StopReason.DONE, [3.0])
    assert [body["model"] for body in bench.script.bodies] == ["gpt-6-luna"] * 3
    assert bench.steps[0].error_code == "model_unavailable"
    assert Spend.objects.order_by("id").first().settled_usd == 0, "a call turned away costs nothing"


def test_a_wait_beyond_the_deadline_goes_to_the_next_model_at_once(bench):
    end = bench.run(status(429, headers={"Retry-After": "60"}), text(SUMMARY))
    assert (end.reason, bench.waits, end.totals.model) == (StopReason.DONE, [], "openai:gpt-4o")


def test_a_second_429_in_the_same_turn_goes_to_the_next_model(bench):
    refused = status(429, headers={"Retry-After": "1"})
    end = bench.run(refused, refused, text(SUMMARY))
    assert (end.totals.model, bench.waits) == ("openai:gpt-4o", [1.0])


def test_a_model_that_breaks_in_mid_run_hands_over_without_its_private_fields(bench):
    def plain(body: dict) -> None:
        assert "thought_signature" not in json.dumps(body)
        assert_paired(body["messages"])
        assert len(body["messages"]) == 5

    opening = calls((LOOK, {}))
    signed = [{**c, "extra_content": {"thought_signature": "x"}} for c in opening.message["tool_calls"]]
    opening = replace(opening, message={**opening.message, "tool_calls": signed})
    end = bench.run(opening, status(503), checked(text(SUMMARY), plain))
    assert (end.reason, end.totals.model, end.totals.turns) == (StopReason.DONE, "openai:gpt-4o", 2)
    assert "thought_signature" in json.dumps(bench.script.bodies[1]), "its own model gets them back"


@pytest.mark.parametrize(
    "broken", [status(500), status(401), garbage(b"<html>"), garbage(b'{"choices": []}')]
)
def test_when_every_provider_is_down_the_last_model_of_the_chain_goes_on(bench, broken):
    planner = Canned()
    end = bench.run(calls((LOOK, {})), broken, broken, models=[*chain_configured(), planner])
    assert (end.reason, end.totals.model) == (StopReason.DONE, "offline:canned")
    assert [m["role"] for m in planner.seen[0]][-2:] == ["assistant", "tool"]


def test_with_no_model_left_the_run_says_so(bench):
    end = bench.run(status(500, "overloaded"), status(404))
    assert end.reason is StopReason.MODELS_EXHAUSTED and "404" in end.message
    assert bench.run(models=[]).reason is StopReason.MODELS_EXHAUSTED


@pytest.mark.parametrize("code", [400, 422])
def test_a_refused_request_is_not_offered_to_another_model(bench, code):
    end = bench.run(status(code, "tools with reasoning"))
    assert end.reason is StopReason.MODEL_REFUSED and "tools with reasoning" in end.message


def test_money_ends_a_run_in_the_middle_and_the_free_model_does_not_finish_it(bench, settings):
    settings.ADVISOR_RUN_CAP_USD = 0.0025
    planner = Canned()
    bench.answer = lambda call: ToolOutcome('{"success": true, "suggestion_id": 7}')
    dear = {"prompt_tokens": 20_000, "completion_tokens": 100}
    end = bench.run(calls((WRITE, {}), usage=dear), models=[*chain_configured(), planner])
    assert (end.reason, end.totals.tool_calls, planner.seen) == (StopReason.BUDGET, 1, [])
    assert "budget" in end.message and bench.tool_codes == [""]
    assert end.totals.cost_usd == Decimal("0.00205")


def test_a_model_without_a_price_is_passed_over(bench, settings):
    settings.LLM_CHAIN = ["openai:acme-9000", "openai:gpt-4o"]
    end = bench.run(text(SUMMARY))
    assert (end.reason, end.totals.model) == (StopReason.DONE, "openai:gpt-4o")
    assert bench.steps[0].error_code == "price_unknown"


def test_a_free_model_needs_no_ledger_row(bench):
    assert bench.run(models=[Canned()]).reason is StopReason.DONE
    assert not Spend.objects.exists()


@pytest.mark.parametrize("words", ["All done!", "", '{"suggestions": ['])
def test_a_last_message_without_a_summary_is_noted_and_no_failure(bench, words):
    end = bench.run(text(words))
    assert (end.reason, end.summary) == (StopReason.DONE, None)
    assert "without a summary" in end.message


def test_a_run_that_was_taken_over_stops_at_once(bench):
    def answer(call: ToolCall) -> ToolOutcome:
        raise FenceLost("fence 2")

    bench.answer = answer
    end = bench.run(calls((WRITE, {}), (WRITE, {})))
    assert (end.reason, len(bench.called)) == (StopReason.FENCE_LOST, 1)


def test_an_unusable_prompt_ends_the_run_before_any_call(bench, tmp_path):
    end = bench.run(prompt=tmp_path / "none.md")
    assert end.reason is StopReason.PROMPT_UNUSABLE and "none.md" in end.message


def test_an_error_of_our_own_goes_up_and_its_money_stays_reserved(bench):
    def answer(call: ToolCall) -> ToolOutcome:
        return ToolOutcome("{}")

    def record(step: StepRecord) -> None:
        raise RuntimeError("the audit is full")

    bench.answer = answer
    bench.steps = type("Full", (list,), {"append": staticmethod(record)})()
    with pytest.raises(RuntimeError, match="audit"):
        bench.run(calls((LOOK, {})))
    assert Spend.objects.get().settled_usd is not None, "the call is booked before it is recorded"


def test_half_a_character_in_an_answer_is_stored_and_sent_back_whole(bench):
    raw = {"choices": [{"message": {**calls((LOOK, {})).message, "content": "a\ud800b\x00"}}]}
    raw["choices"][0]["message"]["tool_calls"][0]["id"] = "call-1"
    bench.run(garbage(json.dumps(raw).encode()), text(SUMMARY))
    assert bench.steps[0].reasoning == "a?b"

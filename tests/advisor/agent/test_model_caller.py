"""The choice of the next model, booked money, and runs that end for lack of it."""

import json
import time
from dataclasses import replace
from decimal import Decimal

import pytest
from structlog.testing import capture_logs

from advisor.run_values import StepRecord, StopReason, ToolOutcome
from digest.llm.client import chain_configured
from digest.models import Spend
from tests.support.agent_bench import LIMITS, LOOK, SUMMARY, WRITE, Canned
from tests.support.scripted_model import assert_paired, calls, checked, garbage, status, text

pytestmark = pytest.mark.alike


def test_the_ledger_holds_every_call_settled_at_its_real_cost(bench):
    end = bench.run(calls((LOOK, {})), text(SUMMARY))
    spent = list(Spend.objects.order_by("id"))
    assert [s.settled_usd for s in spent] == [Decimal("0.000114")] * 2
    assert all(s.reserved_usd > s.settled_usd for s in spent)
    assert {s.run_id for s in spent} == {bench.context.run_id}
    assert end.totals.cost_usd == Decimal("0.000228")


def test_a_429_is_waited_for_as_asked_and_the_same_model_goes_on(bench):
    end = bench.run(status(429, headers={"Retry-After": "3"}), calls((LOOK, {})), text(SUMMARY))
    assert (end.reason, bench.waits) == (StopReason.DONE, [3.0])
    assert [body["model"] for body in bench.script.bodies] == ["gpt-6-luna"] * 3
    assert bench.steps[0].error_code == "model_unavailable"
    assert Spend.objects.order_by("id").first().settled_usd == 0, "a call turned away costs nothing"


def test_a_wait_beyond_the_deadline_goes_to_the_next_model_at_once(bench):
    end = bench.run(status(429, headers={"Retry-After": "60"}), text(SUMMARY))
    assert (end.reason, bench.waits, end.totals.model) == (StopReason.DONE, [], "openai:gpt-4o")


def test_a_wait_that_would_leave_no_time_for_the_call_is_not_sat_out(bench):
    end = bench.run(status(429, headers={"Retry-After": "18"}), text(SUMMARY))
    assert (bench.waits, end.totals.model) == ([], "openai:gpt-4o")


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


def test_a_model_that_drips_takes_its_share_of_the_time_and_the_next_one_the_rest(bench):
    started = time.monotonic()
    end = bench.run(garbage(b" " * 100, drip=True), text(SUMMARY), limits=replace(LIMITS, timeout_s=2.4))
    assert time.monotonic() - started > 1.5, "two thirds of the time"
    assert (end.reason, end.totals.model) == (StopReason.DONE, "openai:gpt-4o")
    cut = Spend.objects.order_by("id").first()
    assert cut.settled_usd == cut.reserved_usd, "a call cut off may be billed"


def test_the_last_model_of_a_chain_has_all_the_time_that_is_left(bench):
    limits = replace(LIMITS, timeout_s=0.6)
    end = bench.run(garbage(b" " * 60, drip=True), limits=limits, models=chain_configured()[:1])
    assert end.reason is StopReason.DEADLINE


@pytest.mark.parametrize("code", [400, 422])
def test_a_refused_request_is_not_offered_to_another_model(bench, code):
    end = bench.run(status(code, "tools with reasoning"))
    assert end.reason is StopReason.MODEL_REFUSED and "tools with reasoning" in end.message
    assert "another model in LLM_CHAIN" in end.message, "the operator learns what to do"


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


def test_every_call_is_a_step_and_a_line_of_the_log_with_its_tokens_and_cost(bench):
    with capture_logs() as logged:
        end = bench.run(
            calls((LOOK, {}), (LOOK, {}), content="Let me see."), status(503, "busy"), text(SUMMARY)
        )
    assert all(isinstance(step.ms, int) for step in bench.steps)
    asked, broken, closing = [replace(step, ms=0) for step in bench.steps if step.kind == "model"]
    assert asked == StepRecord(
        kind="model",
        model="openai:gpt-6-luna",
        result=f"{LOOK}, {LOOK}",
        reasoning="Let me see.",
        input_tokens=1000,
        output_tokens=100,
        cost_usd=Decimal("0.000114"),
    )
    assert (broken.error_code, broken.input_tokens, broken.cost_usd) == ("model_unavailable", 0, 0)
    assert "busy" in broken.result
    assert (closing.model, closing.result, closing.reasoning) == ("openai:gpt-4o", SUMMARY, "")
    lines = [line for line in logged if line["event"] == "model_call"]
    assert all(isinstance(line.pop("ms"), int) for line in lines)
    assert lines[0] == {
        "event": "model_call",
        "log_level": "info",
        "cost_usd": "0.000114",
        "gen_ai.operation.name": "chat",
        "gen_ai.request.model": "openai:gpt-6-luna",
        "gen_ai.usage.input_tokens": 1000,
        "gen_ai.usage.cache_read.input_tokens": 400,
        "gen_ai.usage.cache_creation.input_tokens": 0,
        "gen_ai.usage.output_tokens": 100,
        "gen_ai.usage.reasoning.output_tokens": 0,
        "error.type": "",
    }
    assert (lines[1]["error.type"], lines[1]["cost_usd"]) == ("model_unavailable", "0")
    assert (end.totals.turns, end.totals.input_tokens, end.totals.output_tokens) == (2, 2000, 200)

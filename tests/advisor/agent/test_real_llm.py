"""A small real model behind the JSON envelope: its text may be noise, but the rules must hold.

Not part of CI: `pytest -m real_llm -s`, with what `tests/support/real_llm.py` names.
"""

import json

import pytest

from advisor.agent.loop import RunBudget, agent_run
from advisor.prompts import opening_messages, prompt_load
from advisor.run_values import Limits, StepRecord, StopReason
from advisor.tools.registry import TOOLS, dispatch, schemas
from digest.llm.client import chain_configured
from digest.llm.ledger import advisor_account
from digest.models import Spend
from ranking.models import ConfigVersion, RankConfig
from suggestions.models import Suggestion
from tests.support.agent_bench import drive
from tests.support.histories import context_for, opinionated
from tests.support.real_llm import small_model_server
from tests.support.scripted_model import assert_paired

pytestmark = pytest.mark.real_llm
LIMITS = Limits(turns=6, tool_calls=8, history_turns=15, timeout_s=600)


@pytest.fixture(scope="module")
def server():
    return small_model_server()


@pytest.fixture
def small(server, settings):
    # A busy machine reads the first prompt for longer than a call may take.
    settings.LOCAL_LLM_TIMEOUT_S = 600
    settings.LOCAL_LLM_BASE_URL, settings.LOCAL_LLM_MODEL = f"{server.listening_address}/v1", "smollm2-135m"
    settings.LLM_CHAIN, settings.LOCAL_LLM_TOOL_MODE = ["local"], "envelope"
    return chain_configured()


def test_a_real_small_model_drives_the_loop_and_the_rules_hold(small, ada, now):
    opinionated(ada)
    context, steps = context_for(ada), []
    ledger = advisor_account(reader_id=ada.pk, run_id=context.run_id, now=now)
    opening = opening_messages(prompt_load(), context)
    run = agent_run(opening=opening, models=small, schemas=schemas(), budget=RunBudget(LIMITS, ledger))
    end = drive(run, lambda call: dispatch(context, call), steps.append)
    report(end, steps)
    assert end.reason in (
        StopReason.DONE,
        StopReason.TURN_LIMIT,
        StopReason.TOOL_CALL_LIMIT,
        StopReason.REPEATED_FAILURE,
        StopReason.DEADLINE,
        StopReason.MODEL_REFUSED,  # the conversation outgrew the model's context
    )
    called = [step for step in steps if step.kind == "tool"]
    assert called and {step.tool for step in called} <= set(TOOLS), "the grammar allows our tools only"
    assert "invalid_json" not in {step.error_code for step in called}
    assert not RankConfig.objects.exists() and not ConfigVersion.objects.exists()
    assert not Spend.objects.exists(), "a local model is free"
    for suggestion in Suggestion.objects.all():
        assert suggestion.evidence.count() >= 3


def test_a_real_small_model_answers_in_two_turns_with_a_tool_result_between(small):
    [model] = small
    tool = {
        "type": "function",
        "function": {
            "name": "weather",
            "description": "The weather of a city.",
            "parameters": {
                "type": "object",
                "properties": {"city": {"type": "string", "maxLength": 20}},
                "required": ["city"],
            },
        },
    }
    messages = [
        {"role": "system", "content": "You answer with the help of tools."},
        {"role": "user", "content": "What is the weather in Paris?"},
    ]
    first = model.complete(messages, [tool], timeout_s=300)
    messages.append(first.message)
    for call in first.tool_calls:
        assert call.name == "weather" and isinstance(call.arguments["city"], str)
        messages.append({"role": "tool", "tool_call_id": call.id, "content": '{"sky": "clear"}'})
    second = model.complete(messages, [tool], timeout_s=300)
    assert_paired(messages)
    assert second.text or second.tool_calls
    print(f"\nfirst: {first.message}\nsecond: {second.message}")


def report(end, steps: list[StepRecord]) -> None:
    """Print the result for a person who runs this by hand (`-s`)."""
    spoken = [step for step in steps if step.kind == "model"]
    out, ms = sum(step.output_tokens for step in spoken), sum(step.ms for step in spoken)
    print(f"\nended: {end.reason} ({end.message}); {end.totals.turns} turns, {end.totals.tool_calls} calls")
    print(
        f"{end.totals.input_tokens} tokens in, {out} out, {ms / 1000:.1f} s, {out / (ms / 1000):.1f} tokens/s"
    )
    for step in steps:
        print(f"  {step.kind:5} {step.tool or step.model:24} {step.error_code:18} {step.ms:6} ms", end=" ")
        print(json.dumps(step.arguments)[:110] if step.arguments is not None else step.result[:80])

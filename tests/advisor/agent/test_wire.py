"""The loop against a scripted server on a real socket: every cap, every failure, and the stored rows."""

import itertools
import json
import time
from dataclasses import replace

import pytest

from advisor.run_values import StepRecord, StopReason, ToolOutcome
from digest.llm.client import chain_configured
from digest.llm.entities import ToolCall
from digest.models import Spend
from suggestions.proposals import FenceLost
from tests.support.agent_bench import LIMITS, LOOK, NAMES, SUMMARY, WRITE
from tests.support.scripted_model import calls, checked, finish, garbage, text

pytestmark = pytest.mark.alike
FINISH = ("finish", {"reason": "", "skipped": []})


def test_a_happy_run_ends_with_its_summary_and_everything_on_record(bench, ada):
    end = bench.run(
        calls((LOOK, {}), (WRITE, {"reason": "x"}), content="They like harbours."),
        finish("Even."),
    )
    assert (end.reason, end.summary) == (StopReason.DONE, {"reason": "Even.", "skipped": []})
    assert [call.name for call in bench.called] == [LOOK, WRITE, "finish"]
    assert [(s.kind, s.tool, s.error_code) for s in bench.steps] == [
        ("model", "", ""),
        ("tool", LOOK, ""),
        ("tool", WRITE, ""),
        ("model", "", ""),
        ("tool", "finish", ""),
    ]
    first, _, write, _, _ = bench.steps
    assert (first.model, first.reasoning) == ("openai:gpt-6-luna", "They like harbours.")
    assert (first.input_tokens, first.output_tokens) == (1000, 100)
    assert write.arguments == {"reason": "x"}
    assert (end.totals.turns, end.totals.tool_calls, end.totals.input_tokens) == (2, 3, 2000)
    assert end.totals.cost_usd == sum(s.cost_usd for s in bench.steps) > 0
    opening = bench.script.bodies[0]["messages"]
    assert [m["role"] for m in opening] == ["system", "system", "user"]
    assert str(ada.pk) in opening[1]["content"] and str(ada.pk) not in opening[0]["content"]


def test_fifty_turns_are_the_end_and_every_request_stays_in_the_window(bench):
    def window(body: dict) -> None:
        spoken = [m for m in body["messages"] if m["role"] == "assistant"]
        assert len(spoken) <= 15 and body["messages"][0]["role"] == "system"

    steps = [checked(calls((LOOK, {}), (WRITE, {})), window)] * 50
    end = bench.run(*steps, limits=replace(LIMITS, tool_calls=1000))
    assert (end.reason, end.totals.turns, len(bench.called)) == (StopReason.TURN_LIMIT, 50, 100)
    assert sum(m["role"] == "assistant" for m in bench.script.bodies[-1]["messages"]) == 15


@pytest.mark.parametrize("first", [True, False], ids=["finish first", "finish last"])
def test_finish_beside_writes_ends_the_run_only_if_all_are_stored(bench, first):
    refused = ToolOutcome('{"success": false, "error": "weak"}', "weak", "x")
    bench.answer = lambda call: refused if '"n": 0' in call.text else ToolOutcome('{"success": true}')

    def batch(*numbers: int):
        writes = [(WRITE, {"n": n}) for n in numbers]
        return calls(FINISH, *writes) if first else calls(*writes, FINISH)

    end = bench.run(batch(0, 2), calls((WRITE, {"n": 3})), batch(4, 5))
    assert (end.reason, end.totals.turns, end.summary) == (StopReason.DONE, 3, FINISH[1])
    assert bench.tool_codes.count("write_refused") == 1


def test_finish_in_a_wrong_form_does_not_end_the_run(bench):
    wrong = ToolOutcome('{"success": false, "error": "invalid_arguments"}', "invalid_arguments")
    bench.answer = lambda call: wrong if "skipped" not in call.text else ToolOutcome('{"success": true}')
    end = bench.run(calls(("finish", {"why": 1})), finish("Even."))
    assert (end.totals.turns, end.summary) == (2, {"reason": "Even.", "skipped": []})


def test_the_31st_call_is_not_run_but_answered_and_so_is_the_rest_of_its_batch(bench):
    end = bench.run(*[calls(*[(LOOK, {})] * 8)] * 4)
    assert (end.reason, end.totals.tool_calls, len(bench.called)) == (StopReason.TOOL_CALL_LIMIT, 30, 30)
    assert bench.tool_codes == [""] * 30 + ["not_executed"] * 2
    assert "Not executed" in bench.steps[-1].result


def test_exactly_thirty_calls_and_finish_are_a_finished_run(bench):
    end = bench.run(*[calls(*[(LOOK, {})] * 10)] * 3, finish())
    assert (end.reason, end.totals.tool_calls) == (StopReason.DONE, 31), "the end is none too many"


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
def test_a_bad_call_is_answered_with_what_is_valid(bench, name, arguments, code):
    end = bench.run(calls((name, arguments), (LOOK, {})), text(SUMMARY))
    assert end.reason is StopReason.DONE
    told = bench.answered(1)[0]
    assert (told["success"], told["error"], told["valid_tools"]) == (False, code, [*NAMES])
    assert [call.name for call in bench.called] == [LOOK], "the good call of the batch is run"
    assert bench.tool_codes == [code, ""] and len(bench.steps[1].tool) <= 64


def test_a_slow_drip_ends_at_the_deadline_and_keeps_what_was_written(bench):
    with_drip = [calls((WRITE, {})), garbage(b" " * 160, drip=True)]
    started = time.monotonic()
    bench.answer = lambda call: ToolOutcome('{"success": true, "suggestion_id": 7}')
    limits = replace(LIMITS, timeout_s=0.8)
    end = bench.run(*with_drip, limits=limits, models=chain_configured()[:1])
    assert time.monotonic() - started < 6, "the answer takes 8 s"
    assert (end.reason, end.totals.tool_calls) == (StopReason.DEADLINE, 1)
    cut = Spend.objects.order_by("id").last()
    assert cut.settled_usd == cut.reserved_usd, "a call cut off may be billed"
    assert bench.steps[-1].error_code == "deadline_exceeded"


def test_time_also_ends_in_the_middle_of_a_batch(bench):
    def answer(call: ToolCall) -> ToolOutcome:
        time.sleep(0.8)
        return ToolOutcome("{}")

    bench.answer = answer
    end = bench.run(calls(*[(LOOK, {})] * 5), limits=replace(LIMITS, timeout_s=1.5))
    assert end.reason is StopReason.DEADLINE and 1 <= len(bench.called) <= 2
    assert bench.tool_codes.count("not_executed") == 5 - len(bench.called)


@pytest.mark.parametrize("words", ["All done!", "", SUMMARY])
def test_an_end_without_finish_is_noted_and_no_failure(bench, words):
    end = bench.run(text(words))
    assert (end.reason, end.summary) == (StopReason.DONE, None)
    assert "without its reasons" in end.message


def test_a_run_that_was_taken_over_stops_at_once(bench):
    def answer(call: ToolCall) -> ToolOutcome:
        raise FenceLost("fence 2")

    bench.answer = answer
    with pytest.raises(FenceLost):
        bench.run(calls((WRITE, {}), (WRITE, {})))
    assert len(bench.called) == 1


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

"""The planner reads the conversation, asks, proposes changes that the numbers support, and explains its
silence."""

import json

import pytest

from advisor.agent.planner import StatisticalPlanner, hypotheses_choose, proposal_arguments
from advisor.guidance.situations import ReaderFacts
from advisor.run_values import PLANNER_MODEL
from advisor.tools.registry import schemas
from digest.llm.entities import ModelUnavailable
from suggestions.wording import CHANGE_STOPPED, CHANGES_STOPPED

FACT = {
    "type": "boost_source",
    "target": "loved.example",
    "label": "Loved",
    "suggested_value": "1.3",
    "liked": 38,
    "rated": 40,
    "confidence": "high",
    "p_helpful": 0.99,
    "expected_gain": 0.2,
    "ndcg_gain": 0.1,
    "ndcg_low": 0.02,
    "ndcg_high": 0.2,
    "later_thumbs": 60,
    "supporting_items": ["https://loved.example/1", "https://loved.example/2", "https://loved.example/3"],
}
TOPIC = FACT | {"type": "add_topic", "target": "chess opening", "label": "Chess openings"}
LESS = FACT | {"type": "reduce_source", "target": "hype.example", "label": "Hype", "liked": 2}


def feedback(*facts, **more):
    meta = {"total_feedback_available": 30, "patterns_found": len(facts)}
    return {"hypotheses": list(facts), "meta": meta} | more


def tell(messages, turn, results):
    """Return the conversation after `turn`, its calls answered by tool name (a list: one answer after
    another)."""
    answers = []
    for call in turn.tool_calls:
        result = results[call.name]
        content = result.pop(0) if isinstance(result, list) else result
        answers.append({"role": "tool", "tool_call_id": call.id, "content": json.dumps(content)})
    return [*messages, turn.message, *answers]


def play(results, most=20):
    """Play the planner against canned results to its end; returns its turns."""
    messages = [{"role": "system", "content": "prompt"}, {"role": "user", "content": "go"}]
    turns = []
    for _ in range(most):
        turn = StatisticalPlanner().complete(messages, schemas(), timeout_s=1)
        turns.append(turn)
        if turn.tool_calls[-1].name == "finish":
            return turns
        messages = tell(messages, turn, results)
    raise AssertionError("the planner does not come to an end")


def written(n):
    return {"success": True, "suggestion_id": n, "status": "pending", "validation_notes": []}


def refused(code):
    return {"success": False, "error": code, "details": f"Refused: {code}."}


def results(facts, *writes, profile=None):
    return {
        "query_user_feedback": facts,
        "query_user_config": {"config": {}},
        "get_user_profile": profile or {"first_run": True},
        "write_suggestion": list(writes),
    }


def writes_of(turns):
    return [call.arguments for turn in turns for call in turn.tool_calls if call.name == "write_suggestion"]


def summary_of(turns):
    (end,) = turns[-1].tool_calls
    assert end.name == "finish"
    return end.arguments


def test_it_reads_feedback_config_and_profile_at_once():
    turns = play(results(feedback()))
    assert [c.name for c in turns[0].tool_calls] == [
        "query_user_feedback",
        "query_user_config",
        "get_user_profile",
    ]


def test_it_writes_one_suggestion_a_turn_with_the_items_that_support_it():
    turns = play(results(feedback(FACT, TOPIC), written(1), written(2)))
    assert [len(turn.tool_calls) for turn in turns] == [3, 1, 1, 1]
    first, second = writes_of(turns)
    assert first["target"] == "loved.example"
    assert first["evidence"] == FACT["supporting_items"]
    assert second["suggestion_type"] == "add_topic"


def test_it_finishes_with_what_it_left_out_labelled_as_the_planner():
    turns = play(results(feedback(FACT, LESS), written(7), refused("on_cooldown")))
    summary = summary_of(turns)
    assert summary["skipped"] == [
        {"hypothesis": "Less from hype.example", "reason_skipped": "Refused: on_cooldown."}
    ]
    assert summary["reason"] == ""
    assert {turn.model for turn in turns} == {PLANNER_MODEL}


def test_it_asks_for_no_slot_that_is_full():
    sources = [FACT | {"target": f"s{n}.example"} for n in range(6)]
    turns = play(results(feedback(*sources), *(written(n) for n in range(6))))
    assert [w["target"] for w in writes_of(turns)] == ["s0.example", "s1.example"]
    topics = [TOPIC | {"target": f"topic {n}"} for n in range(6)]
    turns = play(results(feedback(*sources, *topics), *(written(n) for n in range(6))))
    assert [w["target"] for w in writes_of(turns)] == ["s0.example", "s1.example", "topic 0"]


def test_a_change_that_was_found_and_refused_is_not_called_balance():
    turns = play(results(feedback(FACT, LESS), refused("on_cooldown"), refused("pinned")))
    assert summary_of(turns)["reason"] == CHANGES_STOPPED["pinned"], "the last one, in our words"


def test_a_change_that_guidance_stopped_is_named_by_the_rule_behind_that():
    stopped = {"success": False, "error": "blocked", "rule_id": "on_cooldown", "reason": "It rests."}
    assert summary_of(play(results(feedback(FACT), stopped)))["reason"] == CHANGES_STOPPED["on_cooldown"]
    by_operator = stopped | {"rule_id": "rule-7"}
    assert summary_of(play(results(feedback(FACT), by_operator)))["reason"] == CHANGE_STOPPED


@pytest.mark.parametrize(
    ("fact", "facts", "code"),
    [
        (FACT, ReaderFacts(declined={"boost_source": 6}), "type_declined"),
        (FACT, ReaderFacts(cooling=frozenset({("source_weights", "loved.example")})), "resting"),
        (FACT | {"p_helpful": 0.4}, ReaderFacts(), "unlikely"),
    ],
)
def test_a_change_that_it_lets_lie_is_not_called_balance_either(fact, facts, code):
    messages = [{"role": "user", "content": "go"}]
    turn = StatisticalPlanner(facts).complete(messages, schemas(), timeout_s=1)
    messages = tell(messages, turn, results(feedback(fact)))
    turn = StatisticalPlanner(facts).complete(messages, schemas(), timeout_s=1)
    assert summary_of([turn])["reason"] == CHANGES_STOPPED[code]


def test_a_change_that_waits_for_an_operator_is_said_to_wait():
    turns = play(results(feedback(FACT), written(7) | {"status": "draft"}))
    assert "An operator looks at it" in summary_of(turns)["reason"]


def test_a_refusal_costs_its_hypothesis_and_no_second_try():
    facts = [FACT | {"target": f"s{n}.example"} for n in range(10)]
    turns = play(results(feedback(*facts), *(refused("pinned") for _ in range(10))))
    targets = [w["target"] for w in writes_of(turns)]
    assert targets == [f"s{n}.example" for n in range(10)]
    assert len(summary_of(turns)["skipped"]) == 10


def test_without_a_clear_pattern_it_is_silent_and_says_so():
    summary = summary_of(play(results(feedback())))
    assert "balanced" in summary["reason"]


def test_silence_gives_the_reason_that_the_numbers_give():
    undecided = {"code": "undecided", "reason": "…", "undecided": []}
    assert "chance" in summary_of(play(results(feedback(silence=undecided))))["reason"]


def test_too_little_feedback_is_passed_on_in_its_own_words():
    thin = {
        "insufficient_data": True,
        "reason": "Not enough ratings for suggestions yet. Rate 46 more.",
    }
    assert summary_of(play(results(thin)))["reason"] == thin["reason"]


def test_feedback_that_cannot_be_read_is_asked_for_twice_and_then_is_no_silence():
    broken = {"error": "tool_failed", "details": "The tool failed twice."}
    answers = results([broken, broken])
    with pytest.raises(ModelUnavailable, match="could not be read"):
        play(answers)
    assert answers["query_user_feedback"] == []


def test_it_calls_no_tool_that_is_not_offered():
    with pytest.raises(ModelUnavailable):
        StatisticalPlanner().complete([], [], timeout_s=1)


def test_what_another_model_wrote_before_is_not_proposed_again():
    sent = json.dumps(proposal_arguments(FACT) | {"target": "LOVED.example"})
    call = {"id": "x", "type": "function", "function": {"name": "write_suggestion", "arguments": sent}}
    read = {"id": "r", "type": "function", "function": {"name": "query_user_feedback", "arguments": "{}"}}
    messages = [
        {"role": "assistant", "tool_calls": [read, call]},
        {"role": "tool", "tool_call_id": "r", "content": json.dumps(feedback(FACT))},
        {"role": "tool", "tool_call_id": "x", "content": json.dumps(written(1))},
    ]
    turn = StatisticalPlanner().complete(messages, schemas(), timeout_s=1)
    assert [call.name for call in turn.tool_calls] == ["finish"]


def test_the_same_conversation_gives_the_same_turn():
    one, two = (play(results(feedback(FACT, TOPIC), written(1), written(2))) for _ in range(2))
    assert one == two


def test_it_costs_nothing():
    assert StatisticalPlanner().worst_case_usd([], []) == 0


@pytest.mark.parametrize(
    ("changed", "why"),
    [
        ({"p_helpful": 0.49}, "49%"),
    ],
)
def test_it_keeps_quiet_about_what_is_likelier_to_harm(changed, why):
    chosen, skipped = hypotheses_choose(feedback(FACT | changed), {})
    assert chosen == [] and why in skipped[0]["reason_skipped"]
    assert skipped[0]["hypothesis"] == "More from Loved"


@pytest.mark.parametrize(
    "changed", [{}, {"p_helpful": 0.55, "confidence": "low"}, {"ndcg_gain": -0.01}, {"ndcg_gain": None}]
)
def test_it_proposes_what_is_likely_enough(changed):
    assert hypotheses_choose(feedback(FACT | changed), {})[0]


def test_a_reader_who_never_lets_a_source_be_reduced_is_not_asked():
    chosen, skipped = hypotheses_choose(feedback(LESS, FACT), {"patterns": {"never_reduce_sources": True}})
    assert chosen == [FACT] and "turned down" in skipped[0]["reason_skipped"]


@pytest.mark.parametrize(("rejected", "asked"), [(5, True), (6, False)])
def test_a_type_refused_six_times_without_a_yes_is_not_brought_up_again(rejected, asked):
    stats = {"acceptance_stats": {"boost_source": {"accepted": 0, "rejected": rejected}}}
    assert bool(hypotheses_choose(feedback(FACT), stats)[0]) is asked


def test_a_reader_open_to_topics_is_offered_topics_first():
    assert hypotheses_choose(feedback(FACT, TOPIC), {"patterns": {"open_to_new_topics": True}})[0] == [
        TOPIC,
        FACT,
    ]

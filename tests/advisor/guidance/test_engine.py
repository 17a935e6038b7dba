"""Guidance inside a run: stops by rule, speaks before a proposal, counts failures, and never delays the
run."""

import json
from datetime import timedelta

import pytest
from django.conf import settings as django_settings
from django.db import connection
from django.test.utils import CaptureQueriesContext

from advisor.guidance.engine import guide_for
from advisor.guidance.situations import Level, Why
from advisor.models import GuidanceEvent, Memory
from advisor.run.calls import RunCalls
from advisor.run_values import ToolContext, ToolOutcome
from digest.llm.entities import ToolCall
from digest.models import Spend
from ranking.models import RankConfig
from suggestions.models import Suggestion
from suggestions.proposals import FenceLost
from tests.advisor.guidance.desk import CAUTION, WROTE, Desk, memory, run_of
from tests.advisor.tools.test_tools import boost, liked_urls, outcomes
from tests.support.factories import SourceFactory
from tests.support.histories import opinionated, thumbs

pytestmark = pytest.mark.django_db
REFUSED = ToolOutcome('{"success":false,"error":"weak_evidence"}', "weak_evidence", "loud.example")


@pytest.fixture
def desk(ada, settings):
    """Ada's run; nothing is left out at random."""
    settings.GUIDANCE = {"holdout": "0"}
    return Desk(ada)


def pending(reader, now, **more):
    SourceFactory(key="loud.example")
    values = {
        "suggestion_type": "reduce_source",
        "field": "source_weights",
        "target_key": "loud.example",
        "suggested_value": "0.7",
        "p_helpful": 0.9,
        "config_version": 0,
        "status": "pending",
        "created_at": now,
    }
    return Suggestion.objects.create(reader=reader, **(values | more))


def rule(predicate, text="Leave this source alone this week, because its feed is being moved.", **more):
    values = {"kind": Memory.Kind.RULE, "ceiling": Memory.Ceiling.BLOCK, "data": {"when": predicate}}
    values |= {"suggestion_type": "", "target_key": "", "tool": "", "phase": "", "polarity": 0}
    return memory(None, text, **(values | more))


def target_is(name):
    return {"fact": "target", "op": "eq", "value": name}


# --- Blocks -------------------------------------------------------------------------------------------


def test_an_operators_rule_stops_what_it_names_and_nothing_else(desk):
    written = rule(target_is("loud.example"))
    advice = desk.write()
    assert (advice.level, advice.rule, advice.text) == (Level.BLOCK, f"rule-{written.pk}", written.text)
    assert desk.write("quiet.example").level is not Level.BLOCK


def test_a_rule_that_may_only_warn_stops_nothing(desk):
    rule(target_is("loud.example"), ceiling=Memory.Ceiling.WARNING)
    assert desk.write().level is not Level.BLOCK


@pytest.mark.parametrize("change", [{"retired_at": "now"}, {"expires_at": "now"}, {"valid_from": "later"}])
def test_a_rule_out_of_force_stops_nothing(desk, now, change):
    moments = {"now": now, "later": now + timedelta(hours=1)}
    written = rule(target_is("loud.example"))
    Memory.objects.filter(pk=written.pk).update(**{name: moments[at] for name, at in change.items()})
    assert desk.write().level is not Level.BLOCK


def test_an_operator_may_stop_any_tool_by_what_a_run_has_left(desk, settings):
    settings.ADVISOR_MAX_TOOL_CALLS = 2
    desk.guide = desk.again()
    few_left = {"fact": "calls_left", "op": "lt", "value": 1}
    rule({"all": [{"fact": "tool", "op": "eq", "value": "compare_configs"}, few_left]})
    assert desk.call("compare_configs").level is Level.SILENT
    assert desk.call("compare_configs").level is Level.BLOCK


# --- Warnings -----------------------------------------------------------------------------------------


def test_a_trial_of_what_outcomes_speak_against_is_warned_of_and_the_write_goes_through(desk, ada):
    memory(ada)
    advice = desk.trial()
    assert (advice.level, advice.why) == (Level.WARNING, Why.EMITTED)
    assert "3 of 3 large ones were declined" in advice.text
    written = desk.write()
    assert (written.level, written.why, written.text) == (Level.SILENT, Why.NO_ACT, "")
    trial, write = desk.events
    assert (trial.level, trial.emitted_ids) == ("warning", [Memory.objects.get().pk])
    assert (write.level, write.emitted_ids) == ("silent", [])


def test_a_refused_write_is_told_what_is_known_before_the_next_one(desk, ada):
    memory(ada)
    assert desk.write(outcome=REFUSED).level is Level.WARNING


def feedback(*hypotheses):
    rows = [{"type": kind, "target": target, "label": target} for kind, target in hypotheses]
    return ToolOutcome(json.dumps({"hypotheses": rows}))


def test_the_feedback_comes_with_what_is_known_of_its_first_hypothesis_that_anything_is_known_of(desk, ada):
    memory(ada, key="later", target_key="later.example")
    memory(ada)
    found = feedback(
        ("boost_source", "calm.example"),
        ("reduce_source", "loud.example"),
        ("reduce_source", "later.example"),
    )
    advice = desk.call("query_user_feedback", found)
    assert advice.level is Level.WARNING and [one.memory.target_key for one in advice.emitted] == [
        "loud.example"
    ]
    event = desk.events[-1]
    assert (event.suggestion_type, event.target_key) == ("reduce_source", "loud.example")


@pytest.mark.parametrize(
    "content", ["", "[]", "{}", '{"hypotheses": 3}', '{"hypotheses": [1, {"type": []}]}']
)
def test_feedback_without_hypotheses_is_told_nothing_and_breaks_nothing(desk, ada, content):
    memory(ada)
    assert desk.call("query_user_feedback", ToolOutcome(content)).why is Why.BELOW_FLOOR


def test_a_critique_is_told_of_the_draft_that_something_is_known_of(desk, ada):
    memory(ada)
    drafts = [{"suggestion_type": "boost_source", "target": "calm.example"}]
    drafts.append({"suggestion_type": "reduce_source", "target": "loud.example"})
    assert desk.call("self_critique", drafts=drafts).level is Level.WARNING


@pytest.mark.parametrize("name", ["query_user_config", "get_user_profile", "compare_configs"])
def test_no_memory_speaks_where_no_proposal_is_ahead(desk, ada, name):
    memory(ada, target_key="", suggestion_type="", tool=name, phase="")
    assert desk.call(name).why is Why.NO_ACT


def test_without_a_model_nothing_is_looked_up_and_rules_still_stop(desk, ada):
    memory(ada)
    desk.guide.is_read = False
    assert (desk.trial().why, desk.guide.start()) == (Why.NO_MODEL, "")
    rule(target_is("loud.example"))
    assert desk.trial().level is Level.BLOCK


# --- Calls through the loop -------------------------------------------------------------------------------


class Loop:
    """A run's own tool calls, with guidance before each."""

    def __init__(self, desk):
        context = ToolContext(desk.reader.pk, desk.run.pk, desk.at, lambda: None)
        self.codes = []
        self.calls = RunCalls(context, desk.guide)

    def __call__(self, name, **arguments):
        outcome = self.calls.answer(ToolCall("c", name, json.dumps(arguments)))
        self.codes.append(outcome.error_code)
        return json.loads(outcome.content)


def test_a_warning_by_score_stops_no_write_of_a_model(desk, ada):
    opinionated(ada)
    memory(ada, CAUTION, suggestion_type="boost_source", target_key="loved.example")
    ask = Loop(desk)
    tried = ask("test_suggestion", suggestion_type="boost_source", target="loved.example")
    assert next(iter(tried)) == "guidance" and "declined" in tried["guidance"]
    written = ask("write_suggestion", **boost(liked_urls(ada)))
    assert written["success"] is True and "guidance" not in written
    assert Suggestion.objects.get().target_key == "loved.example"
    assert [event.level for event in desk.events] == ["warning", "silent"] and ask.codes == ["", ""]


def test_a_blocked_call_says_which_rule_and_is_not_run(desk, ada):
    opinionated(ada)
    written = rule(target_is("loved.example"))
    ask = Loop(desk)
    answer = ask("write_suggestion", **boost(liked_urls(ada)))
    assert answer["error"] == "blocked" and answer["rule_id"] == f"rule-{written.pk}"
    assert set(answer) == {"success", "error", "rule_id", "reason", "until"}
    assert ask.calls.suggestions_generated == 0 and ask.codes == ["blocked"]


def test_a_model_that_runs_into_the_same_block_again_and_again_is_stopped(desk, ada):
    opinionated(ada)
    rule(target_is("loved.example"))
    ask, call = Loop(desk), ToolCall("c", "write_suggestion", json.dumps(boost(liked_urls(ada))))
    outcomes = [ask.calls.answer(call) for _ in range(4)]
    # The first block is no failure; the loop ends a run at its third equal one.
    assert [(one.error_code, one.counted) for one in outcomes] == [
        ("blocked", False),
        *[("blocked", True)] * 3,
    ]


def test_the_rules_hold_where_guidance_is_off(ada, now, settings):
    settings.ADVISOR_GUIDANCE = False
    run = run_of(ada)
    context = ToolContext(ada.pk, run.pk, now, lambda: None)
    assert guide_for(run=run, context=context, moment=lambda: now) is None
    opinionated(ada)
    pending(ada, now, suggestion_type="boost_source", target_key="loved.example")
    call = ToolCall("c", "write_suggestion", json.dumps(boost(liked_urls(ada))))
    assert RunCalls(context).answer(call).error_code == "duplicate_pending"


def test_a_note_is_the_last_field_and_a_warning_the_first(desk, ada):
    opinionated(ada)
    about = {"suggestion_type": "boost_source", "target_key": "loved.example"}
    noted = memory(ada, "Take small steps up, because 4 of 5 were accepted.", polarity=1, **about)
    ask = Loop(desk)
    trial = {"suggestion_type": "boost_source", "target": "loved.example"}
    answer = ask("test_suggestion", **trial)
    assert list(answer)[-1] == "guidance" and "4 of 5" in answer["guidance"]
    assert answer["would_match"] > 0
    Memory.objects.filter(pk=noted.pk).delete()
    warning = rule(target_is("loved.example"), ceiling=Memory.Ceiling.WARNING)
    answer = ask("test_suggestion", **trial)
    assert next(iter(answer)) == "guidance" and "its feed is being moved" in answer["guidance"]
    assert desk.events[-1].emitted_ids == [warning.pk] and desk.events[-1].level == "warning"


# --- Silence, and why -------------------------------------------------------------------------------------


def test_nothing_is_told_twice_in_a_run_and_the_event_says_why(desk, ada):
    memory(ada)
    desk.trial()
    again = desk.trial(suggested_value="0.8")
    assert (again.level, again.why, again.text) == (Level.SILENT, Why.SHOWN, "")
    assert desk.events[1].candidates[0]["why"] == "shown"


def test_what_one_run_told_another_run_of_the_same_reader_does_not_repeat_but_another_reader_may_hear(
    desk, ada, ben
):
    for reader in (ada, ben):
        memory(reader)
    assert desk.trial().level is Level.WARNING
    assert Desk(ada, trigger="mcp").trial().why is Why.SHOWN
    assert Desk(ben).trial().level is Level.WARNING


def test_a_memory_is_told_again_once_it_has_been_quiet_long_enough(desk, ada):
    memory(ada)
    desk.trial()
    later = Desk(ada, at=desk.at + timedelta(seconds=601), trigger="mcp")
    assert later.trial().level is Level.WARNING


def test_an_eleventh_of_emissions_is_left_out_the_same_way_every_time(desk, ada, settings):
    settings.GUIDANCE = {"holdout": "1"}
    desk.guide = desk.again()
    memory(ada)
    advice = desk.trial()
    assert (advice.level, advice.why, advice.text, advice.holdout) == (Level.SILENT, Why.HOLDOUT, "", True)
    event = desk.events[0]
    assert event.holdout and event.emitted_ids == [] and event.text == ""
    assert event.candidates[0]["why"] == "held_out"


def test_an_operators_warning_is_never_left_out(desk, settings):
    settings.GUIDANCE = {"holdout": "1"}
    desk.guide = desk.again()
    rule(target_is("loud.example"), ceiling=Memory.Ceiling.WARNING, polarity=-1)
    assert desk.trial().level is Level.WARNING


def test_no_time_left_is_silence_and_says_so(desk, ada, settings):
    settings.GUIDANCE = {"budget_ms": "0"}
    desk.guide = desk.again()
    memory(ada)
    assert desk.trial().why is Why.OUT_OF_TIME


def test_a_tool_that_only_reads_is_left_in_peace_for_ten_seconds_after_a_note(desk, ada):
    reading = {"fact": "tool", "op": "eq", "value": "query_user_config"}
    rule(
        reading, "Compare topics with what is liked, because topics weigh most.", ceiling=Memory.Ceiling.NOTE
    )
    assert desk.call("query_user_config").level is Level.NOTE
    second = rule(
        reading, "Look at the weights first, because few are set.", ceiling=Memory.Ceiling.NOTE, key="second"
    )
    again = desk.call("query_user_config")
    assert {one.memory.id: one.why for one in again.ranked}[second.pk] == Why.COOLDOWN
    desk.wait(11)
    assert [one.memory.id for one in desk.call("query_user_config").emitted] == [second.pk]


def test_a_rule_is_asked_anew_at_each_call(desk, ada):
    memory(ada)
    few_left = {"fact": "calls_left", "op": "lt", "value": 2}
    desk.guide.calls_max = 3
    written = rule(few_left, "Stop soon, because few calls are left.", ceiling=Memory.Ceiling.NOTE)
    assert written.pk not in {one.memory.id for one in desk.trial().ranked}
    assert written.pk in {one.memory.id for one in desk.trial().ranked}


# --- Repair -----------------------------------------------------------------------------------------------


def test_two_failed_writes_in_a_row_are_repair_and_reviews_count_as_none(desk):
    desk.write("a.example", REFUSED)
    desk.write("b.example", ToolOutcome("{}", "review_improve", "b.example", counted=False))
    assert desk.guide.failed_writes == 0
    for target in ("c.example", "d.example", "e.example"):
        desk.write(target, REFUSED)
    assert [event.phase for event in desk.events][-2:] == ["write", "repair"]


# --- Failures ---------------------------------------------------------------------------------------------


def test_a_memory_that_cannot_be_read_is_an_event_and_the_call_goes_on(desk, ada):
    memory(ada)
    Memory.objects.update(kind="nonsense")
    advice = desk.trial()
    assert (advice.level, advice.why) == (Level.SILENT, Why.FAILED)
    event = desk.events[0]
    assert (event.why, event.error_code, event.n, event.tool) == (
        "failed",
        "KeyError",
        1,
        "test_suggestion",
    )


def test_settings_that_make_no_sense_are_counted_and_stop_nothing(desk, ada, settings):
    settings.GUIDANCE = {"notes_max": "many"}
    memory(ada)
    desk.guide = desk.again()
    assert desk.trial().level is Level.SILENT
    assert {event.error_code for event in desk.events if event.why == "failed"} == {"ValueError"}


def test_a_run_taken_over_is_told_so_and_writes_nothing(ada, now, settings):
    def gone():
        raise FenceLost("taken over")

    run = run_of(ada)
    guide = guide_for(run=run, context=ToolContext(ada.pk, run.pk, now, gone), moment=lambda: now)
    guide.before(call := ToolCall("c", "query_user_config", "{}"))
    for act in (guide.start, lambda: guide.after(call, WROTE)):
        with pytest.raises(FenceLost):
            act()
    assert not GuidanceEvent.objects.exists()


@pytest.mark.parametrize("text", ["{", "[]", '{"target": {"a": []}, "suggested_value": [[]]}', '"x"', ""])
def test_no_arguments_break_it(desk, text):
    for name in ("write_suggestion", "test_suggestion", "self_critique", "no_such_tool"):
        call = ToolCall("c", name, text)
        assert desk.guide.before(call).why is not Why.FAILED
        assert desk.guide.after(call, REFUSED).why is not Why.FAILED


# --- The start of a run -------------------------------------------------------------------------------------


def test_a_run_starts_with_what_decisions_taught_and_hears_it_no_more(desk, ada, now):
    outcomes(ada, 12, now)
    text = desk.guide.start()
    event = desk.events[-1]
    told = Memory.objects.filter(pk__in=event.emitted_ids)
    assert (event.n, event.tool, event.level, event.text) == (0, "", "note", text[:600])
    assert told and {row.reader for row in told} == {ada} and all(row.text in text for row in told)
    later = desk.trial("quiet.example")
    assert not {one.memory.id for one in later.emitted} & {row.pk for row in told if not row.target_key}


def test_a_reader_of_whom_nothing_is_known_starts_with_nothing(desk):
    assert desk.guide.start() == ""
    assert (desk.events[0].n, desk.events[0].why) == (0, "nothing_known")


def test_the_reader_s_memories_are_renewed_before_a_run(desk, ada, now):
    for n in range(7):
        pending(
            ada,
            now - timedelta(days=40 + n),
            target_key=f"s{n}.example",
            status="rejected",
            resolved_at=now - timedelta(days=30 + n),
        )
    text = desk.guide.start()
    assert "reduce_source" in text and "turned down" in text


# --- Cost -------------------------------------------------------------------------------------------------


def queries_in(act):
    with CaptureQueriesContext(connection) as queries:
        act()
    return [query["sql"] for query in queries]


def queries_of(desk, **more):
    return queries_in(lambda: desk.write(**more))


def test_a_call_asks_as_often_with_five_hundred_memories_as_with_five_and_inserts_one_event(
    ada, ben, settings
):
    settings.GUIDANCE = {"holdout": "0"}
    asked = {}
    for reader, count in ((ada, 5), (ben, 500)):
        thumbs(reader, "loud.example", 10)
        for n in range(count):
            memory(reader, f"Note {n}: step gently, because {n} of {n + 1} were declined.", target_key="")
        desk = Desk(reader)
        asked[reader] = queries_of(desk), queries_of(desk, target="quiet.example")
    for one, other, most in zip(asked[ada], asked[ben], (15, 13), strict=True):
        assert len(one) == len(other) <= most
        assert [sql.split('"')[1] for sql in other if sql.startswith("INSERT")] == ["advisor_guidanceevent"]


@pytest.mark.parametrize("name", ["query_user_config", "test_suggestion", "self_critique"])
def test_where_nothing_could_be_told_a_call_costs_one_look_and_its_event(desk, name):
    desk.call(name)
    asked = queries_in(lambda: desk.call(name))
    assert len([sql for sql in asked if sql.lstrip().startswith("SELECT")]) == 1
    assert len([sql for sql in asked if sql.startswith("INSERT")]) == 1


# --- Changes during a run -----------------------------------------------------------------------------------


def test_a_rule_written_while_a_run_is_under_way_stops_its_next_call_and_one_retired_no_longer(desk):
    assert desk.write().level is Level.SILENT
    written = rule(target_is("loud.example"))
    assert desk.write().rule == f"rule-{written.pk}"
    Memory.objects.filter(pk=written.pk).update(retired_at=desk.at)
    assert desk.write().level is Level.SILENT


def test_a_rule_put_right_while_a_run_is_under_way_stops_what_it_now_names(desk):
    written = rule(target_is("loud.example"))
    assert desk.write().level is Level.BLOCK
    Memory.objects.filter(pk=written.pk).update(data={"when": target_is("calm.example")}, updated_at=desk.at)
    assert desk.write().level is Level.SILENT
    assert desk.write("calm.example").level is Level.BLOCK


def test_a_rule_that_expires_while_a_run_is_under_way_stops_no_more(desk):
    rule(target_is("loud.example"), expires_at=desk.at + timedelta(seconds=5))
    assert desk.write().level is Level.BLOCK
    desk.wait(6)
    assert desk.write().level is Level.SILENT


def test_what_the_run_or_its_reader_did_meanwhile_is_known_at_the_next_write(desk, ada, now):
    desk.write()
    row = pending(ada, now)
    desk.write()
    Suggestion.objects.filter(pk=row.pk).update(status="rejected", resolved_at=now)
    RankConfig.objects.create(reader=ada, version=1, locked=["loud.example"])
    desk.write()
    known = [[event.facts[name] for name in ("waiting", "cooling", "pinned")] for event in desk.events]
    assert known == [[False, False, False], [True, True, False], [False, True, True]]


def test_a_memory_learnt_while_a_run_is_under_way_warns_of_its_next_write_and_an_expired_one_does_not(
    desk, ada
):
    memory(ada, "Anything else.", target_key="calm.example", expires_at=desk.at + timedelta(seconds=5))
    assert desk.trial().level is Level.SILENT
    memory(ada)
    assert desk.trial().level is Level.WARNING
    desk.wait(6)
    assert desk.trial("calm.example").level is Level.SILENT


def test_a_reader_who_stops_sharing_is_told_no_more_of_the_crowd(desk, ada):
    memory(None)
    ada.__class__.objects.filter(pk=ada.pk).update(peers_enabled=False)
    desk.trial("quiet.example")
    assert desk.trial().level is Level.SILENT
    ada.__class__.objects.filter(pk=ada.pk).update(peers_enabled=True)
    assert desk.trial().level is Level.WARNING


def test_money_spent_meanwhile_is_known_at_the_next_write(desk, ada, now):
    desk.write()
    assert "money_left_usd" not in desk.events[-1].facts
    Spend.objects.create(
        surface="advisor",
        reader=ada,
        run_id=desk.run.pk,
        model="m",
        reserved_usd="0.1",
        day=now.date(),
        created_at=now,
    )
    desk.write()
    assert desk.events[-1].facts["money_left_usd"] == pytest.approx(django_settings.ADVISOR_RUN_CAP_USD - 0.1)

"""How a run's end is stored: words no database refuses, one verdict, caps that outlive a crash."""

import json
import traceback
from collections import Counter
from contextlib import contextmanager, suppress
from datetime import timedelta

import pytest
from django.db import OperationalError, connection
from structlog.testing import capture_logs

from advisor.agent.error_policy import retries_due
from advisor.models import Decision, Run, Step
from advisor.run.execute import run_execute
from advisor.run.request import run_request
from advisor.run.workers import job_failed
from advisor.run_values import StopReason
from suggestions.models import Suggestion
from tests.support.histories import balanced, opinionated
from tests.support.scripted_model import Script, calls, finish, garbage

pytestmark = pytest.mark.django_db
# PostgreSQL takes no NUL, and no database half a character.
FOUL = "bad\x00 news \ud83d"


@pytest.fixture
def queued(ada, now, httpserver, settings) -> Run:
    balanced(ada)
    settings.OPENAI_API_KEY, settings.OPENAI_BASE_URL = "k", httpserver.url_for("/v1")
    settings.LLM_CHAIN = ["openai:gpt-6-luna"]
    return Run.objects.create(reader=ada, day=now.date(), trigger="ui", created_at=now)


def test_what_a_provider_says_in_refusal_is_stored_without_what_databases_refuse(queued, now, httpserver):
    refusal = json.dumps({"error": {"message": FOUL}}).encode()
    with Script(httpserver, [garbage(refusal, status=400)]):
        run_execute(run_id=queued.pk, now=now)
    queued.refresh_from_db()
    assert (queued.status, queued.stop_reason) == ("agent_error", StopReason.MODEL_REFUSED)
    decision = Decision.objects.get(run=queued, actor="runs")
    for stored in (queued.message, decision.reason):
        assert "bad news ?" in stored and "\x00" not in stored


def test_a_crash_with_foul_words_ends_the_run_too(queued, now, settings):
    settings.LLM_CHAIN = [FOUL]
    run_execute(run_id=queued.pk, now=now)
    queued.refresh_from_db()
    assert (queued.status, queued.stop_reason) == ("agent_error", StopReason.CRASHED)
    assert "bad" in queued.message and "\x00" not in queued.message


def test_a_broken_jobs_words_are_stored_clean(now):
    job_failed(name="fetch", reason=FOUL, now=now)
    assert Decision.objects.get().reason == "bad news ?"


def test_a_worker_that_lost_its_run_notes_that_and_claims_no_end_of_it(queued, now, settings):
    settings.LLM_CHAIN = []

    def taken_over(execute, sql, params, many, context):
        if "digest_feedback" in sql:
            Run.objects.exclude(fence=99).update(fence=99)
        return execute(sql, params, many, context)

    with connection.execute_wrapper(taken_over), capture_logs() as logs:
        run_execute(run_id=queued.pk, now=now)
    assert [decision.action for decision in Decision.objects.all()] == ["run_lost"]
    assert "advisor_run_completed" not in {line["event"] for line in logs}
    queued.refresh_from_db()
    assert (queued.status, queued.message) == ("running", "")


def crashed(run) -> None:
    """End the run's first attempt, so that the second may begin."""
    Run.objects.filter(pk=run.pk).update(attempt=1)


def test_a_second_attempt_starts_with_what_the_first_has_used_up(queued, now, httpserver, settings):
    settings.ADVISOR_MAX_TOOL_CALLS = 3
    crashed(queued)
    at = {"run": queued, "at": now}
    Step.objects.bulk_create(
        [
            Step(n=1, kind="model", model="openai:gpt-6-luna", **at),
            *(Step(n=n, kind="tool", tool="query_user_config", **at) for n in (2, 3)),
        ]
    )
    with Script(httpserver, [calls(("query_user_config", {}), ("get_user_profile", {}))]):
        run_execute(run_id=queued.pk, now=now)
    queued.refresh_from_db()
    assert queued.stop_reason == StopReason.TOOL_CALL_LIMIT
    by_planner = Step.objects.filter(run=queued, n__gt=Step.objects.get(error_code="not_executed").n)
    assert queued.turns - by_planner.filter(kind="model").count() == 2
    assert queued.tool_calls - by_planner.filter(kind="tool").count() == 3


def test_a_run_whose_turns_are_used_up_asks_no_model_again(queued, now, httpserver, settings):
    settings.ADVISOR_MAX_TURNS = 1
    crashed(queued)
    Step.objects.create(run=queued, n=1, kind="model", model="openai:gpt-6-luna", at=now)
    with Script(httpserver, []):
        run_execute(run_id=queued.pk, now=now)
    queued.refresh_from_db()
    assert queued.stop_reason == StopReason.TURN_LIMIT
    assert set(Step.objects.filter(n__gt=1, kind="model").values_list("model", flat=True)) == {
        "offline:planner"
    }


# --- Errors outside the conversation --------------------------------------------------------------------

# Each function that `run_execute` calls outside `_drive`, by its name there.
BEFORE = ("is_queued_for_own_model", "lease_renewal", "StepLog")
AFTER = (
    "run_suggestion_ids",
    "run_change_found",
    "run_cost_usd",
    "run_totals",
    "review_totals",
    "reason_clean",
)
BROKEN = "the words of a step"


@pytest.mark.parametrize("place", BEFORE + AFTER)
def test_a_run_that_breaks_outside_its_conversation_ends_as_failed_with_its_reason(
    queued, now, monkeypatch, httpserver, place
):
    def broken(*args, **kwargs):
        raise KeyError(BROKEN)

    monkeypatch.setattr(f"advisor.run.execute.{place}", broken)
    with Script(httpserver, [] if place in BEFORE else [finish("Your ratings are even.")]):
        assert run_execute(run_id=queued.pk, now=now)
    queued.refresh_from_db()
    assert (queued.status, queued.stop_reason) == ("agent_error", StopReason.CRASHED)
    assert queued.lease_until is None and queued.finished_at >= now
    stored = list(Decision.objects.filter(run=queued).values_list("actor", "action"))
    assert stored == [("runs", "run_failed"), ("policy", "skip_and_log")]
    for reason in (queued.message, *Decision.objects.values_list("reason", flat=True)):
        assert BROKEN in reason


def test_the_suggestions_steps_and_costs_of_a_run_that_breaks_at_its_end_stay(
    ada, now, monkeypatch, settings
):
    opinionated(ada)
    settings.LLM_CHAIN = []
    monkeypatch.setattr("advisor.run.execute.review_totals", lambda run_id: {}[run_id])
    result = run_request(reader=ada, trigger="ui", now=now)
    run, kinds = Run.objects.get(), Counter(Step.objects.values_list("kind", flat=True))
    assert result.status == run.status == "agent_error"
    assert (run.turns, run.tool_calls) == (kinds["model"], kinds["tool"]) and kinds["tool"] > 1
    assert (
        result.suggestions_created == Suggestion.objects.filter(run_id=run.pk, status="pending").count() >= 1
    )
    assert run_request(reader=ada, trigger="ui", now=now).status == "blocked_pending"


def test_a_conversation_that_failed_before_keeps_its_reason_and_its_retry(
    queued, now, httpserver, monkeypatch, settings
):
    Run.objects.update(trigger="scheduled")
    monkeypatch.setattr("advisor.run.execute.review_totals", lambda run_id: {}[run_id])
    settings.ADVISOR_MAX_TURNS = 1
    with Script(httpserver, [calls(("query_user_config", {}))]):
        run_execute(run_id=queued.pk, now=now)
    queued.refresh_from_db()
    assert (queued.status, queued.stop_reason) == ("agent_error", StopReason.TURN_LIMIT)
    assert "used up" in queued.message and "KeyError" in queued.message
    assert [run.pk for run in retries_due(now=now + timedelta(minutes=1))] == [queued.pk]


@contextmanager
def statement_failing(at: int = 0):
    """Count the statements of a run outside its conversation; the database refuses number `at`."""
    passed = []

    def refuse(execute, sql, params, many, context):
        stack = {frame.name for frame in traceback.extract_stack()}
        if "run_execute" in stack and not stack & {"_drive", "beat"}:
            passed.append(sql)
            if len(passed) == at:
                raise OperationalError("the server closed the connection")
        return execute(sql, params, many, context)

    with connection.execute_wrapper(refuse):
        yield passed


@pytest.mark.django_db(transaction=True)
def test_whichever_statement_outside_the_conversation_fails_the_run_ends_or_stays_queued(ben, now, settings):
    settings.LLM_CHAIN = []
    queued = {"status": "queued", "attempt": 0, "fence": 0}
    run = Run.objects.create(reader=ben, day=now.date(), trigger="ui", created_at=now)
    with statement_failing() as statements:
        run_execute(run_id=run.pk, now=now)
    ends = []
    for at in range(1, len(statements) + 1):
        Step.objects.all().delete()
        Run.objects.update(**queued)
        with statement_failing(at), suppress(OperationalError):
            run_execute(run_id=run.pk, now=now)
        run.refresh_from_db()
        ends.append(run.status)
        assert run.status != "agent_error" or "closed the connection" in run.message
    assert ends[:2] == ["queued"] * 2, "a claim that fails takes nothing"
    assert ends[-1] == "completed", "the error policy's own failure is not the run's"
    assert len(ends) >= 8 and set(ends[2:-1]) == {"agent_error"}

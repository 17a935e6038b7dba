"""How a run's end is stored: words no database refuses, one verdict, caps that outlive a crash."""

import json

import pytest
from django.db import connection
from structlog.testing import capture_logs

from advisor.models import Decision, Run, Step
from advisor.run.execute import run_execute
from advisor.run.workers import job_failed
from advisor.run_values import StopReason
from tests.support.histories import balanced
from tests.support.scripted_model import Script, calls, garbage

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

"""A request for suggestions: refused in a fixed order, else claimed, run once, and never left running."""

import json
import threading
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, date, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from django.db import connections

from advisor.models import Decision, Heartbeat, Run, Step
from advisor.run.execute import run_execute, run_limits
from advisor.run.ownership import RunClock, StepLog, fence_of
from advisor.run.request import run_execute_next, run_request, run_wait, runs_reconcile
from advisor.run.scheduling import readers_lacking_feedback
from advisor.run.workers import heartbeat
from advisor.run_values import PLANNER_MODEL, StepRecord, StopReason, ToolContext
from advisor.selectors import feedback_missing, feedback_missing_many, readers_due, run_for, run_progress
from advisor.tools.registry import dispatch
from digest.llm.entities import ToolCall
from digest.models import Reader, Spend
from ranking.models import RankConfig
from suggestions.models import Suggestion
from suggestions.proposals import FenceLost
from tests.advisor.tools.test_tools import boost, liked_urls
from tests.support.concurrency import database_on_disk
from tests.support.factories import SourceFactory, SubscriptionFactory
from tests.support.histories import balanced, opinionated, thumbs
from tests.support.scripted_model import Script, calls, checked

pytestmark = pytest.mark.django_db
UI, COMMAND, SCHEDULED = Run.Trigger.UI, Run.Trigger.COMMAND, Run.Trigger.SCHEDULED


def ask(reader, now, trigger=UI, **more):
    return run_request(reader=reader, trigger=trigger, now=now, **more)


def past_run(reader, now, status=Run.Status.COMPLETED, days=0, **more):
    at = now - timedelta(days=days)
    return Run.objects.create(reader=reader, day=at.date(), trigger=UI, status=status, created_at=at, **more)


def suggestion(reader, now, status="pending", **more):
    SourceFactory(key="x.example")
    return Suggestion.objects.create(
        reader=reader,
        suggestion_type="boost_source",
        field="source_weights",
        target_key="x.example",
        suggested_value="1.3",
        p_helpful=0.9,
        config_version=0,
        status=status,
        created_at=now,
        **more,
    )


# --- The whole way, with the planner ------------------------------------------------------------------


def test_a_reader_with_clear_tastes_gets_suggestions_with_evidence(ada, now):
    opinionated(ada)
    result = ask(ada, now)
    assert result.status == "completed" and 1 <= result.suggestions_created <= 3
    made = Suggestion.objects.filter(pk__in=result.suggestion_ids)
    assert {s.target_key for s in made} == {"loved.example", "loathed.example"}
    assert {(s.reader_id, s.run_id, s.status) for s in made} == {(ada.pk, result.run_id, "pending")}
    for row in made:
        liked = row.suggestion_type == "boost_source"
        assert row.evidence.count() >= 3
        assert {(e.source_key, e.useful) for e in row.evidence.all()} == {(row.target_key, liked)}
    assert not RankConfig.objects.exists()


def test_the_run_keeps_a_full_account_of_itself(ada, now):
    opinionated(ada)
    result = ask(ada, now)
    run = Run.objects.get(pk=result.run_id)
    assert (run.status, run.stop_reason, run.model) == ("completed", StopReason.DONE, PLANNER_MODEL)
    assert (run.day, run.attempt, run.fence, run.lease_until) == (date(2026, 3, 18), 1, 1, None)
    assert run.finished_at >= run.started_at == now
    assert run.cost_usd == 0
    assert run.meta["suggestions_after_validation"] == result.suggestions_created
    assert run.meta["suggestions_generated"] >= result.suggestions_created
    assert run.meta["items_analyzed"] >= 15 and run.meta["patterns_found"] >= 2
    steps = list(Step.objects.filter(run=run))
    assert [s.n for s in steps] == list(range(1, len(steps) + 1))
    kinds = Counter(s.kind for s in steps)
    assert (run.turns, run.tool_calls) == (kinds["model"], kinds["tool"])
    assert {s.tool for s in steps} >= {"query_user_feedback", "write_suggestion"}


def test_a_reader_without_preferences_gets_silence_and_its_reason(ada, now):
    balanced(ada)
    result = ask(ada, now)
    assert (result.status, result.suggestions_created) == ("completed", 0)
    assert "balanced" in result.reason
    again = ask(ada, now + timedelta(hours=1))
    assert again.status == "already_generated" and "balanced" in again.reason
    assert Run.objects.count() == 1


@pytest.mark.parametrize("whole", [True, False], ids=["for everything", "for one feed"])
def test_a_reader_who_turned_models_off_never_meets_one(ada, ben, now, httpserver, settings, whole):
    opinionated(ada)
    SubscriptionFactory(reader=ada, ai_enabled=True)
    SubscriptionFactory(reader=ada, ai_enabled=whole)
    SubscriptionFactory(reader=ben, ai_enabled=False)
    ada.ai_enabled = not whole
    ada.save()
    settings.OPENAI_API_KEY, settings.OPENAI_BASE_URL = "k", httpserver.url_for("/v1")
    with Script(httpserver, []):
        result = ask(ada, now)
    assert Run.objects.get(pk=result.run_id).model == PLANNER_MODEL


def test_someone_waiting_gets_thirty_seconds_and_the_schedule_three_minutes():
    assert run_limits("ui").timeout_s == run_limits("mcp").timeout_s == 30
    assert run_limits("scheduled").timeout_s == run_limits("command").timeout_s == 180


# --- Reasons against a run, in their order --------------------------------------------------------------


def disabled(reader, now, settings):
    settings.ADVISOR_ENABLED = False


def running(reader, now, settings):
    past_run(reader, now, Run.Status.RUNNING, days=1)


def pending(reader, now, settings):
    suggestion(reader, now - timedelta(days=2))


def made_today(reader, now, settings):
    suggestion(reader, now - timedelta(hours=3), status="rejected")


def this_week(reader, now, settings):
    past_run(reader, now, days=3)


def thin(reader, now, settings):
    settings.ADVISOR_MIN_ITEMS = 10_000


def failed_thrice(reader, now, settings):
    for _ in range(3):
        past_run(reader, now, Run.Status.AGENT_ERROR)


OBSTACLES = [
    (disabled, "ready"),
    (running, "in_progress"),
    (pending, "blocked_pending"),
    (made_today, "already_generated"),
    (this_week, "skipped"),
    (thin, "skipped"),
    (failed_thrice, "skipped"),
]


@pytest.mark.parametrize("first", range(len(OBSTACLES)))
def test_of_all_that_stands_in_the_way_the_first_is_named(ada, now, settings, first):
    opinionated(ada)
    for arrange, _ in OBSTACLES[first:]:
        arrange(ada, now, settings)
    before = Run.objects.count()
    result = ask(ada, now, COMMAND)
    assert result.status == OBSTACLES[first][1]
    wording = {4: "ran_this_week", 5: "(200 so far)", 6: "three times today"}
    assert wording.get(first, "") in result.reason and result.reason
    assert Run.objects.count() == before


def test_pending_suggestions_are_named_and_none_counts_as_created(ada, now):
    opinionated(ada)
    ids = (suggestion(ada, now - timedelta(days=2)).pk,)
    result = ask(ada, now)
    assert (result.suggestion_ids, result.pending_count, result.suggestions_created) == (ids, 1, 0)


def test_suggestions_left_alone_for_two_weeks_stand_in_nobodys_way(ada, now):
    opinionated(ada)
    suggestion(ada, now - timedelta(days=15))
    assert ask(ada, now).status == "completed"
    assert Suggestion.objects.get(target_key="x.example").status == "expired"


def test_another_readers_affairs_stand_in_nobodys_way(ada, ben, now, settings):
    opinionated(ada)
    for arrange in (running, pending, made_today, failed_thrice):
        arrange(ben, now, settings)
    assert ask(ada, now).status == "completed"


def test_too_little_feedback_is_reported_in_numbers_and_stored(ada, now):
    thumbs(ada, "loved.example", 4, days=20)
    result = ask(ada, now)
    assert result.status == "skipped"
    assert result.reason.endswith("Rate 46 more headlines for suggestions today (4 so far).")
    decision = Decision.objects.get()
    assert (decision.reader, decision.action, decision.reason) == (ada, "run_skipped", result.reason)
    assert decision.data["code"] == "thin_data"
    assert not Run.objects.exists() and not Spend.objects.exists()


def test_an_import_of_fifty_thumbs_is_enough_at_once_for_every_door(ada, now):
    thumbs(ada, "loved.example", 49, days=0.1, tagged=False)
    assert ask(ada, now).status == "skipped" and readers_due(now=now) == []
    assert readers_lacking_feedback(readers=[ada], now=now).keys() == {ada.pk}
    thumbs(ada, "other.example", 1, days=0.1, tagged=False)
    assert readers_due(now=now) == [ada] and readers_lacking_feedback(readers=[ada], now=now) == {}
    assert ask(ada, now).status == "completed"


@pytest.mark.parametrize(
    ("trigger", "force", "status"),
    [
        (UI, False, "completed"),
        (COMMAND, False, "skipped"),
        (SCHEDULED, False, "skipped"),
        (COMMAND, True, "completed"),
    ],
)
def test_the_weekly_window_holds_for_the_schedule_and_yields_to_force(ada, now, trigger, force, status):
    opinionated(ada)
    past_run(ada, now, days=6)
    assert ask(ada, now, trigger, force=force).status == status


def test_after_a_week_the_schedule_runs_again(ada, now):
    opinionated(ada)
    past_run(ada, now, days=7)
    assert ask(ada, now, SCHEDULED).status == "completed"


def test_force_never_runs_twice_a_day(ada, now):
    opinionated(ada)
    past_run(ada, now)
    assert ask(ada, now, COMMAND, force=True).status == "already_generated"


def test_a_failed_run_that_wrote_nothing_may_be_tried_again(ada, now):
    opinionated(ada)
    past_run(ada, now, Run.Status.AGENT_TIMEOUT)
    past_run(ada, now, Run.Status.BUDGET_EXCEEDED)
    assert ask(ada, now).status == "completed"


@pytest.mark.parametrize(
    ("zone", "status"), [("Europe/Berlin", "completed"), ("America/New_York", "already_generated")]
)
def test_a_day_ends_at_midnight_where_the_reader_lives(ada, zone, status):
    evening = datetime(2026, 3, 18, 22, 30, tzinfo=UTC)
    ada.time_zone = zone
    opinionated(ada, now=evening)
    suggestion(ada, evening, status="rejected")
    assert ask(ada, evening + timedelta(hours=1)).status == status


# --- Who carries it out -----------------------------------------------------------------------------


def test_with_a_worker_alive_the_run_waits_for_it(ada, now):
    opinionated(ada)
    heartbeat(worker="w", now=now - timedelta(seconds=10))
    result = ask(ada, now)
    assert result.status == "in_progress"
    assert run_execute_next(now=now) == result.run_id
    assert run_wait(run_id=result.run_id, now=now, timeout_s=0).status == "completed"
    assert run_execute_next(now=now) is None


@pytest.mark.parametrize("name", ["w", "job:fetch"])
def test_a_dead_worker_or_a_jobs_mark_is_not_waited_for(ada, now, name):
    opinionated(ada)
    at = now - timedelta(seconds=16) if name == "w" else now
    Heartbeat.objects.create(worker=name, at=at)
    assert ask(ada, now).status == "completed"


def test_commands_run_in_their_own_process_whatever_worker_there_is(ada, now):
    opinionated(ada)
    heartbeat(worker="w", now=now)
    assert ask(ada, now, COMMAND, inline=True).status == "completed"


def test_whoever_waits_in_vain_for_a_busy_worker_does_the_work(ada, now):
    opinionated(ada)
    heartbeat(worker="w", now=now)
    result = ask(ada, now)
    ticks = iter(range(100))
    waited = run_wait(
        run_id=result.run_id, now=now, timeout_s=30, clock=lambda: next(ticks), sleep=lambda s: None
    )
    assert waited.status == "completed"


def test_waiting_ends_with_the_patience_of_who_waits(ada, now, settings):
    settings.REDIS_URL = "redis://nowhere"
    run = past_run(ada, now, Run.Status.QUEUED)
    ticks = iter(range(100))
    waited = run_wait(run_id=run.pk, now=now, timeout_s=30, clock=lambda: next(ticks), sleep=lambda s: None)
    assert (waited.status, waited.run_id) == ("in_progress", run.pk)


def test_a_broker_that_is_down_costs_the_wake_up_not_the_run(
    ada, now, settings, django_capture_on_commit_callbacks
):
    opinionated(ada)
    settings.REDIS_URL = "redis://127.0.0.1:1/0"
    with django_capture_on_commit_callbacks() as callbacks:
        result = ask(ada, now)
    assert result.status == "in_progress" and len(callbacks) == 1
    settings.REDIS_URL = ""
    assert run_execute_next(now=now) == result.run_id


# --- Claims, leases, fences ---------------------------------------------------------------------------


def claimed(reader, now):
    """Return a run as a worker holds it that stops giving signs of life."""
    return past_run(
        reader, now, Run.Status.RUNNING, attempt=1, fence=1, lease_until=now + timedelta(seconds=60)
    )


def test_a_run_is_claimed_once(ada, now):
    opinionated(ada)
    run = past_run(ada, now, Run.Status.QUEUED)
    assert run_execute(run_id=run.pk, now=now) is True
    assert run_execute(run_id=run.pk, now=now) is False
    assert Run.objects.get().attempt == 1


def test_a_lease_that_has_not_ended_is_left_alone(ada, now):
    claimed(ada, now)
    assert runs_reconcile(now=now + timedelta(seconds=59)) == {"requeued": 0, "given_up": 0, "woken": 0}


def test_a_dead_workers_run_is_carried_out_by_the_next(ada, now):
    opinionated(ada)
    claimed(ada, now)
    later = now + timedelta(seconds=61)
    assert runs_reconcile(now=later)["requeued"] == 1
    assert Decision.objects.get().action == "run_requeued"
    run_execute_next(now=later)
    run = Run.objects.get()
    assert (run.status, run.attempt, run.fence) == ("completed", 2, 3)


def test_after_two_attempts_a_run_is_given_up_with_its_reason(ada, now):
    run = claimed(ada, now)
    Run.objects.update(attempt=2)
    assert runs_reconcile(now=now + timedelta(seconds=61))["given_up"] == 1
    run.refresh_from_db()
    assert (run.status, run.stop_reason) == ("agent_error", "lease_expired")
    assert "given up" in run.message and run.finished_at
    assert Decision.objects.get().action == "run_given_up"


def test_what_a_reclaimed_worker_still_writes_does_not_land(ada, now):
    opinionated(ada)
    run = claimed(ada, now)
    context = ToolContext(ada.pk, run.pk, now, fence_of(run))
    runs_reconcile(now=now + timedelta(seconds=61))
    arguments = json.dumps(boost(liked_urls(ada)))
    with pytest.raises(FenceLost):
        dispatch(context, ToolCall("c", "write_suggestion", arguments))
    with pytest.raises(FenceLost):
        StepLog(run, context.fence, RunClock(now)).add(StepRecord("tool", tool="write_suggestion"))
    assert not Suggestion.objects.exists() and not Step.objects.exists()


def test_a_second_attempt_counts_its_steps_on(ada, now):
    opinionated(ada)
    run = claimed(ada, now)
    StepLog(run, fence_of(run), RunClock(now)).add(StepRecord("model", model=PLANNER_MODEL))
    runs_reconcile(now=now + timedelta(seconds=61))
    run_execute_next(now=now + timedelta(seconds=61))
    run.refresh_from_db()
    numbers = list(Step.objects.values_list("n", flat=True))
    assert numbers == list(range(1, len(numbers) + 1))
    assert run.turns == Step.objects.filter(kind="model").count() > 1


def test_a_crash_inside_ends_as_an_error_with_its_message(ada, now, settings):
    opinionated(ada)
    settings.LLM_CHAIN = ["nonsense"]
    result = ask(ada, now)
    assert result.status == "agent_error" and "ValueError" in result.reason
    run = Run.objects.get()
    assert run.stop_reason == StopReason.CRASHED and run.lease_until is None
    assert Decision.objects.get(run=run, actor="runs").action == "run_failed"


def in_threads(work, count=8):
    """Return the results of `work(0)`, `work(1)`…, started at the same moment, each on its own connection."""
    start = threading.Barrier(count)

    def one(n):
        start.wait()
        try:
            return work(n)
        finally:
            connections.close_all()

    with ThreadPoolExecutor(count) as pool:
        return list(pool.map(one, range(count)))


@pytest.mark.django_db(transaction=True)
def test_of_eight_requests_at_once_one_runs(ada, now, tmp_path):
    opinionated(ada)
    with database_on_disk(tmp_path / "shared.sqlite3"):
        results = in_threads(lambda n: ask(ada, now))
        runs = in_threads(lambda n: list(Run.objects.values_list("status", "attempt")), 1)[0]
    assert runs == [("completed", 1)]
    assert Counter(r.status for r in results)["completed"] == 1
    assert {r.status for r in results} <= {"completed", "in_progress", "blocked_pending", "already_generated"}


@pytest.mark.django_db(transaction=True)
def test_of_eight_workers_at_once_one_gets_the_run(ada, now, tmp_path):
    opinionated(ada)
    run = past_run(ada, now, Run.Status.QUEUED)
    with database_on_disk(tmp_path / "shared.sqlite3"):
        got = in_threads(lambda n: run_execute(run_id=run.pk, now=now))
    assert sorted(got) == [False] * 7 + [True]


@pytest.mark.django_db(transaction=True)
def test_a_worker_reclaimed_in_mid_run_loses_the_rest_of_it(ada, now, tmp_path, httpserver, settings):
    opinionated(ada)
    settings.OPENAI_API_KEY, settings.OPENAI_BASE_URL = "k", httpserver.url_for("/v1")
    settings.LLM_CHAIN = ["openai:gpt-6-luna"]
    run = past_run(ada, now, Run.Status.QUEUED)
    write = calls(("write_suggestion", boost(liked_urls(ada))))

    def reclaim(body):
        assert runs_reconcile(now=now + timedelta(hours=1))["requeued"] == 1
        connections.close_all()

    def all_of_it(n):
        run_execute(run_id=run.pk, now=now)
        run.refresh_from_db()
        return (
            Suggestion.objects.count(),
            Step.objects.count(),
            Decision.objects.filter(action="run_lost").count(),
        )

    with database_on_disk(tmp_path / "shared.sqlite3"), Script(httpserver, [checked(write, reclaim)]):
        assert in_threads(all_of_it, 1) == [(0, 0, 1)]
    assert (run.status, run.fence) == ("queued", 2)


# --- Selectors ------------------------------------------------------------------------------------------


def test_a_run_is_its_readers_alone(ada, ben, now):
    run = past_run(ada, now)
    assert run_for(ada.pk, run.pk) == run
    assert run_for(ben.pk, run.pk) is None


def test_progress_shows_the_last_twenty_steps_in_constant_queries(ada, now, django_assert_num_queries):
    run = claimed(ada, now)
    log = StepLog(run, fence_of(run), RunClock(now))
    for n in range(30):
        log.add(StepRecord("tool", tool="query_user_config", error_code="" if n else "tool_failed"))
    with django_assert_num_queries(4):  # totals, model, steps, suggestions
        progress = run_progress(run)
    assert [step["n"] for step in progress["steps"]] == list(range(11, 31))
    assert (progress["status"], progress["tool_calls"], progress["turns"]) == ("running", 30, 0)


def test_who_is_due_is_found_in_queries_that_do_not_grow(
    ada, ben, operator, now, django_assert_max_num_queries
):
    opinionated(ada)
    opinionated(ben)
    past_run(ben, now, days=6)
    with django_assert_max_num_queries(3):
        assert readers_due(now=now) == [ada]


def test_a_reader_who_has_not_answered_yet_takes_nobody_s_place(ada, ben, now):
    opinionated(ada)
    opinionated(ben)
    suggestion(ben, now)
    assert readers_due(now=now) == [ada]


@pytest.mark.parametrize(
    ("zone", "last", "due"),
    [
        ("UTC", datetime(2026, 3, 11, 23, 50, tzinfo=UTC), True),
        ("UTC", datetime(2026, 3, 12, 0, 10, tzinfo=UTC), False),
        ("Pacific/Auckland", datetime(2026, 3, 11, 10, 50, tzinfo=UTC), True),
        ("Pacific/Auckland", datetime(2026, 3, 11, 11, 10, tzinfo=UTC), False),
    ],
)
def test_a_week_is_seven_dates_of_the_reader_s_own_calendar(ada, zone, last, due):
    now = datetime(2026, 3, 18, 3, 0, tzinfo=UTC)
    opinionated(ada, now=now)
    Reader.objects.filter(pk=ada.pk).update(time_zone=zone)
    day = last.astimezone(ZoneInfo(zone)).date()
    Run.objects.create(reader=ada, day=day, trigger="scheduled", status="completed", created_at=last)
    assert bool(readers_due(now=now)) is due


def test_sufficiency_of_many_agrees_with_that_of_one(ada, ben, operator, now):
    opinionated(ada)
    thumbs(ben, "loved.example", 4, days=20, tagged=False)
    readers = [ada, ben, operator]
    many = feedback_missing_many(reader_ids=[reader.pk for reader in readers])
    assert many == {reader.pk: feedback_missing(reader_id=reader.pk) for reader in readers}
    assert many[ada.pk] == "" and "(4 so far)" in many[ben.pk] and "(0 so far)" in many[operator.pk]

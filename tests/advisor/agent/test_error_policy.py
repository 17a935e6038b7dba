"""Errors meet a table: a wait is kept, a database alerts, a model gets one more chance, the rest is left."""

import socket
from dataclasses import replace
from datetime import timedelta

import pytest
from django.core import mail
from django.core.cache import cache
from django.db import InterfaceError, OperationalError
from django.utils import timezone
from structlog.testing import capture_logs

from advisor.agent.error_policy import (
    KIND_OF_STOP,
    POLICY,
    WAIT_DEFAULT_S,
    WAIT_MAX_S,
    Action,
    Kind,
    action_of,
    alert_raise,
    error_handle,
    error_kind_handle,
    kind_of_exception,
    kind_of_stop,
    retries_due,
    run_end_handle,
    wait_of,
)
from advisor.models import Decision, Run, Step
from advisor.run.execute import run_execute
from advisor.run.request import ATTEMPTS_PER_DAY
from advisor.run.scheduling import readers_advise, retries_request
from advisor.run_values import RunEnd, StopReason
from advisor.tools.registry import TOOLS, dispatch
from config.celery import app
from config.jobs.celery_task import BaseTask
from config.tasks import Worker
from digest.llm.client import chain_configured
from digest.llm.entities import ModelRefused, ModelUnavailable, ToolCall
from tests.support.histories import opinionated
from tests.support.scripted_model import status

MINUTE = timedelta(minutes=1)


@pytest.fixture(autouse=True)
def quiet(settings):
    """Clear earlier alerts, and set an address for alerts."""
    cache.clear()
    settings.ALERT_EMAILS = ["operator@example.org"]


def scheduled(reader, now, **more):
    return Run.objects.create(
        reader=reader,
        day=now.date(),
        **{"trigger": "scheduled", "status": "agent_error", "created_at": now} | more,
    )


def ended(run, reason, now, retry_after_s=None):
    run_end_handle(run=run, end=RunEnd(reason, "It broke.", retry_after_s=retry_after_s), now=now)


def uses():
    return list(Decision.objects.filter(actor="policy").order_by("pk").values_list("action", "data__kind"))


# --- The table ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "first", "again"),
    [
        (Kind.RATE_LIMIT, Action.RETRY_AFTER, Action.RETRY_AFTER),
        (Kind.NO_DATA, Action.SKIP, Action.SKIP),
        (Kind.DATABASE, Action.ALERT, Action.ALERT),
        (Kind.GENERATION, Action.RETRY_ONCE, Action.SKIP),
        (Kind.UNKNOWN, Action.SKIP_AND_LOG, Action.SKIP_AND_LOG),
    ],
)
def test_the_table_says_what_is_done_at_first_and_again(kind, first, again):
    assert (action_of(kind, 0), action_of(kind, 1), action_of(kind, 2)) == (first, again, again)


def test_every_kind_has_a_line_and_every_stop_a_kind_or_none_on_purpose():
    assert set(POLICY) == set(Kind)
    fine = {StopReason.DONE, StopReason.BUDGET, StopReason.FENCE_LOST}
    assert set(StopReason) - set(KIND_OF_STOP) == fine
    assert all(kind_of_stop(reason) is None for reason in fine)


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (ModelUnavailable("429", retry_after_s=3), Kind.RATE_LIMIT),
        (ModelUnavailable("500"), Kind.GENERATION),
        (ModelRefused("400"), Kind.GENERATION),
        (OperationalError("gone"), Kind.DATABASE),
        (InterfaceError("closed"), Kind.DATABASE),
        (ValueError("?"), Kind.UNKNOWN),
        (KeyboardInterrupt(), Kind.UNKNOWN),
    ],
)
def test_an_exception_is_known_by_the_wait_it_carries_or_its_class(error, kind):
    assert kind_of_exception(error) is kind


def test_a_wait_is_the_one_asked_for_within_reason():
    assert wait_of(Action.RETRY_AFTER, 90).total_seconds() == 90
    assert wait_of(Action.RETRY_AFTER, None).total_seconds() == WAIT_DEFAULT_S
    assert wait_of(Action.RETRY_AFTER, 1e9).total_seconds() == WAIT_MAX_S
    assert wait_of(Action.RETRY_AFTER, -5) == wait_of(Action.RETRY_ONCE, None) == timedelta(0)
    assert wait_of(Action.SKIP, 90) is None


# --- Runs -----------------------------------------------------------------------------------------------


@pytest.mark.django_db
def test_a_chain_that_is_told_to_wait_longer_than_the_run_ends_with_that_wait(bench):
    slow = [status(429, headers={"retry-after": "7200"}) for _ in range(2)]
    end = bench.run(*slow, models=chain_configured())
    assert (end.reason, end.retry_after_s) == (StopReason.RATE_LIMITED, 7200)


@pytest.mark.django_db
def test_a_chain_that_fails_otherwise_has_no_wait(bench):
    end = bench.run(status(429, headers={"retry-after": "7200"}), status(500), models=chain_configured())
    assert (end.reason, end.retry_after_s) == (StopReason.MODELS_EXHAUSTED, None)


@pytest.mark.django_db
def test_a_rate_limited_scheduled_run_is_asked_for_again_after_the_wait_and_once(ada, now):
    opinionated(ada)
    run = scheduled(ada, now, stop_reason="rate_limited")
    ended(run, StopReason.RATE_LIMITED, now, retry_after_s=600)
    assert uses() == [("retry_after", "rate_limit")]
    assert retries_request(now=now + 9 * MINUTE) == []
    (again,) = retries_request(now=now + 10 * MINUTE)
    assert again.status == "completed" and again.run_id != run.pk
    assert Run.objects.get(pk=again.run_id).trigger == "scheduled"
    assert retries_request(now=now + 20 * MINUTE) == []
    note = Decision.objects.get(action="retried")
    assert note.run == run and note.reason == "Asked again after rate_limited: completed."


@pytest.mark.django_db
def test_the_worker_asks_again_by_itself(ada):
    now = timezone.now()
    opinionated(ada, now=now)
    past = now - timedelta(minutes=10)
    run = scheduled(ada, past)
    ended(run, StopReason.RATE_LIMITED, past, retry_after_s=60)
    worker = Worker("w")
    while worker.tick(now=now, stopping=lambda: False):
        pass
    assert Decision.objects.get(action="retried").run == run
    assert ada.runs.get(status="completed").trigger == "scheduled"


@pytest.mark.django_db
def test_a_retry_stays_within_the_days_attempts(ada, now):
    opinionated(ada)
    runs = [scheduled(ada, now) for _ in range(ATTEMPTS_PER_DAY)]
    ended(runs[-1], StopReason.RATE_LIMITED, now, retry_after_s=1)
    (again,) = retries_request(now=now + MINUTE)
    assert again.status == "skipped" and Run.objects.count() == ATTEMPTS_PER_DAY


@pytest.mark.django_db
def test_a_reader_with_too_little_to_go_by_is_skipped(ada, now):
    ended(scheduled(ada, now), StopReason.RATE_LIMITED, now, retry_after_s=1)
    (again,) = retries_request(now=now + MINUTE)
    assert again.status == "skipped"
    assert uses() == [("retry_after", "rate_limit"), ("skip", "no_data"), ("retried", None)]
    assert Decision.objects.get(action="skip").reader == ada


@pytest.mark.django_db
def test_a_model_that_failed_gets_one_more_run_and_no_third(ada, now):
    first = scheduled(ada, now)
    ended(first, StopReason.MODELS_EXHAUSTED, now)
    assert retries_due(now=now) == [first]
    second = scheduled(ada, now + MINUTE)
    ended(second, StopReason.DEADLINE, now + MINUTE)
    assert uses() == [("retry_once", "generation"), ("skip", "generation")]
    assert retries_due(now=now + MINUTE) == [first]


@pytest.mark.django_db
def test_a_run_somebody_asked_for_is_theirs_to_ask_for_again(ada, now):
    run = scheduled(ada, now, trigger="ui")
    ended(run, StopReason.MODELS_EXHAUSTED, now)
    ended(run, StopReason.RATE_LIMITED, now, retry_after_s=1)
    assert uses() == [("skip", "generation"), ("retry_after", "rate_limit")]
    assert retries_due(now=now + timedelta(hours=1)) == []


@pytest.mark.django_db
def test_a_retry_is_forgotten_after_a_day_and_for_readers_who_left(ada, ben, now):
    ended(scheduled(ada, now), StopReason.RATE_LIMITED, now)
    assert retries_due(now=now + timedelta(days=1)) == []
    ended(scheduled(ben, now), StopReason.RATE_LIMITED, now)
    ben.is_active = False
    ben.save()
    assert [run.reader for run in retries_due(now=now + timedelta(hours=1))] == [ada]


@pytest.mark.django_db
def test_a_good_end_and_a_spent_budget_are_no_errors(ada, now):
    run = scheduled(ada, now)
    for reason in (StopReason.DONE, StopReason.BUDGET):
        ended(run, reason, now)
    assert uses() == []


@pytest.mark.django_db
def test_a_run_that_crashes_is_left_alone_and_logged(ada, now, settings):
    settings.LLM_CHAIN = ["nonsense"]
    run = scheduled(ada, now, status="queued")
    run_execute(run_id=run.pk, now=now)
    assert uses() == [("skip_and_log", "unknown")]
    assert Decision.objects.get(actor="policy").run == run and not mail.outbox


@pytest.mark.django_db
def test_tools_that_broke_in_a_run_are_on_record_and_refusals_are_not(ada, now):
    run = scheduled(ada, now)
    for n, code in enumerate(["tool_failed", "tool_failed", "database_failed", "pinned", ""]):
        Step.objects.create(run=run, n=n, kind="tool", tool="query_user_config", error_code=code, at=now)
    ended(run, StopReason.DONE, now)
    assert sorted(uses()) == [("alert", "database"), ("skip_and_log", "unknown")]


def test_a_tool_whose_database_fails_says_so(monkeypatch):
    def broken(context, arguments):
        raise OperationalError("no such table")

    look = TOOLS["query_user_config"]
    monkeypatch.setitem(TOOLS, look.name, replace(look, function=broken))
    outcome = dispatch(None, ToolCall("1", look.name, "{}"))
    assert outcome.error_code == "database_failed" and "Go on without it" in outcome.content


@pytest.mark.django_db
def test_a_request_that_breaks_is_the_policys_and_stops_no_other(ada, ben, now, settings):
    opinionated(ada)
    opinionated(ben)
    ada.time_zone = "Not/AZone"
    ada.save()
    results = readers_advise(now=now)
    assert [result.status for result in results] == ["completed"]
    assert uses() == [("skip_and_log", "unknown")]


# --- Alerts ---------------------------------------------------------------------------------------------


@pytest.mark.django_db
def test_a_database_error_mails_once_an_outage_and_is_on_record_each_time(now, settings):
    for minute in range(3):
        error_handle(error=OperationalError("disk full"), where="job fetch", now=now + minute * MINUTE)
    (sent,) = mail.outbox
    assert sent.from_email == settings.DEFAULT_FROM_EMAIL != "webmaster@localhost"
    assert sent.to == ["operator@example.org"] and sent.subject == "Tidings: database error needs a person"
    assert (
        "job fetch failed at 2026-03-18 12:00 UTC" in sent.body and "OperationalError: disk full" in sent.body
    )
    assert uses() == [("alert", "database")] * 3


def test_each_kind_is_an_outage_of_its_own_and_so_is_one_after_quiet(now):
    assert alert_raise(kind="database", where="run", reason="x", now=now)
    assert alert_raise(kind="other", where="run", reason="x", now=now)
    assert not alert_raise(kind="database", where="run", reason="x", now=now)
    cache.delete("alert:database")
    assert alert_raise(kind="database", where="run", reason="x", now=now)


def test_without_an_address_the_log_alone_says_it(now, settings):
    settings.ALERT_EMAILS = []
    with capture_logs() as logs:
        assert not alert_raise(kind="database", where="run", reason="x", now=now)
    assert [entry["event"] for entry in logs] == ["alert_raised"] and not mail.outbox


def test_words_from_outside_cannot_reach_a_header(now):
    alert_raise(kind="database", where="run", reason="x\r\nBcc: everyone@example.org", now=now)
    (sent,) = mail.outbox
    assert sent.recipients() == ["operator@example.org"] and "\n" not in sent.subject


def test_an_alert_that_cannot_be_sent_is_logged_and_raises_nothing(now, settings):
    settings.EMAIL_BACKEND = "django.core.mail.backends.smtp.EmailBackend"
    with socket.socket() as spare:
        spare.bind(("127.0.0.1", 0))
        settings.EMAIL_HOST, settings.EMAIL_PORT = spare.getsockname()
    with capture_logs() as logs:
        assert not alert_raise(kind="database", where="run", reason="x", now=now)
    assert [entry["event"] for entry in logs] == ["alert_raised", "alert_failed"]


def test_with_no_database_at_all_the_alert_goes_out_and_nothing_is_raised(now):
    """No database mark: every query in here raises, as when the server is gone."""
    with capture_logs() as logs:
        done = error_kind_handle(kind=Kind.DATABASE, where="job fetch", reason="gone", now=now)
    assert done is Action.SKIP_AND_LOG and len(mail.outbox) == 1
    assert [entry["event"] for entry in logs] == ["alert_raised", "policy_failed"]


@pytest.mark.django_db
def test_a_celery_task_that_fails_is_the_policys_too(now):
    task = app.tasks["advisor.runs_reconcile"]
    assert isinstance(task, BaseTask)
    task.on_failure(OperationalError("gone"), "id", (), {}, None)
    assert uses() == [("alert", "database")]
    assert Decision.objects.get().data["where"] == "task advisor.runs_reconcile"

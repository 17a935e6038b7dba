"""`run_advisor`: one reader or all, a report for each, an exit code scripts can rely on."""

import json
from collections import Counter
from datetime import timedelta
from io import StringIO

import pytest
from django.core.management import CommandError, call_command
from django.utils import timezone

from advisor.models import Decision, Run
from advisor.run.execute import LEASE_MARGIN_S
from tests.advisor.run.test_runs import suggestion
from tests.support.factories import ReaderFactory
from tests.support.histories import balanced, opinionated, thumbs
from tests.support.scripted_model import Script, status

pytestmark = pytest.mark.django_db
HOUR = timedelta(hours=1)
KEYS = [
    *(
        "username",
        "reader_id",
        "run_id",
        "status",
        "reason",
        "suggestions_created",
        "suggestion_ids",
        "skipped",
    ),
    *("turns", "tool_calls", "model", "cost_usd", "seconds", "meta", "model_errors"),
]


def run_advisor(*arguments):
    out, err = StringIO(), StringIO()
    call_command("run_advisor", *arguments, stdout=out, stderr=err)
    assert err.getvalue() == ""
    return out.getvalue()


def reports(*arguments):
    return json.loads(run_advisor(*arguments, "--json"))["runs"]


@pytest.fixture
def eager(ada):
    opinionated(ada, now=timezone.now())
    return ada


def test_one_reader_is_advised_and_reported(eager):
    (report,) = reports("--user-id", str(eager.pk))
    assert list(report) == KEYS
    assert (report["reader_id"], report["status"]) == (str(eager.pk), "completed")
    assert report["suggestions_created"] == len(report["suggestion_ids"]) >= 1
    assert report["model"] == "offline:planner" and report["cost_usd"] == 0.0
    assert report["turns"] >= 2 and report["tool_calls"] >= 4
    assert Run.objects.get().trigger == "command"


def test_everyone_is_accounted_for_advised_silent_and_skipped(eager, ben, operator):
    balanced(ben, now=timezone.now())
    thumbs(operator, "loved.example", 4, now=timezone.now())
    by_reader = {report["reader_id"]: report for report in reports("--all-users")}
    advised, silent, skipped = (by_reader[str(reader.pk)] for reader in (eager, ben, operator))
    assert advised["suggestions_created"] >= 1
    assert (silent["status"], silent["suggestions_created"]) == ("completed", 0) and silent["reason"]
    assert skipped["status"] == "skipped" and "(4 so far)" in skipped["reason"]
    assert (skipped["run_id"], skipped["skipped"]) == (None, [])
    assert not Decision.objects.exists()


def test_readers_with_too_little_cost_no_queries_of_their_own(db, django_assert_max_num_queries):
    ReaderFactory.create_batch(30)
    with django_assert_max_num_queries(4):
        assert len(reports("--all-users")) == 30


def pending(reader, now):
    suggestion(reader, now - timedelta(days=3))


def woken(reader, now):
    suggestion(reader, now - timedelta(days=9), status="snoozed", snoozed_until=now - HOUR)


def made_today(reader, now):
    suggestion(reader, now, status="rejected")


def ran(reader, now, status="completed", days=0):
    at = now - timedelta(days=days)
    day = at.astimezone(reader.zone).date()
    lease = now + HOUR if status == "running" else None
    Run.objects.create(reader=reader, day=day, trigger="ui", status=status, lease_until=lease, created_at=at)


def ran_this_week(reader, now):
    ran(reader, now, days=3)


@pytest.mark.parametrize(
    ("arrange", "status", "reason"),
    [
        (pending, "blocked_pending", ""),
        (woken, "blocked_pending", ""),
        (made_today, "already_generated", ""),
        (ran, "already_generated", ""),
        (ran_this_week, "skipped", "ran_this_week"),
    ],
)
def test_what_comes_before_too_little_feedback_is_named_before_it(ada, arrange, status, reason):
    arrange(ada, timezone.now())
    (report,) = reports("--all-users")
    assert report["status"] == status and reason in report["reason"]
    assert report == reports("--user-id", str(ada.pk))[0] | {"seconds": report["seconds"]}


def test_a_run_under_way_is_named_before_too_little_feedback(ada, settings):
    settings.ADVISOR_SCHEDULED_TIMEOUT_S = -LEASE_MARGIN_S
    ran(ada, timezone.now(), "running")
    assert [report["status"] for report in reports("--all-users")] == ["in_progress"]


def test_of_thin_readers_only_those_with_something_in_the_way_are_asked_about_one_by_one(
    db, django_assert_max_num_queries
):
    readers = ReaderFactory.create_batch(30)
    pending(readers[0], timezone.now())
    with django_assert_max_num_queries(20):
        statuses = Counter(report["status"] for report in reports("--all-users"))
    assert statuses == {"blocked_pending": 1, "skipped": 29}


def test_hypotheses_left_out_are_listed_with_their_reason(eager, settings):
    settings.COOLDOWN_DAYS = 0
    Run.objects.all().delete()
    (report,) = reports("--user-id", str(eager.pk))
    assert all(set(row) == {"hypothesis", "reason_skipped"} for row in report["skipped"])


def test_force_skips_the_week_but_not_the_day(eager):
    now = timezone.now()
    day = now.astimezone(eager.zone).date()
    earlier = now - timedelta(days=3)
    done = Run.objects.create(
        reader=eager, day=earlier.date(), trigger="ui", status="completed", created_at=earlier
    )
    (report,) = reports("--user-id", str(eager.pk))
    assert (report["status"], report["reason"]) == ("skipped", "ran_this_week")
    Run.objects.filter(pk=done.pk).update(day=day)
    assert reports("--user-id", str(eager.pk), "--force")[0]["status"] == "already_generated"
    Run.objects.filter(pk=done.pk).update(day=earlier.date())
    assert reports("--user-id", str(eager.pk), "--force")[0]["status"] == "completed"


def test_a_broken_run_makes_the_exit_code_one_and_still_reports(eager, settings, capsys):
    settings.LLM_CHAIN = ["nonsense"]
    out = StringIO()
    with pytest.raises(SystemExit) as left:
        call_command("run_advisor", "--user-id", str(eager.pk), "--json", stdout=out)
    assert left.value.code == 1
    assert json.loads(out.getvalue())["runs"][0]["status"] == "agent_error"


def test_a_model_whose_key_is_wrong_is_named_though_the_planner_did_its_work(eager, settings, httpserver):
    settings.OPENAI_API_KEY, settings.OPENAI_BASE_URL = "sk-wrong", httpserver.url_for("/v1")
    settings.LLM_CHAIN = ["openai:gpt-6-luna"]
    with Script(httpserver, [status(401)]):
        line = run_advisor("--user-id", str(eager.pk))
    run = Run.objects.get()
    step = run.steps.exclude(error_code="").first()
    assert run.status == "completed" and run.meta["finished_by"] == "planner"
    assert line.strip().endswith(f"Models that failed: openai:gpt-6-luna: {step.error_code}.")


def test_switched_off_everyone_is_told_ready(eager, settings):
    settings.ADVISOR_ENABLED = False
    assert {report["status"] for report in reports("--all-users")} == {"ready"}


@pytest.mark.parametrize("arguments", [[], ["--all-users", "--user-id", "0" * 32], ["--user-id", "ada"]])
def test_wrong_usage_is_refused(db, arguments):
    with pytest.raises(CommandError):
        run_advisor(*arguments)


def test_in_words_each_reader_gets_a_line_and_quiet_none(eager):
    line = run_advisor("--user-id", str(eager.pk)).strip()
    assert line.startswith("ada: The run for ada made ")
    again = run_advisor("--user-id", str(eager.pk), "--force")
    assert "because ada has suggestions to answer first" in again and "Please answer" not in again
    assert run_advisor("--user-id", str(eager.pk), "--quiet") == ""

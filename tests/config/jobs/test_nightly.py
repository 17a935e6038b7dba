"""The nightly run: once a day, in order, continued after a stop, and no step stops the next."""

import json
from contextlib import closing, suppress
from datetime import datetime, timedelta
from queue import Empty

import pytest
from django.core import mail
from django.core.cache import cache
from django.core.management import CommandError, call_command
from django.utils import timezone

from advisor.models import Decision, Run
from config.celery import app
from config.jobs.lease import LEASE, STEP_NAMES, nightly_as_dict
from config.jobs.nightly import CRASHED, STEPS, night_share_task, nightly_run
from config.models import NightlyReport
from config.tasks import daily_builds_task, nightly_task
from digest.models import CommunityRound, Delivery, Digest, Reader
from ranking.models import WeightSnapshot
from tests.support.factories import (
    FeedbackFactory,
    FeedFactory,
    ItemFactory,
    ReaderFactory,
    SourceFactory,
    SubscriptionFactory,
    confirmed,
)
from tests.support.mailbox import mailbox_open

MINUTE = timedelta(minutes=1)
DAY = timedelta(days=1)
pytestmark = pytest.mark.django_db


@pytest.fixture
def done() -> list[str]:
    """Return the list of steps that `night` ran, in order."""
    return []


@pytest.fixture
def night(done: list[str]) -> dict:
    """Return seven steps that only record that they ran."""
    return {name: lambda now, name=name: done.append(name) or {"n": len(done)} for name in STEP_NAMES}


def breaking(_now: object) -> dict:
    raise ValueError("no ink")


class Killed(BaseException):
    """Stands for a killed process: no code after it runs."""


def killing(_now: object) -> dict:
    raise Killed


def paper(reader: Reader, items: int = 2, **fields: object) -> Reader:
    source = SourceFactory(key="gazette.example")
    SubscriptionFactory(reader=reader, feed=FeedFactory(source=source))
    for _ in range(items):
        ItemFactory(source=source, **fields)
    return reader


# --- The row -------------------------------------------------------------------------------------------


def test_a_night_does_its_seven_steps_in_order_and_reports_each(night, done, now):
    row = nightly_run(now=now, steps=night)
    assert done == list(STEP_NAMES) == list(STEPS)
    assert (row.status, row.attempts, row.lease_until) == ("completed", 1, None)
    assert row.finished_at and row.day == now.date()
    for n, step in enumerate(nightly_as_dict(row)["steps"], start=1):
        assert (step["status"], step["counts"], step["error"], step["tries"]) == ("done", {"n": n}, "", 1)
        assert step["seconds"] >= 0 and step["started_at"].startswith("2026-03-18T12:00")


def test_a_day_has_one_night_and_the_next_day_another(night, done, now):
    nightly_run(now=now, steps=night)
    nightly_run(now=now + 30 * MINUTE, steps=night)
    assert len(done) == 7
    nightly_run(now=now + DAY, steps=night)
    assert len(done) == 14 and NightlyReport.objects.count() == 2


def test_force_does_a_night_that_is_over_again(night, done, now):
    first = nightly_run(now=now, steps=night)
    again = nightly_run(now=now + MINUTE, steps=night, force=True)
    assert len(done) == 14 and again.pk == first.pk
    assert (again.attempts, again.token, again.started_at) == (2, 2, now + MINUTE)


@pytest.mark.parametrize("force", [False, True])
def test_a_night_somebody_is_at_is_left_alone(night, done, now, force):
    NightlyReport.objects.create(day=now.date(), started_at=now, lease_until=now + MINUTE, token=1)
    assert nightly_run(now=now, steps=night, force=force).status == "running"
    assert done == []


@pytest.mark.parametrize("crash", STEP_NAMES)
def test_after_a_crash_at_any_step_the_next_run_begins_there(crash, night, done, now):
    with pytest.raises(Killed):
        nightly_run(now=now, steps=night | {crash: killing})
    assert nightly_run(now=now + LEASE / 2, steps=night).status == "running"  # its lease is still valid
    row = nightly_run(now=now + LEASE + 2 * MINUTE, steps=night)
    assert done == list(STEP_NAMES) and row.status == "completed"
    assert row.steps[crash]["tries"] == 2 and row.attempts == 2


def test_a_step_that_ends_its_process_twice_is_given_up(night, done, now):
    for n in range(2):
        with pytest.raises(Killed):
            nightly_run(now=now + n * 2 * LEASE, steps=night | {"cluster": killing})
    row = nightly_run(now=now + 4 * LEASE, steps=night)
    assert row.status == "failed" and row.steps["cluster"]["error"] == CRASHED
    assert done == [name for name in STEP_NAMES if name != "cluster"]


def test_a_worker_told_to_stop_leaves_the_rest_to_the_next_at_once(night, done, now):
    row = nightly_run(now=now, steps=night, stopping=lambda: len(done) == 3)
    assert (row.status, row.lease_until, len(done)) == ("running", None, 3)
    assert nightly_run(now=now + MINUTE, steps=night).status == "completed"
    assert done == list(STEP_NAMES)


def test_a_stale_worker_writes_nothing(night, done, now):
    def overtaken(_now: object) -> dict:
        nightly_run(now=now + LEASE + MINUTE, steps=night)
        return {"n": "stale"}

    row = nightly_run(now=now, steps=night | {"learn": overtaken})
    assert row.status == "completed" and row.token == 2
    assert row.steps["learn"]["counts"] != {"n": "stale"}
    assert done.count("digests") == 1


def test_a_step_that_fails_is_told_and_the_others_run(night, done, now, settings):
    cache.clear()
    settings.ALERT_EMAILS = ["olga@example.org"]
    row = nightly_run(now=now, steps=night | {"summarise": breaking})
    assert row.status == "failed" and row.finished_at
    assert row.steps["summarise"]["error"] == "ValueError: no ink"
    assert done == [name for name in STEP_NAMES if name != "summarise"]
    assert Decision.objects.get(action="job_failed").data == {"job": "summarise"}
    (alert,) = mail.outbox
    assert "summarise" in alert.body and "no ink" in alert.body
    nightly_run(now=now + 5 * MINUTE, steps=night)
    assert len(done) == 6  # tonight's job has ended; the failed step is due later


# --- The steps -----------------------------------------------------------------------------------------


def test_the_whole_night_for_real_and_a_second_is_a_no_op(ada, now, settings):
    paper(ada)
    ada.mail_rhythm = "daily"
    confirmed(ada)
    ada.save()
    FeedbackFactory(reader=ada)
    row = nightly_run(now=now)
    assert row.status == "completed", row.steps
    counts = {name: step["counts"] for name, step in row.steps.items()}
    assert counts["cluster"]["compared"] == 3 and counts["learn"]["readers"] == 1
    assert counts["digests"] == {"built": 1} and counts["deliver"]["sent"] == 1
    assert len(mail.outbox) == 1 and Digest.objects.count() == 1
    again = nightly_run(now=now + MINUTE, force=True)
    assert again.steps["learn"]["counts"]["readers"] == 0 and again.steps["deliver"]["counts"]["due"] == 0
    assert len(mail.outbox) == 1


@pytest.mark.parametrize(("well", "broken", "alerts"), [(0, 5, 1), (4, 5, 1), (5, 5, 0), (0, 4, 0)])
def test_a_night_in_which_most_feeds_fail_says_why_and_raises_an_alert(
    well, broken, alerts, now, settings, httpserver, ada
):
    cache.clear()
    settings.FETCH_ALLOW_HOSTS, settings.ALERT_EMAILS = ["127.0.0.1"], ["olga@example.org"]
    settings.FETCH_PORTS, settings.FETCH_HOST_GAP_S = [httpserver.port], 0.0
    httpserver.expect_request("/well").respond_with_data("<rss><channel><title>A</title></channel></rss>")
    for n in range(well + broken):
        url = httpserver.url_for("/well" if n < well else "/broken") + f"?{n}"
        feed = FeedFactory(url=url.replace("localhost", "127.0.0.1"), state="active", next_check_at=now)
        SubscriptionFactory(reader=ada, feed=feed)
    httpserver.expect_request("/broken").respond_with_data("", status=503)
    counts = STEPS["fetch"](now)
    assert (counts["ok"], counts["failed"]) == (well, broken)
    assert (counts["error"], counts["error_feeds"]) == ("http_503", broken)
    assert len(mail.outbox) == alerts
    assert all(f"{broken} of {well + broken} feeds failed" in one.body for one in mail.outbox)


def test_weights_are_learned_once_a_week_for_each_reader(ada, now):
    FeedbackFactory(reader=ada)
    FeedbackFactory(reader=ada, at=now + 2 * DAY)
    for n in range(8):
        STEPS["learn"](now + n * DAY)
    assert set(WeightSnapshot.objects.values_list("cycle", flat=True)) == {
        now.date(),
        (now + 7 * DAY).date(),
    }


def test_what_a_second_worker_has_done_of_a_night_is_not_done_twice(ada, now):
    FeedbackFactory(reader=paper(ada))
    assert [night_share_task(step, now.isoformat()) for step in ("learn", "digests")] == [1, 1]
    steps = nightly_run(now=now).steps
    assert (steps["learn"]["counts"]["readers"], steps["digests"]["counts"]["built"]) == (0, 0)
    assert WeightSnapshot.objects.count() == 1


@pytest.mark.services
def test_a_second_worker_is_asked_to_share_the_steps_of_many_readers(ada, now, broker_alone):
    app.control.purge()
    FeedbackFactory(reader=paper(ada))
    row, asked = nightly_run(now=now + DAY), []
    with app.connection() as connection, closing(connection.SimpleQueue("rank")) as queue, suppress(Empty):
        while message := queue.get_nowait():  # other tests' nights may ask meanwhile
            message.ack()
            if message.headers["task"] == night_share_task.name:
                asked.append(message.payload[0])
    own = [step for step, at in asked if datetime.fromisoformat(at).date() == row.day]
    assert own == ["learn", "digests"]


def test_who_never_rated_costs_the_learning_nothing(now, django_assert_num_queries):
    ReaderFactory.create_batch(5)
    STEPS["learn"](now)
    # Whether today's figures are published, who learned lately, who rated anything; whether tastes are, and
    # who waits to be counted for the first and the second time; who opened anything.
    with django_assert_num_queries(7):
        assert STEPS["learn"](now)["readers"] == 0


def test_the_night_publishes_the_communitys_figures_once(now):
    assert STEPS["learn"](now)["figures"] == 0
    assert CommunityRound.objects.count() == 1
    STEPS["learn"](now + MINUTE)
    assert CommunityRound.objects.count() == 1


def test_a_mail_server_that_is_down_fails_the_step_and_costs_nobody_the_mail(ada, now, settings):
    paper(ada)
    ada.mail_rhythm = "daily"
    confirmed(ada)
    ada.save()
    settings.EMAIL_BACKEND = "django.core.mail.backends.smtp.EmailBackend"
    settings.EMAIL_HOST, settings.EMAIL_PORT = "127.0.0.1", 1
    row = nightly_run(now=now)
    assert row.status == "failed" and "Mails waiting: 1." in row.steps["deliver"]["error"]
    assert row.steps["advise"]["status"] == "done" and not Delivery.objects.exists()
    with mailbox_open() as box:
        settings.EMAIL_PORT = box.port
        assert STEPS["deliver"](now + 10 * MINUTE)["sent"] == 1


def test_effects_that_break_keep_nobody_from_advice(monkeypatch, ada, now):
    asked = []
    monkeypatch.setattr("config.jobs.nightly.effects_check", lambda *, now: {}["checked"])
    monkeypatch.setattr("config.jobs.nightly.readers_advise", lambda *, now: asked)
    row = nightly_run(now=now, steps={"advise": STEPS["advise"]})
    assert "KeyError" in row.steps["advise"]["error"]


# --- The doors -----------------------------------------------------------------------------------------


def test_the_task_waits_for_its_hour(settings):
    hour = timezone.now().hour
    settings.NIGHTLY_HOUR = 24
    nightly_task()
    assert not NightlyReport.objects.exists()
    settings.NIGHTLY_HOUR = hour
    nightly_task()
    assert NightlyReport.objects.get().status == "completed"


def test_a_morning_builds_what_a_day_lacks_and_mails_what_is_due(ada, ben):
    paper(ada, published_at=timezone.now() - timedelta(hours=3))
    ada.mail_rhythm, ada.mail_hour = "daily", 0
    confirmed(ada)
    ada.save()
    daily_builds_task()
    assert set(Digest.objects.values_list("reader", flat=True)) == {ada.pk, ben.pk}
    assert [message.to for message in mail.outbox] == [["ada@example.org"]]
    built = set(Digest.objects.values_list("built_at", flat=True))
    daily_builds_task()
    assert set(Digest.objects.values_list("built_at", flat=True)) == built and len(mail.outbox) == 1


def test_a_morning_told_to_stop_leaves_digests_and_mail_to_the_next(ada):
    paper(ada, published_at=timezone.now() - timedelta(hours=3))
    ada.mail_rhythm, ada.mail_hour = "daily", 0
    confirmed(ada)
    ada.save()
    daily_builds_task(stopping=lambda: True)
    assert not Digest.objects.exists() and not mail.outbox
    daily_builds_task(stopping=lambda: False)
    assert Digest.objects.exists() and len(mail.outbox) == 1


def test_a_morning_without_a_mail_server_alerts(ada, settings):
    cache.clear()
    paper(ada, published_at=timezone.now() - timedelta(hours=3))
    ada.mail_rhythm, ada.mail_hour = "daily", 0
    confirmed(ada)
    ada.save()
    settings.EMAIL_BACKEND = "django.core.mail.backends.smtp.EmailBackend"
    settings.EMAIL_HOST, settings.EMAIL_PORT = "127.0.0.1", 1
    daily_builds_task()
    assert cache.get("alert:mail_down")


def test_the_command_prints_one_object(capsys):
    call_command("run_nightly", "--json")
    report = json.loads(capsys.readouterr().out)
    assert set(report) == {"day", "status", "steps", "seconds", "ran"} and report["ran"] is True
    assert [step["name"] for step in report["steps"]] == list(STEP_NAMES)


def test_the_command_says_that_a_night_was_over_before_it_came(capsys):
    call_command("run_nightly")
    over = f"{NightlyReport.objects.get().finished_at:%H:%M}"
    capsys.readouterr()
    call_command("run_nightly")
    assert f"was over at {over} UTC (completed); --force does it again." in capsys.readouterr().out
    call_command("run_nightly", "--json")
    assert json.loads(capsys.readouterr().out)["ran"] is False
    call_command("run_nightly", "--json", "--force")
    assert json.loads(capsys.readouterr().out)["ran"] is True


def test_the_command_fails_where_another_worker_is_at_the_night(capsys):
    until = timezone.now() + MINUTE
    steps = {"fetch": {"status": "done", "seconds": 1.0, "counts": {}, "error": ""}}
    NightlyReport.objects.create(
        day=timezone.now().date(), started_at=timezone.now(), lease_until=until, token=3, steps=steps
    )
    with pytest.raises(CommandError, match=f"held by another worker until {until:%H:%M} UTC") as waiting:
        call_command("run_nightly", "--json")
    way_on = "Only if that worker is dead, take the night from it: run_nightly --release REASON"
    assert "Wait for its end. " in str(waiting.value) and way_on in str(waiting.value)
    report = json.loads(capsys.readouterr().out)
    assert report["ran"] is False and [step["name"] for step in report["steps"]] == list(STEP_NAMES)
    keys = {"name", "status", "started_at", "seconds", "counts", "error"}
    assert all(keys <= set(step) for step in report["steps"])
    assert (report["steps"][1]["status"], report["steps"][1]["error"]) == ("waiting", None)
    with pytest.raises(CommandError, match="does not take over") as held:
        call_command("run_nightly", "--force")
    assert "Wait for its end: --force" in str(held.value) and way_on in str(held.value)
    assert held.value.returncode == 1 and NightlyReport.objects.get().token == 3


def test_the_command_fails_where_a_step_failed(monkeypatch, capsys):
    monkeypatch.setitem(STEPS, "cluster", breaking)
    with pytest.raises(CommandError) as failed:
        call_command("run_nightly")
    assert failed.value.returncode == 1
    out = capsys.readouterr().out
    assert "cluster  failed" in out and "ValueError: no ink" in out


def test_operators_see_a_nights_steps_and_change_nothing(client, operator, night, now):
    row = nightly_run(now=now, steps=night | {"cluster": breaking})
    client.force_login(operator)
    listed = client.get("/admin/tidings/nightlyreport/").content.decode()
    assert "cluster" in listed
    page = client.get(f"/admin/tidings/nightlyreport/{row.pk}/change/").content.decode()
    assert "7 of 7 steps" in page and "ValueError: no ink" in page
    assert client.post(f"/admin/tidings/nightlyreport/{row.pk}/change/").status_code == 403


def test_the_night_asks_for_runs_of_readers_who_are_due(monkeypatch, ada, now):
    assert nightly_run(now=now).steps["advise"]["counts"] == {"effects": 0, "requested": 0}
    assert not Run.objects.exists()


def test_who_rates_nothing_new_is_taught_nothing_new(ada: Reader, ben: Reader, now: datetime):
    """Cycle after cycle on the same ratings took a source from 1.0 to its cap, while its reader was away."""
    for reader in (ada, ben):
        FeedbackFactory(reader=reader, at=now - DAY)
    step = {"learn": STEPS["learn"]}

    def cycles(at: datetime) -> set[str]:
        nightly_run(now=at, steps=step)
        rows = WeightSnapshot.objects.filter(cycle=at.date())
        return set(rows.values_list("reader__username", flat=True))

    assert cycles(now) == {"ada", "ben"}
    FeedbackFactory(reader=ben, at=now + 3 * DAY)
    assert cycles(now + 8 * DAY) == {"ben"}
    assert cycles(now + 16 * DAY) == set()
    FeedbackFactory(reader=ada, at=now + 17 * DAY)
    assert cycles(now + 18 * DAY) == {"ada"}

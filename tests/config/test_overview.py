"""The operator's first page has figures on failures, queues and spending, each with a link to its list."""

import os
import re
import time
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from io import StringIO

import pytest
from django.contrib.auth.models import Permission
from django.core.management import call_command
from django.db import connection
from django.db.migrations.recorder import MigrationRecorder
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone
from django.utils.html import escape

from advisor.models import Heartbeat, Run, Step
from config.metrics import metrics_text
from config.models import NightlyReport
from config.readiness import readiness
from config.templatetags.operators_overview import (
    COUNT_MAX,
    HEALTH_TO_DO,
    OverviewFigure,
    overview_figures,
)
from digest.models import Delivery, Feed, Reader, Spend, Subscription
from suggestions.models import Outcome
from tests.support.browser import suggested
from tests.support.factories import FeedFactory, OperatorFactory, SourceFactory, SubscriptionFactory

DAY = timedelta(days=1)
# Tables that grow with every item, reading and digest.
BIG = ("digest_item", "digest_feedback", "digest_impression", "digest_exposure", "digest_reading")


@pytest.fixture
def site(operator: Reader) -> Client:
    client = Client()
    client.force_login(operator)
    return client


def shown(operator: Reader, now: datetime) -> dict[str, OverviewFigure]:
    """Return the figures by name."""
    return {figure.name: figure for figure in overview_figures(reader=operator, now=now)}


def night(now: datetime, **steps: str) -> NightlyReport:
    """Create the nightly run of `now`'s day, with steps in these states."""
    return NightlyReport.objects.create(
        day=now.date(),
        status="failed" if "failed" in steps.values() else "completed",
        steps={name: {"status": status, "seconds": 1.0} for name, status in steps.items()},
        started_at=now - timedelta(hours=9),
        finished_at=now - timedelta(hours=8),
    )


def spent(day: datetime, usd: str, *, settled: bool = True) -> None:
    """Create one call in the ledger."""
    amount = Decimal(usd)
    Spend.objects.create(
        surface="ingest",
        model="m",
        reserved_usd=amount,
        settled_usd=amount if settled else None,
        day=day.date(),
        created_at=day,
    )


def accepted(reader: Reader, at: datetime, key: str, kind: str = "decision") -> Outcome:
    """Create a change that a reader accepted, or its outcome."""
    suggestion = suggested(reader, evidence=0, target_key=key, status="accepted")
    row = Outcome(suggestion=suggestion, reader=reader, kind=kind, outcome="accepted", config_before={})
    row.suggestion_type, row.target_key, row.created_at, row.decided_at = "boost_source", key, at, at
    row.save()
    return row


def test_an_empty_installation_says_so_and_asks_for_a_worker(operator: Reader, now):
    figures = shown(operator, now)
    values = [figure.value for figure in figures.values()]
    assert values == [
        "degraded",
        "0",
        "0",
        "none yet",
        "none by this version yet",
        "$0.00",
        "$0.00",
        "0",
        "0",
    ]
    assert figures["Runs queued"].bad and "no worker is alive" in figures["Runs queued"].note


def test_the_first_page_says_what_the_probe_says_and_why(operator: Reader, site, settings, tmp_path, now):
    settings.VAR_DIR = tmp_path
    (tmp_path / "worker-box-7.pulse").touch()
    figure = shown(operator, now)["Health"]
    assert (figure.value, figure.bad) == ("ready", False) and figure.note.endswith("MB free")
    os.utime(tmp_path / "worker-box-7.pulse", (time.time() - 58,) * 2)
    (tmp_path / "worker-box-8.pulse").touch()
    figure = shown(operator, now)["Health"]
    assert (figure.value, figure.bad) == ("degraded", True)
    assert figure.note == "workers: box-7 gave no sign of life for 58 s: restart it"
    assert "box-7 gave no sign of life" in site.get("/admin/").content.decode()


def test_the_first_page_says_when_the_last_backup_was_made(operator: Reader, tmp_path, now):
    MigrationRecorder.Migration.objects.update(applied=now)
    figure = shown(operator, now + DAY)["Last backup"]
    assert (figure.value, figure.bad) == ("none by this version yet", False)
    assert "manage.py backup --keep 7 FOLDER" in figure.note
    figure = shown(operator, now + 3 * DAY)["Last backup"]
    assert (figure.value, figure.bad) == ("none by this version yet", True)
    assert "manage.py backup --keep 7 FOLDER" in figure.to_do
    call_command("backup", str(tmp_path / "b.zip"), stdout=StringIO(), stderr=StringIO())
    made = Heartbeat.objects.get(worker="job:backup").at
    assert not shown(operator, made + DAY)["Last backup"].bad
    assert shown(operator, made + 3 * DAY)["Last backup"].bad
    assert b"tidings_backup_age_seconds 86400.0" in metrics_text(now=made + DAY)


def test_the_first_page_names_the_disk_that_is_nearly_full(operator: Reader, monkeypatch, now):
    monkeypatch.setattr("config.readiness.disk_free", lambda folders: {"data": 100 << 20})
    figure = shown(operator, now)["Health"]
    assert figure.bad and "is nearly full (100 MB free)" in figure.note


def test_feeds_in_trouble_are_those_that_readers_see_in_trouble(operator: Reader, site: Client, now):
    failing = FeedFactory(state="active", failures=2, next_check_at=now + DAY)
    for feed in (failing, FeedFactory(failures=2, state="paused")):
        SubscriptionFactory(reader=operator, feed=feed)
    FeedFactory(state="gone")  # has no readers
    SubscriptionFactory(reader=operator, feed=FeedFactory(state="active", next_check_at=now - DAY))
    FeedFactory(state="active", next_check_at=now - DAY)  # has no readers
    figure = shown(operator, now)["Feeds in trouble"]
    assert (figure.value, figure.bad) == ("1", True) and "1 due" in figure.note
    assert figure.to_do
    assert [row.pk for row in site.get(figure.href).context["cl"].queryset] == [failing.pk]


def failing_feeds(reader: Reader, now: datetime, codes: dict[str, int]) -> None:
    """Let `reader` read so many feeds with each error; "" is for none."""
    for code, n in codes.items():
        for _ in range(n):
            failed = {"failures": 2, "error_code": code, "error_message": "Why."} if code else {}
            made = FeedFactory(state="active", last_fetched_at=now, last_new_at=now, **failed)
            SubscriptionFactory(reader=reader, feed=made)


def test_kinds_of_trouble_that_are_left_out_are_counted(operator: Reader, now):
    failing_feeds(operator, now, {"http_503": 3, "timeout": 2, "malformed": 1, "empty": 1, "": 9})
    SubscriptionFactory(reader=operator, feed=FeedFactory(state="gone"))
    note = shown(operator, now)["Feeds in trouble"].note
    assert note == "3 × http 503; 2 × timeout; … and 3 more of other kinds; 0 due to be fetched"
    Feed.objects.filter(error_code__in=["malformed", "empty"]).update(failures=0, error_code="")
    Feed.objects.filter(state="gone").update(state="paused")
    assert "more" not in shown(operator, now)["Feeds in trouble"].note


@pytest.mark.parametrize(
    ("codes", "is_network"),
    [
        ({"connect_failed": 4, "not_found": 2, "timeout": 1, "http_503": 1, "": 5}, True),
        ({"connect_failed": 4, "not_found": 1, "": 5}, False),
        ({"http_503": 9, "": 1}, False),
        ({"connect_failed": 4}, False),
    ],
)
def test_most_feeds_without_an_answer_are_one_sentence_about_the_network(
    operator: Reader, settings, now, codes: dict[str, int], is_network: bool
):
    settings.FETCH_WATCHDOG_MINUTES = 0
    failing_feeds(operator, now, codes)
    figure = shown(operator, now)["Feeds in trouble"]
    assert ("reach the network and resolve names" in figure.note) is is_network
    assert ("×" not in figure.note) is is_network and ("network" in figure.to_do) is is_network
    if is_network:
        assert figure.note.startswith("7 of 13 feeds fail for one reason: no server answers.")


def test_models_that_have_no_room_are_counted(operator: Reader, ada: Reader, settings):
    now, settings.OPENAI_API_KEY = timezone.now(), "sk-1"
    run = Run.objects.create(reader=ada, day=now.date(), trigger="ui", status="completed", created_at=now)
    for n in range(5):
        Step.objects.create(
            run=run, n=n, kind="model", model=f"openai:m{n}", error_code="x", result="why " * 30, at=now
        )
    note = shown(operator, now)["Models"].note
    assert note.startswith("openai:m0: why") and note.endswith("… and 3 more") and len(note) < 320


def test_the_last_night_says_when_what_and_what_failed(operator: Reader, site: Client, now):
    row = night(now, fetch="done", cluster="failed", learn="done")
    figure = shown(operator, now)["Last night"]
    assert (figure.value, figure.bad) == ("1 failed", True)
    assert figure.note == "18 March, 03:00 to 04:00; 2 steps done; failed: cluster"
    assert site.get(figure.href).context["original"] == row


def test_a_night_that_went_well_is_fine_until_the_next_one_is_missing(operator: Reader, now):
    night(now, fetch="done")
    assert not shown(operator, now)["Last night"].bad
    assert shown(operator, now + DAY)["Last night"].bad


def test_a_night_that_could_fetch_few_feeds_is_no_good_night(operator: Reader, site: Client, now):
    row = night(now, fetch="done", learn="done")
    counts = {"feeds": 253, "ok": 0, "failed": 253, "error": "connect_failed", "error_feeds": 250}
    row.steps["fetch"]["counts"] = counts
    row.save()
    figure = shown(operator, now)["Last night"]
    assert (figure.value, figure.bad) == ("0 of 253 feeds fetched", True)
    assert figure.note == "18 March, 03:00 to 04:00; 2 steps done; most often: connect failed (250)"
    assert "0 of 253 feeds fetched" in site.get("/admin/").content.decode()
    row.steps["fetch"]["counts"] = counts | {"ok": 127, "failed": 126, "error_feeds": 99}
    row.save()
    figure = shown(operator, now)["Last night"]
    assert (figure.value, figure.bad) == ("completed", False) and figure.note.endswith("none failed")


def test_a_night_that_read_no_feed_is_not_plain_done(operator: Reader, site: Client, now):
    row = night(now, fetch="done", learn="done")
    row.steps["fetch"]["counts"] = {"feeds": 3, "ok": 0, "failed": 3}
    row.save()
    assert "fetch (no feed was read)" in site.get("/admin/tidings/nightlyreport/").content.decode()
    page = site.get(f"/admin/tidings/nightlyreport/{row.pk}/change/").content.decode()
    assert '<span class="entry-kind">none read</span> <strong>fetch</strong>' in page
    row.steps["fetch"]["counts"] = {"feeds": 3, "ok": 1, "failed": 2}
    row.save()
    page = site.get(f"/admin/tidings/nightlyreport/{row.pk}/change/").content.decode()
    assert "none read" not in page
    assert "no feed was read" not in site.get("/admin/tidings/nightlyreport/").content.decode()


def test_a_network_at_fault_is_one_sentence_on_the_first_page_the_list_and_a_feeds_page(
    operator: Reader, site: Client, ada: Reader, now
):
    failing_feeds(ada, now, {"connect_failed": 6, "http_404": 1})
    sentence = "6 of 7 feeds fail for one reason: no server answers."
    offline, missing = (
        Feed.objects.filter(error_code=code).first() for code in ("connect_failed", "http_404")
    )
    for path in ("/admin/", "/admin/digest/feed/", f"/admin/digest/feed/{offline.pk}/change/"):
        page = site.get(path).content.decode()
        assert sentence in page and "Mend this machine’s network" in page
    assert sentence not in site.get(f"/admin/digest/feed/{missing.pk}/change/").content.decode()


def test_spend_counts_this_utc_day_and_month_with_open_reservations_in_full(operator: Reader, settings, now):
    settings.LLM_DAILY_CAP_USD, settings.ADVISOR_DAILY_CAP_USD = 5.0, 1.0
    spent(now, "0.25")
    spent(now, "0.50", settled=False)
    spent(now - 3 * DAY, "1.00")
    spent(now - 31 * DAY, "7.00")
    figures = shown(operator, now)
    assert (figures["Spent today"].value, figures["Spent this month"].value) == ("$0.75", "$1.75")
    assert "$6.00" in figures["Spent today"].note and not figures["Spent today"].bad
    spent(now, "5.25")
    assert shown(operator, now)["Spent today"].bad


def test_outcomes_to_check_are_those_due_and_the_list_has_them(
    operator: Reader, site: Client, ada: Reader, ben: Reader
):
    now = timezone.now()
    due = accepted(ada, now - 15 * DAY, "a.example")
    accepted(ada, now - 2 * DAY, "b.example")
    checked = accepted(ben, now - 20 * DAY, "c.example")
    Outcome.objects.create(
        suggestion=checked.suggestion,
        reader=ben,
        kind="effect",
        outcome="helped",
        config_before={},
        suggestion_type="boost_source",
        target_key="c.example",
        created_at=now,
        decided_at=now,
    )
    figure = shown(operator, now)["Outcomes to check"]
    assert figure.value == "1"
    assert [row.pk for row in site.get(figure.href).context["cl"].queryset] == [due.pk]


def test_the_queue_counts_runs_and_a_worker_that_lives_is_no_matter(
    operator: Reader, site: Client, ada: Reader, ben: Reader, now
):
    for reader, status in ((ada, "queued"), (ben, "running"), (operator, "completed")):
        Run.objects.create(reader=reader, day=now.date(), trigger="ui", status=status, created_at=now)
    Heartbeat.objects.create(worker="one", at=now)
    figure = shown(operator, now)["Runs queued"]
    assert (figure.value, figure.note, figure.bad) == ("1", "1 running", False)
    assert [row.status for row in site.get(figure.href).context["cl"].queryset] == ["queued"]


def test_a_worker_that_is_busy_for_minutes_counts_as_alive(operator: Reader, settings, tmp_path, now):
    settings.VAR_DIR = tmp_path
    Heartbeat.objects.create(worker="one", at=now - timedelta(minutes=5))
    assert shown(operator, now)["Runs queued"].bad
    (tmp_path / "worker-one-7.pulse").touch()
    assert not shown(operator, now)["Runs queued"].bad


def test_counts_end_where_more_would_tell_nothing(operator: Reader, now):
    source = SourceFactory()
    rows = [Feed(url=f"https://f{n}.example/", source=source, failures=1) for n in range(COUNT_MAX + 5)]
    feeds = Feed.objects.bulk_create(rows)
    reads = [Subscription(reader=operator, feed=feed, created_at=now) for feed in feeds]
    Subscription.objects.bulk_create(reads)
    assert shown(operator, now)["Feeds in trouble"].value == "1,000+"


def test_the_first_page_shows_the_figures_and_every_link_answers(site: Client, ada: Reader):
    body = site.get("/admin/").content.decode()
    part = body.partition('class="problems"')[2].partition("<nav")[0]
    links = re.findall(r'href="([^"]+)"', part)
    assert len(links) == 9
    for link in links:
        assert site.get(link.replace("&amp;", "&")).status_code == 200, link


def test_the_page_costs_the_same_however_much_there_is_and_reads_no_big_table(site: Client, ada: Reader, now):
    site.get("/admin/")
    with CaptureQueriesContext(connection) as empty:
        site.get("/admin/")
    night(timezone.now(), fetch="done", learn="failed")
    for n in range(5):
        FeedFactory(state="active", failures=n)
        spent(timezone.now(), "0.01")
        accepted(ada, now - (15 + n) * DAY, f"s{n}.example")
        Run.objects.create(
            reader=ada, day=now.date() + n * DAY, trigger="ui", status="queued", created_at=now
        )
    with CaptureQueriesContext(connection) as full:
        site.get("/admin/")
    assert len(full) == len(empty)
    assert not [q["sql"] for q in full if any(f'"{table}"' in q["sql"] for table in BIG)]


def test_an_operator_sees_the_figures_of_what_they_may_view(db, now):
    olga = OperatorFactory(username="otto", is_superuser=False)
    assert shown(olga, now) == {}
    olga.user_permissions.add(Permission.objects.get(codename="view_feed"))
    assert [*shown(Reader.objects.get(pk=olga.pk), now)] == ["Feeds in trouble"]


def test_days_of_money_are_utc_days(operator: Reader):
    late = datetime(2026, 3, 31, 23, 30, tzinfo=UTC)
    spent(late, "1.00")
    assert shown(operator, late)["Spent this month"].value == "$1.00"
    assert shown(operator, late + timedelta(hours=1))["Spent this month"].value == "$0.00"


def test_the_first_page_begins_with_what_is_wrong_and_what_helps(
    site: Client, operator: Reader, settings, ada
):
    now = timezone.now()
    settings.OPENAI_API_KEY = "sk-1"
    for n in range(40):
        code = "http_503" if n else "timeout"
        feed = FeedFactory(state="active", failures=2, error_code=code, last_fetched_at=now - DAY)
        SubscriptionFactory(reader=ada, feed=feed)
    run = Run.objects.create(reader=ada, day=now.date(), trigger="ui", status="completed", created_at=now)
    for n, (model, code) in enumerate([("openai:a", ""), ("openai:a", "model_unavailable"), ("local:b", "")]):
        Step.objects.create(
            run=run, n=n, kind="model", model=model, error_code=code, result=code and "401", at=now
        )
    Delivery.objects.create(reader=ada, date=now.date(), status="failed", error="Refused.", claimed_at=now)
    settings.EMAIL_BACKEND = "django.core.mail.backends.smtp.EmailBackend"
    figures = shown(operator, now)
    assert (figures["Feeds in trouble"].value, figures["Models"].value) == ("40", "1 of 2 fail")
    assert "39 × http 503; 1 × timeout" in figures["Feeds in trouble"].note
    assert figures["Models"].note == "openai:a: 401" and figures["Mails that failed"].note == "Refused."
    body = site.get("/admin/").content.decode()
    wrong = body.partition('class="problems"')[2].partition("</section>")[0]
    for figure in figures.values():
        assert (f"{figure.name}: {figure.value}" in wrong) == figure.bad
        assert not figure.bad or (figure.to_do and escape(figure.to_do) in wrong), figure.name
    assert f"{sum(figure.bad for figure in figures.values())} things need a look" in wrong


def test_everything_that_can_be_wrong_has_a_cure(operator: Reader):
    names = {check.name for check in readiness(now=timezone.now())}
    assert names <= set(HEALTH_TO_DO)


def test_readers_who_want_mail_that_never_goes_out_are_on_the_first_page(
    operator: Reader, ada: Reader, settings, now
):
    settings.EMAIL_BACKEND = "django.core.mail.backends.console.EmailBackend"
    assert "Mail" not in shown(operator, now)
    Reader.objects.filter(pk=ada.pk).update(mail_rhythm="daily")
    figure = shown(operator, now)["Mail"]
    assert figure.bad and figure.value == "none goes out" and "EMAIL_URL" in figure.to_do


def test_feeds_that_nobody_fetches_are_told_of_before_any_fails(operator: Reader, now):
    SubscriptionFactory(
        reader=operator, feed=FeedFactory(state="active", next_check_at=now - DAY, last_fetched_at=now - DAY)
    )
    figure = shown(operator, now)["Feeds in trouble"]
    assert figure.bad and figure.note.startswith("1 feeds have been due") and "worker" in figure.to_do


def test_all_is_well_only_after_the_first_night_and_the_first_backup(
    operator: Reader, site, tmp_path, monkeypatch
):
    now = timezone.now()
    MigrationRecorder.Migration.objects.update(applied=now)
    monkeypatch.setattr("config.templatetags.operators_overview.readiness", lambda **_: [])
    monkeypatch.setattr("config.templatetags.operators_overview.worker_alive", lambda **_: True)

    def heading() -> str:
        return site.get("/admin/").content.decode().partition('id="problems-title">')[2].partition("<")[0]

    assert heading() == "Nothing is wrong so far"
    night(now, fetch="done")
    assert heading() == "Nothing is wrong so far"
    call_command("backup", str(tmp_path / "b.zip"), stdout=StringIO(), stderr=StringIO())
    assert heading() == "All is well"

"""Why no suggestion waits: one answer in one order, on the page, in the admin and in the command."""

from datetime import timedelta

import pytest
from django.core.management import call_command
from django.test import Client
from django.utils import timezone

from advisor.models import Run
from advisor.run.why_none import WORKER_SILENT, why_none
from advisor.run.workers import heartbeat
from advisor.run_values import StopReason
from config.templatetags.reader_facts import reader_facts
from digest.models import Reader
from suggestions.planner.evidence import hypotheses_for
from tests.support.factories import ReaderFactory
from tests.support.histories import opinionated

pytestmark = pytest.mark.django_db


@pytest.fixture
def olga() -> Reader:
    return ReaderFactory(username="olga", is_staff=True, is_superuser=True)


def ran(reader: Reader, now, **fields: object) -> Run:
    return Run.objects.create(
        reader=reader, day=now.date(), trigger="scheduled", created_at=now, **{"status": "completed"} | fields
    )


def page(reader: Reader) -> str:
    client = Client()
    client.force_login(reader)
    return client.get("/ui/suggestions").content.decode()


def admin_says(reader: Reader, olga: Reader) -> str:
    reader.refresh_from_db()
    return {fact.name: fact.value for fact in reader_facts(reader, olga)}["Why there are none"]


def command_says(reader: Reader, capsys) -> str:
    call_command("run_advisor", "--all-users")
    return next(
        line for line in capsys.readouterr().out.splitlines() if line.startswith(f"{reader.username}:")
    )


def test_an_installation_without_suggestions_says_so_everywhere(ada, olga, settings, capsys):
    settings.ADVISOR_ENABLED = False
    Reader.objects.filter(pk=ada.pk).update(suggestions_enabled=False)
    shown = page(ada)
    assert "Suggestions are switched off on this installation." in shown
    assert "data-generate=" not in shown and "Your account page" not in shown and "Rate 50" not in shown
    assert admin_says(ada, olga).endswith("set ADVISOR_ENABLED=true.")
    assert "switched off on this installation" in command_says(ada, capsys)


def test_a_reader_who_switched_them_off_lacks_no_ratings(ada, olga, capsys):
    Reader.objects.filter(pk=ada.pk).update(suggestions_enabled=False)
    assert "You have switched them off" in page(ada) and "Rate 50" not in page(ada)
    assert admin_says(ada, olga) == "This reader has switched suggestions off on their account page."
    said = command_says(ada, capsys)
    assert "You have switched suggestions off" in said and "Not enough ratings" not in said


def test_an_account_that_is_not_active_is_not_looked_at(ada, olga, now):
    opinionated(ada, now=timezone.now())
    Reader.objects.filter(pk=ada.pk).update(is_active=False)
    assert "not active" in admin_says(ada, olga)
    call_command("run_advisor", "--user-id", "ada", "--quiet")
    assert not Run.objects.exists()


def test_a_run_that_no_worker_begins_waits(ada, olga):
    opinionated(ada, now=timezone.now())
    run = ran(ada, timezone.now(), status="queued")
    assert admin_says(ada, olga) == "A run is under way."
    Run.objects.filter(pk=run.pk).update(created_at=timezone.now() - timedelta(minutes=5))
    assert admin_says(ada, olga).startswith("A run waits for a worker.")
    assert "Your run waits for a worker of this site." in page(ada)
    Run.objects.filter(pk=run.pk).update(status="running")
    assert admin_says(ada, olga) == "A run is under way."
    assert "waits for a worker" not in page(ada)


def test_without_a_worker_nothing_is_looked_at_by_itself(ada, olga):
    opinionated(ada, now=timezone.now())
    heartbeat(worker="job:backup", now=timezone.now())  # by hand, perhaps
    heartbeat(worker="w:1", now=timezone.now() - WORKER_SILENT - timedelta(minutes=1))
    assert "has not looked yet" in admin_says(ada, olga) and "start manage.py work" in admin_says(ada, olga)
    assert "No worker of this site runs" in page(ada)
    heartbeat(worker="job:reconcile", now=timezone.now())
    assert admin_says(ada, olga) == "The advisor has not looked yet; it does so about once a week."
    assert "No worker of this site runs" not in page(ada)


def test_too_few_ratings_come_before_the_last_run(ada, olga, now):
    ran(ada, now, message="Nothing was clear enough to ask.")
    assert "Rate 50 more headlines" in admin_says(ada, olga) and "Rate 50 more headlines" in page(ada)


def test_money_that_was_used_up_is_the_reason(ada, olga):
    now = timezone.now()
    opinionated(ada, now=now)
    heartbeat(worker="w:1", now=now)
    ran(ada, now, status="budget_exceeded", stop_reason=StopReason.BUDGET, message="x")
    words = "limit reached"
    assert words in page(ada) and words in admin_says(ada, olga) and "(looked " in admin_says(ada, olga)


def test_kinds_that_the_installation_leaves_out_are_the_reason(ada, settings):
    now = timezone.now()
    opinionated(ada, now=now)
    assert hypotheses_for(reader_id=ada.pk, now=now).hypotheses
    settings.ADVISOR_KINDS = ["age_faster"]
    assert hypotheses_for(reader_id=ada.pk, now=now).silence == "kinds_off"
    client = Client()
    client.force_login(ada)
    client.post("/ui/suggestions/generate")
    why = why_none(reader=ada, now=now)
    assert (why.code, "that are switched off here" in why.words) == ("last_run", True)
    assert why.words in page(ada)

"""If something breaks for one reader, each command and job reports it and serves the others."""

import io
import json
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.core import mail
from django.core.management import CommandError, call_command
from django.utils import timezone

from advisor.tasks import guidance_learn_task
from config.jobs.nightly import STEPS, nightly_run
from config.jobs.task_run import task_run
from config.tasks import daily_builds_task
from digest.models import Delivery, Destination, Digest, Feed, Notification, NotificationSettings, Reader
from ranking.models import WeightSnapshot
from suggestions.models import Outcome, Suggestion
from suggestions.tasks import outcomes_compact_task, suggestions_sweep_task
from tests.suggestions.outcomes.test_selectors import decided
from tests.support.factories import (
    FeedbackFactory,
    FeedFactory,
    ItemFactory,
    SourceFactory,
    SubscriptionFactory,
    confirmed,
)
from tests.support.poison import poison
from tests.support.suggestion_worlds import boost, proposed, tastes

pytestmark = pytest.mark.django_db
DAY = timedelta(days=1)


@pytest.fixture(autouse=True)
def quiet_before(own_cache) -> None:
    """Make sure that no alert was raised before."""


@pytest.fixture
def both(ada: Reader, ben: Reader) -> tuple[Reader, Reader]:
    """Ada and Ben read a source of fresh items, and have rated some."""
    source = SourceFactory(key="gazette.example")
    feed = FeedFactory(source=source)
    items = [ItemFactory(source=source, published_at=timezone.now() - timedelta(hours=n)) for n in (1, 2, 3)]
    for reader in (ada, ben):
        SubscriptionFactory(reader=reader, feed=feed)
        for n, item in enumerate(items):
            FeedbackFactory(reader=reader, item=item, useful=n > 0, at=timezone.now() - DAY)
    return ada, ben


def report_of(*command: str) -> dict[str, Any]:
    """Return the output of a command that fails for a reader. Its exit code is 1."""
    out = io.StringIO()
    with pytest.raises((CommandError, SystemExit)) as ended:
        call_command(*command, "--json", stdout=out)
    assert getattr(ended.value, "returncode", None) or ended.value.code == 1
    return json.loads(out.getvalue())


COMMANDS = {
    "update_weights": ("digest.management.commands.update_weights.weights_update", "readers"),
    "build_digest": ("digest.management.commands.build_digest.digest_build", "digests"),
    "run_advisor": ("advisor.run.scheduling.run_request", "runs"),
}


@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_for_all_is_done_for_the_others_and_says_who_failed(command, both, monkeypatch):
    (ada, ben), (path, rows) = both, COMMANDS[command]
    poison(monkeypatch, path, ada)
    monkeypatch.setattr("advisor.management.commands.run_advisor.readers_lacking_feedback", lambda **_: {})
    report = report_of(command, "--all-users")
    assert report["failed"] == 1 and report["errors"][0]["reader_id"] == str(ada.pk)
    assert "poisoned" in report["errors"][0]["error"]
    done = [row for row in report[rows] if row["reader_id"] == str(ben.pk)]
    assert len(done) == 1 and done[0].get("status") != "agent_error"


def test_one_reader_whose_feedback_cannot_be_counted_keeps_nobody_from_a_run(both, monkeypatch):
    ada, ben = both
    poison(monkeypatch, "advisor.run.scheduling.feedback_missing_many", ada)
    runs = report_of("run_advisor", "--all-users")["runs"]
    assert {row["reader_id"] for row in runs} == {str(ada.pk), str(ben.pk)}


def test_an_export_has_the_records_of_the_others(both, monkeypatch, capsys):
    ada, _ = both
    poison(monkeypatch, "digest.management.commands.export_records.records_export", ada)
    with pytest.raises(CommandError, match="1 reader; the others are done"):
        call_command("export_records", "--all-users", "--history", "1")
    assert capsys.readouterr().out.count("\n") == 2


def test_a_check_of_outcomes_judges_the_others(ada, ben, now, monkeypatch):
    for reader in (ada, ben):
        decided(reader, 30)
    poison(monkeypatch, "suggestions.outcomes.check.outcome_build", ada)
    report = report_of("check_outcomes")
    assert (report["due"], report["checked"], report["failed"]) == (2, 1, 1)
    assert list(Outcome.objects.filter(kind="effect").values_list("reader_id", flat=True)) == [ben.pk]


def test_long_histories_and_old_profiles_of_the_others_are_looked_after(ada, ben, monkeypatch):
    monkeypatch.setattr("suggestions.outcomes.services.DECISIONS_FULL", 0)
    for reader in (ada, ben):
        decided(reader, 300)
        reader.preference_profile.computed_at = timezone.now() - 30 * DAY
        reader.preference_profile.save()
    poison(monkeypatch, "suggestions.outcomes.services.reader_compact", ada)
    poison(monkeypatch, "suggestions.outcomes.services.profiles_update", ada)
    report = report_of("compact_outcomes")
    assert (report["archived"], report["profiles"], report["failed"]) == (1, 1, 1)


STEPS_POISONED: dict[str, tuple[str, Callable[[Reader], bool]]] = {
    "learn": (
        "digest.feedback.services.weights_decided_many",
        lambda reader: WeightSnapshot.objects.filter(reader_id=reader.pk).exists(),
    ),
    "digests": (
        "digest.daily.services.ranked_day",
        lambda reader: Digest.objects.filter(reader=reader).exists(),
    ),
}


@pytest.mark.parametrize("step", STEPS_POISONED)
def test_a_step_of_the_night_is_done_for_the_others_counted_and_told(step, both, monkeypatch, settings):
    (ada, ben), (path, is_done) = both, STEPS_POISONED[step]
    settings.ALERT_EMAILS = ["olga@example.org"]
    poison(monkeypatch, path, ada)
    row = nightly_run(now=timezone.now(), steps={step: STEPS[step]})
    assert row.steps[step]["status"] == "done" and row.steps[step]["counts"]["readers_failed"] == 1
    assert [is_done(reader) for reader in (ada, ben)] == [False, True]
    told = [message for message in mail.outbox if "readers_failed" in message.subject]
    assert len(told) == 1 and str(ada.pk) in told[0].body


def test_the_night_requests_a_run_for_the_others(both, monkeypatch):
    ada, ben = both
    poison(monkeypatch, "advisor.run.scheduling.run_request", ada)
    monkeypatch.setattr("advisor.run.scheduling.readers_due", lambda *, now: [ada, ben])
    monkeypatch.setattr("advisor.run.scheduling.runs_claim", lambda **_: {})
    counts = nightly_run(now=timezone.now(), steps={"advise": STEPS["advise"]}).steps["advise"]["counts"]
    assert (counts["requested"], counts["readers_failed"]) == (1, 1)


def test_a_part_of_the_night_that_fails_keeps_no_reader_from_learning(both, monkeypatch):
    def broken(**_: object) -> None:
        raise RuntimeError("no noise today")

    monkeypatch.setattr("config.jobs.nightly.community_publish", broken)
    row = nightly_run(now=timezone.now(), steps={"learn": STEPS["learn"]})
    assert "no noise today" in row.steps["learn"]["error"]
    assert WeightSnapshot.objects.values("reader_id").distinct().count() == 2


def test_a_time_zone_that_is_none_costs_the_others_neither_mail_nor_news(both, settings):
    ada, ben = both
    settings.ALERT_EMAILS = ["olga@example.org"]
    # Items rated yesterday have left the page, so add an item of today.
    ItemFactory(
        source_id="gazette.example", feed=Feed.objects.get(), published_at=timezone.now() - timedelta(hours=1)
    )
    for reader in (ada, ben):
        reader.mail_rhythm, reader.mail_hour = "daily", 0
        confirmed(reader)
        reader.save()
        Destination.objects.create(
            reader=reader, kind="webhook", address="https://hook.example.org/", created_at=timezone.now()
        )
        NotificationSettings.objects.create(
            reader=reader, events=["digest"], since=timezone.now() - DAY, quiet_from=0, quiet_until=0
        )
    Reader.objects.filter(pk=ada.pk).update(time_zone="Nowhere/Atall")
    task_run(daily_builds_task.name, daily_builds_task)
    assert list(Delivery.objects.values_list("reader_id", flat=True)) == [ben.pk]
    assert set(Notification.objects.values_list("reader_id", flat=True)) == {ben.pk}
    told = [message for message in mail.outbox if "readers_failed" in message.subject]
    assert len(told) == 1 and str(ada.pk) in told[0].body


def test_a_sweep_settles_the_suggestions_of_the_others(ada, ben, now, monkeypatch):
    for reader in (ada, ben):
        tastes(reader)
        proposed(reader, boost(reader))
    Suggestion.objects.update(created_at=timezone.now() - 30 * DAY)
    poison(monkeypatch, "suggestions.services.lifecycle.outcome_build", ada)
    suggestions_sweep_task()
    assert dict(Suggestion.objects.values_list("reader_id", "status")) == {
        ada.pk: "pending",
        ben.pk: "expired",
    }


def test_a_settings_row_that_cannot_be_read_keeps_no_sweep_from_the_others(ada, ben, now, monkeypatch):
    for reader in (ada, ben):
        tastes(reader)
        proposed(reader, boost(reader))
    Suggestion.objects.update(created_at=timezone.now() - 30 * DAY)
    poison(monkeypatch, "suggestions.services.lifecycle.config_effective_many", ada)
    suggestions_sweep_task()
    assert Suggestion.objects.get(reader=ben).status == "expired"


def test_memories_of_the_others_are_refreshed(both, monkeypatch, settings):
    ada, _ = both
    settings.ALERT_EMAILS = ["olga@example.org"]
    poison(monkeypatch, "advisor.guidance.store.memories_refresh", ada)
    task_run(guidance_learn_task.name, guidance_learn_task)
    told = [message for message in mail.outbox if "readers_failed" in message.subject]
    assert len(told) == 1 and str(ada.pk) in told[0].body


def test_a_task_that_fails_for_nobody_raises_no_alert(both, settings):
    settings.ALERT_EMAILS = ["olga@example.org"]
    task_run(outcomes_compact_task.name, outcomes_compact_task)
    assert not [message for message in mail.outbox if "readers_failed" in message.subject]

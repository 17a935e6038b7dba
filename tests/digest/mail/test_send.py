"""Due mail goes out once to every reader it can reach, even if it fails for others."""

import json
import re
from datetime import UTC, date, datetime, timedelta
from itertools import pairwise
from zoneinfo import ZoneInfo

import pytest
from allauth.account.models import EmailAddress
from django.core.management import CommandError, call_command
from django.utils import timezone
from hypothesis import given
from hypothesis import strategies as st

from digest.apps import check_relay
from digest.daily.services import digest_build
from digest.feedback.services import feedback_set
from digest.mail import send
from digest.mail.due import WEEK_PER_SOURCE, WeekItem, delivery_trouble, mail_day, week_best
from digest.mail.send import ATTEMPTS_MAX, UNKNOWN_FATE, digests_deliver
from digest.models import Delivery, Exposure, Reader, Reading
from tests.support.factories import (
    FeedFactory,
    ItemFactory,
    ReaderFactory,
    SourceFactory,
    SubscriptionFactory,
    confirmed,
)
from tests.support.mailbox import Mailbox

BERLIN = ZoneInfo("Europe/Berlin")
MINUTES = timedelta(minutes=1)
HOUR = timedelta(hours=1)


def local(day: int, hour: int, minute: int) -> datetime:
    return datetime(2026, 3, day, hour, minute, tzinfo=BERLIN)


def due(at: datetime, rhythm: str = "daily", hour: int = 7, weekday: int = 0) -> date | None:
    now = at.astimezone(UTC)
    return mail_day(rhythm=rhythm, hour=hour, weekday=weekday, zone=BERLIN, now=now)


def subscribed(reader: Reader, key: str = "gazette.example", items: int = 2, **fields: object) -> list:
    source = SourceFactory(key=key, title=key.split(".")[0].title())
    SubscriptionFactory(reader=reader, feed=FeedFactory(source=source))
    return [ItemFactory(source=source, **fields) for _ in range(items)]


def wanting(reader: Reader, rhythm: str = "daily", **fields: object) -> Reader:
    for name, value in {"mail_rhythm": rhythm, "mail_hour": 7, **fields}.items():
        setattr(reader, name, value)
    reader.save()
    confirmed(reader)
    return reader


@pytest.fixture
def ada(ada: Reader) -> Reader:
    """Return Ada, who has two items and wants daily mail at seven."""
    subscribed(ada)
    return wanting(ada)


# --- When ----------------------------------------------------------------------------------------------


def test_daily_mail_is_due_from_its_hour_in_the_readers_zone_on():
    assert due(local(18, 6, 59)) is None
    assert due(local(18, 7, 0)) == date(2026, 3, 18)
    assert due(local(18, 23, 59)) == date(2026, 3, 18)


def test_a_late_hour_that_was_missed_is_made_up_for_in_the_night():
    assert due(local(19, 5, 0), hour=23) == date(2026, 3, 18)
    assert due(local(19, 6, 30), hour=23) is None


def test_whoever_asks_for_mail_before_their_hour_gets_none_about_yesterday():
    assert due(local(18, 6, 30), hour=7) is None


def test_weekly_mail_is_due_on_its_weekday_and_two_days_later_at_most():
    wednesday = date(2026, 3, 18)
    assert due(local(18, 6, 0), "weekly", weekday=2) is None
    assert due(local(18, 7, 0), "weekly", weekday=2) == wednesday
    assert due(local(20, 7, 0), "weekly", weekday=2) == wednesday
    assert due(local(20, 7, 1), "weekly", weekday=2) is None


def test_no_rhythm_is_no_mail():
    assert due(local(18, 12, 0), "off") is None


@given(st.integers(0, 23), st.sampled_from(["Europe/Berlin", "America/St_Johns", "Australia/Lord_Howe"]))
def test_every_day_of_a_year_has_one_daily_mail_clock_changes_or_not(hour, name):
    zone, moment = ZoneInfo(name), datetime(2026, 1, 1, tzinfo=UTC)
    days = []
    for _ in range(366 * 24):
        moment += HOUR
        day = mail_day(rhythm="daily", hour=hour, weekday=0, zone=zone, now=moment)
        if day and (not days or days[-1] != day):
            days.append(day)
    assert len(days) == len(set(days))
    assert {b - a for a, b in pairwise(days)} == {timedelta(days=1)}


# --- The week's best -----------------------------------------------------------------------------------


def week_item(n: int, value: float = 1.0, source: str = "", story: int | None = None) -> WeekItem:
    return WeekItem(n, source or f"s{n}", story or -n, value, datetime(2026, 3, 18, tzinfo=UTC) - n * HOUR)


def test_a_weeks_best_ignores_age_and_takes_an_item_once():
    assert week_best([week_item(1), week_item(9, 3.0), week_item(2, 2.0), week_item(9, 1.0)]) == [9, 2, 1]


def test_a_week_takes_one_telling_of_a_story_and_three_of_a_source():
    assert week_best([week_item(1, 2.0, story=5), week_item(2, 1.0, story=5), week_item(3)]) == [1, 3]
    many = [week_item(n, source="loud") for n in range(10)] + [week_item(11, 0.1)]
    assert week_best(many) == [0, 1, 2, 11] and WEEK_PER_SOURCE == 3


# --- Sending -------------------------------------------------------------------------------------------


def test_a_mail_is_sent_once_a_day(ada, mailbox: Mailbox, now):
    assert digests_deliver(now=now).as_dict() == {
        "due": 1,
        "sent": 1,
        "empty": 0,
        "failed": 0,
        "skipped": 0,
        "left": 0,
    }
    assert digests_deliver(now=now + HOUR).due == 0
    assert mailbox.recipients == ["ada@example.org"]
    row = Delivery.objects.get()
    assert (row.status, row.items, row.attempts, row.date) == ("sent", 2, 1, date(2026, 3, 18))


def test_a_mail_is_in_its_readers_language(ada, mailbox: Mailbox, now):
    Reader.objects.update(language="de")
    digests_deliver(now=now)
    [sent] = mailbox.messages
    text = sent.get_body(("plain",)).get_content()
    assert sent["Content-Language"] == "de" and sent["Subject"].startswith("Mittwoch, 18. März: ")
    assert "Dein Überblick vom Mittwoch, 18. März" in text and "Nicht nützlich:" in text
    assert '<html lang="de">' in sent.get_body(("html",)).get_content()


def test_what_a_mail_showed_is_logged_and_not_mailed_again(ada, mailbox: Mailbox, now):
    digests_deliver(now=now)
    shown = Exposure.objects.filter(reader=ada, door="mail")
    assert [row.rank for row in shown.order_by("rank")] == [1, 2]
    late = subscribed(ada, "late.example", 1, published_at=now + HOUR, title="A late bell")
    digests_deliver(now=now + 24 * HOUR)
    assert [row.item for row in shown.filter(date=date(2026, 3, 19))] == late
    assert "A late bell" in mailbox.messages[1]["Subject"]


def test_a_day_without_anything_new_brings_no_mail(ben, mailbox: Mailbox, now):
    wanting(ben, time_zone="UTC")
    assert digests_deliver(now=now).empty == 1
    assert Delivery.objects.get().status == "empty"
    assert digests_deliver(now=now + HOUR).due == 0 and mailbox.messages == []


def test_a_reader_without_an_address_is_skipped_and_has_no_row(ada, now, mailbox: Mailbox):
    wanting(ada, email="")
    report = digests_deliver(now=now)
    assert (report.skipped, report.due) == (1, 0) and not Delivery.objects.exists()


@pytest.mark.parametrize("asked", ["none", "optional", "mandatory"])
def test_nobody_gets_mail_before_they_confirmed_their_address(ada, now, mailbox: Mailbox, settings, asked):
    """This holds for every setting. Otherwise a stranger could have titles sent to anybody's address."""
    settings.ACCOUNT_EMAIL_VERIFICATION = asked
    EmailAddress.objects.all().delete()
    assert digests_deliver(now=now).skipped == 1 and mailbox.messages == []
    row = EmailAddress.objects.create(user=ada, email="Ada@example.org", verified=False, primary=True)
    assert digests_deliver(now=now).skipped == 1 and mailbox.messages == []
    row.set_verified()
    assert digests_deliver(now=now).sent == 1


@pytest.mark.parametrize("asked", ["none", "optional"])
@pytest.mark.usefixtures("own_cache")
def test_the_account_page_says_so_and_offers_to_confirm(ben, client, mailbox: Mailbox, settings, now, asked):
    settings.ACCOUNT_EMAIL_VERIFICATION = asked
    subscribed(ben)
    Reader.objects.filter(pk=ben.pk).update(mail_rhythm="daily", mail_hour=7, time_zone="UTC")
    client.force_login(ben)
    page = client.get("/ui/account").content.decode()
    assert "once you have confirmed" in page and 'name="action_send"' in page
    client.post("/accounts/email/", {"action_send": "", "email": ben.email})
    link = re.search(r"https?://[^/\s]+(/accounts/\S+)", mailbox.messages[0].get_content())[1]
    client.post(link)
    assert "once you have confirmed" not in client.get("/ui/account").content.decode()
    assert digests_deliver(now=now).sent == 1


def test_an_operator_is_warned_where_mail_goes_out_and_no_address_is_confirmed(settings):
    settings.EMAIL_BACKEND = "django.core.mail.backends.smtp.EmailBackend"
    settings.ACCOUNT_EMAIL_VERIFICATION = "none"
    assert [found.id for found in check_relay()] == ["tidings.W020"]
    settings.ACCOUNT_EMAIL_VERIFICATION = "optional"
    assert check_relay() == []
    settings.ACCOUNT_EMAIL_VERIFICATION = "none"
    settings.EMAIL_BACKEND = "django.core.mail.backends.console.EmailBackend"
    assert check_relay() == []


def test_where_mail_only_goes_to_the_log_nothing_is_due(ada, now, settings):
    settings.EMAIL_BACKEND = "django.core.mail.backends.console.EmailBackend"
    assert digests_deliver(now=now).due == 0 and not Delivery.objects.exists()


def test_readers_who_want_none_or_are_gone_get_none(ada, ben, now, mailbox: Mailbox):
    wanting(ada, "off")
    wanting(ben, is_active=False)
    assert digests_deliver(now=now).due == 0


def test_one_connection_serves_all(ada, mailbox: Mailbox, now):
    for n in range(5):
        subscribed(wanting(ReaderFactory(username=f"r{n}")))
    assert digests_deliver(now=now).sent == 6
    assert mailbox.connections == 1


def test_an_address_that_is_refused_for_good_costs_nobody_else_and_is_not_tried_again(
    ada, ben, mailbox: Mailbox, now
):
    subscribed(wanting(ben, time_zone="UTC"))
    mailbox.refused["ada@example.org"] = "550 no such box"
    report = digests_deliver(now=now)
    assert (report.sent, report.failed) == (1, 1)
    row = Delivery.objects.get(reader=ada)
    assert (row.status, row.error, row.attempts) == ("failed", "550 no such box", ATTEMPTS_MAX)
    assert mailbox.connections == 1 and digests_deliver(now=now + HOUR).due == 0


def test_a_refusal_for_now_is_tried_three_times(ada, mailbox: Mailbox, now):
    mailbox.refused["ada@example.org"] = "451 later"
    for n in range(6):
        digests_deliver(now=now + n * 25 * MINUTES)
    assert Delivery.objects.get().attempts == ATTEMPTS_MAX
    assert digests_deliver(now=now + 5 * MINUTES).due == 0


def test_a_refusal_for_now_may_end_well(ada, mailbox: Mailbox, now):
    mailbox.refused["ada@example.org"] = "451 later"
    digests_deliver(now=now)
    mailbox.refused.clear()
    assert digests_deliver(now=now + 5 * MINUTES).due == 0  # too soon
    assert digests_deliver(now=now + 25 * MINUTES).sent == 1


def test_a_mail_server_that_is_down_costs_no_attempt_and_the_next_run_delivers(
    ada, mailbox: Mailbox, now, settings
):
    settings.EMAIL_PORT = 1
    report = digests_deliver(now=now)
    assert report.down and report.left == 1 and not Delivery.objects.exists()
    settings.EMAIL_PORT = mailbox.port
    assert digests_deliver(now=now + MINUTES).sent == 1


def test_a_lost_connection_is_opened_again_and_the_mail_keeps_its_id(ada, ben, mailbox: Mailbox, now):
    subscribed(wanting(ben, time_zone="UTC"))
    mailbox.hang_up_on = "ada@example.org"
    report = digests_deliver(now=now)
    assert (report.sent, report.failed, report.down) == (1, 1, "")
    mailbox.hang_up_on = ""
    digests_deliver(now=now + 30 * MINUTES)
    assert sorted(mailbox.recipients) == ["ada@example.org", "ben@example.org"]


def test_of_two_runs_at_once_one_gets_the_mail(ada, mailbox: Mailbox, now, monkeypatch):
    digests_deliver(now=now)
    monkeypatch.setattr(send, "deliveries_recent", lambda *, now: {})  # read before the other run began
    assert digests_deliver(now=now).sent == 0
    assert len(mailbox.messages) == 1


def test_a_run_that_was_so_slow_that_another_took_its_mail_over_does_not_send_it_again(
    ada, mailbox: Mailbox, now, monkeypatch
):
    written, later = send.mail_message, now + send.CLAIM_LASTS

    def overtaken(letter, *, now):
        if now < later:  # the first run, after a quarter of an hour of building its mail
            assert digests_deliver(now=later).sent == 1
        return written(letter, now=now)

    monkeypatch.setattr(send, "mail_message", overtaken)
    assert digests_deliver(now=now).sent == 0
    assert len(mailbox.messages) == 1
    row = Delivery.objects.get()
    assert (row.status, row.attempts, row.sent_at) == ("sent", 2, later)


def test_a_crash_before_the_mail_was_handed_over_is_made_good(ada, mailbox: Mailbox, now):
    Delivery.objects.create(reader=ada, date=now.date(), attempts=1, claimed_at=now)
    assert digests_deliver(now=now + 10 * MINUTES).due == 0
    assert digests_deliver(now=now + 20 * MINUTES).sent == 1


def test_a_crash_while_the_server_had_the_mail_never_doubles_it(ada, mailbox: Mailbox, now):
    Delivery.objects.create(reader=ada, date=now.date(), attempts=1, claimed_at=now, sent_at=now)
    report = digests_deliver(now=now + 20 * MINUTES)
    assert report.errors == [(str(ada.pk), UNKNOWN_FATE)] and mailbox.messages == []
    assert Delivery.objects.get().status == "failed"
    assert digests_deliver(now=now + HOUR).due == 0


def test_what_breaks_for_one_reader_is_kept_in_their_row(ada, ben, mailbox: Mailbox, now):
    subscribed(wanting(ben, time_zone="UTC"))
    wanting(ada, email="ada@exa\nmple.org")
    report = digests_deliver(now=now)
    assert (report.sent, report.failed) == (1, 1)
    assert "BadHeaderError" in Delivery.objects.get(reader=ada).error


def test_a_run_is_bounded_and_the_next_goes_on(ada, ben, mailbox: Mailbox, now):
    subscribed(wanting(ben, time_zone="UTC"))
    report = digests_deliver(now=now, mails_max=1)
    assert (report.sent, report.left) == (1, 1)
    assert digests_deliver(now=now).sent == 1


def test_what_was_rated_already_is_not_mailed(ada, mailbox: Mailbox, now):
    item = subscribed(ada, "rated.example", 1, title="Rated before")[0]
    feedback_set(reader=ada, item_id=item.pk, useful=True, now=now)
    digests_deliver(now=now)
    assert "Rated before" not in mailbox.messages[0].get_body(("plain",)).get_content()


def test_a_weekly_mail_holds_the_weeks_best_and_leaves_out_what_was_read(ada, mailbox: Mailbox, now):
    wanting(ada, "weekly", mail_weekday=2)
    monday = now - timedelta(days=2)
    old = subscribed(ada, "monday.example", 2, published_at=monday - HOUR)
    digest_build(reader=ada, date=monday.date(), now=monday)
    digest_build(reader=ada, date=now.date(), now=now)
    Reading.objects.create(reader=ada, item=old[0], article=old[0].article, read_at=now)
    assert digests_deliver(now=now).sent == 1
    text = mailbox.messages[0].get_body(("plain",)).get_content()
    assert old[1].title in text and old[0].title not in text
    assert mailbox.messages[0]["Subject"].startswith("Your week to Wednesday, 18 March")


def test_queries_do_not_grow_with_the_readers_who_are_not_due(ada, now, django_assert_num_queries):
    for n in range(5):
        wanting(ReaderFactory(username=f"r{n}"), mail_hour=23)
    wanting(ada, mail_hour=23)
    with django_assert_num_queries(3):
        digests_deliver(now=now)


# --- Messages ------------------------------------------------------------------------------------------


def test_a_reader_is_told_what_was_wrong_until_a_mail_arrives(ada, mailbox: Mailbox, now):
    assert delivery_trouble(reader_id=ada.pk) == ""
    mailbox.refused["ada@example.org"] = "550 no such box"
    digests_deliver(now=now)
    assert "Wednesday, 18 March" in delivery_trouble(reader_id=ada.pk)
    assert "550 no such box" in delivery_trouble(reader_id=ada.pk)
    mailbox.refused.clear()
    digests_deliver(now=now + timedelta(days=1))
    assert delivery_trouble(reader_id=ada.pk) == ""


def test_operators_see_what_was_not_delivered(ada, operator, client, mailbox: Mailbox, now):
    mailbox.refused["ada@example.org"] = "550 no such box"
    digests_deliver(now=now)
    client.force_login(operator)
    assert "550 no such box" in client.get("/admin/digest/delivery/").content.decode()


def test_the_command_sends_what_is_due_and_prints_one_object(ada, mailbox: Mailbox, capsys):
    ItemFactory(source_id="gazette.example", published_at=timezone.now() - HOUR)
    wanting(ada, mail_hour=0)
    call_command("deliver", "--json")
    report = json.loads(capsys.readouterr().out)
    assert report["sent"] == 1 and report["errors"] == [] and len(mailbox.messages) == 1
    call_command("deliver")
    assert capsys.readouterr().out == "0 mails due.\n"


def test_the_command_fails_without_a_mail_server(ada, settings, mailbox: Mailbox):
    ItemFactory(source_id="gazette.example", published_at=timezone.now() - HOUR)
    wanting(ada, mail_hour=0)
    settings.EMAIL_PORT = 1
    with pytest.raises(CommandError, match="No mail server"):
        call_command("deliver")
    settings.EMAIL_BACKEND = "django.core.mail.backends.console.EmailBackend"
    with pytest.raises(CommandError, match="EMAIL_URL"):
        call_command("deliver")


def test_the_command_says_which_mails_are_tried_again_and_fails_where_all_failed(ada, ben, mailbox, capsys):
    for reader in (ada, ben):
        wanting(reader, mail_hour=0)
    SubscriptionFactory(reader=ben, feed__source=SourceFactory(key="gazette.example"))
    ItemFactory(source_id="gazette.example", published_at=timezone.now() - HOUR)
    mailbox.refused = {"ada@example.org": "450 come again", "ben@example.org": "450 come again"}
    with pytest.raises(CommandError, match="Every mail"):
        call_command("deliver")
    assert "2 mails due: 2 failed, 2 waiting for another try in 20 minutes." in capsys.readouterr().out
    call_command("deliver", "--json")
    assert json.loads(capsys.readouterr().out)["waiting"] == 2

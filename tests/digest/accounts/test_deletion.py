"""The account page: the data stored about a reader, and how to delete it."""

import json
from io import StringIO

import pytest
from allauth.account.models import EmailAddress
from allauth.mfa.models import Authenticator
from django.apps import apps
from django.contrib.admin.models import LogEntry
from django.contrib.sessions.models import Session
from django.core import mail
from django.core.management import CommandError, call_command
from django.db.models import CASCADE, SET_NULL
from django.test import Client

from advisor.models import Decision, Memory, Run, Step
from digest.accounts.services import reader_delete, reader_mail_update
from digest.accounts.tokens import token_issue
from digest.errors import LastOperator
from digest.feeds.selectors import NEWSLETTER_PREFIX
from digest.models import (
    ApiToken,
    Digest,
    Feed,
    Feedback,
    Impression,
    Item,
    Reader,
    Reading,
    Source,
    Spend,
    SpendRefusal,
    Subscription,
    Summary,
)
from digest.sources.newsletters import newsletter_refuse
from digest.sources.past_import import past_import
from ranking.models import ConfigVersion
from ranking.services import ConfigEdit, config_edit
from suggestions.models import Evidence, Suggestion
from tests.conftest import NOW
from tests.support.browser import fresh_item, suggested
from tests.support.factories import CLOCK, FeedbackFactory, FeedFactory, ItemFactory

# Limits, and codes that were used, are counted in the cache.
pytestmark = pytest.mark.usefixtures("own_cache")

PASSWORD = "a-lamp-and-a-kettle"
SURE = {"username": "ada", "password": PASSWORD}


@pytest.fixture
def page(ada: Reader, client: Client) -> Client:
    """Ada's browser."""
    ada.set_password(PASSWORD)
    ada.save()
    client.force_login(ada)
    return client


def spent(reader: Reader) -> Spend:
    """Money spent for a reader."""
    return Spend.objects.create(
        surface="advisor", reader=reader, model="m", reserved_usd="0.1", day=NOW.date(), created_at=NOW
    )


def lived(reader: Reader) -> None:
    """A reader with something in every room."""
    item = fresh_item(reader)
    FeedbackFactory(reader=reader, item=item)
    Reading.objects.create(reader=reader, item=item, article=item.article, read_at=NOW)
    config_edit(reader_id=reader.pk, edit=ConfigEdit(topics=["tides"]), expected_version=0, now=NOW)
    run = Run.objects.create(reader=reader, day=NOW.date(), trigger="ui", status="completed", created_at=NOW)
    Step.objects.create(run=run, n=1, kind="tool", at=NOW)
    Decision.objects.create(run=run, reader=reader, actor="policy", action="skip", reason="thin", at=NOW)
    Memory.objects.create(
        reader=reader, kind="pattern", key="k", title="t", text="t", valid_from=NOW, updated_at=NOW
    )
    suggested(reader, run_id=run.pk)
    digest = Digest.objects.create(reader=reader, date=NOW.date(), config_version=1, built_at=NOW)
    Impression.objects.create(digest=digest, item=item, rank=1, score=1.0, parts={})
    token_issue(reader=reader, name="notes", scope="read", expires_at=None, now=NOW)
    EmailAddress.objects.create(user=reader, email=reader.email, primary=True)
    Authenticator.objects.create(user=reader, type="totp", data={})


def test_every_table_lets_a_reader_go_and_only_the_books_stay():
    remaining = {
        model
        for model in apps.get_models()
        for field in model._meta.concrete_fields
        if field.related_model is Reader and field.remote_field.on_delete is not CASCADE
    }
    assert remaining == {Spend, SpendRefusal}
    assert all(model._meta.get_field("reader").remote_field.on_delete is SET_NULL for model in remaining)


def test_deleting_takes_everything_of_the_reader_and_nothing_of_another(
    page: Client, ada: Reader, ben: Reader
):
    lived(ada), lived(ben)
    cost, items = spent(ada), Item.objects.count()
    ours = (
        Feedback,
        Reading,
        Subscription,
        Digest,
        ConfigVersion,
        Suggestion,
        Run,
        ApiToken,
        Decision,
        Memory,
    )
    before = {model: model.objects.filter(reader=ben).count() for model in ours}
    assert all(before.values())

    answer = page.post("/ui/account/delete", SURE)
    body = answer.content.decode()
    assert "The account “ada” is deleted" in body and "ratings: 4" in body
    assert not Reader.objects.filter(username="ada").exists()
    assert {model: model.objects.count() for model in ours} == before
    assert Step.objects.count() == 1 and Impression.objects.count() == 1 and Evidence.objects.count() == 3
    assert not EmailAddress.objects.exclude(user=ben).exists()
    cost.refresh_from_db()
    assert cost.reader_id is None
    assert Item.objects.count() == items
    assert mail.outbox == []
    assert page.get("/ui/account").status_code == 302


def test_what_only_the_reader_imported_goes_with_them(ada: Reader, ben: Reader):
    """Items without a feed belong to nobody else: the stars of another program, and an imported history."""
    own, both = ({"url": f"https://{name}.example/1", "title": name} for name in ("own", "both"))
    past_import(reader=ada, document=json.dumps([own, both]).encode(), now=CLOCK)
    kept = Item.objects.get(title="both")
    Reading.objects.create(reader=ben, item=kept, article=kept.article, saved_at=CLOCK)
    gone = Item.objects.get(title="own")
    Summary.objects.create(fingerprint=gone.fingerprint, text="Own.", model="offline", created_at=CLOCK)
    reader_delete(reader=ada)
    assert list(Item.objects.values_list("title", flat=True)) == ["both"]
    assert not Source.objects.filter(key="own.example").exists()
    assert not Summary.objects.exists()


@pytest.mark.parametrize("way", ["deletion", "newsletter"])
def test_a_text_that_others_have_too_keeps_what_was_made_of_it(ada: Reader, ben: Reader, way: str):
    """Else anybody takes a feed of others apart by bringing its texts and taking them away again."""
    paper = ItemFactory()
    own = FeedFactory(owner=ben, own_address=f"{NEWSLETTER_PREFIX}1", state=Feed.State.WAITING)
    copied, alone = ItemFactory(feed=own), ItemFactory(feed=own)
    Item.objects.filter(pk=copied.pk).update(fingerprint=paper.fingerprint)
    for item in (paper, alone):
        Summary.objects.create(fingerprint=item.fingerprint, text="One.", model="offline", created_at=CLOCK)
    if way == "deletion":
        reader_delete(reader=ben)
    else:
        newsletter_refuse(reader=ben, feed_id=own.pk)
    assert not Item.objects.filter(feed=own).exists()
    assert list(Summary.objects.values_list("fingerprint", flat=True)) == [paper.fingerprint]


def test_nothing_that_names_a_deleted_reader_is_left_in_any_table(
    page: Client, ada: Reader, ben: Reader, operator: Reader
):
    """This covers tables without a column for the reader, too: sessions, and the admin's log."""
    name = "ada-with-a-rare-name"
    Reader.objects.filter(pk=ada.pk).update(username=name)
    phone, admin, other = Client(), Client(), Client()
    phone.post("/accounts/login/", {"login": name, "password": PASSWORD})
    assert [one for one in Session.objects.all() if name in str(one.get_decoded())]
    other.force_login(ben), admin.force_login(operator)
    admin.post(f"/admin/digest/reader/{ada.pk}/delete/", {"post": "yes"})
    assert LogEntry.objects.get().object_id == str(ada.pk)
    left = [str(s.get_decoded()) for s in Session.objects.all()]
    assert len(left) == 2 and name not in str(left)
    rows = [row for model in apps.get_models() for row in model._base_manager.values()]
    assert rows and not [row for row in rows if name in str(row)]


@pytest.mark.parametrize("waits_for", ["a second factor", "a confirmed address"])
def test_a_sign_in_that_waits_for_something_goes_with_its_reader(
    ada: Reader, ben: Reader, waits_for: str, settings
):
    for reader in (ada, ben):
        reader.set_password(PASSWORD)
        reader.save()
        if waits_for == "a second factor":
            Authenticator.objects.create(user=reader, type="totp", data={})
        else:
            settings.ACCOUNT_EMAIL_VERIFICATION = "mandatory"
            EmailAddress.objects.create(user=reader, email=f"{reader.username}@gazette.example", primary=True)
        answer = Client().post("/accounts/login/", {"login": reader.username, "password": PASSWORD})
        assert answer.url in ("/accounts/2fa/authenticate/", "/accounts/confirm-email/")
    assert Session.objects.count() == 2
    reader_delete(reader=ada)
    (left,) = Session.objects.all()
    assert ben.pk.hex in str(left.get_decoded())


def test_the_browser_wipes_what_it_stored_for_a_deleted_reader(page: Client, ada: Reader):
    Reader.objects.filter(pk=ada.pk).update(offline_today=True)
    answer = page.post("/ui/account/delete", SURE)
    assert (answer.status_code, answer["Clear-Site-Data"]) == (200, '"cache", "storage"')


def test_another_session_of_a_deleted_reader_is_over(page: Client, ada: Reader):
    other = Client()
    other.force_login(ada)
    page.post("/ui/account/delete", SURE)
    assert other.get("/ui/account").status_code == 302


@pytest.mark.parametrize(
    "typed", [{}, SURE | {"password": "wrong"}, SURE | {"username": "Ada"}, {"username": "ada"}]
)
def test_an_account_goes_only_by_its_name_and_its_password(page: Client, typed: dict[str, str]):
    assert page.get("/ui/account/delete").status_code == 200
    assert page.post("/ui/account/delete", typed).status_code == 422
    assert Reader.objects.filter(username="ada").exists()


def test_the_password_of_a_foreign_session_cannot_be_guessed_there(page: Client, settings):
    settings.ACCOUNT_RATE_LIMITS = {"reauthenticate": "3/m/user"}
    for _ in range(3):
        page.post("/ui/account/delete", SURE | {"password": "guess"})
    answer = page.post("/ui/account/delete", SURE)
    assert answer.status_code == 429 and "Too many tries" in answer.content.decode()
    assert Reader.objects.filter(username="ada").exists()


def test_the_last_operator_stays(operator: Reader, client: Client):
    operator.set_password(PASSWORD)
    operator.save()
    client.force_login(operator)
    answer = client.post("/ui/account/delete", {"username": "olga", "password": PASSWORD})
    assert answer.status_code == 409 and "only operator" in answer.content.decode()
    inactive = Reader.objects.create(username="gone", is_superuser=True, is_active=False)
    with pytest.raises(LastOperator):
        reader_delete(reader=operator)
    Reader.objects.filter(pk=inactive.pk).update(is_active=True)
    reader_delete(reader=operator)
    assert not Reader.objects.filter(username="olga").exists()


def test_nor_does_the_admin_let_the_last_operator_go(operator: Reader, ada: Reader, client: Client):
    client.force_login(operator)
    path = f"/admin/digest/reader/{operator.pk}/delete/"
    client.post(path, {"post": "yes"})
    chosen = {"action": "delete_selected", "_selected_action": [operator.pk, ada.pk], "post": "yes"}
    client.post("/admin/digest/reader/", chosen)
    assert Reader.objects.count() == 2
    client.post(f"/admin/digest/reader/{ada.pk}/delete/", {"post": "yes"})
    assert list(Reader.objects.all()) == [operator]


def test_an_operator_revokes_a_token_and_never_sees_its_hash(operator: Reader, ada: Reader, client: Client):
    token = token_issue(reader=ada, name="notes", scope="read", expires_at=None, now=NOW).token
    client.force_login(operator)
    page = client.get(f"/admin/digest/apitoken/{token.pk}/change/").content.decode()
    assert "notes" in page and token.digest not in page
    client.post(f"/admin/digest/apitoken/{token.pk}/delete/", {"post": "yes"})
    assert not ApiToken.objects.exists()


def test_an_operator_deletes_a_reader_by_command(ada: Reader):
    with pytest.raises(CommandError):
        call_command("delete_reader", f"--user-id={ada.pk}", "--yes=ben")
    out = StringIO()
    call_command("delete_reader", f"--user-id={ada.pk}", "--yes=ada", stdout=out)
    assert out.getvalue().startswith("ada is deleted.")
    assert not Reader.objects.exists()


def test_a_deletion_that_can_ask_nobody_is_wrong_usage(ada: Reader, monkeypatch):
    monkeypatch.setattr("sys.stdin", StringIO(""))
    with pytest.raises(CommandError, match="--yes") as refused:
        call_command("delete_reader", "--user-id=ada")
    assert refused.value.returncode == 2 and Reader.objects.filter(pk=ada.pk).exists()


def test_when_mail_comes_is_kept_and_impossible_times_are_not(page: Client, ada: Reader):
    assert page.post("/ui/account/mail", {"rhythm": "weekly", "hour": "6", "weekday": "4"}).status_code == 302
    ada.refresh_from_db()
    assert (ada.mail_rhythm, ada.mail_hour, ada.mail_weekday) == ("weekly", 6, 4)
    for wrong in ({"rhythm": "hourly"}, {"hour": "24"}, {"weekday": "7"}, {"hour": ""}):
        typed = {"rhythm": "daily", "hour": "6", "weekday": "4"} | wrong
        assert page.post("/ui/account/mail", typed).status_code == 422
    ada.refresh_from_db()
    assert ada.mail_rhythm == "weekly"
    for hour, weekday in ((24, 0), (-1, 0), (0, 7)):
        with pytest.raises(ValueError):
            reader_mail_update(reader=ada, rhythm="daily", hour=hour, weekday=weekday)


def test_the_account_page_says_why_no_mail_would_come(page: Client, ada: Reader, settings):
    settings.EMAIL_BACKEND = "django.core.mail.backends.console.EmailBackend"
    assert "no mail server" in page.get("/ui/account").content.decode()
    settings.EMAIL_BACKEND = "django.core.mail.backends.smtp.EmailBackend"
    assert "no mail server" not in page.get("/ui/account").content.decode()
    Reader.objects.filter(pk=ada.pk).update(email="")
    assert "nowhere to send it" in page.get("/ui/account").content.decode()


def test_ones_own_feed_is_switched_on_given_another_address_and_switched_off(page: Client, ada: Reader):
    assert "Switch it on" in page.get("/ui/account").content.decode()
    page.post("/ui/account/feed", {"action": "new"})
    ada.refresh_from_db()
    first, shown = ada.feed_token, page.get("/ui/account").content.decode()
    assert len(first) > 40 and first in shown
    assert "no longer works" not in shown  # there was none before
    page.post("/ui/account/feed", {"action": "new"})
    ada.refresh_from_db()
    assert "the earlier one no longer works" in page.get("/ui/account").content.decode()
    assert ada.feed_token not in (None, first)
    page.post("/ui/account/feed", {"action": "off"})
    ada.refresh_from_db()
    assert ada.feed_token is None
    assert first not in page.get("/ui/account").content.decode()


def test_the_account_page_takes_the_same_queries_for_any_number_of_tokens(
    page: Client, ada: Reader, django_assert_max_num_queries
):
    for n in range(15):
        token_issue(reader=ada, name=f"script {n}", scope="read", expires_at=None, now=NOW)
    with django_assert_max_num_queries(12):
        page.get("/ui/account")
    with django_assert_max_num_queries(12):
        page.get("/ui/account/tokens")

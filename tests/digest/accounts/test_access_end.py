"""A new password ends all other access: tokens, assistants, destinations, the feed's address."""

import pytest
from allauth.account.forms import default_token_generator
from allauth.account.utils import user_pk_to_url_str
from allauth.idp.oidc.models import Token
from django.test import Client

from digest import places
from digest.accounts.services import reader_access_end
from digest.accounts.tokens import token_issue
from digest.mail.links import feed_token_issue
from digest.models import ApiToken, Destination, Reader
from digest.places import TURNS, Places
from tests.support.assistants import PASSWORD, Connected, reader_with_password

NEW = "a-kettle-and-a-lamp"
pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("own_cache")]


def opened(name: str, now) -> Reader:
    """Return a reader with one of everything that opens the account."""
    reader = reader_with_password(name)
    token_issue(reader=reader, name="script", scope="full", expires_at=None, now=now)
    Connected(reader)
    Destination.objects.create(reader=reader, kind="ntfy", address=f"https://ntfy.sh/{name}", created_at=now)
    feed_token_issue(reader=reader)
    return reader


def opens(reader: Reader) -> list[bool]:
    rows = (ApiToken.objects.filter(reader=reader), Token.objects.filter(user=reader))
    places = Destination.objects.filter(reader=reader)
    token = Reader.objects.get(pk=reader.pk).feed_token
    return [*(found.exists() for found in rows), places.exists(), token is not None]


@pytest.mark.parametrize("ticked", [True, False])
def test_a_changed_password_ends_them_unless_the_reader_objects(client: Client, now, ticked: bool):
    opened("ada", now), opened("ben", now)
    ada, ben = Reader.objects.order_by("username")
    client.force_login(ada)
    assert 'name="end_access"' in (page := client.get("/accounts/password/change/").content.decode())
    assert "the service you save to" in page
    assert "checked" in page.partition('name="end_access"')[2].partition(">")[0]
    typed = {"oldpassword": PASSWORD, "password1": NEW, "password2": NEW}
    answer = client.post("/accounts/password/change/", typed | ({"end_access": "on"} if ticked else {}))
    assert answer.status_code == 302
    assert opens(ada) == [not ticked] * 4 and opens(ben) == [True] * 4


def test_a_password_chosen_by_a_mails_link_ends_them(client: Client, now):
    ada = opened("ada", now)
    key = f"{user_pk_to_url_str(ada)}-{default_token_generator.make_token(ada)}"
    form = client.get(f"/accounts/password/reset/key/{key}/", follow=True)
    sent = {"password1": NEW, "password2": NEW, "end_access": "on"}
    assert client.post(form.redirect_chain[-1][0], sent).status_code == 302
    assert opens(ada) == [False] * 4 and Reader.objects.get().check_password(NEW)


@pytest.mark.parametrize("switch", [{"PASSKEYS": True}, {"OIDC_ISSUER": "https://login.example"}, {}])
def test_what_a_new_password_does_not_end_is_said_where_it_is_chosen(client: Client, settings, switch: dict):
    """An intruder's passkey opens the account as before. A mail's link must remove no second factor."""
    ada = reader_with_password("ada")
    key = f"{user_pk_to_url_str(ada)}-{default_token_generator.make_token(ada)}"
    for name, value in ({"PASSKEYS": False, "OIDC_ISSUER": ""} | switch).items():
        setattr(settings, name, value)
    by_link = client.get(f"/accounts/password/reset/key/{key}/", follow=True)
    client.force_login(ada)
    for page in (by_link, client.get("/accounts/password/change/")):
        body = page.content.decode()
        assert "End all that opens my account" in body
        assert ("Passkeys, and the connection to a provider" in body) is bool(switch)


def test_a_page_that_waited_for_its_turn_while_the_password_was_changed_does_nothing(
    client: Client, monkeypatch: pytest.MonkeyPatch
):
    """An intruder's line of such requests would else make access that outlives the new password."""
    ada = reader_with_password("ada")
    client.force_login(ada)

    def changed_meanwhile(self: Places, who: object, wait_s: float, line: str) -> bool:
        if self is TURNS:
            owner = Reader.objects.get(pk=who)
            owner.set_password(NEW)
            owner.save()
            reader_access_end(reader=owner)
            places._request.waited = True  # as if that request had been answered first
        return take(self, who, wait_s, line)

    take = Places._take
    monkeypatch.setattr(Places, "_take", changed_meanwhile)
    answer = client.post("/ui/account/feed", {"action": "new"})
    assert (answer.status_code, answer["Location"]) == (302, "/accounts/login/")
    assert Reader.objects.get(pk=ada.pk).feed_token is None


def test_a_page_that_waited_for_nothing_but_its_turn_is_answered(
    client: Client, monkeypatch: pytest.MonkeyPatch
):
    ada = reader_with_password("ada")
    client.force_login(ada)

    def waited(self: Places, who: object, wait_s: float, line: str) -> bool:
        places._request.waited = True
        return take(self, who, wait_s, line)

    take = Places._take
    monkeypatch.setattr(Places, "_take", waited)
    assert client.post("/ui/account/feed", {"action": "new"})["Location"] != "/accounts/login/"
    assert Reader.objects.get(pk=ada.pk).feed_token

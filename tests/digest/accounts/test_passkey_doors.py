"""Passkeys at their pages: races, the last way to sign in, who has one, and visitors."""

import json
from collections.abc import Iterator
from typing import Any
from uuid import uuid4

import pytest
from allauth.mfa.models import Authenticator
from django.conf import settings as django_settings
from django.contrib.auth.hashers import make_password
from django.contrib.sessions.backends.db import SessionStore
from django.contrib.sessions.models import Session
from django.test import Client

from digest.models import Reader
from tests.digest.accounts.test_passkeys import Device

PASSWORD = "a-lamp-and-a-kettle"
PASSKEYS = "/accounts/2fa/webauthn"
SIGN_IN, ADD = f"{PASSKEYS}/login/", f"{PASSKEYS}/add/"
STATE = "mfa.webauthn.state"
pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def switched_on(settings: Any, own_cache: None) -> Iterator[None]:
    """Switch passkeys on. Addresses are chosen when they are first loaded, so there is a module of them."""
    settings.PASSKEYS = settings.MFA_PASSKEY_LOGIN_ENABLED = True
    settings.MFA_SUPPORTED_TYPES = [*settings.MFA_SUPPORTED_TYPES, "webauthn"]
    settings.ROOT_URLCONF = "tests.support.passkey_urls"
    yield


@pytest.fixture
def ada(ada: Reader) -> Reader:
    ada.set_password(PASSWORD)
    ada.save()
    return ada


def opened(client: Client, path: str, device: Device | None = None) -> None:
    """Open a page, and confirm on the way who asks: by password, or by a passkey."""
    answer = client.get(path, secure=True)
    if answer.status_code == 302 and device:
        assert "reauthenticate" in answer.url
        again = f"{PASSKEYS}/reauthenticate/"
        client.get(again, secure=True)
        assert sent(client, device.answer(client.session[STATE]["challenge"]), again).status_code == 302
    elif answer.status_code == 302:
        client.post(answer.url, {"password": PASSWORD}, secure=True)
    assert client.get(path, secure=True).status_code == 200


def challenge(client: Client) -> str:
    """Return the challenge that the page of the sign-in asks for."""
    asked = client.get(SIGN_IN, headers={"X-Requested-With": "XMLHttpRequest"}, secure=True).json()
    return str(asked["request_options"]["publicKey"]["challenge"])


def sent(client: Client, credential: dict[str, Any], at: str = SIGN_IN) -> Any:
    return client.post(at, {"credential": json.dumps(credential), "name": "Lamp"}, secure=True)


def is_signed_in(client: Client) -> bool:
    return "_auth_user_id" in client.session


def added(reader: Reader) -> tuple[Client, Device, dict[str, Any]]:
    """Sign a reader in and add a passkey at its page."""
    client, device = Client(), Device(reader)
    client.post("/accounts/login/", {"login": reader.username, "password": PASSWORD}, secure=True)
    opened(client, ADD)
    credential = device.registered(client.session[STATE]["challenge"])
    assert sent(client, credential, ADD).status_code == 302
    return client, device, credential


def beside(client: Client, state: dict[str, Any]) -> None:
    """Put a challenge back into the session, as a request reads it that began before the first answer."""
    session = client.session
    session[STATE] = state
    session.save()
    client.cookies[django_settings.SESSION_COOKIE_NAME] = session.session_key


def by_passkey(device: Device) -> Client:
    """Sign in with a passkey alone."""
    client = Client()
    sent(client, device.answer(challenge(client)))
    assert is_signed_in(client)
    return client


def test_of_two_answers_to_one_challenge_at_once_one_signs_in(ada: Reader):
    _, device, _ = added(ada)
    first, second = Client(), Client()
    answer = device.answer(challenge(first))
    state = first.session[STATE]
    sent(first, answer)
    beside(second, state)
    sent(second, answer)
    assert is_signed_in(first) and not is_signed_in(second)
    assert is_signed_in(by_passkey(device)), "another challenge"


def test_of_two_answers_to_one_challenge_at_once_one_is_the_new_passkey(ada: Reader):
    client, device, _ = added(ada)
    opened(client, ADD)
    device.id = b"another device"
    state = client.session[STATE]
    credential = device.registered(state["challenge"])
    for _ in range(2):
        beside(client, state)
        sent(client, credential, ADD)
    assert Authenticator.objects.filter(user=ada, type="webauthn").count() == 2


def test_the_last_passkey_of_an_account_without_a_password_stays(ada: Reader):
    _, device, _ = added(ada)
    remove = f"{PASSKEYS}/keys/{Authenticator.objects.get(user=ada, type='webauthn').pk}/remove/"
    Reader.objects.filter(pk=ada.pk).update(password=make_password(None))
    client = by_passkey(device)
    opened(client, remove, device)
    assert "Choose a password" in client.get(remove, secure=True).content.decode()
    told = client.post(remove, follow=True, secure=True).content.decode()
    assert "only way to sign in" in told
    assert is_signed_in(by_passkey(device))


def test_one_of_two_passkeys_may_go_and_the_last_beside_a_password(ada: Reader):
    client, device, _ = added(ada)
    opened(client, ADD)
    second = Device(ada)
    second.id = b"another device"
    sent(client, second.registered(client.session[STATE]["challenge"]), ADD)
    first, last = Authenticator.objects.filter(user=ada, type="webauthn").order_by("pk")
    old = ada.password
    Reader.objects.filter(pk=ada.pk).update(password=make_password(None))
    client = by_passkey(second)
    opened(client, f"{PASSKEYS}/keys/{first.pk}/remove/", second)
    client.post(f"{PASSKEYS}/keys/{first.pk}/remove/", secure=True)
    client.post(f"{PASSKEYS}/keys/{last.pk}/remove/", secure=True)
    assert [*Authenticator.objects.filter(user=ada, type="webauthn")] == [last]
    Reader.objects.filter(pk=ada.pk).update(password=old)
    client = by_passkey(second)
    opened(client, f"{PASSKEYS}/keys/{last.pk}/remove/", second)
    client.post(f"{PASSKEYS}/keys/{last.pk}/remove/", secure=True)
    assert not Authenticator.objects.filter(user=ada).exists()
    stranger = Client()
    sent(stranger, device.answer(challenge(stranger)))
    assert not is_signed_in(stranger)


def test_nobody_removes_or_renames_anothers_passkey(ada: Reader, ben: Reader):
    added(ada)
    ben.set_password(PASSWORD)
    ben.save()
    client, _, _ = added(ben)
    anothers = Authenticator.objects.get(user=ada, type="webauthn")
    opened(client, ADD)
    for deed in ("remove", "edit"):
        assert client.get(f"{PASSKEYS}/keys/{anothers.pk}/{deed}/", secure=True).status_code == 404
        sent = client.post(f"{PASSKEYS}/keys/{anothers.pk}/{deed}/", {"name": "mine"}, secure=True)
        assert sent.status_code == 404
    anothers.refresh_from_db()
    assert anothers.data["name"] == "Lamp"


def test_who_has_a_passkey_is_told_to_nobody(ada: Reader, ben: Reader):
    """A wrong answer for a reader with a passkey, for one without, and for nobody: all look the same."""
    added(ada)
    nobody = Reader(username="nobody", id=uuid4())
    told = []
    for reader in (ada, ben, nobody):
        visitor, device = Client(), Device(reader)
        asked = visitor.get(SIGN_IN, headers={"X-Requested-With": "XMLHttpRequest"}, secure=True).json()
        options = asked["request_options"]["publicKey"]
        assert not options.get("allowCredentials"), "credentials name a reader's devices"
        answer = sent(visitor, device.answer(options["challenge"]))
        page = visitor.get(answer.url, secure=True).content.decode()
        assert "this passkey opens no account here" in page and not is_signed_in(visitor)
        told.append((answer.status_code, answer.url, sorted(options), len(page) // 100))
    assert told[0] == told[1] == told[2]


def test_a_visitor_registers_no_passkey(ada: Reader):
    visitor, device = Client(), Device(ada)
    challenge(visitor)
    state = visitor.session[STATE]
    assert visitor.get(ADD, secure=True).url.startswith("/accounts/login/")
    session = SessionStore()
    session[STATE] = state
    session.save()
    visitor.cookies[django_settings.SESSION_COOKIE_NAME] = session.session_key
    answer = sent(visitor, device.registered(state["challenge"]), ADD)
    assert answer.url.startswith("/accounts/login/")
    assert not Authenticator.objects.exists()
    assert visitor.get(f"{PASSKEYS}/signup/", secure=True).status_code == 404


def test_a_passkey_is_added_only_after_the_password_was_typed_again(ada: Reader):
    client = Client()
    client.force_login(ada)
    assert "reauthenticate" in client.get(ADD, secure=True).url
    beside(client, {"challenge": "AAAA", "user_verification": None})
    sent(client, Device(ada).registered("AAAA"), ADD)
    assert not Authenticator.objects.exists()


def past_the_second_factor(reader: Reader) -> Client:
    """Return a browser in which the reader typed the password, and was asked for a passkey an hour ago."""
    client = Client()
    client.post("/accounts/login/", {"login": reader.username, "password": PASSWORD}, secure=True)
    assert client.get("/accounts/2fa/authenticate/", secure=True).status_code == 200
    session = client.session
    session["account_login"]["initiated_at"] -= 3600
    session.save()
    return client


def test_a_challenge_of_a_second_factor_signs_in_by_no_device_that_did_not_verify_its_owner(
    ada: Reader, ben: Reader
):
    """A second factor need not. Ben, who found Ada's device, has such a challenge at his own account."""
    ben.set_password(PASSWORD)
    ben.save()
    (_, device, _), _ = added(ada), added(ben)
    for flags, opens in ((0x01, False), (0x05, True)):
        browser = past_the_second_factor(ben)
        sent(browser, device.answer(browser.session[STATE]["challenge"], flags=flags))
        assert is_signed_in(browser) is opens, hex(flags)


def test_a_passkey_is_no_larger_than_a_devices_answer(ada: Reader):
    client, device, _ = added(ada)
    device.id = b"another device"
    for more, name in (({"more": "x" * 10_000}, "Lamp"), ({}, "Lamp" * 100)):
        opened(client, ADD)
        credential = device.registered(client.session[STATE]["challenge"]) | more
        client.post(ADD, {"credential": json.dumps(credential), "name": name}, secure=True)
    passkey = Authenticator.objects.get(user=ada, type="webauthn")
    client.post(f"{PASSKEYS}/keys/{passkey.pk}/edit/", {"name": "Lamp" * 100}, secure=True)
    passkey.refresh_from_db()
    assert passkey.data["name"] == "Lamp"


def test_an_address_asks_for_so_many_challenges_and_no_more(db: None):
    """Each is in a session, which is stored."""
    asked = {"headers": {"X-Requested-With": "XMLHttpRequest"}, "secure": True}
    given = [Client().get(SIGN_IN, **asked).status_code for _ in range(62)]
    assert given == [200] * 60 + [429] * 2 and Session.objects.count() == 60
    assert Client().get(SIGN_IN, REMOTE_ADDR="192.0.2.9", **asked).status_code == 200

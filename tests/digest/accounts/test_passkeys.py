"""A passkey's answer is refused, unless the right device answers the right site once."""

import json
from collections.abc import Callable
from hashlib import sha256
from typing import Any

import pytest
from allauth.account.utils import user_pk_to_url_str
from allauth.core import context
from allauth.mfa.webauthn.internal.auth import WebAuthn, begin_authentication, begin_registration
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.hashes import SHA256
from django.conf import settings as django_settings
from django.contrib.sessions.backends.db import SessionStore
from django.test import RequestFactory
from django.utils.module_loading import import_string
from fido2 import cbor
from fido2.cose import ES256
from fido2.utils import websafe_decode, websafe_encode

from digest.models import Reader

FORMS = ["login_webauthn", "authenticate_webauthn", "reauthenticate_webauthn", "add_webauthn"]
WHOLE = (
    '{"id":"AAAA","rawId":"AAAA","type":"public-key","response":{"clientDataJSON":"e30","signature":"AAAA",'
    '"authenticatorData":"AAAA","attestationObject":"AAAA","userHandle":"_____w"}}'
)
MALFORMED = [
    "",
    "x",
    "[]",
    "1",
    '{"id":1}',
    '{"id":NaN}',
    '{"id":"\\ud800"}',
    '{"id":"a","rawId":"a","type":"public-key","response":{}}',
    "[" * 20_000,
    '{"a":' * 9_000,
    WHOLE,
    WHOLE.replace("e30", "bnVsbA"),
    WHOLE.replace("e30", "W10"),
]


@pytest.mark.parametrize("name", FORMS)
def test_what_no_device_answers_is_a_wrong_code(own_cache: None, ada: Reader, rf: RequestFactory, name: str):
    form = import_string(django_settings.MFA_FORMS[name])
    who = {} if name == "login_webauthn" else {"user": ada}
    for sent in MALFORMED:
        request = rf.get("/")
        request.user, request.session = ada, SessionStore()
        with context.request_context(request):
            begin_registration(ada, passwordless=True) if name == "add_webauthn" else begin_authentication()
            filled = form({"credential": sent, "name": "Lamp"}, **who)
            assert not filled.is_valid() and filled.as_p().encode(), sent[:60]


class Device:
    """A device with one passkey, as a browser speaks for it; `counter` goes into its next answer."""

    def __init__(self, reader: Reader, *, host: str = "testserver") -> None:
        self.reader, self.host, self.counter = reader, host, 0
        self.key, self.id = ec.generate_private_key(ec.SECP256R1()), b"device of " + reader.username.encode()

    def data(self, flags: int) -> bytes:
        return sha256(self.host.encode()).digest() + bytes([flags]) + self.counter.to_bytes(4, "big")

    def said(self, kind: str, challenge: str, origin: str, **response: bytes) -> dict[str, Any]:
        client = json.dumps({"type": kind, "challenge": challenge, "origin": origin}).encode()
        parts = {"clientDataJSON": client, **response}
        said = {name: websafe_encode(part) for name, part in parts.items()}
        own = {"id": websafe_encode(self.id), "rawId": websafe_encode(self.id), "clientExtensionResults": {}}
        return {**own, "type": "public-key", "response": said}

    def registered(self, challenge: str, *, origin: str = "https://testserver") -> dict[str, Any]:
        public = cbor.encode(dict(ES256.from_cryptography_key(self.key.public_key())))
        data = self.data(0x45) + bytes(16) + len(self.id).to_bytes(2, "big") + self.id + public
        whole = cbor.encode({"fmt": "none", "attStmt": {}, "authData": data})
        return self.said("webauthn.create", challenge, origin, attestationObject=whole)

    def answer(
        self,
        challenge: str,
        *,
        origin: str = "https://testserver",
        to: Reader | None = None,
        flags: int = 0x05,
    ) -> dict[str, Any]:
        data = self.data(flags)
        said = self.said("webauthn.get", challenge, origin, authenticatorData=data)
        client = websafe_decode(said["response"]["clientDataJSON"])
        signature = self.key.sign(data + sha256(client).digest(), ec.ECDSA(SHA256()))
        handle = user_pk_to_url_str(to or self.reader).encode()
        said["response"] |= {"signature": websafe_encode(signature), "userHandle": websafe_encode(handle)}
        return said


class Browser:
    """One session at the site: challenges, and forms that are sent."""

    def __init__(self, rf: RequestFactory, reader: Reader) -> None:
        self.request = rf.get("/", secure=True)
        self.request.user, self.request.session = reader, SessionStore()

    def challenge(self, name: str) -> str:
        with context.request_context(self.request):
            if name == "add_webauthn":
                begin_registration(self.request.user, passwordless=True)
            else:
                begin_authentication(None if name == "login_webauthn" else self.request.user)
        return str(self.request.session["mfa.webauthn.state"]["challenge"])

    def takes(self, name: str, credential: dict[str, Any]) -> bool:
        who = {} if name == "login_webauthn" else {"user": self.request.user}
        sent = {"credential": json.dumps(credential), "name": "Lamp"}
        form = import_string(django_settings.MFA_FORMS[name])(sent, **who)
        with context.request_context(self.request):
            return bool(form.is_valid())


@pytest.fixture
def enter(own_cache: None, rf: RequestFactory) -> Callable[[Reader], tuple[Browser, Device]]:
    """Give a reader a browser, and a device whose passkey is stored."""

    def enter(reader: Reader) -> tuple[Browser, Device]:
        browser, device = Browser(rf, reader), Device(reader)
        credential = device.registered(browser.challenge("add_webauthn"))
        assert browser.takes("add_webauthn", credential)
        WebAuthn.add(reader, "Lamp", credential)
        return browser, device

    return enter


SIGN_INS = [name for name in FORMS if name != "add_webauthn"]


@pytest.mark.parametrize("name", SIGN_INS)
def test_a_passkey_opens_its_own_account_once_for_each_challenge(enter, ada: Reader, name: str):
    browser, device = enter(ada)
    answer = device.answer(browser.challenge(name))
    assert browser.takes(name, answer)
    assert not browser.takes(name, answer), "the challenge was used"
    browser.challenge(name)
    assert not browser.takes(name, answer), "it answers an earlier challenge"


@pytest.mark.parametrize("name", SIGN_INS)
def test_a_passkey_of_somebody_else_opens_nothing(enter, ada: Reader, ben: Reader, name: str):
    browser, _ = enter(ada)
    _, bens = enter(ben)
    challenge = browser.challenge(name)
    assert not browser.takes(name, bens.answer(challenge, to=ada))
    forged = bens.answer(challenge, to=ada)
    forged["id"] = forged["rawId"] = websafe_encode(b"device of ada")
    assert not browser.takes(name, forged)


@pytest.mark.parametrize("name", SIGN_INS)
@pytest.mark.parametrize(
    "origin", ["https://evil.example", "https://testserver.evil.example", "http://testserver"]
)
def test_an_answer_given_to_another_site_opens_nothing(enter, ada: Reader, name: str, origin: str):
    browser, device = enter(ada)
    assert not browser.takes(name, device.answer(browser.challenge(name), origin=origin))
    device.host = "evil.example"
    assert not browser.takes(name, device.answer(browser.challenge(name)))


@pytest.mark.parametrize("name", SIGN_INS)
def test_a_counter_that_stands_still_or_goes_back_is_a_copied_key(enter, ada: Reader, name: str):
    browser, device = enter(ada)
    taken = []
    for counter in (0, 0, 5, 5, 4, 0, 6):
        device.counter = counter
        taken.append(browser.takes(name, device.answer(browser.challenge(name))))
    assert taken == [True, True, True, False, False, False, True]


def test_a_device_that_did_not_verify_its_owner_or_that_nobody_touched_signs_nobody_in(enter, ada: Reader):
    browser, device = enter(ada)
    for flags in (0x01, 0x04, 0x00):
        answer = device.answer(browser.challenge("login_webauthn"), flags=flags)
        assert not browser.takes("login_webauthn", answer), hex(flags)
    assert browser.takes("login_webauthn", device.answer(browser.challenge("login_webauthn")))


def test_a_challenge_of_a_visitor_is_no_ones_confirmation_in_another_session(
    enter, rf: RequestFactory, ada: Reader
):
    browser, device = enter(ada)
    elsewhere = Browser(rf, ada)
    answer = device.answer(elsewhere.challenge("login_webauthn"))
    browser.challenge("reauthenticate_webauthn")
    assert not browser.takes("reauthenticate_webauthn", answer)


def test_a_reader_has_twenty_passkeys_at_most(rf: RequestFactory, ada: Reader, ben: Reader):
    for n in range(20):
        device = Device(ada)
        device.id = b"device %d" % n
        browser = Browser(rf, ada)
        WebAuthn.add(ada, str(n), device.registered(browser.challenge("add_webauthn")))
    for reader, may in ((ada, False), (ben, True)):
        browser, device = Browser(rf, reader), Device(reader)
        assert browser.takes("add_webauthn", device.registered(browser.challenge("add_webauthn"))) is may


def test_a_passkey_is_added_for_ones_own_challenge_and_site_alone(
    rf: RequestFactory, ada: Reader, ben: Reader
):
    browser, other, device = Browser(rf, ada), Browser(rf, ben), Device(ada)
    credential = device.registered(browser.challenge("add_webauthn"))
    other.challenge("add_webauthn")
    assert not other.takes("add_webauthn", credential), "it answers what another session was asked"
    assert browser.takes("add_webauthn", credential)
    assert not browser.takes("add_webauthn", credential), "the challenge was used"
    wrong = device.registered(browser.challenge("add_webauthn"), origin="https://evil.example")
    assert not browser.takes("add_webauthn", wrong)

"""Whatever is sent as a passkey's answer is refused as a wrong one."""

import pytest
from allauth.core import context
from allauth.mfa.webauthn.internal.auth import begin_authentication, begin_registration
from django.conf import settings as django_settings
from django.contrib.sessions.backends.db import SessionStore
from django.test import RequestFactory
from django.utils.module_loading import import_string

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

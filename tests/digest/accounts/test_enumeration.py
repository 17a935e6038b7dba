"""Signing up, signing in and a password reset work and answer the same, with or without an account.

Work is counted, not timed: hashed passwords, database statements, links and mails.
"""

import os
import re
import subprocess
import sys
from collections.abc import Callable
from contextlib import ExitStack
from functools import partial
from typing import Any
from unittest.mock import patch

import pytest
from allauth.account.models import EmailAddress
from django.contrib.auth.hashers import MD5PasswordHasher
from django.contrib.auth.tokens import PasswordResetTokenGenerator
from django.db import connection
from django.http import HttpResponse
from django.test import Client
from django.test.utils import CaptureQueriesContext

from digest.models import Reader
from tests.config.test_environment import ROOT
from tests.digest.accounts.test_adapters import link_in, sign_in, sign_up, with_password
from tests.support.mailbox import Mailbox

# Limits are counted in the cache.
pytestmark = pytest.mark.usefixtures("own_cache")

MODES = ("none", "optional", "mandatory")
# Parts that differ from answer to answer for everybody.
OWN = re.compile(r'name="csrfmiddlewaretoken"[^>]*|csrf-token" content="[^"]*|nonce-[^\'" ]*|nonce="[^"]*')
VALUES = re.compile(r"'[^']*'|\"(?:s\d+_x|_django_curs_\w*_)\d+\"|\b\d+\b")


@pytest.fixture
def people(db: None) -> dict[str, str]:
    """Return addresses by their owner.

    The owners are: nobody; a confirmed account; an unconfirmed one; a disabled one; one made by an operator;
    and one without a password.
    """
    confirmed = with_password(Reader.objects.create(username="confirmed", email="confirmed@example.org"))
    EmailAddress.objects.create(user=confirmed, email=confirmed.email, primary=True, verified=True)
    claimed = with_password(Reader.objects.create(username="claimed", email="claimed@example.org"))
    EmailAddress.objects.create(user=claimed, email=claimed.email, primary=True, verified=False)
    off = with_password(Reader.objects.create(username="zoff", email="zoff@example.org", is_active=False))
    EmailAddress.objects.create(user=off, email=off.email, primary=True, verified=True)
    with_password(Reader.objects.create(username="zmade", email="zmade@example.org"))
    Reader.objects.create_user(username="keyless", email="keyless@example.org")
    names = ("confirmed", "claimed", "zoff", "zmade", "keyless", "nobody")
    return {name: f"{name}@example.org" for name in names}


def reset(email: str) -> HttpResponse:
    """Ask for a new password; return the response."""
    return Client().post("/accounts/password/reset/", {"email": email})


def work_of(request: Callable[[], HttpResponse], mailbox: Mailbox) -> dict[str, Any]:
    """Return the work and the answer of a request: queries, hashes, mails, page."""
    counts, before = {"hashes": 0, "tokens": 0}, len(mailbox.messages)
    hashed, tokened = MD5PasswordHasher.encode, PasswordResetTokenGenerator.make_token

    def encode(*given: str) -> str:
        counts["hashes"] += 1
        return hashed(*given)

    def make_token(*given: object) -> str:
        counts["tokens"] += 1
        return tokened(*given)

    with ExitStack() as stack:
        stack.enter_context(patch.object(MD5PasswordHasher, "encode", encode))
        stack.enter_context(patch.object(PasswordResetTokenGenerator, "make_token", make_token))
        queries = stack.enter_context(CaptureQueriesContext(connection))
        answer = request()
    statements = sorted(VALUES.sub("?", query["sql"])[:60] for query in queries.captured_queries)
    return {
        **counts,
        "statements": statements,
        "mails": len(mailbox.messages) - before,
        "status": answer.status_code,
        "to": answer.headers.get("Location", ""),
        "cookies": sorted(answer.cookies),
        "page": OWN.sub("", answer.content.decode()),
    }


def same_for_all(works: dict[str, dict[str, Any]]) -> None:
    """Assert that every address gets the same work and answer as an unknown one."""
    for who, work in works.items():
        for name, found in work.items():
            expected = works["nobody"][name]
            if isinstance(found, str):
                found, expected = found.replace(who, "…"), expected.replace("nobody", "…")
            assert found == expected, (who, name)


def test_a_forgotten_password(people: dict[str, str], mailbox: Mailbox):
    works = {who: work_of(partial(reset, email), mailbox) for who, email in people.items()}
    assert works["nobody"]["mails"] == 1 and works["nobody"]["tokens"] == 2
    same_for_all(works)


def test_a_second_request_for_a_new_password_does_what_the_first_did(
    people: dict[str, str], mailbox: Mailbox
):
    def asked() -> dict[str, Any]:
        return work_of(partial(reset, people["zmade"]), mailbox)

    assert asked() == asked()


@pytest.mark.parametrize("by", ["name", "address"])
def test_a_wrong_password(people: dict[str, str], mailbox: Mailbox, by: str):
    works = {
        who: work_of(partial(sign_in, Client(), email if by == "address" else who, "wrong"), mailbox)
        for who, email in people.items()
    }
    assert works["nobody"]["hashes"] == (2 if by == "address" else 1)
    same_for_all(works)


@pytest.mark.parametrize("mode", MODES)
def test_signing_up_with_an_address(people: dict[str, str], mailbox: Mailbox, settings, mode: str):
    settings.ACCOUNT_EMAIL_VERIFICATION = mode
    works = {
        who: work_of(partial(sign_up, Client(), f"new-{who}", email), mailbox)
        for who, email in people.items()
    }
    assert works["nobody"]["hashes"] == 1 and works["nobody"]["mails"] == (mode != "none")
    same_for_all(works)


@pytest.mark.parametrize("mode", MODES)
def test_what_was_signed_up_answers_alike_afterwards(
    people: dict[str, str], mailbox: Mailbox, settings, mode: str
):
    """Nor does the new username show, by a second sign-up or a sign-in, whether an account was made."""
    settings.ACCOUNT_EMAIL_VERIFICATION = mode
    again, entered = {}, {}
    for who, email in people.items():
        sign_up(Client(), f"new-{who}", email)
        other = f"other-{who}@example.org"
        again[who] = work_of(partial(sign_up, Client(), f"new-{who}", other), mailbox)
        entered[who] = work_of(partial(sign_in, Client(), f"new-{who}"), mailbox)
    assert again["nobody"]["status"] == 200 and entered["nobody"]["status"] == 302
    same_for_all(again)
    same_for_all(entered)


@pytest.mark.parametrize("mode", ["optional", "mandatory"])
def test_the_owner_of_the_address_is_told_in_the_mailbox_alone(
    people: dict[str, str], mailbox: Mailbox, settings, mode: str
):
    settings.ACCOUNT_EMAIL_VERIFICATION = mode
    for who in ("confirmed", "claimed", "nobody"):
        sign_up(Client(), f"new-{who}", people[who])
    texts = {message["To"]: message.get_content() for message in mailbox.messages}
    assert "There is an account with this address already" in texts[people["confirmed"]]
    for who in ("claimed", "nobody"):
        assert link_in(texts[people[who]]).startswith("/accounts/confirm-email/")


@pytest.mark.alike
@pytest.mark.parametrize("mode", MODES[1:])
def test_the_site_starts_with_every_way_to_confirm_addresses(mode: str, tmp_path):
    """The first is the default, with which all other processes of the tests start."""
    place = {"TIDINGS_VAR_DIR": str(tmp_path), "TIDINGS_ENV_FILE": "", "ACCOUNT_EMAIL_VERIFICATION": mode}
    done = subprocess.run(
        [sys.executable, "manage.py", "check"],
        cwd=ROOT,
        env=os.environ | place,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr

"""A provider or a mail server that hangs, and strangers who make us wait for it: pages keep a thread."""

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from html import unescape
from re import search
from urllib.parse import parse_qs, urlsplit

import httpx
import pytest
from allauth.core.context import request_context
from django.core.mail.backends.base import BaseEmailBackend
from django.test import RequestFactory

from digest.accounts import adapters
from digest.accounts.adapters import AccountAdapter
from digest.places import MAILS_AT_ONCE, SIGN_INS_AT_ONCE
from tests.digest.accounts.test_oidc import Visitor, served
from tests.digest.accounts.test_oidc_attacks import ADA, Issuer, place

__all__ = ["place"]
pytestmark = [pytest.mark.alike, pytest.mark.django_db]
ASKED, LOGIN = 6, "/accounts/oidc/oidc/login/"


class HangingMail(BaseEmailBackend):
    """A mail server that takes no mail until the test says so."""

    over = threading.Event()
    entered = threading.Semaphore(0)

    def send_messages(self, messages: list[object]) -> int:
        self.entered.release()
        self.over.wait(60)
        return len(messages)


def test_strangers_who_ask_for_mails_of_a_server_that_hangs_leave_pages_a_thread(
    settings, monkeypatch: pytest.MonkeyPatch
):
    settings.EMAIL_BACKEND = f"{__name__}.HangingMail"
    said: list[str] = []
    monkeypatch.setattr(adapters.messages, "error", lambda request, words: said.append(words))

    def send(n: int) -> None:
        request = RequestFactory().get("/")
        with request_context(request):
            adapter = AccountAdapter(request)
            adapter.send_mail("account/email/unknown_account", f"{n}@example.org", {"signup_url": "x"})

    with ThreadPoolExecutor(ASKED) as pool:
        try:
            waiting = [pool.submit(send, n) for n in range(MAILS_AT_ONCE)]
            for one in waiting:
                assert HangingMail.entered.acquire(timeout=60), one.exception(1)
            for late in [pool.submit(send, n) for n in range(ASKED - MAILS_AT_ONCE)]:
                late.result(60)
            assert not any(one.done() for one in waiting)
        finally:
            HangingMail.over.set()
    assert said == [str(adapters.NOT_SENT)] * (ASKED - MAILS_AT_ONCE)
    send(9)
    assert len(said) == ASKED - MAILS_AT_ONCE, "and once it answers, mails go out again"


@pytest.fixture(scope="module")
def issuer() -> Iterator[Issuer]:
    one = Issuer(threaded=True)
    one.start()
    yield one
    one.server.stop()


@pytest.fixture(scope="module")
def crowded(place: dict[str, str]) -> Iterator[str]:
    """Yield the address of a site with a thread for each who asks, and a provider that may take its time."""
    with served(place, "--threads", str(ASKED + 2)) as address:
        yield address


@pytest.mark.parametrize("step", ["login", "callback"])
def test_strangers_who_sign_in_at_a_provider_that_hangs_leave_pages_a_thread(
    crowded: str, issuer: Issuer, step: str
):
    issuer.signs_in(ADA)
    over, entered = threading.Event(), threading.Semaphore(0)

    def hang() -> None:
        entered.release()
        over.wait(60)

    visitors = [Visitor(crowded, issuer.url) for _ in range(ASKED)]
    pages = [visitor.http.get(f"{crowded}/accounts/login/") for visitor in visitors]
    if step == "callback":
        pages = [visitor.post(LOGIN, page) for visitor, page in zip(visitors, pages, strict=True)]

    def ask(visitor: Visitor, page: httpx.Response) -> httpx.Response:
        if step == "login":
            return visitor.post(LOGIN, page)
        link = search(r'href="([^"]+)" data-leaving', page.text)
        assert link, page.text
        (state,) = parse_qs(urlsplit(unescape(link[1])).query)["state"]
        return visitor.http.get(f"{crowded}{LOGIN}callback/", params={"code": "c", "state": state})

    issuer.meanwhile = hang
    with ThreadPoolExecutor(ASKED) as pool:
        try:
            asked = [pool.submit(ask, *one) for one in zip(visitors, pages, strict=True)]
            for _ in range(SIGN_INS_AT_ONCE):
                assert entered.acquire(timeout=60)
            done = set()
            while len(done) < ASKED - SIGN_INS_AT_ONCE:
                done = wait(asked, timeout=1).done
            assert not entered.acquire(timeout=0.5), "no third one waits there"
            assert {one.result().status_code for one in done} == {503}
            assert visitors[0].http.get(f"{crowded}/accounts/login/").status_code == 200
        finally:
            issuer.meanwhile = lambda: None
            over.set()
    for visitor in visitors:
        visitor.http.close()

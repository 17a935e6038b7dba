"""The second factor: switched on with an app, asked for at every door, and lost phones survived."""

import re
import time

import pytest
from allauth.mfa.models import Authenticator
from allauth.mfa.totp.internal.auth import format_hotp_value, hotp_value
from django.test import Client

from digest.models import Reader

# Limits, and codes that were used, are counted in the cache.
pytestmark = pytest.mark.usefixtures("own_cache")

PASSWORD = "a-lamp-and-a-kettle"


def with_password(reader: Reader) -> Reader:
    """Return the reader, able to sign in."""
    reader.set_password(PASSWORD)
    reader.save()
    return reader


def again(client: Client, path: str, text: dict[str, str] | None = None) -> object:
    """Ask for `path` (or send `text` to it). Type the password again if the site asks for it."""
    answer = client.get(path) if text is None else client.post(path, text)
    while answer.status_code == 302 and "/reauthenticate/" in answer.url:
        answer = client.post(answer.url, {"password": PASSWORD})
    return client.get(answer.url) if text is None and answer.status_code == 302 else answer


def code_for(secret: str, steps: int = 0) -> str:
    """Return the code that an app shows now, or that many half minutes later."""
    return format_hotp_value(hotp_value(secret, int(time.time()) // 30 + steps))


def switched_on(client: Client) -> tuple[str, list[str]]:
    """Switch the second factor on as a reader does; (the app's secret, recovery codes)."""
    page = again(client, "/accounts/2fa/totp/activate/").content.decode()
    secret = re.search(r'class="secret"[^>]*>([A-Z2-7]+)<', page)[1]
    done = client.post("/accounts/2fa/totp/activate/", {"code": code_for(secret)})
    codes = client.get(done.url).content.decode()
    return secret, re.findall(r"<li><code>(\d+)</code></li>", codes)


def at_the_code(login: str = "ada") -> Client:
    """Return a fresh browser that has given the right password."""
    client = Client()
    answer = client.post("/accounts/login/", {"login": login, "password": PASSWORD})
    assert answer.url == "/accounts/2fa/authenticate/"
    assert client.get("/ui/account").status_code == 302
    return client


def test_an_app_is_asked_for_at_every_sign_in_from_then_on(ada: Reader, client: Client):
    client.force_login(with_password(ada))
    secret, codes = switched_on(client)
    assert len(codes) == 10
    door = at_the_code()
    wrong = door.post("/accounts/2fa/authenticate/", {"code": "000000"})
    assert wrong.status_code == 200 and "Incorrect code" in wrong.content.decode()
    assert door.get("/ui/account").status_code == 302
    assert door.post("/accounts/2fa/authenticate/", {"code": code_for(secret, 1)}).url == "/"
    assert door.get("/ui/account").status_code == 200


def test_a_recovery_code_opens_once(ada: Reader, client: Client):
    client.force_login(with_password(ada))
    _, codes = switched_on(client)
    assert at_the_code().post("/accounts/2fa/authenticate/", {"code": codes[0]}).url == "/"
    assert at_the_code().post("/accounts/2fa/authenticate/", {"code": codes[0]}).status_code == 200
    assert "9 of 10 are left" in client.get("/accounts/2fa/").content.decode()


def test_new_recovery_codes_end_the_old_ones(ada: Reader, client: Client):
    client.force_login(with_password(ada))
    _, codes = switched_on(client)
    client.post("/accounts/2fa/recovery-codes/generate/")
    assert at_the_code().post("/accounts/2fa/authenticate/", {"code": codes[0]}).status_code == 200
    downloaded = client.get("/accounts/2fa/recovery-codes/download/")
    assert downloaded["Content-Disposition"].startswith("attachment")
    assert codes[0] not in downloaded.content.decode()


def test_switched_off_the_password_is_enough_again(ada: Reader, client: Client):
    client.force_login(with_password(ada))
    switched_on(client)
    client.post("/accounts/2fa/totp/deactivate/")
    assert not Authenticator.objects.exists()
    assert Client().post("/accounts/login/", {"login": "ada", "password": PASSWORD}).url == "/"


def test_a_wrong_code_switches_nothing_on(ada: Reader, client: Client):
    client.force_login(with_password(ada))
    again(client, "/accounts/2fa/totp/activate/")
    answer = client.post("/accounts/2fa/totp/activate/", {"code": "000000"})
    assert answer.status_code == 200 and "Incorrect code" in answer.content.decode()
    assert not Authenticator.objects.exists()


def test_switching_anything_asks_for_the_password_first(ada: Reader, client: Client):
    client.force_login(with_password(ada))
    assert "/reauthenticate/" in client.get("/accounts/2fa/totp/activate/").url


def test_an_operator_with_a_second_factor_needs_it_for_the_admin(operator: Reader, client: Client):
    client.force_login(with_password(operator))
    secret, _ = switched_on(client)
    door = Client()
    asked = door.get("/admin/login/?next=/admin/")
    assert asked.url == "/accounts/login/?next=%2Fadmin%2F"
    text = {"username": "olga", "password": PASSWORD}
    assert door.post("/admin/login/?next=/admin/", text).url.startswith("/accounts/login/")
    assert door.get("/admin/").status_code == 302
    step = door.post(
        "/accounts/login/?next=/admin/", {"login": "olga", "password": PASSWORD, "next": "/admin/"}
    )
    assert step.url.startswith("/accounts/2fa/authenticate/")
    assert door.get("/admin/").status_code == 302
    done = door.post(step.url, {"code": code_for(secret, 1)})
    assert door.get(done.url).status_code == 200 and done.url == "/admin/"


def test_an_operator_helps_a_reader_in_without_seeing_the_key(ada: Reader, operator: Reader, client: Client):
    client.force_login(with_password(ada))
    secret, codes = switched_on(client)
    helping = Client()
    helping.force_login(operator)
    for row in Authenticator.objects.filter(user=ada):
        page = helping.get(f"/admin/mfa/authenticator/{row.pk}/change/").content.decode()
        assert secret not in page and codes[0] not in page and "seed" not in page
        helping.post(f"/admin/mfa/authenticator/{row.pk}/delete/", {"post": "yes"})
    assert Client().post("/accounts/login/", {"login": "ada", "password": PASSWORD}).url == "/"


def test_a_reader_finds_the_admin_shut(ada: Reader, client: Client):
    client.force_login(ada)
    assert client.get("/admin/login/").status_code == 403


def test_the_qr_code_stands_in_the_page_and_needs_no_exception_from_the_policy(ada: Reader, client: Client):
    client.force_login(with_password(ada))
    answer = again(client, "/accounts/2fa/totp/activate/")
    body = answer.content.decode()
    drawn = body[body.index("<svg") : body.index("</svg>")]
    assert "<path" in drawn and "style=" not in body and "data:" not in body and "<?xml" not in body
    assert "viewBox" in drawn and "width=" not in drawn.split(">")[0]
    assert "data:" not in answer["Content-Security-Policy"]


@pytest.mark.parametrize(
    "page",
    ["", "totp/activate/", "totp/deactivate/", "recovery-codes/", "recovery-codes/generate/"],
)
def test_the_pages_wear_our_looks(ada: Reader, client: Client, page: str):
    client.force_login(with_password(ada))
    if page != "totp/activate/":
        switched_on(client)
    body = again(client, f"/accounts/2fa/{page}").content.decode()
    assert "tidings.css" in body and 'id="main"' in body and "<script>" not in body and "style=" not in body


def test_a_code_counts_once_for_as_long_as_it_lives(ada: Reader, client: Client, own_cache, monkeypatch):
    """The one that switched the app on as well, and not only for the half minute in which it is shown."""
    now = time.time()
    monkeypatch.setattr(time, "time", lambda: now)  # else the next code may come between two of these lines
    client.force_login(with_password(ada))
    secret, _ = switched_on(client)
    assert at_the_code().post("/accounts/2fa/authenticate/", {"code": code_for(secret)}).status_code == 200
    code = code_for(secret, 1)
    assert at_the_code().post("/accounts/2fa/authenticate/", {"code": code}).url == "/"
    monkeypatch.setattr(time, "time", lambda: now + 45)
    again = at_the_code().post("/accounts/2fa/authenticate/", {"code": f"{code[:3]} {code[3:]}"})
    assert again.status_code == 200 and "Incorrect code" in again.content.decode()


def test_who_guesses_codes_is_told_when_to_come_back(ada: Reader, client: Client, own_cache):
    client.force_login(with_password(ada))
    switched_on(client)
    door = at_the_code()
    answers = [door.post("/accounts/2fa/authenticate/", {"code": "000000"}) for _ in range(6)]
    assert [answer.status_code for answer in answers] == [200] * 5 + [429]
    assert answers[-1]["Retry-After"] == "300"

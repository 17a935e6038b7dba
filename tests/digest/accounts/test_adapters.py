"""Accounts by e-mail: signing up and in, forgotten passwords, changed addresses, limits."""

import gc
import re
from datetime import datetime, timedelta

import pytest
from allauth.account.models import EmailAddress
from django.conf import settings as django_settings
from django.core import mail
from django.test import Client
from django.utils import timezone

from digest.apps import check_accounts, check_mail_server
from digest.mail.render import mail_goes_out
from digest.models import Reader
from tests.support.browser import messages_in
from tests.support.mailbox import Mailbox

# Limits, and codes that were used, are counted in the cache.
pytestmark = pytest.mark.usefixtures("own_cache")

PASSWORD = "a-lamp-and-a-kettle"
NEW = "seven-blue-umbrellas"
CONSOLE = "django.core.mail.backends.console.EmailBackend"


def with_password(reader: Reader) -> Reader:
    """Return the reader, able to sign in."""
    reader.set_password(PASSWORD)
    reader.save()
    return reader


def sign_up(client: Client, username: str = "cleo", email: str = "cleo@example.org", **more: str) -> object:
    """Sign up; return the response."""
    page_text = {"username": username, "email": email, "password1": PASSWORD, "password2": PASSWORD}
    return client.post("/accounts/signup/", page_text | {"time_zone": "UTC"} | more)


def sign_in(client: Client, login: str, password: str = PASSWORD, **more: str) -> object:
    """Sign in; return the response."""
    return client.post("/accounts/login/", {"login": login, "password": password}, **more)


def change_address(client: Client, email: str) -> None:
    """Change the address and type the password again, as one is asked to on the way."""
    asked = client.post("/accounts/email/", {"action_add": "", "email": email})
    client.post(asked.url, {"password": PASSWORD})


def link_in(text: str) -> str:
    """Return the path of the first link of a mail."""
    return re.search(r"https?://[^/\s]+(/accounts/\S+)", text)[1]


@pytest.mark.parametrize("stays", [True, False], ids=["at home", "on a shared computer"])
def test_a_reader_stays_signed_in_for_the_days_that_the_form_says_or_until_the_browser_closes(
    ada: Reader, client: Client, settings, stays: bool
):
    settings.SESSION_DAYS = 30
    settings.SESSION_COOKIE_AGE = 30 * 86_400
    form = client.get("/accounts/login/").context["form"]
    assert str(form.fields["remember"].label) == "Keep me signed in on this device for 30 days"
    assert form["remember"].value() is True, "nobody at home types a password every day"
    ticked = {"remember": "on"} if stays else {}
    sent = {"login": with_password(ada).username, "password": PASSWORD} | ticked
    client.post("/accounts/login/", sent)
    assert client.cookies["sessionid"]["max-age"] == (30 * 86_400 if stays else "")


def test_a_forgotten_password_is_replaced_by_a_link_that_came_by_mail_and_works_once(
    ada: Reader, client: Client, mailbox: Mailbox
):
    with_password(ada)
    asked = client.post("/accounts/password/reset/", {"email": "ADA@example.org"}, follow=True)
    assert "Check your mail" in asked.content.decode()
    (message,) = mailbox.messages
    assert message["To"] == "ada@example.org"
    assert "“ada”" in message.get_content()
    link = link_in(message.get_content())
    form = client.get(link, follow=True)
    done = client.post(form.request["PATH_INFO"], {"password1": NEW, "password2": NEW}, follow=True)
    assert "Your password is changed" in done.content.decode()
    assert sign_in(Client(), "ada", NEW).status_code == 302
    assert sign_in(Client(), "ada").status_code == 200
    assert "no longer works" in Client().get(link, follow=True).content.decode()


def test_whether_an_address_has_an_account_is_said_to_nobody(ada: Reader, client: Client, mailbox: Mailbox):
    known = client.post("/accounts/password/reset/", {"email": ada.email}, follow=True)
    unknown = client.post("/accounts/password/reset/", {"email": "zoe@example.org"}, follow=True)
    token = re.compile(r'name="csrfmiddlewaretoken"[^>]*|csrf-token" content="[^"]*')
    assert token.sub("", known.content.decode()) == token.sub("", unknown.content.decode())
    assert [message["To"] for message in mailbox.messages] == [ada.email, "zoe@example.org"]
    assert "No account here" in mailbox.messages[1].get_content()


@pytest.mark.parametrize("verification", ["none", "optional", "mandatory"])
def test_signing_up_with_a_used_address_looks_like_any_other_sign_up(
    ada: Reader, settings, verification: str
):
    settings.ACCOUNT_EMAIL_VERIFICATION = verification
    EmailAddress.objects.create(user=ada, email=ada.email, primary=True, verified=True)
    used, fresh = sign_up(Client(), "cleo", ada.email), sign_up(Client(), "dora", "dora@example.org")
    assert (used.status_code, used.url) == (fresh.status_code, fresh.url)
    ada.refresh_from_db()
    assert ada.email == "ada@example.org" and ada.username == "ada"
    assert EmailAddress.objects.get(user=ada).verified


def test_two_accounts_of_one_address_each_keep_their_own_password(ada: Reader, client: Client):
    with_password(ada)
    sign_up(client, "cleo", ada.email, password1=NEW, password2=NEW)
    for password, name in ((PASSWORD, "ada"), (NEW, "cleo")):
        door = Client()
        sign_in(door, ada.email, password)
        assert Reader.objects.get(pk=door.session["_auth_user_id"]).username == name


def test_one_signs_in_by_name_or_by_address(ada: Reader):
    with_password(ada)
    assert sign_in(Client(), "ada").status_code == 302
    assert sign_in(Client(), "Ada@Example.org").status_code == 302
    refused = sign_in(Client(), "ada", "wrong").content.decode()
    unknown = sign_in(Client(), "nobody", "wrong").content.decode()
    assert 'role="alert"' in refused and 'role="alert"' in unknown


def test_five_failures_close_one_account_for_a_while_and_nobody_else_behind_the_address(
    ada: Reader, ben: Reader
):
    with_password(ada), with_password(ben)
    for _ in range(80):
        sign_in(Client(), "ada", "wrong")
    closed = sign_in(Client(), "ada")
    assert closed.status_code == 429 and "Too many failed login attempts" in closed.content.decode()
    assert closed["Retry-After"] == "300"
    assert sign_in(Client(), "ben").status_code == 302


def test_an_address_that_tries_account_after_account_is_stopped(ada: Reader):
    with_password(ada)
    for n in range(60):
        sign_in(Client(), f"guess{n}", "wrong")
    assert sign_in(Client(), "ada").status_code == 429
    assert sign_in(Client(), "ada", REMOTE_ADDR="192.0.2.9").status_code == 302


def test_the_addresses_of_one_ipv6_network_are_one_address(ada: Reader):
    """A provider gives each customer at least a /64, so 2⁶⁴ addresses."""
    with_password(ada)
    for n in range(60):
        sign_in(Client(), f"guess{n}", "wrong", REMOTE_ADDR=f"2001:db8:0:1::{n:x}")
    assert sign_in(Client(), "ada", REMOTE_ADDR="2001:db8:0:1:ffff::1").status_code == 429
    assert sign_in(Client(), "ada", REMOTE_ADDR="2001:db8:0:2::1").status_code == 302


@pytest.mark.parametrize(
    "form",
    [
        "::ffff:192.0.2.{}",
        "::ffff:c000:02{:02x}",
        "[::ffff:192.0.2.{}]:443",
        "192.0.2.{}",
        "64:ff9b::192.0.2.{}",
        "2002:c000:02{:02x}::1",
    ],
)
def test_the_ipv4_addresses_of_a_server_that_writes_them_as_ipv6_are_each_their_own(
    form: str, ada: Reader, settings
):
    """Sockets and proxies that take both kinds write them so, and all lie in one /64."""
    settings.ALLAUTH_TRUSTED_PROXY_COUNT = 1
    with_password(ada)
    for n in range(60):
        sign_in(Client(), f"guess{n}", "wrong", headers={"X-Forwarded-For": form.format(1)})
    assert sign_in(Client(), "ada", headers={"X-Forwarded-For": form.format(1)}).status_code == 429
    assert sign_in(Client(), "ada", headers={"X-Forwarded-For": "192.0.2.1"}).status_code == 429
    assert sign_in(Client(), "ada", headers={"X-Forwarded-For": form.format(2)}).status_code == 302


def test_who_has_one_ipv4_address_has_no_65536_networks_by_6to4(ada: Reader):
    with_password(ada)
    for n in range(60):
        sign_in(Client(), f"guess{n}", "wrong", REMOTE_ADDR=f"2002:c000:0201:{n:x}::1")
    assert sign_in(Client(), "ada", REMOTE_ADDR="2002:c000:0201:ffff::1").status_code == 429
    assert sign_in(Client(), "ada", REMOTE_ADDR="2002:c000:0202::1").status_code == 302


@pytest.mark.parametrize("address", ["fe80::1%eth0", "::1", "::", "fe80::1"])
def test_whoever_sits_in_the_same_network_signs_in(ada: Reader, address: str):
    with_password(ada)
    assert sign_in(Client(), "ada", REMOTE_ADDR=address).status_code == 302


def test_behind_a_proxy_limits_go_by_the_client_and_by_nothing_the_client_made_up(ada: Reader, settings):
    settings.ALLAUTH_TRUSTED_PROXY_COUNT = 1
    with_password(ada)
    for n in range(60):
        sign_in(Client(), f"guess{n}", "wrong", headers={"X-Forwarded-For": f"10.0.0.{n}, 192.0.2.1"})
    assert sign_in(Client(), "ada", headers={"X-Forwarded-For": "10.1.1.1, 192.0.2.1"}).status_code == 429
    assert sign_in(Client(), "ada", headers={"X-Forwarded-For": "192.0.2.2"}).status_code == 302


def test_too_many_requests_get_a_page_in_our_looks(settings, db: None):
    settings.ACCOUNT_RATE_LIMITS = {"signup": "1/m/ip"}
    sign_up(Client())
    answer = sign_up(Client(), "dora", "dora@example.org")
    assert answer.status_code == 429 and answer["Retry-After"] == "60"
    assert "too often" in answer.content.decode() and "tidings.css" in answer.content.decode()


def test_without_a_mail_server_the_pages_say_so(client: Client, settings, db: None):
    settings.EMAIL_BACKEND = CONSOLE
    assert not mail_goes_out()
    for page in ("/accounts/password/reset/", "/accounts/password/reset/done/", "/accounts/confirm-email/"):
        body = client.get(page).content.decode()
        assert "no mail server" in body, page
        assert "on its way" not in body and "was sent" not in body and "comes by mail" not in body, page
    settings.EMAIL_BACKEND = "django.core.mail.backends.smtp.EmailBackend"
    assert mail_goes_out()
    assert "no mail server" not in client.get("/accounts/password/reset/").content.decode()


def test_a_mail_server_that_is_down_is_said_and_breaks_nothing(ada: Reader, client: Client, settings):
    settings.EMAIL_BACKEND = "django.core.mail.backends.smtp.EmailBackend"
    settings.EMAIL_HOST, settings.EMAIL_PORT = "127.0.0.1", 9
    answer = client.post("/accounts/password/reset/", {"email": ada.email}, follow=True)
    assert answer.status_code == 200
    assert "could not be sent" in messages_in(answer.content.decode())


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_a_mail_server_whose_starttls_somebody_took_away_gets_neither_password_nor_mail(
    ada: Reader, client: Client, settings, mailbox: Mailbox
):
    settings.EMAIL_USE_TLS, settings.EMAIL_HOST_USER, settings.EMAIL_HOST_PASSWORD = True, "tidings", "s3cret"
    answer = client.post("/accounts/password/reset/", {"email": ada.email}, follow=True)
    assert "could not be sent" in messages_in(answer.content.decode())
    assert mailbox.connections == 1 and not mailbox.messages
    gc.collect()  # Django leaves the connection to it


def test_where_addresses_must_be_confirmed_one_gets_in_by_the_link(
    client: Client, settings, mailbox: Mailbox, db: None
):
    settings.ACCOUNT_EMAIL_VERIFICATION = "mandatory"
    assert sign_up(client).url == "/accounts/confirm-email/"
    assert sign_in(Client(), "cleo").url == "/accounts/confirm-email/"
    page = client.get(link_in(mailbox.messages[0].get_content()))
    assert "Is this your address?" in page.content.decode()
    client.post(page.request["PATH_INFO"])
    assert EmailAddress.objects.get(email="cleo@example.org").verified
    assert sign_in(Client(), "cleo").url == "/"


def test_an_address_is_changed_at_once_where_none_is_confirmed(ada: Reader, client: Client):
    sign_in(client, with_password(ada).username)
    change_address(client, "Ada@New.example")
    ada.refresh_from_db()
    assert ada.email == "ada@new.example"
    assert [row.email for row in EmailAddress.objects.filter(user=ada)] == ["ada@new.example"]
    assert [message.to for message in mail.outbox] == [["ada@example.org"]]
    assert "ada@new.example" in client.get("/accounts/email/").content.decode()


def test_an_address_that_must_be_confirmed_waits_for_its_link(
    ada: Reader, client: Client, settings, mailbox: Mailbox
):
    settings.ACCOUNT_EMAIL_VERIFICATION = "optional"
    EmailAddress.objects.create(user=ada, email=ada.email, primary=True, verified=True)
    sign_in(client, with_password(ada).username)
    change_address(client, "ada@new.example")
    ada.refresh_from_db()
    assert ada.email == "ada@example.org"
    assert "ada@new.example is not confirmed yet" in client.get("/accounts/email/").content.decode()
    to_new = next(m for m in mailbox.messages if m["To"] == "ada@new.example")
    client.post(link_in(to_new.get_content()))
    ada.refresh_from_db()
    assert ada.email == "ada@new.example"


def test_changing_an_address_asks_for_the_password_first(ada: Reader, client: Client):
    client.force_login(with_password(ada))
    asked = client.post("/accounts/email/", {"action_add": "", "email": "thief@example.org"})
    assert asked.url.startswith("/accounts/reauthenticate/")
    assert "Is it you?" in client.get(asked.url).content.decode()
    assert client.post(asked.url, {"password": "wrong"}).status_code == 200
    ada.refresh_from_db()
    assert ada.email == "ada@example.org"


def test_a_changed_password_needs_the_old_one_and_ends_other_sessions(ada: Reader, client: Client):
    sign_in(client, with_password(ada).username)
    other = Client()
    sign_in(other, "ada")
    page_text = {"oldpassword": "wrong", "password1": NEW, "password2": NEW}
    assert client.post("/accounts/password/change/", page_text).status_code == 200
    assert client.post("/accounts/password/change/", page_text | {"oldpassword": PASSWORD}).status_code == 302
    assert client.get("/ui/account").status_code == 200
    assert other.get("/ui/account").status_code == 302


def test_an_operator_is_warned_of_settings_that_lock_readers_out(settings):
    settings.EMAIL_BACKEND = CONSOLE
    for wanted, effect in (
        ("mandatory", "none of them gets in"),
        ("optional", "no address is ever confirmed"),
    ):
        settings.ACCOUNT_EMAIL_VERIFICATION = wanted
        (warning,) = check_accounts()
        assert warning.id == "tidings.W010" and effect in warning.msg
    settings.EMAIL_BACKEND = "django.core.mail.backends.smtp.EmailBackend"
    assert check_accounts() == []
    settings.ALLAUTH_TRUSTED_PROXY_COUNT = -1
    assert [found.id for found in check_accounts()] == ["tidings.E010"]


@pytest.mark.parametrize(
    ("changed", "warned"),
    [
        ({}, True),
        ({"EMAIL_USE_TLS": True}, False),
        ({"EMAIL_USE_SSL": True}, False),
        ({"EMAIL_HOST": "127.0.0.1"}, False),
        ({"EMAIL_HOST_PASSWORD": ""}, False),
        ({"EMAIL_BACKEND": CONSOLE}, False),
    ],
)
def test_an_operator_is_warned_of_a_password_that_goes_to_the_mail_server_in_clear(
    settings, changed: dict[str, object], warned: bool
):
    usual = {
        "EMAIL_BACKEND": "django.core.mail.backends.smtp.EmailBackend",
        "EMAIL_HOST": "mail.example.org",
        "EMAIL_HOST_PASSWORD": "s3cret-canary",
        "EMAIL_USE_TLS": False,
        "EMAIL_USE_SSL": False,
    }
    for name, value in (usual | changed).items():
        setattr(settings, name, value)
    found = check_mail_server()
    assert bool(found) is warned and "canary" not in str(found)


def test_the_mails_name_no_framework_and_carry_our_subject(ada: Reader, client: Client, mailbox: Mailbox):
    client.post("/accounts/password/reset/", {"email": ada.email})
    (message,) = mailbox.messages
    assert message["Subject"] == "A new password for Tidings"
    assert message["From"] == django_settings.DEFAULT_FROM_EMAIL
    assert "Thank you for using" not in message.get_content()


def test_a_security_mail_tells_the_readers_own_time_and_its_zone(
    ada: Reader, client: Client, mailbox: Mailbox
):
    Reader.objects.filter(pk=ada.pk).update(time_zone="Asia/Kathmandu")
    client.post("/accounts/password/reset/", {"email": ada.email})
    form = client.get(link_in(mailbox.messages[-1].get_content()))  # as a visitor, without signing in
    client.post(form.url, {"password1": NEW, "password2": NEW})
    words = re.search(r"from \S+ on (.+ [+]0545)\.", mailbox.messages[-1].get_content())[1]
    moment = datetime.strptime(words, "%A, %d %B %Y, %H:%M %z")
    assert abs(timezone.now() - moment) < timedelta(minutes=5)


def test_a_name_and_an_address_are_each_closed_in_whatever_spelling_at_whatever_host(ada: Reader, settings):
    """Five tries are five tries: not five for each spelling, port or name of the site."""
    settings.ALLOWED_HOSTS = ["news.example", "other.example"]
    EmailAddress.objects.create(user=with_password(ada), email=ada.email, primary=True, verified=True)
    for login, spelling in (("ada", " ADA"), (ada.email, "Ada@Example.org ")):
        for n, typed in enumerate([login, spelling, login, spelling, login]):
            sign_in(Client(), typed, "wrong", HTTP_HOST=f"news.example:{n + 1}")
        assert sign_in(Client(), login, HTTP_HOST="other.example").status_code == 429


def test_links_in_mails_lead_to_the_sites_own_address_whatever_host_was_asked_for(
    ada: Reader, client: Client, mailbox: Mailbox, settings
):
    settings.SITE_URL, settings.ALLOWED_HOSTS = "https://news.example", ["news.example", "other.example"]
    for email in (ada.email, "zoe@example.org"):
        client.post("/accounts/password/reset/", {"email": email}, HTTP_HOST="other.example:4444")
    for message in mailbox.messages:
        assert "https://news.example/accounts/" in message.get_content()
        assert "4444" not in message.get_content() and "other.example/" not in message.get_content()


def test_no_mail_brings_a_strangers_words_to_a_mailbox_that_they_name(db: None, mailbox: Mailbox):
    """An address counts before it is confirmed, and a mail program makes a link of any domain."""
    lure = "Your account is limited. Confirm it at www.evil.example"
    client = Client(HTTP_USER_AGENT=lure)
    sign_up(client, email="victim@elsewhere.example")
    typed = {"oldpassword": PASSWORD, "password1": NEW, "password2": NEW}
    assert client.post("/accounts/password/change/", typed).status_code == 302
    client.post("/accounts/password/reset/", {"email": "victim@elsewhere.example"})
    assert len(mailbox.messages) == 2
    assert not [message for message in mailbox.messages if "evil" in message.as_string()]


@pytest.mark.parametrize(
    "name",
    [
        "www.evil.com",
        "ask-evil.de",
        "evil.com.x1",
        "evil.com-x",
        "a-" * 30 + "evil.com",
        "a." * 30 + "evil.or.at",
        "www.evil",
        "Limited_evil.co.uk+now",
        "x.évil.fr",
    ],
)
def test_nobody_signs_up_under_a_name_that_mails_would_show_as_a_link(db: None, name: str):
    assert "no web address" in sign_up(Client(), name).content.decode()
    assert sign_up(Client(), "ada.lovelace_1.5").status_code == 302


@pytest.mark.parametrize("name", ["\uff21da", "ada@example.org", "ADA"])
def test_nobody_signs_up_under_a_name_that_looks_like_anothers_or_is_an_address(ada: Reader, name: str):
    answer = sign_up(Client(), name)
    assert answer.status_code == 200 and Reader.objects.count() == 1

"""Notifications arrive at most once, signed or encrypted, and never at an internal address."""

import json
import socket
from base64 import urlsafe_b64decode
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from pathlib import Path
from threading import Thread

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from django.conf import settings
from django.contrib.sessions.models import Session
from django.test import Client
from django.utils import timezone
from pytest_httpserver import HTTPServer
from standardwebhooks.webhooks import Webhook, WebhookVerificationError
from werkzeug import Request, Response

from digest.errors import DeliveryFailed, DestinationInvalid
from digest.models import Destination, Notification, NotificationSettings, Reader
from digest.notifications import send
from digest.notifications.destinations import destination_add, destination_test, item_send_on
from digest.notifications.news import News, notifications_due, notifications_make, words_news
from digest.notifications.send import BACKOFF, CLAIM_LASTS, OFF_AFTER, message_post, notifications_send, vapid
from digest.notifications.wire import Line, Message, b64url, b64url_decode, public_bytes
from ranking.common.encryption import SecretUnreadable, key_derive, secret_decrypt, secret_encrypt
from tests.conftest import NOW
from tests.support.browser import fresh_item
from tests.support.concurrency import at_once, database_on_disk, seen_by_writers
from tests.support.factories import ItemFactory

MINUTE = timedelta(minutes=1)
KEY = ec.derive_private_key(12345, ec.SECP256R1())
AUTH = bytes(range(16))
SUBSCRIPTION = json.dumps({"keys": {"p256dh": b64url(public_bytes(KEY)), "auth": b64url(AUTH)}})


@pytest.fixture(autouse=True)
def inside(settings, httpserver: HTTPServer) -> None:
    """Allow the receiver, which has an internal address."""
    settings.NOTIFY_ALLOW_HOSTS = [f"{httpserver.host}:{httpserver.port}"]


def added(reader: Reader, server: HTTPServer, kind: str, secret: str = "", path: str = "/in") -> Destination:
    row, made = destination_add(
        reader=reader, kind=kind, address=server.url_for(path), secret=secret, now=NOW - timedelta(days=9)
    )
    row.made = made
    return row


def told(reader: Reader, *, at: datetime = NOW, words: str = "Your digest is ready.") -> list[Notification]:
    """Create a notification for each of the reader's destinations."""
    if due := notifications_due(now=at):
        notifications_make(due=due, news=[News(reader.pk, "digest", (words,), words, "/")], now=at)
    return list(Notification.objects.filter(created_at=at).order_by("pk"))


def answers(server: HTTPServer, *statuses: int, path: str = "/in") -> list[Request]:
    """Answer with these in turn, repeating the last one, and return the list of requests."""
    asked: list[Request] = []

    def answer(request: Request) -> Response:
        request.get_data()
        asked.append(request)
        return Response(status=statuses[min(len(asked), len(statuses)) - 1])

    server.expect_request(path, method="POST").respond_with_handler(answer)
    return asked


def test_a_webhook_is_signed_so_that_the_specs_own_library_takes_it_and_nothing_changed(
    ada: Reader, httpserver: HTTPServer
):
    row, asked = added(ada, httpserver, "webhook"), answers(httpserver, 200)
    assert row.made not in row.secret and secret_decrypt(row.secret) == row.made
    now = timezone.now()  # the library reads the clock
    message = Message("abc", [Line("digest", "Your digest is ready.", "https://a.example/")], now)
    message_post(destination=row, message=message, now=now)
    headers, body = dict(asked[0].headers), asked[0].get_data()
    headers = {name.lower(): value for name, value in headers.items()}
    data = Webhook(row.made).verify(body, headers)
    assert data["type"] == "digest" and data["data"]["news"][0]["text"] == "Your digest is ready."
    assert headers["webhook-id"] == "msg_abc"
    with pytest.raises(WebhookVerificationError):
        Webhook(row.made).verify(body + b" ", headers)


def test_ntfy_gets_the_topic_the_words_and_the_token(ada: Reader, httpserver: HTTPServer):
    added(ada, httpserver, "ntfy", "tk_secret", path="/adas-news")
    asked = answers(httpserver, 200, path="/")
    told(ada, words="“tides”: Hafen über Nacht")
    assert notifications_send(now=NOW).sent == 1
    body = json.loads(asked[0].get_data())
    assert (body["topic"], body["message"]) == ("adas-news", "“tides”: Hafen über Nacht")
    assert asked[0].headers["Authorization"] == "Bearer tk_secret" and body["click"].startswith("http")


def decrypted(body: bytes) -> bytes:
    """Decrypt a push message like a browser, by RFC 8188 and RFC 8291."""
    salt, size, length = body[:16], int.from_bytes(body[16:20]), body[20]
    sender, sealed = body[21 : 21 + length], body[21 + length :]
    assert len(sealed) <= size
    shared = KEY.exchange(ec.ECDH(), ec.EllipticCurvePublicKey.from_encoded_point(ec.SECP256R1(), sender))

    def hkdf(salt: bytes, secret: bytes, info: bytes, length: int) -> bytes:
        return HKDF(algorithm=SHA256(), length=length, salt=salt, info=info).derive(secret)

    info = b"WebPush: info\0" + public_bytes(KEY) + sender
    secret = hkdf(AUTH, shared, info, 32)
    key = hkdf(salt, secret, b"Content-Encoding: aes128gcm\0", 16)
    nonce = hkdf(salt, secret, b"Content-Encoding: nonce\0", 12)
    return AESGCM(key).decrypt(nonce, sealed, None).rstrip(b"\0").removesuffix(b"\x02")


def test_web_push_is_readable_by_the_browser_alone_and_signed_by_this_installation(
    ada: Reader, httpserver: HTTPServer
):
    added(ada, httpserver, "push", SUBSCRIPTION)
    asked = answers(httpserver, 201)
    told(ada, words="Ein Wort")
    assert notifications_send(now=NOW).sent == 1
    body = asked[0].get_data()
    assert json.loads(decrypted(body))["body"] == "Ein Wort" and b"Wort" not in body
    token, public = asked[0].headers["Authorization"].removeprefix("vapid t=").split(", k=")
    known = ec.EllipticCurvePublicKey.from_encoded_point(ec.SECP256R1(), b64url_decode(public))
    origin = f"http://{httpserver.host}:{httpserver.port}"
    claims = jwt.decode(token, known, algorithms=["ES256"], audience=origin, options={"verify_exp": False})
    assert 0 < claims["exp"] - NOW.timestamp() <= 86400 and claims["sub"].startswith("mailto:")
    assert public == vapid().public and len(urlsafe_b64decode(public + "=")) == 65
    assert asked[0].headers["Content-Encoding"] == "aes128gcm" and int(asked[0].headers["TTL"]) > 0


HOSTILE = [
    "</script><img src=x onerror=alert(1)> {title} {0.__class__} %s",
    '"},"url":"https://evil.example/","x":{"',
    "javascript:alert(1)//\u2028\u2029 </body>",
    "\U0001f600" * 500,
]


@pytest.mark.parametrize("title", HOSTILE)
def test_a_hostile_title_is_words_in_a_push_message_and_leads_nowhere_else(
    ada: Reader, httpserver: HTTPServer, title: str
):
    added(ada, httpserver, "push", SUBSCRIPTION)
    asked = answers(httpserver, 201)
    since = NOW - timedelta(days=3)
    NotificationSettings.objects.update_or_create(
        reader=ada, defaults={"events": ["word"], "words": ["tides"], "since": since}
    )
    source = fresh_item(ada, key="gazette.example").source
    ItemFactory(source=source, title=f"Tides {title}"[:500], published_at=NOW - MINUTE)
    due = notifications_due(now=NOW)
    notifications_make(due=due, news=words_news(due=due, now=NOW), now=NOW)
    assert notifications_send(now=NOW).sent == 1
    body = asked[0].get_data()
    assert len(body) <= 4096  # the least size that push services accept (RFC 8030, 7.2)
    shown = json.loads(decrypted(body))
    assert shown.keys() == {"title", "body", "url"} and shown["title"] == "Tidings"
    assert shown["body"].startswith(f"“tides”: Tides {title[:120]}")
    assert shown["url"].startswith(settings.SITE_URL) and "evil" not in shown["url"]


def test_a_browser_that_unsubscribed_is_switched_off_at_once(ada: Reader, httpserver: HTTPServer):
    row = added(ada, httpserver, "push", SUBSCRIPTION)
    answers(httpserver, 410)
    told(ada)
    assert notifications_send(now=NOW).failed == 1
    row.refresh_from_db()
    assert (row.off_at, row.code) == (NOW, "http_410") and ada.pk not in notifications_due(now=NOW)


def test_a_failure_is_tried_again_under_the_same_id_later_and_later_then_given_up(
    ada: Reader, httpserver: HTTPServer
):
    added(ada, httpserver, "webhook")
    asked, at = answers(httpserver, 503), NOW + timedelta(hours=1)
    row = told(ada, at=at)[0]
    for wait in BACKOFF[:3]:
        assert notifications_send(now=at).again == 1 and notifications_send(now=at).again == 0
        assert notifications_send(now=at + wait - MINUTE).again == 0
        at += wait
    notifications_send(now=at)
    row.refresh_from_db()
    assert (row.status, row.attempts, row.code) == ("waiting", 4, "http_503")
    notifications_send(now=at + BACKOFF[3])  # half past ten at night: the reader's quiet hours
    row.refresh_from_db()
    assert row.next_at > at + BACKOFF[3] and len(asked) == 4
    assert notifications_send(now=row.next_at).failed == 1 and len(asked) == 5
    assert len({request.headers["webhook-id"] for request in asked}) == 1


def test_what_may_have_arrived_is_tried_again_with_webhooks_only(ada: Reader, settings):
    with socket.create_server(("127.0.0.1", 0)) as listener:
        settings.NOTIFY_ALLOW_HOSTS = [f"127.0.0.1:{listener.getsockname()[1]}"]

        def hang_up() -> None:
            for _ in range(2):  # it reads the request and does not answer
                caller, _ = listener.accept()
                caller.recv(65536)
                caller.close()

        server = Thread(target=hang_up)
        server.start()
        for kind in ("webhook", "ntfy"):
            address = f"http://{settings.NOTIFY_ALLOW_HOSTS[0]}/topic"
            destination_add(reader=ada, kind=kind, address=address, secret="", now=NOW)
        told(ada)
        notifications_send(now=NOW)
        server.join()
    statuses = dict(Notification.objects.values_list("destination__kind", "status"))
    assert statuses == {"webhook": "waiting", "ntfy": "failed"}


@pytest.mark.parametrize(("step", "sent"), [("_send_row", 0), ("_store_result", 1)])
def test_a_process_that_ends_between_claim_and_result_doubles_nothing(
    ada: Reader, httpserver: HTTPServer, step: str, sent: int
):
    added(ada, httpserver, "webhook")
    asked = answers(httpserver, 200)
    row = told(ada)[0]

    class Killed(BaseException):
        """Stands for a process that ends."""

    def killed(*_: object, **more: object) -> None:
        raise Killed

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(send, step, killed)
        with pytest.raises(Killed):
            notifications_send(now=NOW)
    assert len(asked) == sent
    for at in (NOW, NOW + CLAIM_LASTS, NOW + 2 * CLAIM_LASTS):
        notifications_send(now=at)
    row.refresh_from_db()
    assert (row.status, row.code, len(asked)) == ("failed", "unknown_fate", sent)


@pytest.mark.django_db(transaction=True)
def test_six_workers_at_once_make_and_send_it_once(ada: Reader, httpserver: HTTPServer, tmp_path: Path):
    added(ada, httpserver, "webhook")
    asked = answers(httpserver, 200)

    due = notifications_due(now=NOW)  # all workers read the row like this

    def work(number: int) -> None:
        notifications_make(due=due, news=[News(ada.pk, "digest", ("a",), "Ready.", "/")], now=NOW)
        notifications_send(now=NOW)

    with database_on_disk(tmp_path / "shared.sqlite3"):
        at_once(work)
        rows = seen_by_writers(lambda: list(Notification.objects.values_list("status", flat=True)))
    assert (rows, len(asked)) == (["sent"], 1)


def test_what_fails_for_days_is_switched_off_and_a_test_that_arrives_switches_it_on(
    ada: Reader, httpserver: HTTPServer, client: Client
):
    row = added(ada, httpserver, "webhook")
    asked = answers(httpserver, 404, 404, 200)
    for at in (NOW - OFF_AFTER - MINUTE, NOW):
        told(ada, at=at, words=f"at {at}")
        assert Destination.objects.get().off_at is None
        notifications_send(now=at)
    row.refresh_from_db()
    assert row.off_at == NOW and told(ada, at=NOW + timedelta(days=1)) == []
    client.force_login(ada)
    assert "Switched off 18 March 2026" in client.get("/ui/account/notifications").content.decode()
    assert client.post(f"/ui/account/destinations/{row.pk}/test").status_code == 302
    row.refresh_from_db()
    assert (row.off_at, row.failing_since, row.code, len(asked)) == (None, None, "", 3)


@pytest.fixture
def names(monkeypatch) -> Iterator[list[str]]:
    """Resolve `turns.example` to a public address at first, and to this machine from then on."""
    usual, asked = socket.getaddrinfo, []

    def resolve(host: str, port: int, *args: object, **more: object) -> list[tuple[object, ...]]:
        if host not in ("turns.example", "inner.example", "a.internal"):
            return usual(host, port, *args, **more)  # type: ignore[arg-type,return-value]
        if more.get("flags"):
            raise socket.gaierror
        asked.append(host)
        outside = host == "turns.example" and len(asked) == 1
        return [(2, 1, 6, "", ("192.0.43.8" if outside else "127.0.0.1", port))]

    monkeypatch.setattr(socket, "getaddrinfo", resolve)
    yield asked


def test_nothing_is_sent_inside_by_figures_by_name_or_by_a_name_that_turns(
    ada: Reader, httpserver: HTTPServer, names: list[str], settings, monkeypatch
):
    settings.NOTIFY_ALLOW_HOSTS, settings.FETCH_PORTS = [], [80, 443, httpserver.port]
    asked = answers(httpserver, 200)
    for host in (
        "127.0.0.1#.a.example",
        "127.0.0.1?@a.example",
        "[::1]#",
        "localhost#@a.example",
        "a.example@127.0.0.1",
        "127.0.0.1",
        "[::1]",
        "localhost",
        "2130706433",
        "169.254.169.254",
        "[::ffff:10.0.0.1]",
    ):
        for kind, secret in (("webhook", ""), ("push", SUBSCRIPTION), ("readeck", "token")):
            with pytest.raises(DestinationInvalid, match="not on the public internet"):
                destination_add(reader=ada, kind=kind, address=f"https://{host}/in", secret=secret, now=NOW)
    with pytest.raises(DestinationInvalid, match="https"):
        destination_add(reader=ada, kind="ntfy", address="http://ntfy.example/x", secret="", now=NOW)
    dialled: list[str] = []

    def dial(address: tuple[str, int], *args: object, **more: object) -> socket.socket:
        dialled.append(address[0])
        raise ConnectionRefusedError

    monkeypatch.setattr(socket, "create_connection", dial)
    turns = ("turns.example", ["connect_failed", "not_found"])
    for host, codes in (("inner.example", ["not_found"]), ("a.internal", ["not_found"]), turns):
        address = f"https://{host}:{httpserver.port}/in"
        row, _ = destination_add(reader=ada, kind="webhook", address=address, secret="", now=NOW)
        names.clear()
        for code in codes:
            with pytest.raises(DeliveryFailed) as failed:
                destination_test(reader=ada, destination_id=row.pk, now=NOW)
            assert failed.value.reason == code
    assert dialled == ["192.0.43.8"] and asked == []


def test_no_redirect_is_followed(ada: Reader, httpserver: HTTPServer):
    asked = answers(httpserver, 200, path="/other")
    httpserver.expect_request("/in").respond_with_data("", 307, {"Location": httpserver.url_for("/other")})
    row = added(ada, httpserver, "webhook")
    with pytest.raises(DeliveryFailed, match="sends us to another address"):
        destination_test(reader=ada, destination_id=row.pk, now=NOW)
    assert asked == []


@pytest.mark.parametrize(
    ("kind", "path", "expected"),
    [
        ("readeck", "/api/bookmarks", {"url": "https://gazette.example/tides"}),
        ("karakeep", "/api/v1/bookmarks", {"type": "link", "url": "https://gazette.example/tides"}),
        ("wallabag", "/api/entries.json", {"url": "https://gazette.example/tides"}),
    ],
)
def test_an_item_is_sent_on_by_its_address_alone(
    ada: Reader, ben: Reader, httpserver: HTTPServer, client: Client, kind: str, path: str, expected: object
):
    item = fresh_item(ada, url="https://gazette.example/tides", title="Tides", text="Long")
    secret = "id\nsecret\nada\npassword" if kind == "wallabag" else "token"
    httpserver.expect_request("/box/oauth/v2/token", method="POST").respond_with_json(
        {"access_token": "token"}
    )
    asked = answers(httpserver, 201, path=f"/box{path}")
    added(ada, httpserver, kind, secret, path="/box/")
    client.force_login(ada)
    page = client.get(f"/ui/item/{item.pk}").content.decode()
    assert f"Send to {kind.title()}" in page
    done = client.post(f"/ui/item/{item.pk}/send", {"next": f"/ui/item/{item.pk}"}, follow=True)
    assert f"Saved to {kind.title()}." in done.content.decode()
    assert [json.loads(one.get_data()) for one in asked] == [expected]
    assert asked[0].headers["Authorization"] == "Bearer token"
    client.force_login(ben)
    assert client.post(f"/ui/item/{item.pk}/send").status_code == 404


def test_a_service_that_refuses_is_said_and_its_token_is_nowhere(ada: Reader, httpserver: HTTPServer):
    item = fresh_item(ada)
    row = added(ada, httpserver, "readeck", "tok3n")
    httpserver.expect_request("/in/api/bookmarks").respond_with_data("tok3n is wrong", 403)
    with pytest.raises(DeliveryFailed, match="does not take the token") as failed:
        item_send_on(reader=ada, item=item)
    assert "tok3n" not in failed.value.message and "tok3n" not in row.secret


def test_secrets_are_read_with_every_key_there_is_and_with_no_other(settings):
    settings.SECRETS_KEY = ""
    under_secret_key = secret_encrypt("tok3n")
    settings.SECRETS_KEY = "first-key"
    first, derived = secret_encrypt("tok3n"), key_derive(purpose="web push")
    with pytest.raises(SecretUnreadable):
        secret_decrypt(under_secret_key)
    settings.SECRETS_KEY = "second-key, first-key"
    assert secret_decrypt(first) == secret_decrypt(secret_encrypt("tok3n")) == "tok3n"
    assert key_derive(purpose="web push") == derived != key_derive(purpose="another")
    settings.SECRETS_KEY = "second-key"
    with pytest.raises(SecretUnreadable):
        secret_decrypt(first)


def test_a_changed_key_is_said_and_sends_nothing(ada: Reader, httpserver: HTTPServer, settings):
    row, asked = added(ada, httpserver, "webhook"), answers(httpserver, 200)
    settings.SECRETS_KEY = "another-key"
    with pytest.raises(DeliveryFailed, match="another key"):
        destination_test(reader=ada, destination_id=row.pk, now=NOW)
    assert asked == []


@pytest.mark.parametrize("kind", ["webhook", "ntfy"])
@pytest.mark.parametrize("language", ["en", "de"])
@pytest.mark.parametrize(
    "address",
    [
        "http://127.0.0.1:2586/topic",
        "http://127.0.0.1/topic",
        "https://localhost/topic",
        "http://a.example/topic",
    ],
)
def test_what_is_inside_or_without_tls_is_refused_with_the_setting_that_allows_it(
    ada: Reader, client: Client, address: str, language: str, kind: str
):
    client.force_login(ada)
    form = {"kind": kind, "address": address, "secret": ""}
    answer = client.post("/ui/account/destinations", form, headers={"Accept-Language": language})
    assert answer.status_code == 422 and "NOTIFY_ALLOW_HOSTS" in answer.content.decode()


def test_whoever_knows_a_browsers_address_alone_takes_it_from_nobody(ada: Reader, ben: Reader, httpserver):
    """A shared browser notifies who used it last. A stranger does not have its keys."""
    added(ada, httpserver, "push", SUBSCRIPTION)
    others = ec.derive_private_key(54321, ec.SECP256R1())
    forged = json.dumps({"keys": {"p256dh": b64url(public_bytes(others)), "auth": b64url(AUTH)}})
    added(ben, httpserver, "push", forged)
    assert set(Destination.objects.values_list("reader_id", flat=True)) == {ada.pk, ben.pk}
    added(ben, httpserver, "push", SUBSCRIPTION)
    assert list(Destination.objects.values_list("reader_id", flat=True)) == [ben.pk]
    added(ben, httpserver, "push", forged)
    assert Destination.objects.count() == 1, "the reader's own is replaced"


def browser_of(reader: Reader, server: HTTPServer) -> Client:
    """Sign in and let this browser be notified."""
    client = Client()
    client.force_login(reader)
    address = server.url_for("/in")
    fields = {"kind": "push", "address": address, "secret": SUBSCRIPTION}
    assert client.post("/ui/account/destinations", fields).status_code == 302
    NotificationSettings.objects.filter(reader=reader).update(since=NOW - timedelta(days=9))
    return client


def expired(client: Client, reader: Reader) -> None:
    Session.objects.update(expire_date=timezone.now() - MINUTE)


def ended_elsewhere(client: Client, reader: Reader) -> None:
    Session.objects.all().delete()


def given_another_password(client: Client, reader: Reader) -> None:
    reader.set_password("a-lamp-and-a-kettle")
    reader.save()


def blocked(client: Client, reader: Reader) -> None:
    Reader.objects.filter(pk=reader.pk).update(is_active=False)


def signed_out(client: Client, reader: Reader) -> None:
    client.logout()


def used_by_another(client: Client, reader: Reader) -> None:
    client.force_login(Reader.objects.exclude(pk=reader.pk).get())


@pytest.mark.parametrize(
    "end", [expired, ended_elsewhere, given_another_password, blocked, signed_out, used_by_another]
)
def test_a_browser_is_told_nothing_once_its_session_has_ended(
    end: Callable[[Client, Reader], None], ada: Reader, ben: Reader, httpserver: HTTPServer
):
    client, asked = browser_of(ada, httpserver), answers(httpserver, 201)
    told(ada)
    assert notifications_send(now=NOW).sent == 1
    Notification.objects.all().delete()
    NotificationSettings.objects.update(notified_count=0, notified_keys=[])
    told(ada, at=NOW + MINUTE, words="It is secret.")
    assert Notification.objects.filter(status="waiting").count() == 1
    end(client, ada)
    assert notifications_send(now=NOW + MINUTE).failed == 1 and len(asked) == 1
    assert not told(ada, at=NOW + 2 * MINUTE, words="It is secret, too.")
    assert end is blocked or not Destination.objects.exists()


def test_a_browser_is_told_on_after_its_reader_changed_the_password_there(
    ada: Reader, httpserver: HTTPServer
):
    ada.set_password("a-kettle-and-a-lamp")
    ada.save()
    client, asked = browser_of(ada, httpserver), answers(httpserver, 201)
    before = client.session.session_key
    client.post("/accounts/reauthenticate/", {"password": "a-kettle-and-a-lamp"})
    new = {"oldpassword": "a-kettle-and-a-lamp", **dict.fromkeys(("password1", "password2"), "tea-and-oil-9")}
    assert client.post("/accounts/password/change/", new).status_code == 302
    assert client.session.session_key != before
    told(ada)
    assert notifications_send(now=NOW).sent == len(asked) == 1

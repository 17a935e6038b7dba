"""The mailbox for newsletters on a hostile server: one that pretends, drips, floods or never ends."""

import socket
import socketserver
import ssl
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from datetime import timedelta
from pathlib import Path
from urllib.parse import quote

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import NameOID
from django.utils import timezone

from digest.models import Reader
from digest.sources import mailbox as mailboxes
from digest.sources.mailbox import MailboxFailed, mailbox_open
from digest.sources.newsletters import (
    mailbox_problem,
    mailbox_state,
    newsletter_address_issue,
    newsletters_fetch,
)
from tests.digest.sources.test_newsletters import issue

pytestmark = pytest.mark.alike
PASSWORD = "l3tters"
Answer = Callable[["_Session", str], None]


class _Session(socketserver.StreamRequestHandler):
    server: "_Server"

    def handle(self) -> None:
        with suppress(OSError):
            self.say(self.server.greeting)
            while line := self.rfile.readline():
                self.server.said.append(line)
                tag, _, command = line.decode("latin-1").strip().partition(" ")
                words = command.upper().split()
                verb = words[1] if words[0] == "UID" else words[0]
                self.server.answers.get(verb, usual)(self, verb)
                self.say(f"{tag} OK done")
                if verb == "LOGOUT":
                    return

    def say(self, line: str | bytes) -> None:
        self.wfile.write((line.encode("latin-1") if isinstance(line, str) else line) + b"\r\n")


def usual(session: _Session, verb: str) -> None:
    """Answer as an honest server that has the mails of `session.server.mails`."""
    mails = session.server.mails
    if verb == "CAPABILITY":
        session.say("* CAPABILITY IMAP4rev1")
    elif verb == "SELECT":
        session.say(f"* {len(mails)} EXISTS")
    elif verb == "SEARCH":
        session.say("* SEARCH " + " ".join(str(n + 1) for n in range(len(mails))))
    elif verb == "FETCH":
        session.say(b"* 1 FETCH (UID 1 BODY[]<0> {%d}\r\n%s)" % (len(mails[0]), mails[0]))


class _Server(socketserver.ThreadingTCPServer):
    allow_reuse_address, daemon_threads = True, True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Session)
        self.answers: dict[str, Answer] = {}
        self.mails: list[bytes] = []
        self.said: list[bytes] = []
        self.greeting = "* OK ready"
        self.tls: ssl.SSLContext | None = None

    def get_request(self) -> tuple[socket.socket, object]:
        taken, address = super().get_request()
        return (self.tls.wrap_socket(taken, server_side=True) if self.tls else taken), address

    def url(self, host: str = "127.0.0.1") -> str:
        kind = "imaps" if self.tls else "imap"
        return f"{kind}://letters:{PASSWORD}@{host}:{self.server_address[1]}"


@pytest.fixture
def server(settings) -> Iterator[_Server]:
    with _Server() as one:
        settings.NEWSLETTERS_URL, settings.NEWSLETTERS_ADDRESS = one.url(), "letters+*@example.org"
        threading.Thread(target=one.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
        yield one
        one.shutdown()


def certificate(folder: Path, name: str) -> Path:
    """Return a file with a key and its certificate for `name`, signed by itself."""
    key, subject = (
        ec.generate_private_key(ec.SECP256R1()),
        x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)]),
    )
    made = (
        x509.CertificateBuilder(subject, subject, key.public_key(), x509.random_serial_number())
        .not_valid_before(timezone.now() - timedelta(days=1))
        .not_valid_after(timezone.now() + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(name)]), critical=False)
        .sign(key, hashes.SHA256())
    )
    file = folder / f"{name}.pem"
    plain = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    file.write_bytes(plain + made.public_bytes(Encoding.PEM))
    return file


@pytest.mark.parametrize(("name", "is_known"), [("localhost", False), ("elsewhere.example", True)])
def test_who_stands_between_us_and_the_mailbox_gets_no_password(
    server: _Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, is_known: bool
):
    file = certificate(tmp_path, name)
    server.tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server.tls.load_cert_chain(file)
    if is_known:
        monkeypatch.setenv("SSL_CERT_FILE", str(file))
    with (
        pytest.raises(MailboxFailed, match="SSLCertVerificationError"),
        mailbox_open(server.url("localhost")),
    ):
        pass
    assert server.said == []


def test_a_mailbox_with_a_good_certificate_opens(
    server: _Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    file = certificate(tmp_path, "localhost")
    server.tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server.tls.load_cert_chain(file)
    monkeypatch.setenv("SSL_CERT_FILE", str(file))
    with mailbox_open(server.url("localhost")) as mailbox:
        assert list(mailbox.unseen()) == []


@pytest.mark.parametrize(
    ("name", "password", "sent"),
    [
        ("letters", "l3tters", '"letters" "l3tters"'),
        ("the letters*boss", 'a"b\\c', '"the letters*boss" "a\\"b\\\\c"'),
        ("post@bücher.example", "schlüssel", '"post@bücher.example" "schlüssel"'),
    ],
)
def test_any_name_and_password_are_sent_as_they_are(server: _Server, name: str, password: str, sent: str):
    """Unquoted, a name with a space would be two."""
    address = server.url().replace(f"letters:{PASSWORD}", f"{quote(name)}:{quote(password)}")
    with mailbox_open(address):
        pass
    (line,) = [line for line in server.said if b"LOGIN" in line]
    assert line.decode().partition("LOGIN ")[2] == f"{sent}\r\n"


def test_an_honest_server_is_read(server: _Server, ada: Reader):
    server.mails = [issue(newsletter_address_issue(reader=ada))]
    report = newsletters_fetch(now=timezone.now())
    assert (report.waiting, report.problem) == (1, "")
    assert any(b"STORE" in line for line in server.said)


def drip(session: _Session, verb: str) -> None:
    """Send a byte now and then, without end."""
    while True:
        session.wfile.write(b"x")
        time.sleep(0.05)


def flood(session: _Session, verb: str) -> None:
    """Send short lines without end."""
    while True:
        session.say("* 1 FETCH (FLAGS (\\Seen))\r\n" * 1000)


def long_line(session: _Session, verb: str) -> None:
    """Send one line without end."""
    while True:
        session.wfile.write(b"x" * 65536)


def huge_literal(session: _Session, verb: str) -> None:
    """Announce four gigabytes, and send what one reads of them."""
    session.say("* 1 FETCH (BODY[]<0> {4000000000}")
    long_line(session, verb)


def many_mails(session: _Session, verb: str) -> None:
    """Say that there are more mails than anybody can search."""
    session.say("* 999999999999999999 EXISTS")


def slow(session: _Session, verb: str) -> None:
    """Find nothing, after a moment."""
    time.sleep(0.05)


VERBS = ("CAPABILITY", "LOGIN", "SELECT", "SEARCH", "FETCH", "STORE", "LOGOUT")
ENDLESS: list[tuple[str, Answer]] = [
    *((verb, drip) for verb in VERBS),
    *((verb, how) for verb in ("LOGIN", "FETCH") for how in (flood, long_line)),
]


@pytest.mark.parametrize(
    "answers",
    [
        *({verb: how} for verb, how in ENDLESS),
        {"FETCH": huge_literal},
        {"SELECT": many_mails, "SEARCH": slow},
    ],
    ids=lambda answers: " ".join(f"{verb} {how.__name__}" for verb, how in answers.items()),
)
def test_a_server_that_never_ends_is_left_at_the_deadline(
    server: _Server, ada: Reader, monkeypatch: pytest.MonkeyPatch, answers: dict[str, Answer]
):
    monkeypatch.setattr("digest.sources.newsletters.MAILBOX_S", 1.0)
    server.mails, server.answers = [issue(newsletter_address_issue(reader=ada))], answers
    began = time.monotonic()
    report = newsletters_fetch(now=timezone.now())
    assert time.monotonic() - began < 15
    state = mailbox_state()
    assert state is not None and state.problem == report.problem
    assert report.problem or "LOGOUT" in answers
    server.answers = {}
    assert newsletters_fetch(now=timezone.now()).problem == "", "nothing is left of it"


def test_what_a_server_sends_unasked_is_not_gathered(server: _Server, monkeypatch: pytest.MonkeyPatch):
    """Two megabytes an answer would be gigabytes in a minute."""

    def chat(session: _Session, verb: str) -> None:
        session.say("* NEWS " + "x" * 500_000)
        usual(session, verb)

    server.mails, server.answers = [b"To: nobody@example.org\r\n\r\n"] * 20, {"FETCH": chat, "STORE": chat}
    with mailbox_open(server.url()) as mailbox:
        for uid in mailbox.unseen():
            mailbox.read(uid, 100)
            mailbox.seen(uid)
        kept = mailbox._connection.untagged_responses
        assert sum(len(part) for parts in kept.values() for part in parts if part) < 2_000_000


def said(*lines: bytes) -> Answer:
    def answer(session: _Session, verb: str) -> None:
        for line in lines:
            session.say(line)

    return answer


BROKEN = [
    {"CAPABILITY": said(b"* CAPABILITY \xff\xfe")},
    {"CAPABILITY": said(b"* CAPABILITY")},
    {"CAPABILITY": said(b"* CAPABILITY HTTP/1.1")},
    {"SELECT": said(b"* " + b"9" * 5000 + b" EXISTS")},
    {"SELECT": said(b"* EXISTS x")},
    {"SELECT": said(b"* 1 EXISTS", b"* OK [READ-ONLY] no")},
    {"SEARCH": said(b"* SEARCH \xff " + b"9" * 5000)},
    {"SEARCH": said(b"* SEARCH {5}\r\n1 2 3")},
    {"FETCH": said(b"* 1 FETCH (BODY[] {" + b"9" * 5000 + b"}")},
    {"FETCH": said(b"* 1 FETCH (BODY[]<0> {3}\r\nabc {3}\r\nabc)")},
    {"FETCH": said(b"* 1 FETCH NIL")},
    {"FETCH": said(b"+ go on")},
    {"FETCH": said(b"\xff\x00\xff")},
    {"FETCH": said(b"A1 OK \xff")},
    {"FETCH": said(b"* BYE")},
]


@pytest.mark.parametrize("answers", BROKEN, ids=[str(n) for n in range(len(BROKEN))])
def test_answers_that_are_no_imap_break_nothing_and_lose_no_mail(
    server: _Server, ada: Reader, answers: dict[str, Answer]
):
    server.mails = [issue(newsletter_address_issue(reader=ada))]
    server.answers = answers
    report = newsletters_fetch(now=timezone.now())
    assert report.refused == 0
    assert mailbox_problem() == "" or "CAPABILITY" in answers or "SELECT" in answers
    if not any(b"STORE" in line for line in server.said):
        server.answers = {}
        assert newsletters_fetch(now=timezone.now()).waiting == 1


@pytest.mark.parametrize("greeting", ["", "hello", "* BYE", "* PREAUTH x", "\xff", "* OK", "HTTP/1.1 200 OK"])
def test_what_greets_as_no_mailbox_is_said(server: _Server, db: None, greeting: str):
    server.greeting = greeting
    report = newsletters_fetch(now=timezone.now())
    assert bool(report.problem) is (greeting not in ("* OK",))
    assert mailbox_state().problem == report.problem


def test_more_of_a_mail_than_was_asked_for_is_cut_off(server: _Server):
    server.mails = [b"To: nobody@example.org\r\n\r\n" + b"x" * 1000]
    with mailbox_open(server.url()) as mailbox:
        assert mailbox.read("1", 100) == server.mails[0][:100]
    assert mailboxes.ANSWER_MAX_BYTES < 10 * 1024 * 1024

"""A small mail server on a real socket that keeps the mails it gets."""

import email
import email.policy
import socketserver
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from email.message import EmailMessage

import pytest


@dataclass
class Mailbox:
    """The received mails, the number of connections, and the recipients to refuse (address: answer).

    `hang_up_on` drops the connection after a complete message to that address, before confirming it.
    """

    messages: list[EmailMessage] = field(default_factory=list)
    recipients: list[str] = field(default_factory=list)
    connections: int = 0
    refused: dict[str, str] = field(default_factory=dict)
    hang_up_on: str = ""
    port: int = 0


class _Server(socketserver.ThreadingTCPServer):
    allow_reuse_address = True
    daemon_threads = True
    box: Mailbox


class _Session(socketserver.StreamRequestHandler):
    server: _Server

    def handle(self) -> None:
        box, to = self.server.box, ""
        box.connections += 1
        self.say("220 mailbox")
        while line := self.rfile.readline().decode().strip():
            verb = line[:4].upper()
            if verb == "RCPT":
                to = line.split("<")[1].split(">")[0]
                self.say(box.refused.get(to, "250 ok"))
            elif verb == "DATA":
                self.say("354 go on")
                data = self.message()
                if to == box.hang_up_on:
                    return
                box.messages.append(email.message_from_bytes(data, policy=email.policy.default))
                box.recipients.append(to)
                self.say("250 kept")
            elif verb == "QUIT":
                self.say("221 bye")
                return
            else:
                self.say("250 ok")

    def say(self, line: str) -> None:
        self.wfile.write(f"{line}\r\n".encode())

    def message(self) -> bytes:
        lines = []
        while (line := self.rfile.readline()) not in (b".\r\n", b""):
            lines.append(line[1:] if line.startswith(b"..") else line)
        return b"".join(lines)


@contextmanager
def mailbox_open() -> Iterator[Mailbox]:
    """Yield a mailbox that listens until the block ends."""
    with _Server(("127.0.0.1", 0), _Session) as server:
        server.box = Mailbox(port=server.server_address[1])
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
        thread.start()
        yield server.box
        server.shutdown()
        thread.join()


@pytest.fixture
def mailbox(settings: object) -> Iterator[Mailbox]:
    """Yield a mailbox that Django's own SMTP sends to."""
    with mailbox_open() as box:
        settings.EMAIL_BACKEND = "django.core.mail.backends.smtp.EmailBackend"  # type: ignore[attr-defined]
        settings.EMAIL_HOST, settings.EMAIL_PORT = "127.0.0.1", box.port  # type: ignore[attr-defined]
        yield box

"""The operator's mailbox for newsletters, by IMAP (RFC 3501).

The operator names it, so it may be anywhere.
"""

import imaplib
import re
import ssl
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any, Final
from urllib.parse import SplitResult, unquote, urlsplit

from digest.feeds.mails import MAIL_MAX_BYTES

PORTS: Final = {"imaps": 993, "imap": 143}
FOLDER: Final = "INBOX"
# How long a server may be silent.
TIMEOUT_S: Final = 20.0
# The answer to one command: a mail, and what a server tells besides.
ANSWER_MAX_BYTES: Final = 2 * MAIL_MAX_BYTES
LINE_MAX_BYTES: Final = 1_000_000
CHUNK_BYTES: Final = 64 * 1024
# Mails that one search looks at.
SEARCHED: Final = 50_000
_UIDS: Final = re.compile(rb"\d{1,10}")


class MailboxFailed(Exception):
    """A mailbox that does not answer, does not let us in, or speaks no IMAP; a sentence says which."""


class _Bounded(imaplib.IMAP4):
    """A connection that ends at a deadline, and answers that end at `ANSWER_MAX_BYTES`.

    imaplib's own limits are of a silence and of a line. So a server that drips, or sends lines or literals
    without end, would hold the worker for ever or fill its memory.
    """

    def __init__(self, host: str, port: int, until: float) -> None:
        self._until, self._left, self._read = until, ANSWER_MAX_BYTES, bytearray()
        super().__init__(host, port, timeout=TIMEOUT_S)
        self._encoding = "utf-8"  # of names and passwords; imaplib's own is ASCII

    def send(self, data: Any) -> None:
        """Send a command. Forget what the server told unasked."""
        self._left = ANSWER_MAX_BYTES
        self.untagged_responses.clear()
        super().send(data)

    def read(self, size: int) -> bytes:
        """Return the next `size` bytes. Raises as `_receive`."""
        if size > self._left + len(self._read):
            raise self.abort("an answer of too many bytes")
        while len(self._read) < size:
            self._receive()
        return self._take(size)

    def readline(self) -> bytes:
        """Return the next line with its end. Raises as `_receive`."""
        seen = 0
        while (end := self._read.find(b"\n", seen)) < 0:
            if (seen := len(self._read)) > LINE_MAX_BYTES:
                raise self.abort("a line of too many bytes")
            self._receive()
        return self._take(end + 1)

    def _take(self, size: int) -> bytes:
        taken = bytes(self._read[:size])
        del self._read[:size]
        return taken

    def _receive(self) -> None:
        """Read some bytes.

        Raises `OSError` at the deadline or after a silence, and `IMAP4.abort` at the end of the connection or
        of what an answer may have.
        """
        left = self._until - time.monotonic()
        if left <= 0:
            raise TimeoutError("the mailbox took too long")
        self.sock.settimeout(min(TIMEOUT_S, left))
        some = self.sock.recv(CHUNK_BYTES)
        self._left -= len(some)
        if not some or self._left < 0:
            raise self.abort("an answer breaks off, or has too many bytes")
        self._read += some


class _BoundedTls(_Bounded):
    """The same over TLS, with the server's certificate checked by name, which imaplib does not by itself."""

    def _create_socket(self, timeout: float | None) -> ssl.SSLSocket:
        plain = super()._create_socket(timeout)  # type: ignore[misc]
        return ssl.create_default_context().wrap_socket(plain, server_hostname=self.host)


class Mailbox:
    """An open mailbox: see `mailbox_open`."""

    def __init__(self, connection: imaplib.IMAP4, count: int) -> None:
        self._connection, self._count = connection, count

    def unseen(self) -> Iterator[str]:
        """Yield the number of each unseen mail, oldest first."""
        for start in range(1, self._count + 1, SEARCHED):
            # Not all at once: imaplib refuses a line of more than a million bytes, some 140,000 mails.
            some = f"{start}:{min(start + SEARCHED - 1, self._count)}"
            with _imap_alone():
                _, found = self._connection.uid("SEARCH", some, "UNSEEN")
                uids = _UIDS.findall(found[0] or b"")
            yield from (uid.decode() for uid in uids)

    def read(self, uid: str, size: int) -> bytes | None:
        """Return the first `size` bytes of a mail; None if it is gone."""
        with _imap_alone():
            _, parts = self._connection.uid("FETCH", uid, f"(BODY.PEEK[]<0.{size}>)")
        body = next((part[1] for part in parts or () if isinstance(part, tuple)), None)
        return None if body is None else bytes(body[:size])

    def seen(self, uid: str) -> None:
        """Mark a mail as seen, so that the next run leaves it out."""
        with _imap_alone():
            self._connection.uid("STORE", uid, "+FLAGS.SILENT", r"(\Seen)")


@contextmanager
def mailbox_open(url: str, *, seconds: float = TIMEOUT_S) -> Iterator[Mailbox]:
    """Open the mailbox at `imaps://name:password@host[:port][/folder]`, with its certificate checked.

    After so many `seconds` nothing more is read, whatever the server sends. Raises `MailboxFailed`. Its
    message repeats no part of the address or of the server's answer.
    """
    connection, count = _connect(urlsplit(url), time.monotonic() + seconds)
    try:
        yield Mailbox(connection, count)
    except (OSError, imaplib.IMAP4.error) as error:
        raise MailboxFailed(f"The mailbox broke off ({type(error).__name__}).") from error
    finally:
        with suppress(OSError, imaplib.IMAP4.error), _imap_alone():
            connection.logout()
        _hang_up(connection)  # without a farewell, too


def _connect(parts: SplitResult, until: float) -> tuple[imaplib.IMAP4, int]:
    """Return a connection with the folder selected, and how many mails the folder has."""
    host, port = parts.hostname or "", parts.port or PORTS.get(parts.scheme, 993)
    kind = _Bounded if parts.scheme == "imap" else _BoundedTls
    folder = unquote(parts.path.strip("/")) or FOLDER
    with _failing("The mailbox’s server speaks no IMAP"):
        connection = kind(host, port, until)
    try:
        with _failing("The mailbox does not take the user name and password"):
            # imaplib quotes the password alone.
            connection.login(_quoted(unquote(parts.username or "")), unquote(parts.password or ""))
        with _failing("The mailbox has no such folder"):
            status, counted = connection.select(_quoted(folder))
            if status != "OK":
                raise imaplib.IMAP4.error("no such folder")
            return connection, int(counted[0] or 0)
    except BaseException:
        _hang_up(connection)
        raise


def _quoted(text: str) -> str:
    """Return a text as IMAP quotes it, so that a space in it ends nothing."""
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _hang_up(connection: imaplib.IMAP4) -> None:
    with suppress(OSError, imaplib.IMAP4.error):
        connection.shutdown()


@contextmanager
def _failing(words: str) -> Iterator[None]:
    """Raise `MailboxFailed`: with these words if the server refuses, with others if it does not answer."""
    try:
        with _imap_alone():
            yield
    except (imaplib.IMAP4.abort, OSError) as error:
        raise MailboxFailed(f"The mailbox’s server does not answer ({type(error).__name__}).") from error
    except imaplib.IMAP4.error as error:
        raise MailboxFailed(f"{words}.") from error


@contextmanager
def _imap_alone() -> Iterator[None]:
    """Raise `IMAP4.abort` for an answer that imaplib cannot read: endless numbers, letters beyond ASCII."""
    try:
        yield
    except OSError:  # a wrong certificate is also a ValueError
        raise
    except (ValueError, TypeError, IndexError) as error:
        raise imaplib.IMAP4.abort("the server speaks no IMAP") from error

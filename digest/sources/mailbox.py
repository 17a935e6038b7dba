"""The operator's mailbox for newsletters, by IMAP (RFC 3501).

The operator names it, so it may be anywhere.
"""

import imaplib
import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Final
from urllib.parse import SplitResult, unquote, urlsplit

PORTS: Final = {"imaps": 993, "imap": 143}
FOLDER: Final = "INBOX"
TIMEOUT_S: Final = 20.0
# Mails that one search looks at.
SEARCHED: Final = 50_000
_UIDS: Final = re.compile(rb"\d{1,10}")


class MailboxFailed(Exception):
    """A mailbox that does not answer, does not let us in, or speaks no IMAP; a sentence says which."""


class Mailbox:
    """An open mailbox: see `mailbox_open`."""

    def __init__(self, connection: imaplib.IMAP4, count: int) -> None:
        self._connection, self._count = connection, count

    def unseen(self) -> Iterator[str]:
        """Yield the number of each unseen mail, oldest first."""
        for start in range(1, self._count + 1, SEARCHED):
            # Not all at once: imaplib refuses a line of more than a million bytes, some 140,000 mails.
            some = f"{start}:{min(start + SEARCHED - 1, self._count)}"
            _, found = self._connection.uid("SEARCH", some, "UNSEEN")
            yield from (uid.decode() for uid in _UIDS.findall(found[0] or b""))

    def read(self, uid: str, size: int) -> bytes | None:
        """Return the first `size` bytes of a mail; None if it is gone."""
        _, parts = self._connection.uid("FETCH", uid, f"(BODY.PEEK[]<0.{size}>)")
        body = next((part[1] for part in parts or () if isinstance(part, tuple)), None)
        return None if body is None else bytes(body)

    def seen(self, uid: str) -> None:
        """Mark a mail as seen, so that the next run leaves it out."""
        self._connection.uid("STORE", uid, "+FLAGS.SILENT", r"(\Seen)")


@contextmanager
def mailbox_open(url: str) -> Iterator[Mailbox]:
    """Open the mailbox at `imaps://name:password@host[:port][/folder]`, with its certificate checked.

    Raises `MailboxFailed`. Its message repeats no part of the address or of the server's answer.
    """
    connection, count = _connect(urlsplit(url))
    try:
        yield Mailbox(connection, count)
    except (OSError, imaplib.IMAP4.error) as error:
        raise MailboxFailed(f"The mailbox broke off ({type(error).__name__}).") from error
    finally:
        with suppress(OSError, imaplib.IMAP4.error):
            connection.logout()


def _connect(parts: SplitResult) -> tuple[imaplib.IMAP4, int]:
    """Return a connection with the folder selected, and how many mails the folder has."""
    host, port = parts.hostname or "", parts.port or PORTS.get(parts.scheme, 993)
    kind = imaplib.IMAP4 if parts.scheme == "imap" else imaplib.IMAP4_SSL
    folder = unquote(parts.path.strip("/")) or FOLDER
    with _failing("The mailbox’s server speaks no IMAP"):
        connection = kind(host, port, timeout=TIMEOUT_S)
    try:
        with _failing("The mailbox does not take the user name and password"):
            connection.login(unquote(parts.username or ""), unquote(parts.password or ""))
        with _failing("The mailbox has no such folder"):
            status, counted = connection.select('"' + folder.replace("\\", "\\\\").replace('"', '\\"') + '"')
            if status != "OK":
                raise imaplib.IMAP4.error("no such folder")
    except BaseException:
        with suppress(OSError, imaplib.IMAP4.error):
            connection.shutdown()
        raise
    return connection, int(counted[0] or 0)


@contextmanager
def _failing(words: str) -> Iterator[None]:
    """Raise `MailboxFailed`: with these words if the server refuses, with others if it does not answer."""
    try:
        yield
    except (imaplib.IMAP4.abort, OSError) as error:
        raise MailboxFailed(f"The mailbox’s server does not answer ({type(error).__name__}).") from error
    except imaplib.IMAP4.error as error:
        raise MailboxFailed(f"{words}.") from error

"""The mailbox that newsletters come to, over IMAP (RFC 3501): unread mails one after the other, then marked.

The operator names it, so it may be anywhere; what comes out of it are strangers' words.
"""

import imaplib
import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Final
from urllib.parse import SplitResult, unquote, urlsplit

from digest.feeds.mails import MAIL_MAX_BYTES

PORTS: Final = {"imaps": 993, "imap": 143}
FOLDER: Final = "INBOX"
TIMEOUT_S: Final = 20.0
MAILS_MAX: Final = 200
_UIDS: Final = re.compile(rb"\d{1,10}")


class MailboxFailed(Exception):
    """A mailbox that does not answer, does not let us in, or answers what is no IMAP."""


class Mailbox:
    """An open mailbox: see `mailbox_open`."""

    def __init__(self, connection: imaplib.IMAP4) -> None:
        self._connection = connection

    def mails(self) -> Iterator[tuple[str, bytes]]:
        """Yield the number and the first 2 MiB of each mail nobody has seen, oldest first, 200 at most."""
        _, found = self._connection.uid("SEARCH", "UNSEEN")
        for uid in _UIDS.findall(found[0] or b"")[:MAILS_MAX]:
            _, parts = self._connection.uid("FETCH", uid.decode(), f"(BODY.PEEK[]<0.{MAIL_MAX_BYTES}>)")
            body = next((part[1] for part in parts or () if isinstance(part, tuple)), None)
            if body is not None:
                yield uid.decode(), bytes(body)

    def seen(self, uid: str) -> None:
        """Mark a mail as seen, so that the next round leaves it out."""
        self._connection.uid("STORE", uid, "+FLAGS.SILENT", r"(\Seen)")


@contextmanager
def mailbox_open(url: str) -> Iterator[Mailbox]:
    """Open the mailbox at `imaps://name:password@host[:port][/folder]`, with its certificate checked.

    Raises `MailboxFailed`, whose words repeat nothing of the address or of what the server said.
    """
    parts = urlsplit(url)
    try:
        connection = _connect(parts)
    except (OSError, imaplib.IMAP4.error) as error:
        raise MailboxFailed(f"the mailbox does not open ({type(error).__name__})") from error
    try:
        yield Mailbox(connection)
    except (OSError, imaplib.IMAP4.error) as error:
        raise MailboxFailed(f"the mailbox broke off ({type(error).__name__})") from error
    finally:
        with suppress(OSError, imaplib.IMAP4.error):
            connection.logout()


def _connect(parts: SplitResult) -> imaplib.IMAP4:
    host, port = parts.hostname or "", parts.port or PORTS.get(parts.scheme, 993)
    kind = imaplib.IMAP4 if parts.scheme == "imap" else imaplib.IMAP4_SSL
    connection = kind(host, port, timeout=TIMEOUT_S)
    try:
        connection.login(unquote(parts.username or ""), unquote(parts.password or ""))
        folder = unquote(parts.path.strip("/")) or FOLDER
        status, _ = connection.select('"' + folder.replace("\\", "\\\\").replace('"', '\\"') + '"')
        if status != "OK":
            raise imaplib.IMAP4.error("no such folder")
    except BaseException:
        with suppress(OSError, imaplib.IMAP4.error):
            connection.shutdown()
        raise
    return connection

"""Mails: read newsletters as entries of a feed, with their recipient, their list and their body.

`mail_tokens` finds the recipient before anything else is done with a mail. `mail_parse` reads strangers'
bytes, so it runs in the sandbox.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from email import message_from_bytes, policy
from email.message import EmailMessage
from email.utils import parseaddr
from html import escape
from typing import Any, ClassVar, Final

from digest.feeds.body_html import html_clean
from digest.feeds.encodings import codec_of
from digest.feeds.entities import ParsedEntry, ParsedFeed, feed_as_json, feed_from_json
from digest.feeds.sanitise import clean_text, html_to_text, one_line
from digest.feeds.storable import Storable
from ranking.language import gettext_noop

# A longer mail is cut off here, within its parts.
MAIL_MAX_BYTES: Final = 2 * 1024 * 1024
# Limit for the headers before a mail's body. Servers accept a few KiB (Postfix: 100 KiB by default).
HEAD_BYTES: Final = 64 * 1024
PARTS_MAX: Final = 50
SENDER_MAX_CHARS, TITLE_MAX_CHARS, GUID_MAX_CHARS = 200, 300, 400
UNTITLED: Final = "Without a subject"
UNKNOWN_SENDER: Final = "Unknown sender"
# Stored in English, shown in the language of the page (`digest.articles.render`).
UNSUBSCRIBE: Final = gettext_noop("Unsubscribe from this newsletter")
# Headers in which mail servers and senders name the recipient, the most reliable first.
RECIPIENT_HEADERS: Final = ("Delivered-To", "X-Original-To", "Envelope-To", "To", "Cc")
_LIST_ID: Final = re.compile(r"<([^<>\s]{1,200})>")
_LINK: Final = re.compile(r"<((?:https?://|mailto:)[^<>\s]{1,2000})>")
# An address in plain text, up to a space or a sign that no address has, then signs that may end the sentence.
_ADDRESS: Final = re.compile(r"(https?://[^\s<>\"]+)", re.IGNORECASE)
_PAIRS: Final = {")": "(", "]": "[", "}": "{"}
# An encoded word of a header begins with its charset (RFC 2047), perhaps with a language (RFC 2231).
_ENCODED_WORD: Final = re.compile(rb"=\?([A-Za-z0-9._:-]{1,40})(?:\*[A-Za-z0-9-]{1,20})?\?")
_HEAD_END: Final = re.compile(rb"\r?\n\r?\n")
_SENTENCE_SIGNS: Final = ".,:;!?'*_…’”»"
ADDRESS_MAX_CHARS: Final = 2000


@dataclass(frozen=True, slots=True)
class Letter(Storable):
    """One mail: its list (or sender), and it as the one entry of a feed."""

    LIMITS: ClassVar = {"list_key": SENDER_MAX_CHARS}

    list_key: str
    feed: ParsedFeed


def letter_as_json(letter: Letter) -> dict[str, Any]:
    """Return `letter` as JSON knows it."""
    return {"list": letter.list_key, "feed": feed_as_json(letter.feed)}


def letter_from_json(body: dict[str, Any]) -> Letter:
    """Read the output of `letter_as_json`. Raises `KeyError`, `TypeError` or `ValueError` for other input."""
    return Letter(str(body["list"]), feed_from_json(body["feed"]))


def mail_parse(mail: bytes) -> Letter:
    """Read one mail (RFC 5322, MIME), whatever its bytes are.

    The list comes from `List-Id`, or else is the sender's address. The body is its HTML, cleaned by the
    policy of all feeds, or else its text with web addresses as links. The link of `List-Unsubscribe` follows.
    Attachments are dropped.
    """
    message: EmailMessage = message_from_bytes(_readable(mail), policy=policy.default)
    name, address = parseaddr(_header(message, "From"))
    listed = _LIST_ID.search(_header(message, "List-Id"))
    markup, plain = _bodies(message)
    text = html_to_text(markup) if markup else clean_text(plain)
    ending = _unsubscribe(message)
    html, image = html_clean((markup or _paragraphs(plain)) + ending, base="", plain=bool(ending))
    sender = one_line(clean_text(name or address), limit=SENDER_MAX_CHARS)
    entry = ParsedEntry(
        guid=_header(message, "Message-ID").strip()[:GUID_MAX_CHARS],
        link="",
        title=one_line(clean_text(_header(message, "Subject")), limit=TITLE_MAX_CHARS) or UNTITLED,
        text=text,
        author=sender,
        language="",
        published=_date(message),
        html=html,
        image=image,
    )
    key = one_line(clean_text((listed[1] if listed else address).casefold()), limit=SENDER_MAX_CHARS)
    return Letter(key, ParsedFeed(sender or key or UNKNOWN_SENDER, "", (entry,)))


def _readable(mail: bytes) -> bytes:
    """Return the mail without headers beyond 64 KiB, and with charsets that are slow to read called UTF-8."""
    head = _head(mail)
    body = mail[len(head) :] if len(head) < HEAD_BYTES else b""
    return _ENCODED_WORD.sub(_charset_known, head) + body


def _charset_known(found: re.Match[bytes]) -> bytes:
    return found[0] if codec_of(found[1].decode()) else b"=?utf-8?"


def _head(mail: bytes) -> bytes:
    """Return the headers of a mail, 64 KiB at most, with the empty line after them."""
    end = _HEAD_END.search(mail, 0, HEAD_BYTES)
    return mail[: end.end() if end else HEAD_BYTES]


def mail_tokens(head: bytes, *, before: str, after: str) -> list[str]:
    """Return the words between `before` and `after` in the addresses a mail is for, the most reliable first.

    `head` is the beginning of the mail. It is read once, in linear time, and nothing is parsed.
    """
    wanted = re.compile(
        rb"(?:^|[\s<,;:(])"
        + re.escape(before.encode())
        + rb"([a-z0-9]{1,64})"
        + re.escape(after.encode())
        + rb"(?![a-z0-9.@_-])"
    )
    found: dict[str, list[str]] = {name.casefold(): [] for name in RECIPIENT_HEADERS}
    name = ""
    for line in _head(head).lower().splitlines():
        if line[:1] not in (b" ", b"\t"):  # else it goes on with the header before (RFC 5322, section 2.2.3)
            name = line.partition(b":")[0].strip().decode("ascii", "replace")
            line = line.partition(b":")[2]
        if name in found:
            found[name] += [token.decode() for token in wanted.findall(line)]
    return list(dict.fromkeys(token for some in found.values() for token in some))[:PARTS_MAX]


def _header(message: EmailMessage, name: str) -> str:
    """Return a header as text, or "" if it is missing or cannot be read."""
    try:
        return str(message.get(name, ""))
    except Exception:  # the standard library may raise anything on malformed headers
        return ""


def _bodies(message: EmailMessage) -> tuple[str, str]:
    """Return the first HTML and the first plain text of the mail's parts that are no attachments."""
    found = {"text/html": "", "text/plain": ""}
    for part in _parts(message):
        kind = part.get_content_type()
        if kind in found and not found[kind] and part.get_content_disposition() != "attachment":
            found[kind] = _content(part)
    return found["text/html"], found["text/plain"]


def _parts(message: EmailMessage) -> Iterable[EmailMessage]:
    for n, part in enumerate(message.walk()):
        if n >= PARTS_MAX:
            return
        yield part


def _content(part: EmailMessage) -> str:
    """Return a part's text. An unknown or slow charset is read as UTF-8."""
    raw = part.get_payload(decode=True)
    if not isinstance(raw, bytes):
        return ""
    return raw.decode(codec_of(part.get_content_charset() or "") or "utf-8", "replace")


def _paragraphs(plain: str) -> str:
    blocks = (_link_addresses(block).replace("\n", "<br>") for block in re.split(r"\n[ \t\r]*\n", plain))
    return "".join(f"<p>{block}</p>" for block in blocks if block.strip())


def _link_addresses(plain: str) -> str:
    """Return plain text as HTML, with its web addresses as links but without the sentence's own signs."""
    parts = _ADDRESS.split(plain)
    return "".join(_link(part) if n % 2 else escape(part) for n, part in enumerate(parts))


def _link(typed: str) -> str:
    if len(typed) > ADDRESS_MAX_CHARS:
        return escape(typed)
    address = typed.rstrip(_SENTENCE_SIGNS)
    if (last := address[-1:]) in _PAIRS and address.count(last) > address.count(_PAIRS[last]):
        address = address[:-1].rstrip(_SENTENCE_SIGNS)
    return f'<a href="{escape(address)}">{escape(address)}</a>{escape(typed[len(address) :])}'


def _unsubscribe(message: EmailMessage) -> str:
    """Return the link of `List-Unsubscribe` (RFC 2369), that of the web before that of mail."""
    links = _LINK.findall(_header(message, "List-Unsubscribe").replace("\n", ""))
    best = next((link for link in links if link.startswith("http")), links[0] if links else "")
    return f'<p><a href="{escape(best)}">{UNSUBSCRIBE}</a></p>' if best else ""


def _date(message: EmailMessage) -> datetime | None:
    try:
        found: datetime | None = message["Date"].datetime
        return found.astimezone(UTC) if found else None
    except Exception:  # as above
        return None

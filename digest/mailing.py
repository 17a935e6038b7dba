"""The digest as a mail: one letter in, one message in HTML and plain text out. No image, nothing counted."""

from dataclasses import dataclass
from datetime import date, datetime
from email.utils import format_datetime
from functools import cache
from hashlib import sha256
from pathlib import Path
from urllib.parse import urlsplit

import css_inline
from django.conf import settings
from django.core.mail import EmailMultiAlternatives
from django.template.loader import render_to_string

from digest.sanitise import one_line

SUBJECT_TITLE_CHARS = 70
PREHEADER_CHARS = 120


@dataclass(frozen=True, slots=True)
class LetterItem:
    """One item of a mail, in words. Addresses are absolute; `href` leads to the publisher where it can."""

    title: str
    href: str
    source: str
    age: str
    lede: str
    by: str
    language: str
    reasons: tuple[str, ...]
    also: str
    page: str
    useful: str
    useless: str


@dataclass(frozen=True, slots=True)
class Letter:
    """One mail to one reader about one day, or about the week up to it."""

    reader_id: str
    to: str
    name: str
    date: date
    weekly: bool
    items: tuple[LetterItem, ...]
    more: int
    online: str
    account: str
    stop: str


def site_link(path: str) -> str:
    """`path` under the address by which readers reach this site (SITE_URL)."""
    return f"{settings.SITE_URL.rstrip('/')}/{path.lstrip('/')}"


def letter_subject(letter: Letter) -> str:
    """What the mail is called: its day, and the first title, since that is what one opens a mail for."""
    day = f"{letter.date:%A}, {letter.date.day} {letter.date:%B}"
    when = f"Your week to {day}" if letter.weekly else day
    title = one_line(letter.items[0].title, limit=SUBJECT_TITLE_CHARS)
    return f"{when}: {title}"


def letter_message(letter: Letter, *, now: datetime) -> EmailMultiAlternatives:
    """The message itself, with the headers of RFC 8058 (one-click unsubscribe) and RFC 3834 (automatic).

    Its Message-ID follows from reader and day alone, so that a mail sent twice after a lost connection is
    one and the same to whoever sorts mail by it.
    """
    subject = letter_subject(letter)
    context = {"letter": letter, "subject": subject, "preheader": _preheader(letter)}
    text = render_to_string("digest/mail/digest.txt", context)
    message = EmailMultiAlternatives(
        subject=subject,
        body=text,
        to=[letter.to],
        headers={
            "Message-ID": _message_id(letter),
            "Date": format_datetime(now),
            "Auto-Submitted": "auto-generated",
            "Content-Language": "en",
            "List-Id": f"Your digest <digest.{_host()}>",
            "List-Unsubscribe": f"<{letter.stop}>",
            "List-Unsubscribe-Post": "List-Unsubscribe=One-Click",
            "X-Auto-Response-Suppress": "OOF, AutoReply",
        },
    )
    html = _inliner().inline(render_to_string("digest/mail/digest.html", context))
    message.attach_alternative(html, "text/html")
    return message


def _preheader(letter: Letter) -> str:
    """What a mailbox shows beside the subject: the next titles, since the first is in the subject."""
    first = letter.items[0]
    words = [item.title for item in letter.items[1:4]] or [first.lede or f"{first.source}, {first.age}"]
    return one_line(" · ".join(words), limit=PREHEADER_CHARS)


def _message_id(letter: Letter) -> str:
    seed = f"{letter.reader_id} {letter.date} {'week' if letter.weekly else 'day'}"
    return f"<{sha256(seed.encode()).hexdigest()[:32]}@{_host()}>"


def _host() -> str:
    return urlsplit(settings.SITE_URL).hostname or "localhost"


@cache
def _inliner() -> css_inline.CSSInliner:
    """Style sheets are cut from mails by many who show them, style attributes are not."""
    css = (Path(settings.BASE_DIR) / "static" / "mail.css").read_text(encoding="utf-8")
    return css_inline.CSSInliner(extra_css=css, keep_at_rules=True, load_remote_stylesheets=False)

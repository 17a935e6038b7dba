"""Render the content of a mail as one message in HTML and plain text, without images or tracking."""

from dataclasses import dataclass
from datetime import date, datetime
from email.utils import format_datetime
from functools import cache
from hashlib import sha256
from pathlib import Path
from urllib.parse import urlsplit

import css_inline
from django.conf import settings
from django.contrib.staticfiles import finders
from django.core.mail import EmailMultiAlternatives
from django.template.loader import render_to_string
from django.utils.formats import date_format
from django.utils.translation import get_language
from django.utils.translation import gettext as _

from digest.feeds.sanitise import one_line

# Django's mail backends for trying things out. They deliver nothing.
LOCAL_BACKENDS = ("console", "dummy", "filebased")
SUBJECT_TITLE_CHARS = 70
PREHEADER_CHARS = 120


@dataclass(frozen=True, slots=True)
class MailItem:
    """The texts and links of one item in a mail.

    All addresses are absolute. `href` is the publisher's address, or this site's page of the item if the
    publisher gave none. `by` and `also` may be empty. `is_again`: it stands below what is new, because the
    reader passed it by on an earlier page.
    """

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
    useful_url: str
    useless_url: str
    is_again: bool = False


@dataclass(frozen=True, slots=True)
class MailContent:
    """One mail to one reader about one day, or about the week that ends on `date`.

    `more` counts the items of the day that the mail has no room for (0 in a weekly mail).
    """

    reader_id: str
    to: str
    name: str
    date: date
    weekly: bool
    items: tuple[MailItem, ...]
    more: int
    digest_url: str
    account_url: str
    unsubscribe_url: str


def mail_goes_out() -> bool:
    """Return whether EMAIL_URL names a mail server and not a log or a folder."""
    return not any(f".backends.{name}." in settings.EMAIL_BACKEND for name in LOCAL_BACKENDS)


def site_link(path: str) -> str:
    """Return the absolute address of `path` on this site (below SITE_URL)."""
    return f"{settings.SITE_URL.rstrip('/')}/{path.lstrip('/')}"


def mail_message(content: MailContent, *, now: datetime) -> EmailMultiAlternatives:
    """Return the message, with headers for one-click unsubscribe (RFC 8058) and automatic mail (RFC 3834).

    The Message-ID depends only on reader, day and rhythm. If a lost connection makes us send a mail twice,
    mail programs can recognise the second copy.
    """
    host = urlsplit(settings.SITE_URL).hostname or "localhost"
    seed = f"{content.reader_id} {content.date} {'week' if content.weekly else 'day'}"
    subject = _subject(content)
    context = {"mail": content, "subject": subject, "preheader": _preheader(content)}
    message = EmailMultiAlternatives(
        subject=subject,
        body=render_to_string("digest/mail/digest.txt", context),
        to=[content.to],
        headers={
            "Message-ID": f"<{sha256(seed.encode()).hexdigest()[:32]}@{host}>",
            "Date": format_datetime(now),
            "Auto-Submitted": "auto-generated",
            "Content-Language": get_language() or settings.LANGUAGE_CODE,
            "List-Id": f"{_('Your digest')} <digest.{host}>",
            "List-Unsubscribe": f"<{content.unsubscribe_url}>",
            "List-Unsubscribe-Post": "List-Unsubscribe=One-Click",
            "X-Auto-Response-Suppress": "OOF, AutoReply",
        },
    )
    html = _inliner().inline(render_to_string("digest/mail/digest.html", context))
    message.attach_alternative(html, "text/html")
    return message


def _subject(content: MailContent) -> str:
    """Return the day and the first title, because people open a mail for its first title."""
    day = date_format(content.date, _("l, j F"))
    when = _("Your week to {day}").format(day=day) if content.weekly else day
    return f"{when}: {one_line(content.items[0].title, limit=SUBJECT_TITLE_CHARS)}"


def _preheader(content: MailContent) -> str:
    """Return the text that a mailbox shows beside the subject: the second to fourth title."""
    first = content.items[0]
    words = [item.title for item in content.items[1:4]] or [first.lede or f"{first.source}, {first.age}"]
    return one_line(" · ".join(words), limit=PREHEADER_CHARS)


@cache
def _inliner() -> css_inline.CSSInliner:
    """Return the tool that copies styles into attributes, because many mail programs remove style sheets."""
    css = Path(finders.find("mail.css") or "").read_text(encoding="utf-8")
    return css_inline.CSSInliner(extra_css=css, keep_at_rules=True, load_remote_stylesheets=False)

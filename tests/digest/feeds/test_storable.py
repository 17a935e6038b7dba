"""Strangers' texts are stored or refused one by one: no field of a document or mail stops the others."""

from dataclasses import fields, replace
from email.message import EmailMessage

import pytest
from django.db import OperationalError
from django.utils import timezone
from hypothesis import given
from hypothesis import strategies as st

from digest.feeds.bodies import content_of
from digest.feeds.dedupe import URN_PREFIX
from digest.feeds.entities import Enclosure, ParsedEntry, ParsedFeed, feed_as_json, feed_from_json
from digest.feeds.ingest import documents_ingest
from digest.feeds.mails import Letter, letter_as_json, letter_from_json, mail_parse
from digest.feeds.services import problem_fields
from digest.feeds.storable import text_storable
from digest.models import Feed, Item, Reader
from digest.sources import newsletters
from digest.sources.newsletters import letter_store, newsletter_address_issue, newsletters_fetch
from digest.sources.subscriptions import opml_import
from tests.digest.sources.test_newsletters import SPOOL, issue, mailbox, server  # noqa: F401
from tests.support.dovecot import Dovecot
from tests.support.factories import FeedFactory

# Columns whose values are made by us out of an entry's texts, and capped where they are made.
CAPPED_ELSEWHERE = {"guid", "link"}
HOSTILE = "a\x00b\ud800c\udfff" + "x" * 3000


def hostile_entry() -> ParsedEntry:
    """Return an entry whose every text has a NUL, a surrogate, and more characters than its column."""
    enclosure = Enclosure(f"https://a.example/{HOSTILE}", HOSTILE)
    values = {one.name: HOSTILE for one in fields(ParsedEntry) if one.type in (str, "str")}
    return ParsedEntry(
        **values | {"published": None, "categories": (HOSTILE, "b\x00"), "enclosures": (enclosure,)}
    )


def test_a_document_of_hostile_fields_is_stored_beside_an_honest_one(db, now):
    mine, other = FeedFactory(), FeedFactory()
    hostile = ParsedFeed(HOSTILE, f"https://a.example/{HOSTILE}", (hostile_entry(),))
    honest = replace(hostile_entry(), guid="1", link="https://a.example/1", title="Rain")
    documents = [(mine, hostile), (other, ParsedFeed("Rivers", "", (honest,)))]
    assert [result.items_new for result in documents_ingest(documents=documents, now=now)] == [1, 1]
    assert other.items.get().title == "Rain"
    item = mine.items.get()
    content = content_of(item=item)
    names = {one.name for one in fields(ParsedEntry)} - CAPPED_ELSEWHERE
    texts = [text for name in sorted(names) if isinstance(text := getattr(item, name, None), str)]
    stored = [*texts, *item.categories, content.html, content.enclosures[0].mime_type, mine.title]
    assert all(stored) and not any("\x00" in text or "\ud800" in text for text in stored)
    mine.refresh_from_db()
    assert mine.title.startswith("abcxxx") and item.url.startswith(URN_PREFIX)
    Feed.objects.filter(pk=mine.pk).update(
        **problem_fields(problem=newsletters.FeedProblem("c\x00" * 30, HOSTILE), now=now)
    )


@pytest.mark.parametrize(
    ("parsed", "model", "elsewhere"),
    [(ParsedEntry, Item, CAPPED_ELSEWHERE), (ParsedFeed, Feed, {"site_url"})],
)
def test_each_text_is_held_to_its_column(parsed, model, elsewhere):
    columns = {one.name: getattr(one, "max_length", None) for one in model._meta.concrete_fields}
    limits = {one.name: columns.get(one.name) for one in fields(parsed) if one.name not in elsewhere}
    assert dict(parsed.LIMITS) == {name: limit for name, limit in limits.items() if limit}


@given(st.text(st.characters(), max_size=20))
def test_what_no_database_takes_goes_and_all_else_stays(text: str):
    clean = text_storable(text)
    assert clean == "".join(c for c in text if c != "\x00" and not 0xD800 <= ord(c) <= 0xDFFF)
    clean.encode()
    assert text_storable(clean) is clean and text_storable(text, 3) == clean[:3]


def test_what_the_sandbox_answers_is_not_believed():
    feed = ParsedFeed("Rivers", "", (hostile_entry(),))
    body = feed_as_json(feed)
    body["title"] = body["entries"][0]["guid"] = "a\x00"
    read = feed_from_json(body)
    assert (read.title, read.entries[0].guid) == ("a", "a")
    letter = letter_as_json(Letter("k", feed)) | {"list": "k\x00" * 300}
    assert letter_from_json(letter).list_key == "k" * 200


HEADERS = ("From", "List-Id", "Subject", "Message-ID", "Date", "List-Unsubscribe", "To", "X-Original-To")
NULS = ("=?utf-8?q?=3Ca=00b=2Eexample=3E?=", "<a\x00b.example>", "=?utf-16?b?PAAAAGEA?=", "=?x?q?=00?=")


@pytest.mark.every_case
@pytest.mark.parametrize("header", HEADERS)
@pytest.mark.parametrize("value", NULS)
def test_a_mail_with_a_nul_anywhere_is_stored(ada: Reader, now, header: str, value: str):
    mail = b"From: Harbour <h@harbour.example>\r\nSubject: Pier\r\nMessage-ID: <1@h>\r\n"
    mail = b"\r\n".join(line for line in mail.split(b"\r\n") if not line.startswith(header.encode()))
    mail = f"{header}: {value}\r\n".encode() + mail + b"\r\nPier\x00 is open."
    assert letter_store(reader=ada, letter=mail_parse(mail), now=now)
    assert "open" in Item.objects.get().text


def test_a_list_of_feeds_with_nuls_is_imported(ada: Reader, now):
    nul = "&#0;&#xD800;=?\x00"
    row = f'<outline text="{nul}T" category="/{nul}F" xmlUrl="https://a.example/{nul}"/>'
    opml_import(reader=ada, document=f"<opml><body>{row}</body></opml>".encode(), now=now)
    assert ada.subscriptions.get().feed.url.startswith("https://a.example/")


def poison(to: str) -> bytes:
    """Return a mail whose list has a name that PostgreSQL refuses, but mail servers let pass."""
    mail = EmailMessage()
    mail["From"], mail["To"], mail["Subject"] = "Mallory <m@mallory.example>", to, "Poison"
    mail.set_content("Nothing.")
    return b"List-Id: =?utf-8?q?=3Ca=00b=2Eexample=3E?=\r\n" + mail.as_bytes()


@SPOOL
def test_a_poisoned_mail_stops_nobodys_newsletters(mailbox: Dovecot, ada: Reader, ben: Reader):  # noqa: F811
    mailbox.deliver(poison(newsletter_address_issue(reader=ben)))
    mailbox.deliver(issue(newsletter_address_issue(reader=ada)))
    assert newsletters_fetch(now=timezone.now()).waiting == 2
    assert Item.objects.filter(feed__owner=ada).exists()


@SPOOL
@pytest.mark.parametrize(("error", "is_seen"), [(RuntimeError, True), (OperationalError, False)])
def test_an_exception_of_one_mail_is_that_mails(mailbox, ada, ben, monkeypatch, error, is_seen):  # noqa: F811
    to = newsletter_address_issue(reader=ada)
    store = newsletters.letter_store

    def breaks(*, reader: Reader, **more: object) -> bool:
        if reader == ben:
            raise error("broken")
        return store(reader=reader, **more)

    monkeypatch.setattr(newsletters, "letter_store", breaks)
    mailbox.deliver(issue(newsletter_address_issue(reader=ben)))
    mailbox.deliver(issue(to, 2))
    report = newsletters_fetch(now=timezone.now())
    assert (report.waiting, report.refused) == (1, int(is_seen)) and not report.problem
    monkeypatch.setattr(newsletters, "letter_store", store)
    # A mail that broke something is done with; one that met no database comes in later.
    assert newsletters_fetch(now=timezone.now()).waiting == (0 if is_seen else 1)


def test_a_mail_that_names_neither_list_nor_sender_has_a_feed_with_a_name():
    letter = mail_parse(b"To: ada@news.example\r\nSubject: Hello\r\n\r\nText\r\n")
    assert letter.feed.title == "Unknown sender"

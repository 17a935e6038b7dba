"""Newsletters, from a real Dovecot: each reader's own address, each list a source of that reader alone."""

import imaplib
import json
import re
import time
from collections.abc import Iterator
from datetime import timedelta
from email.message import EmailMessage
from io import StringIO
from pathlib import Path

import pytest
from django.core.checks import run_checks
from django.core.management import call_command
from django.test import Client
from django.utils import timezone

from config.metrics import metrics_text
from digest.accounts.services import reader_delete
from digest.errors import TooManySubscriptions
from digest.feeds.bodies import content_of
from digest.feeds.mails import MAIL_MAX_BYTES, mail_parse, mail_tokens
from digest.feeds.selectors import subscriptions_left
from digest.items.selectors import items_visible
from digest.models import Feed, Item, Reader, Source, Subscription
from digest.sources import newsletters
from digest.sources.newsletters import (
    WAITING_MAX,
    letter_store,
    mailbox_state,
    newsletter_accept,
    newsletter_address,
    newsletter_address_issue,
    newsletters_expire,
    newsletters_fetch,
    newsletters_waiting,
    reader_named,
)
from digest.sources.subscription_changes import subscriptions_remove, subscriptions_restore
from digest.sources.subscriptions import subscription_add
from tests.support.dovecot import Dovecot, dovecot_started
from tests.support.factories import FeedFactory
from tests.support.logs import logged

NESTED = b"--a\r\nContent-Type: multipart/mixed; boundary=a\r\n\r\n"
SPOOL = pytest.mark.dovecot


@pytest.fixture(scope="module")
def server() -> Iterator[Dovecot]:
    """Yield one Dovecot for the tests here."""
    with dovecot_started() as running:
        yield running


@pytest.fixture
def mailbox(server: Dovecot, settings) -> Dovecot:
    """Set up the operator's mailbox, without mails of earlier tests."""
    for mail in Path(server.inbox).glob("[cn]*/*"):
        mail.unlink()
    settings.NEWSLETTERS_URL, settings.NEWSLETTERS_ADDRESS = server.url, "letters+*@example.org"
    return server


def issue(
    to: str, n: int = 1, *, sender: str = "Harbour Weekly <news@harbour.example>", **headers: str
) -> bytes:
    """Return one issue of a newsletter, with a counter's picture, a picture, a script and a way out."""
    mail = EmailMessage()
    mail["From"], mail["To"], mail["Subject"] = sender, to, f"Issue {n}: a second pier"
    mail["Message-ID"], mail["Date"] = f"<{n}@harbour.example>", "Tue, 17 Mar 2026 08:00:00 +0000"
    mail["List-Id"] = headers.pop("list_id", "Harbour Weekly <weekly.harbour.example>")
    mail["List-Unsubscribe"] = "<mailto:out@harbour.example>, <https://harbour.example/out?t=1>"
    mail.set_content(f"Pier {n} is open.")
    mail.add_alternative(
        f"<h1>Pier</h1><p>Pier {n} is <b>open</b>.</p><script>alert(1)</script>"
        '<img src="https://harbour.example/pier.jpg" width="600"><img src="https://t.example/p.gif" width="1"'
        ' height="1"><p onclick="x()">Go</p>',
        subtype="html",
    )
    mail.add_attachment(b"%PDF", maintype="application", subtype="pdf", filename="a.pdf")
    return mail.as_bytes()


@SPOOL
def test_an_issue_is_an_item_of_a_source_of_its_reader_alone(mailbox: Dovecot, ada: Reader, ben: Reader):
    to, other = newsletter_address_issue(reader=ada), newsletter_address_issue(reader=ben)
    assert to != other and to.startswith("letters+") and to.endswith("@example.org")
    mailbox.deliver(issue(to.upper()))
    mailbox.deliver(issue(other, 2))
    assert newsletters_fetch(now=timezone.now()).waiting == 2
    assert not items_visible(reader_id=ada.pk).exists(), "nobody reads what they did not say yes to"
    accept(ada, ben)
    for reader, title in ((ada, "Issue 1: a second pier"), (ben, "Issue 2: a second pier")):
        (item,) = items_visible(reader_id=reader.pk)
        assert (item.title, item.author) == (title, "Harbour Weekly") and item.feed.owner == reader
        assert "Pier" in item.text and str(item.source) == "Harbour Weekly"
    assert Feed.objects.count() == Source.objects.count() == 2
    html = content_of(item=Item.objects.first()).html
    assert "<b>open</b>" in html and "harbour.example/pier.jpg" in html
    assert "t.example" not in html and "script" not in html and "onclick" not in html
    assert 'href="https://harbour.example/out?t=1"' in html and "Unsubscribe from this newsletter" in html


@SPOOL
def test_a_mail_that_comes_twice_or_is_read_again_is_one_item(mailbox: Dovecot, ada: Reader):
    to = newsletter_address_issue(reader=ada)
    mailbox.deliver(issue(to))
    newsletters_fetch(now=timezone.now())
    accept(ada)
    assert newsletters_fetch(now=timezone.now()).stored == 0  # seen
    mailbox.deliver(issue(to))
    assert newsletters_fetch(now=timezone.now()).stored == 1
    assert Item.objects.count() == 1


@SPOOL
def test_lists_of_one_sender_are_sources_apart_and_no_sender_takes_a_papers_name(mailbox, ada: Reader):
    to = newsletter_address_issue(reader=ada)
    Source.objects.create(key="harbour.example", title="Harbour Times")
    for n, name in enumerate(("weekly", "daily")):
        mailbox.deliver(issue(to, n, list_id=f"<{name}.harbour.example>"))
    newsletters_fetch(now=timezone.now())
    assert Feed.objects.count() == 2
    assert not Item.objects.filter(source="harbour.example").exists()
    assert Source.objects.get(pk="harbour.example").title == "Harbour Times"


@SPOOL
def test_mail_to_nobody_an_old_address_or_a_removed_list_is_thrown_away(
    mailbox: Dovecot, ada: Reader, ben: Reader
):
    old = newsletter_address_issue(reader=ada)
    to = newsletter_address_issue(reader=ada)
    mailbox.deliver(issue(old))
    mailbox.deliver(issue("letters@example.org", 2))
    report = newsletters_fetch(now=timezone.now())
    assert (report.unknown, report.stored) == (2, 0)
    mailbox.deliver(issue(to, 3))
    newsletters_fetch(now=timezone.now())
    (feed,) = accept(ada)
    subscriptions_remove(reader=ada, feed_ids=[feed.pk], now=timezone.now())
    mailbox.deliver(issue(to, 4))
    assert newsletters_fetch(now=timezone.now()).removed == 1
    page = Client()
    page.force_login(ada)
    assert "Read it again" in page.get("/ui/newsletters").content.decode()
    other = Client()
    other.force_login(ben)
    assert other.post(f"/ui/newsletters/{feed.pk}/resume").status_code == 404
    assert "Harbour" not in other.get("/ui/newsletters").content.decode()
    page.post(f"/ui/newsletters/{feed.pk}/resume")
    mailbox.deliver(issue(to, 5))
    newsletters_fetch(now=timezone.now())
    assert {item.title[:7] for item in items_visible(reader_id=ada.pk)} == {"Issue 3", "Issue 5"}


@SPOOL
def test_the_page_makes_an_address_and_the_source_says_it_comes_by_mail(mailbox: Dovecot, ada: Reader):
    page = Client()
    page.force_login(ada)
    assert "Newsletters by mail" in page.get("/ui/sources").content.decode()
    page.post("/ui/newsletters")
    ada.refresh_from_db()
    to = newsletter_address(reader=ada)
    assert to in page.get("/ui/newsletters").content.decode()
    mailbox.deliver(issue(to))
    newsletters_fetch(now=timezone.now())
    (feed,) = accept(ada)
    body = page.get(f"/ui/sources/{feed.pk}").content.decode()
    assert "By mail. The last issue came" in body and "newsletter:" not in body
    assert "Private: only you read it here." in body and "full text" not in body
    assert page.get(f"/ui/sources/{feed.pk}/access").status_code == 404


@SPOOL
def test_a_reader_takes_their_newsletters_along(mailbox: Dovecot, ada: Reader):
    mailbox.deliver(issue(newsletter_address_issue(reader=ada)))
    newsletters_fetch(now=timezone.now())
    reader_delete(reader=ada)
    assert not Feed.objects.exists() and not Item.objects.exists() and not Source.objects.exists()


def accept(*readers: Reader) -> list[Feed]:
    """Accept all waiting newsletters."""
    return [
        newsletter_accept(reader=reader, feed_id=feed.pk, now=timezone.now())
        for reader in readers
        for feed in newsletters_waiting(reader_id=reader.pk)
    ]


@SPOOL
def test_forty_senders_take_none_of_a_readers_places_for_feeds(mailbox: Dovecot, ada: Reader, settings):
    settings.SUBSCRIPTIONS_MAX = 2
    to = newsletter_address_issue(reader=ada)
    for n in range(40):
        mailbox.deliver(issue(to, n, list_id=f"<l{n}.example>"))
    report = newsletters_fetch(now=timezone.now())
    assert (report.waiting, report.refused, report.stored) == (WAITING_MAX, 40 - WAITING_MAX, 0)
    assert Subscription.objects.count() == 0
    accept(ada)
    assert subscriptions_left(reader_id=ada.pk) == 2
    for n in range(2):
        subscription_add(reader=ada, url=f"https://{n}.example/feed", now=timezone.now())


@SPOOL
def test_what_waits_is_answered_on_its_page(mailbox: Dovecot, ada: Reader, ben: Reader, client: Client):
    to = newsletter_address_issue(reader=ada)
    for n in range(3):
        mailbox.deliver(issue(to, n, list_id=f"<l{n}.example>", sender=f"Letter {n} <a@l{n}.example>"))
    newsletters_fetch(now=timezone.now())
    client.force_login(ada)
    page = client.get("/ui/newsletters").content.decode()
    assert all(f"Letter {n}" in page and f"Issue {n}: a second pier" in page for n in range(3))
    yes, no, later = (Feed.objects.get(own_address=f"newsletter:l{n}.example").pk for n in range(3))
    other = Client()
    other.force_login(ben)
    for path in (f"{yes}/resume", f"{no}/refuse", f"{10**30}/refuse"):
        assert other.post(f"/ui/newsletters/{path}").status_code == 404
    assert client.post(f"/ui/newsletters/{yes}/resume").status_code == 302
    assert client.post(f"/ui/newsletters/{no}/refuse").status_code == 302
    assert client.post(f"/ui/newsletters/{no}/refuse").status_code == 404, "a second click"
    assert [item.feed_id for item in items_visible(reader_id=ada.pk)] == [yes]
    assert not Item.objects.filter(feed=no).exists()
    for n in (0, 1, 2):
        mailbox.deliver(issue(to, n + 10, list_id=f"<l{n}.example>"))
    report = newsletters_fetch(now=timezone.now())
    assert (report.stored, report.removed, report.waiting) == (1, 1, 1)
    assert Feed.objects.get(pk=later).state == Feed.State.WAITING
    assert newsletters_expire(now=timezone.now() + timedelta(days=31)) == 1
    assert not Feed.objects.filter(pk=later).exists() and not Source.objects.filter(title="Letter 2").exists()


def test_a_program_answers_what_waits(ada: Reader, ben: Reader, client: Client):
    for n in range(2):
        mail = issue("a@b.example", n, list_id=f"<l{n}.example>")
        assert letter_store(reader=ada, letter=mail_parse(mail), now=timezone.now()) == "waiting"
    client.force_login(ben)
    (first, second) = Feed.objects.order_by("pk")
    assert client.get("/api/newsletters").json() == {"waiting": [], "removed": []}
    assert client.post(f"/api/newsletters/{first.pk}/accept").json()["error"] == "feed_not_found"
    client.force_login(ada)
    waiting = client.get("/api/newsletters").json()["waiting"]
    assert [one["titles"] for one in waiting] == [["Issue 1: a second pier"], ["Issue 0: a second pier"]]
    assert len(client.post(f"/api/newsletters/{first.pk}/accept").json()["waiting"]) == 1
    body = client.post(f"/api/newsletters/{second.pk}/refuse").json()
    assert body["waiting"] == [] and [one["feed_id"] for one in body["removed"]] == [second.pk]
    assert [item.feed_id for item in items_visible(reader_id=ada.pk)] == [first.pk]


def test_a_hundred_newsletters_are_a_readers(ada: Reader, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("digest.sources.subscriptions.NEWSLETTERS_MAX", 1)
    for n in range(2):
        letter = mail_parse(issue("a@b.example", n, list_id=f"<l{n}.example>"))
        letter_store(reader=ada, letter=letter, now=timezone.now())
    with pytest.raises(TooManySubscriptions, match="as many as one may here"):
        accept(ada)
    row = Subscription.objects.get()
    (removed,) = [subscriptions_remove(reader=ada, feed_ids=[row.feed_id], now=timezone.now())]
    accept(ada)
    with pytest.raises(TooManySubscriptions):
        subscriptions_restore(reader=ada, removed=removed, now=timezone.now())


def test_a_list_that_waits_keeps_three_mails(ada: Reader):
    for n in range(5):
        letter = mail_parse(issue("a@b.example", n))
        assert letter_store(reader=ada, letter=letter, now=timezone.now()) == "waiting"
    assert Item.objects.count() == 3


TO = [
    (b"To: letters+abc@example.org\r\n\r\n", ["abc"]),
    (b"To: Ada <LETTERS+ABC@Example.ORG>, b@c.example\n\n", ["abc"]),
    (b"To: b@c.example,\r\n letters+abc@example.org\r\nSubject: Hi\r\n\r\n", ["abc"]),
    (b"Cc: letters+b@example.org\r\nDelivered-To: letters+a@example.org\r\n\r\n", ["a", "b"]),
    (b"Subject: letters+abc@example.org\r\n\r\n", []),
    (b"Subject: x\r\n\r\nTo: letters+abc@example.org\r\n", []),
    (b"To: letters+abc@example.org.evil.example\r\n\r\n", []),
    (b"To: xletters+abc@example.org, letters+a.b@example.org\r\n\r\n", []),
    (b"To: letters+abc@example.org", ["abc"]),
    (b"To: " + b"a@b.c, " * 20_000 + b"letters+abc@example.org\r\n\r\n", []),
    (b"", []),
]


@pytest.mark.parametrize(("head", "found"), TO)
def test_whom_a_mail_is_for_stands_in_its_first_lines(head: bytes, found: list[str]):
    assert mail_tokens(head, before="letters+", after="@example.org") == found


def test_a_mail_to_ten_thousand_guesses_asks_once_and_for_fifty_of_them(
    ada: Reader, settings, django_assert_num_queries
):
    settings.NEWSLETTERS_ADDRESS = "l*@e.org"
    to = newsletter_address_issue(reader=ada)
    guesses = "".join(f"To: l{n}@e.org\r\n" for n in range(10_000))
    with django_assert_num_queries(1):
        assert reader_named(head=f"{guesses}To: {to}\r\n\r\n".encode()) is None
    for likely in ("", "a", "ada", "%", "_" * 16, "*", ada.newsletter_token[:-1], f"{ada.newsletter_token}a"):
        assert reader_named(head=f"To: l{likely}@e.org\r\n\r\n".encode()) is None


@SPOOL
def test_a_mail_to_two_readers_is_one_ones_and_names_the_other_to_nobody(
    mailbox: Dovecot, ada: Reader, ben: Reader
):
    """Of a mail with forged recipients each reader would else learn the secret addresses of others."""
    tos = [newsletter_address_issue(reader=reader) for reader in (ada, ben)]
    mailbox.deliver(issue(", ".join(tos)))
    newsletters_fetch(now=timezone.now())
    assert accept(ada) and not newsletters_waiting(reader_id=ben.pk)
    page = Client()
    page.force_login(ada)
    (item,) = items_visible(reader_id=ada.pk)
    for address in (f"/ui/item/{item.pk}", f"/ui/sources/{item.feed_id}", "/ui/account/export"):
        answer = page.get(address)
        body = b"".join(answer.streaming_content) if answer.streaming else answer.content
        assert ben.newsletter_token not in body.decode()


@SPOOL
@pytest.mark.parametrize(
    "key", ["http://gazette.example/feed", "private:x", "newsletter:x", "past:x", "gazette.example"]
)
def test_a_list_that_calls_itself_as_a_feed_is_no_more_than_a_list(mailbox: Dovecot, ada: Reader, key: str):
    gazette = FeedFactory(url="http://gazette.example/feed")
    Subscription.objects.create(reader=ada, feed=gazette, created_at=timezone.now())
    mailbox.deliver(issue(newsletter_address_issue(reader=ada), list_id=f"Gazette <{key}>"))
    assert newsletters_fetch(now=timezone.now()).waiting == 1
    (feed,) = newsletters_waiting(reader_id=ada.pk)
    assert feed.pk != gazette.pk and feed.source_id != gazette.source_id and feed.owner_id == ada.pk
    assert not gazette.items.exists()


@SPOOL
def test_mails_to_nobody_cost_nothing(mailbox: Dovecot, ada: Reader, monkeypatch: pytest.MonkeyPatch):
    """Each of these took the parser seconds, 200 per run, before its recipient was known."""
    parsed: list[int] = []
    answer = newsletters.sandbox_answer
    monkeypatch.setattr(
        newsletters, "sandbox_answer", lambda mail, **how: parsed.append(1) or answer(mail, **how)
    )
    many = b"To: " + b"a@b.c, " * 240_000 + b"\r\n\r\n"
    slow = b"To: nobody@example.org\r\nContent-Type: text/plain; charset=punycode\r\n\r\n" + b"a-" * 800_000
    for n in range(24):
        mailbox.deliver(many if n % 2 else slow)
    mailbox.deliver(issue(newsletter_address_issue(reader=ada)))
    began = time.process_time()
    report = newsletters_fetch(now=timezone.now())
    assert (report.unknown, report.waiting) == (24, 1)
    assert len(parsed) == 1
    assert time.process_time() - began < 5


@pytest.mark.parametrize("codec", ["punycode", "idna", "utf-7", "unicode_escape", "no-such"])
def test_a_slow_charset_is_not_used_in_the_body_or_a_header(codec: str):
    mail = f"Subject: =?{codec}?q?{'a-' * 100}?=\r\nContent-Type: text/plain; charset={codec}\r\n\r\n"
    letter = mail_parse(mail.encode() + b"a-" * 800_000)
    (entry,) = letter.feed.entries
    assert entry.title.startswith("a-a-") and entry.text.startswith("a-a-")


@SPOOL
def test_a_round_ends_in_time_and_a_flooded_reader_holds_up_nobody(
    mailbox: Dovecot, ada: Reader, ben: Reader, monkeypatch: pytest.MonkeyPatch
):
    flooded, other = newsletter_address_issue(reader=ben), newsletter_address_issue(reader=ada)
    for n in range(5):
        mailbox.deliver(issue(flooded, n))
    monkeypatch.setattr(newsletters, "READER_S", 0.001)
    time.sleep(1.1)  # Dovecot orders mails by the second
    mailbox.deliver(issue(other, 9))
    report = newsletters_fetch(now=timezone.now())
    assert (report.waiting, report.left) == (2, 1), "one of each"
    monkeypatch.setattr(newsletters, "ROUND_S", -1.0)
    assert newsletters_fetch(now=timezone.now()).left == 1
    monkeypatch.setattr(newsletters, "READER_S", 20.0)
    monkeypatch.setattr(newsletters, "ROUND_S", 60.0)
    assert newsletters_fetch(now=timezone.now()).waiting == 4, "nothing is lost"


@SPOOL
def test_a_mailbox_with_more_mails_than_a_line_of_the_protocol_holds_is_read(
    mailbox: Dovecot, ada: Reader, monkeypatch: pytest.MonkeyPatch
):
    """imaplib refuses an answer of more than a million bytes: 140,000 unread mails in one search."""
    monkeypatch.setattr("digest.sources.mailbox.SEARCHED", 2)
    for n in range(9):
        mailbox.deliver(issue("letters+nobody@example.org", n))
    searches: list[str] = []
    uid = imaplib.IMAP4.uid
    monkeypatch.setattr(
        imaplib.IMAP4, "uid", lambda self, *what: searches.append(" ".join(what)) or uid(self, *what)
    )
    assert newsletters_fetch(now=timezone.now()).unknown == 9
    assert len([one for one in searches if one.startswith("SEARCH")]) == 5


WRONG = [
    ("imap://letters:s3cret-canary@127.0.0.1:{port}", "does not take the user name and password"),
    ("imap://letters:s3cret-canary@127.0.0.1:9", "server does not answer (ConnectionRefusedError)"),
    ("{url}/Nowhere", "has no such folder"),
]


@SPOOL
@pytest.mark.parametrize(("url", "said"), WRONG)
def test_a_mailbox_that_does_not_open_is_said_to_operators_without_its_password(
    mailbox: Dovecot, settings, operator: Reader, url: str, said: str
):
    """In the log, by the command, before a deploy, on the admin's first page and in the metrics."""
    fine = settings.NEWSLETTERS_URL
    settings.NEWSLETTERS_URL = url.format(port=mailbox.port, url=fine)
    admin, told, asked = Client(), StringIO(), StringIO()
    admin.force_login(operator)
    with logged() as log:
        call_command("fetch_feeds", stdout=told)
    deployed = {found.id: found.msg for found in run_checks(include_deployment_checks=True)}
    first = admin.get("/admin/").content.decode()
    metrics = metrics_text(now=timezone.now()).decode()
    assert "newsletters_failed" in log.getvalue() and "tidings_newsletters_failing 1.0" in metrics
    for place in (log.getvalue(), told.getvalue(), deployed["tidings.W025"], first):
        assert said in place
    for place in (log.getvalue(), told.getvalue(), str(deployed), first, metrics):
        assert "canary" not in place and "l3tters" not in place
    settings.NEWSLETTERS_URL = fine
    call_command("fetch_feeds", "--json", stdout=asked)
    assert json.loads(asked.getvalue())["newsletters"]["problem"] == ""
    assert said not in admin.get("/admin/").content.decode()
    assert "tidings_newsletters_failing 0.0" in metrics_text(now=timezone.now()).decode()
    assert "tidings.W025" not in {found.id for found in run_checks(include_deployment_checks=True)}


@SPOOL
def test_the_command_reads_newsletters_as_the_worker_does(mailbox: Dovecot, ada: Reader):
    mailbox.deliver(issue(newsletter_address_issue(reader=ada)))
    mailbox.deliver(issue("letters+nobody@example.org", 2))
    told = StringIO()
    call_command("fetch_feeds", stdout=told)
    assert "newsletters: 0 stored, 1 waiting, 1 for nobody, 0 refused" in told.getvalue()
    accept(ada)
    assert [item.title for item in items_visible(reader_id=ada.pk)] == ["Issue 1: a second pier"]


@SPOOL
def test_a_huge_mail_is_cut_off_and_a_broken_one_harms_no_other(mailbox: Dovecot, ada: Reader):
    to = newsletter_address_issue(reader=ada)
    mailbox.deliver(
        f"To: {to}\r\nFrom: a@b.example\r\nSubject: Long\r\n\r\n".encode() + b"x " * MAIL_MAX_BYTES
    )
    mailbox.deliver(f"To: {to}\r\nContent-Type: multipart/mixed; boundary=\r\n\r\n\xff\x00".encode("latin-1"))
    mailbox.deliver(issue(to))
    report = newsletters_fetch(now=timezone.now())
    assert report.waiting >= 2 and report.waiting + report.refused == 3
    assert {"Long", "Issue 1: a second pier"} <= {item.title for item in Item.objects.all()}


@pytest.mark.parametrize(
    "mail",
    [
        b"",
        b"\x00\xff" * 500,
        b"Subject: =?x?b?!?=\r\nFrom: \"<>@\r\nDate: never\r\nList-Id: <>\r\n\r\nWords.",
        b"Content-Type: text/html; charset=no-such\r\n\r\n<p>W\xf6rter",
        b"Content-Type: text/html; charset=x-user-defined\r\n\r\n<p>W\xf6rter",
        b"Content-Type: multipart/mixed; boundary=a\r\n\r\n" + NESTED * 200,
        b"From: " + b"(" * 5000 + b"\r\n\r\nx",
    ],
)  # fmt: skip
def test_what_no_mail_should_be_is_read_all_the_same(mail: bytes):
    letter = mail_parse(mail)
    assert len(letter.feed.entries) == 1 and letter.feed.entries[0].title


def test_a_mail_of_words_alone_is_paragraphs(ada: Reader):
    letter = mail_parse(b"From: A <a@b.example>\r\nSubject: Hi\r\n\r\nOne <b>.\r\n\r\nTwo.\r\n")
    (entry,) = letter.feed.entries
    assert letter.list_key == "a@b.example" and "One" in entry.text and "Two." in entry.text
    assert "<b>" not in entry.html


@pytest.mark.parametrize(
    ("line", "address"),
    [
        ("Confirm: https://l.example/c?a=1&b=2", "https://l.example/c?a=1&amp;b=2"),
        ("<HTTPS://l.example/c>", "HTTPS://l.example/c"),
        ("(At https://l.example/c_(d).)", "https://l.example/c_(d)"),
        ("Is it http://l.example/c?", "http://l.example/c"),
        ('http://l.example/" onclick="x()', "http://l.example/"),
        (f"https://l.example/{'a' * 2000}", ""),
        ("javascript:alert(1) http:// https://...", ""),
    ],
)
def test_addresses_in_a_mail_of_words_alone_are_links(line: str, address: str):
    mail = f"From: A <a@b.example>\r\nSubject: Hi\r\n\r\nOne.\r\n{line}\r\n"
    (entry,) = mail_parse(mail.encode()).feed.entries
    links = re.findall(r'<a href="([^"]*)" rel="noopener noreferrer nofollow">(.*?)</a>', entry.html)
    assert links == ([(address, address)] if address else []) and "<a onclick" not in entry.html
    assert (entry.html.count("<a ") == 1) is bool(address)


def test_the_way_out_of_a_newsletter_is_in_the_language_of_the_page(ada: Reader, client: Client):
    letter_store(reader=ada, letter=mail_parse(issue("a@b.example")), now=timezone.now())
    accept(ada)
    client.force_login(ada)
    page = f"/ui/item/{Item.objects.get().pk}"
    for language, words in (
        ("en", "Unsubscribe from this newsletter"),
        ("de", "Diesen Newsletter abbestellen"),
    ):
        body = client.get(page, headers={"Accept-Language": language}).content.decode()
        assert f">{words}</a>" in body and ("Unsubscribe" in body) == (language == "en")


@pytest.mark.parametrize(
    ("url", "address", "wrong"),
    [
        ("", "", False),
        ("imaps://a:b@mail.example.org", "letters+*@example.org", False),
        ("imaps://a:b@mail.example.org/INBOX", "*@letters.example.org", False),
        ("imap://a:b@127.0.0.1:1143", "letters+*@example.org", False),
        ("imaps://a:b@mail.example.org", "", True),
        ("", "letters+*@example.org", True),
        ("imap://a:b@mail.example.org", "letters+*@example.org", True),
        ("imaps://mail.example.org", "letters+*@example.org", True),
        ("pop3://a:b@mail.example.org", "letters+*@example.org", True),
        ("imaps://a:b@mail.example.org", "letters@example.org", True),
        ("imaps://a:b@mail.example.org", "letters@*.example.org", True),
    ],
)
def test_settings_that_cannot_work_are_refused(settings, url: str, address: str, wrong: bool):
    settings.NEWSLETTERS_URL, settings.NEWSLETTERS_ADDRESS = url, address
    assert ("tidings.E025" in {found.id for found in run_checks()}) is wrong


def test_without_a_mailbox_there_is_no_page(ada: Reader, client: Client):
    client.force_login(ada)
    assert newsletters_fetch(now=timezone.now()).problem == "" and mailbox_state() is None
    assert "tidings_newsletters_failing 0.0" in metrics_text(now=timezone.now()).decode()
    assert client.get("/ui/newsletters").status_code == 404
    assert "Newsletters by mail" not in client.get("/ui/sources").content.decode()

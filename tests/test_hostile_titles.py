"""Words that look like tags stay words in every output, because every output escapes them.

The browser suite shows that nothing runs on pages and in mails. This file covers every other output.
"""

import io
import json
import logging
import re
from collections.abc import Iterator

import feedparser
import lxml.html
import pytest
from django.core.management import call_command
from django.test import Client, RequestFactory
from django.utils import timezone
from lxml import etree

from config.api.mcp_tools import ItemArguments, SearchArguments, explain_item, search_items
from config.logs import SecretRedactor
from digest.daily.services import digest_build
from digest.feeds.ingest import feed_get_or_create
from digest.feeds.parse import parse_document
from digest.items.reading import item_save
from digest.mail.content import draft_daily
from digest.mail.links import feed_token_issue
from digest.mail.render import mail_message
from digest.models import Digest, Item, Reader
from digest.notifications.wire import Line, Message, ntfy_request, webhook_request
from digest.sources.subscriptions import subscription_add
from tests.digest.web.greader.support import App
from tests.support.ingest import parsed_ingest

WORDS = "<script>alert('&lt;1&gt;')</script> <img src=x onerror=y> \"></title> & <system>"
MARK = "<script>alert("
URL = "https://ada.example/feed"
PAGES = ("/", "/ui/search?q=alert", "/ui/all", "/ui/saved", "/ui/sources", "/ui/config", "/ui/item/{}")


@pytest.fixture
def item(ada: Reader) -> Item:
    """Return an item whose every field holds `WORDS`. Ada reads its feed and has saved it."""
    now = timezone.now()
    written = {"title": WORDS, "content_text": f"{WORDS} in the text", "tags": [WORDS[:50]]}
    feed = {"title": WORDS, "items": [{"id": "1", "url": "https://ada.example/1", **written}]}
    feed["items"][0]["authors"] = [{"name": WORDS}]
    subscription_add(reader=ada, url=URL, now=now)
    parsed = parse_document(json.dumps(feed).encode(), url=URL)
    parsed_ingest(feed=feed_get_or_create(url=URL, now=now), parsed=parsed, now=now)
    item = Item.objects.get()
    assert item.title == WORDS.replace("&lt;", "<").replace("&gt;", ">")
    assert MARK in item.text and MARK in item.author
    item_save(reader=ada, item_id=item.pk, saved=True, now=now)
    digest_build(reader=ada, date=timezone.localdate(timezone=ada.zone), now=now)
    return item


@pytest.fixture
def signed_in(ada: Reader) -> Iterator[Client]:
    client = Client()
    client.force_login(ada)
    yield client


def assert_are_words(page: str, *, where: str) -> None:
    """The words are in the text of a page, and none of them is an element or an attribute of it."""
    read = lxml.html.document_fromstring(page)
    assert not read.xpath("//img[@src='x'] | //system | //*[@onerror]"), where
    assert not [one for one in read.iter("script") if (one.text or "").startswith("alert")], where
    assert len(read.xpath("//title")) <= 1 and not read.xpath("//body//title"), where


def test_pages_escape_what_an_item_says(item: Item, signed_in: Client):
    seen = 0
    for path in PAGES:
        answer = signed_in.get(path.format(item.pk))
        assert answer.status_code == 200, path
        body = answer.content.decode()
        assert_are_words(body, where=path)
        assert MARK not in body, path
        seen += "&lt;script&gt;alert(" in body
    assert seen >= len(PAGES) - 2


def test_the_admin_escapes_it(item: Item, operator: Reader):
    client = Client()
    client.force_login(operator)
    for path in (f"/admin/digest/item/{item.pk}/change/", "/admin/digest/item/", "/admin/digest/feed/"):
        answer = client.get(path, follow=True)
        if answer.status_code == 200:
            assert_are_words(answer.content.decode(), where=path)
            assert MARK not in answer.content.decode(), path


def test_the_mail_escapes_it_in_html_and_keeps_one_line_in_its_subject(item: Item, ada: Reader):
    digest = Digest.objects.get(reader=ada)
    draft = draft_daily(reader=ada, digest=digest, now=timezone.now())
    assert draft is not None
    message = mail_message(draft.content, now=timezone.now())
    assert "\n" not in message.subject and MARK in message.subject + str(message.body)
    for body, kind in message.alternatives:
        assert kind == "text/html"
        assert_are_words(str(body), where="mail")
        # In a value an angle bracket is no tag; its quotation marks are escaped.
        assert MARK not in re.sub('="[^"]*"', "", str(body)) and "&lt;script&gt;" in str(body)


def test_feeds_escape_it_by_their_format(item: Item, ada: Reader, settings):
    settings.SITE_URL = "https://tidings.example"
    token = feed_token_issue(reader=ada)
    body = Client().get(f"/feeds/{token}/atom.xml").content
    titles = etree.fromstring(body).findall(
        ".//{http://www.w3.org/2005/Atom}entry/{http://www.w3.org/2005/Atom}title"
    )
    assert [one.text for one in titles] == [item.title] and not list(titles[0])
    assert feedparser.parse(body).entries[0].title_detail.type == "text/plain"
    answer = Client().get(f"/feeds/{token}/feed.json")
    assert answer["Content-Type"].startswith("application/feed+json")
    (entry,) = answer.json()["items"]
    assert entry["title"] == item.title and MARK not in entry.get("content_html", "")


def test_programs_get_the_words_as_json(item: Item, ada: Reader, signed_in: Client):
    answer = signed_in.get(f"/api/items/{item.pk}")
    assert answer["Content-Type"].startswith("application/json") and answer.json()["title"] == item.title
    assert MARK not in answer.json().get("html", "")
    (read,) = App(ada).items()
    assert read["title"] == item.title and MARK not in read["summary"]["content"]


def test_assistants_get_the_words_as_data(item: Item, ada: Reader):
    request = RequestFactory().get("/")
    request.user = ada
    said = explain_item(request, ItemArguments(item_id=item.pk))
    assert (said["title"], MARK in said["text"]) == (item.title, True)
    (hit,) = search_items(request, SearchArguments(query="alert"))["hits"]
    assert hit["title"] == item.title
    assert json.loads(json.dumps(said))["title"] == item.title


def test_notifications_carry_the_words_in_json(item: Item):
    now = timezone.now()
    message = Message(uid="1", lines=(Line("digest", item.title, "https://t.example/"),), at=now)
    for made in (
        webhook_request(message, address="https://h.example/in", secret="whsec_AAAA", now=now),
        ntfy_request(message, address="https://n.example/topic", token=""),
    ):
        assert item.title in json.dumps(json.loads(made.body), ensure_ascii=False).replace('\\"', '"')
        assert all("\n" not in value for value in made.headers.values())


def test_exports_hold_the_words_as_data(item: Item, ada: Reader):
    out = io.StringIO()
    call_command("export_opml", "--user-id", str(ada.pk), stdout=out)
    outline = etree.fromstring(out.getvalue().encode()).find(".//outline[@xmlUrl]")
    assert outline is not None and MARK in (outline.get("title") or outline.get("text") or "")
    assert not list(outline)


def test_a_log_line_stays_one_line(item: Item):
    line = SecretRedactor(())(logging.getLogger(), "info", {"event": f"{item.title}\nforged line"})
    assert json.loads(json.dumps(line))["event"].startswith("<script>")
    assert "\n" not in json.dumps(line)

"""In a long article the words count, not the markup. A text over the limit is marked as cut."""

import json

import pytest
from django.test import Client

from digest.feeds.body_html import HTML_MAX_CHARS
from digest.feeds.parse import BODY_MAX_CHARS, parse_document
from digest.feeds.sanitise import CUT, FIELD_MAX_CHARS, text_cut, text_is_cut
from digest.items.search import items_search
from digest.models import Item, Reader
from tests.support.factories import FeedFactory, SubscriptionFactory
from tests.support.ingest import document_ingest

LINK = "https://r.example/1"
MARK = '<a class="reference-link" href="https://r.example/a/rather/long/address/of/a/page">x</a> '
PARAGRAPH = f"<p>{'rain ' * 20}</p>\n"
DATA = f'<img src="data:image/png;base64,{"QUJD" * 100_000}">'
LONG = {
    "markup": MARK * (70_000 // len(MARK)) + "<p>At the end a kingfisher.</p>",
    "much markup": "<p>It rains.</p>" + MARK * (400_000 // len(MARK)) + "<p>At the end a kingfisher.</p>",
    "comments": f"<p>It rains.</p><!-- {'x' * 80_000} --><p>At the end a kingfisher.</p>",
    "a picture in its address": f"<p>It rains.</p>{DATA}<p>At the end a kingfisher.</p>",
    "white space": "<p>It rains.</p>" + " \n" * 40_000 + "<p>At the end a kingfisher.</p>",
    "references": "<p>" + "&eacute;" * 12_000 + "</p><p>At the end a kingfisher.</p>",
}


def rss(body: str) -> bytes:
    entry = (
        f"<guid>1</guid><title>Rain</title><link>{LINK}</link><description><![CDATA[{body}]]></description>"
    )
    return f"<rss><channel><item>{entry}</item></channel></rss>".encode()


@pytest.mark.parametrize("body", LONG.values(), ids=LONG)
def test_long_markup_takes_no_words_away(body: str):
    (entry,) = parse_document(rss(body)).entries
    assert entry.text.endswith("kingfisher.") and len(entry.text) <= FIELD_MAX_CHARS


@pytest.mark.django_db
def test_the_end_of_a_long_article_is_found(ada: Reader, now):
    feed = FeedFactory()
    SubscriptionFactory(reader=ada, feed=feed)
    document_ingest(feed=feed, body=rss(LONG["much markup"]), now=now)
    assert [hit.title for hit in items_search(reader_id=ada.pk, query="kingfisher", now=now).items] == [
        "Rain"
    ]


@pytest.mark.parametrize(
    "document",
    [
        rss(PARAGRAPH * 700 + "<p>End.</p>"),
        rss("It rains and rains. " * 4_000),
        rss("<p>It rains.</p>" + f"<i>{'x' * 50}</i> " * (BODY_MAX_CHARS // 50)),
        json.dumps(
            {
                "version": "https://jsonfeed.org/version/1.1",
                "items": [{"id": "1", "url": LINK, "content_text": "It rains and rains. " * 4_000}],
            }
        ).encode(),
    ],
)
def test_a_text_that_is_cut_ends_after_a_word_and_says_so(document: bytes):
    (entry,) = parse_document(document, url=LINK).entries
    assert text_is_cut(entry.text) and len(entry.text) <= FIELD_MAX_CHARS
    assert entry.text.removesuffix(CUT).split()[-1] in ("rain", "rains", "rains.", "and", "It", "x" * 50)


def test_a_text_that_fits_stays_as_it_is():
    for text in ("", "Rain…", f"Rain{CUT}", "x" * FIELD_MAX_CHARS):
        assert text_cut(text) == text and not text_is_cut(text)


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("body", "is_cut"),
    [
        (PARAGRAPH * 700, True),  # paragraphs alone: shown as text
        (f"<h2>x</h2>{PARAGRAPH * 1_200}", True),  # shown as HTML
        (f"<h2>x</h2>{PARAGRAPH * 100}", False),
        (PARAGRAPH * 100 + "<p>…</p>", False),
        ("<p>Rain</p><p>…</p>", False),
    ],
)
def test_the_page_says_where_a_text_was_cut(ada: Reader, now, body, is_cut):
    feed = FeedFactory()
    SubscriptionFactory(reader=ada, feed=feed)
    document_ingest(feed=feed, body=rss(body), now=now)
    client = Client()
    client.force_login(ada)
    page = client.get(f"/ui/item/{Item.objects.get().pk}").content.decode()
    assert ("data-cut" in page) == is_cut == ("Read on at r.example" in page)
    assert len(page) < HTML_MAX_CHARS * 2

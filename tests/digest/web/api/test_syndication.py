"""A reader's own feed: found by its secret alone, and read back as any feed reader reads it."""

import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from uuid import UUID

import feedparser
import pytest
from django.test import Client
from django.urls import reverse
from hypothesis import given
from hypothesis import strategies as st
from lxml import etree

from digest.daily.services import digest_build
from digest.feeds.parse import parse_document
from digest.mail.links import feed_token_issue, feed_token_revoke
from digest.models import Exposure
from digest.web.api.syndication import Channel, ChannelItem, atom_write, json_feed_write
from tests.support.factories import FeedFactory, ItemFactory, SourceFactory, SubscriptionFactory

HOUR = timedelta(hours=1)
WHEN = datetime(2026, 3, 18, 6, tzinfo=UTC)
TEXTS = st.text(max_size=40)


@pytest.fixture
def clock(now, monkeypatch) -> Callable[[datetime], None]:
    """Sets the clock that doors read; it stands at `now`."""

    def to(moment: datetime) -> None:
        monkeypatch.setattr("django.utils.timezone.now", lambda: moment)

    to(now)
    return to


@pytest.fixture
def token(ada, now, clock, settings) -> str:
    """Return the secret of Ada's feed, over a digest of two items."""
    settings.SITE_URL = "https://tidings.example"
    source = SourceFactory(key="gazette.example", title="Gazette")
    SubscriptionFactory(reader=ada, feed=FeedFactory(source=source))
    ItemFactory(source=source, title="Tides & bells < 3", text="Low water at noon.", language="de")
    ItemFactory(source=source, title="No address", url="urn:tidings:abc", author="B. Ell")
    digest_build(reader=ada, date=now.date(), now=now)
    return feed_token_issue(reader=ada)


def channel_item(**fields: object) -> ChannelItem:
    given = {"url": "https://a.example/1", "href": "https://a.example/1", "title": "T", "source": "S"}
    rest = {
        "author": "",
        "language": "",
        "lede": "",
        "by": "",
        "also": "",
        "reasons": ("your topic: rust",),
        "rank": 1,
        "day": "d",
    }
    return ChannelItem(
        **{**given, **rest, "page": "https://t.example/ui/item/1", "published": WHEN, **fields}
    )


def channel(*items: ChannelItem) -> Channel:
    places = ("https://t.example/", "https://t.example/a", "https://t.example/j")
    return Channel(UUID(int=1), "Tidings for ada", *places, WHEN, items)


# --- Writing -------------------------------------------------------------------------------------------


@given(title=TEXTS, source=TEXTS, lede=TEXTS, author=TEXTS, language=TEXTS, reasons=st.tuples(TEXTS))
def test_whatever_an_item_says_the_documents_are_well_formed(**fields):
    etree.fromstring(atom_write(channel(channel_item(**fields))))
    assert json.loads(json_feed_write(channel(channel_item(**fields))))["items"][0]["id"]


@pytest.mark.parametrize("write", [atom_write, json_feed_write])
def test_our_own_parser_reads_back_what_we_write(write):
    item = channel_item(title="Tides & bells < 3", lede="1 < 2 & 3", language="de", author="B. Ell")
    feed = parse_document(write(channel(item)), url="https://t.example/a")
    (entry,) = feed.entries
    assert (feed.title, entry.title, entry.author) == ("Tidings for ada", "Tides & bells < 3", "B. Ell")
    assert entry.link == "https://a.example/1" and entry.published == WHEN
    assert "1 < 2 & 3" in entry.text and "Why it is here: your topic: rust" in entry.text
    assert entry.guid.startswith("urn:uuid:")


def test_an_id_follows_from_the_item_alone():
    one, other = (
        channel(channel_item()),
        channel(channel_item(title="Changed", rank=9, href="https://moved.example/")),
    )
    ids = [parse_document(atom_write(c)).entries[0].guid for c in (one, other)]
    assert ids[0] == ids[1] == json.loads(json_feed_write(one))["items"][0]["id"]


def test_atom_has_all_that_rfc_4287_requires():
    names = {"a": "http://www.w3.org/2005/Atom"}
    root = etree.fromstring(atom_write(channel(channel_item())))
    for required in ("a:id", "a:title", "a:updated", "a:author/a:name", "a:link[@rel='self']"):
        assert len(root.findall(required, names)) == 1, required
    (entry,) = root.findall("a:entry", names)
    for required in ("a:id", "a:title", "a:updated", "a:author/a:name", "a:link[@rel='alternate']"):
        assert len(entry.findall(required, names)) == 1, required


def test_json_feed_has_all_that_1_1_requires():
    document = json.loads(json_feed_write(channel(channel_item())))
    assert document["version"] == "https://jsonfeed.org/version/1.1"
    assert {"title", "home_page_url", "feed_url", "items"} <= set(document)
    (item,) = document["items"]
    assert item["id"] and item["content_html"] and item["_tidings"]["reasons"] == ["your topic: rust"]


# --- The door ------------------------------------------------------------------------------------------


def at(name: str, token: str) -> str:
    return reverse(f"digest:{name}", args=[token])


def test_the_feed_needs_no_session_and_holds_the_digest_with_its_reasons(token, client: Client):
    answer = client.get(at("feed_atom", token))
    assert answer.status_code == 200 and answer["Content-Type"].startswith("application/atom+xml")
    assert answer["Cache-Control"].startswith("private") and not answer.cookies
    found = feedparser.parse(answer.content)
    assert not found.bozo and {entry.title for entry in found.entries} == {"Tides & bells < 3", "No address"}
    assert all("All the reasons" in entry.summary for entry in found.entries)
    by_title = {entry.title: entry for entry in found.entries}
    assert by_title["No address"].link.startswith("https://tidings.example/ui/item/")


def test_both_forms_hold_the_same(token, client: Client):
    items = client.get(at("feed_json", token)).json()["items"]
    atom = feedparser.parse(client.get(at("feed_atom", token)).content)
    assert [item["id"] for item in items] == [entry.id for entry in atom.entries]


@pytest.mark.parametrize("name", ["feed_atom", "feed_json"])
def test_an_unchanged_feed_is_not_sent_again(name, token, client: Client, ada, now):
    first = client.get(at(name, token))
    for header in ({"If-None-Match": first["ETag"]}, {"If-Modified-Since": first["Last-Modified"]}):
        again = client.get(at(name, token), headers=header)
        assert again.status_code == 304 and not again.content and again["ETag"] == first["ETag"]
    ItemFactory(source_id="gazette.example", title="New", published_at=now)
    digest_build(reader=ada, date=now.date(), now=now + HOUR)
    assert client.get(at(name, token), headers={"If-None-Match": first["ETag"]}).status_code == 200


@pytest.mark.parametrize("name", ["feed_atom", "feed_json"])
def test_a_digest_built_again_to_the_same_is_not_sent_again(name, token, client: Client, ada, now, clock):
    clock(now + 3 * HOUR)
    first = client.get(at(name, token))
    clock(now + 6 * HOUR)
    again = client.get(at(name, token), headers={"If-None-Match": first["ETag"]})
    assert ada.digests.get().built_at == now + 6 * HOUR
    assert again.status_code == 304 and again["ETag"] == first["ETag"]
    assert again["Last-Modified"] != first["Last-Modified"]


@pytest.mark.parametrize("name", ["feed_atom", "feed_json"])
def test_a_feed_that_is_asked_holds_todays_digest_as_the_page_would(name, token, client: Client, now, clock):
    first = client.get(at(name, token))
    ItemFactory(source_id="gazette.example", title="Breaking", published_at=now + HOUR)
    clock(now + 2 * HOUR)
    again = client.get(at(name, token), headers={"If-None-Match": first["ETag"]})
    assert again.status_code == 200 and b"Breaking" in again.content
    ItemFactory(source_id="gazette.example", title="Next day", published_at=now + 23 * HOUR)
    clock(now + 24 * HOUR)
    assert b"Next day" in client.get(at(name, token)).content


@pytest.mark.parametrize("name", ["feed_atom", "feed_json"])
def test_a_replaced_a_revoked_and_an_unknown_secret_find_nothing(name, token, client: Client, ada):
    fresh = feed_token_issue(reader=ada)
    assert client.get(at(name, token)).status_code == 404
    assert client.get(at(name, fresh)).status_code == 200
    feed_token_revoke(reader=ada)
    for dead in (fresh, "None", "x"):
        assert client.get(at(name, dead)).status_code == 404


def test_a_feed_is_its_readers_alone(token, client: Client, ben):
    other = feed_token_issue(reader=ben)
    answer = client.get(at("feed_atom", other))
    assert answer.status_code == 200 and not feedparser.parse(answer.content).entries


def test_a_closed_account_has_no_feed(token, client: Client, ada):
    ada.is_active = False
    ada.save()
    assert client.get(at("feed_atom", token)).status_code == 404


def test_a_feed_is_only_read(token, client: Client):
    assert client.post(at("feed_atom", token)).status_code == 405


def test_an_item_of_two_days_is_told_once(token, client: Client, ada, now, clock):
    digest_build(reader=ada, date=(now + timedelta(days=1)).date(), now=now + timedelta(days=1))
    clock(now + timedelta(days=1))
    ids = [item["id"] for item in client.get(at("feed_json", token)).json()["items"]]
    assert len(ids) == len(set(ids)) == 2
    assert ada.digests.count() == 2


def test_queries_do_not_grow_with_the_items(token, client: Client, ada, now, django_assert_max_num_queries):
    for n in range(20):
        ItemFactory(source=SourceFactory(key=f"s{n}.example"))
    digest_build(reader=ada, date=now.date(), now=now)
    client.get(at("feed_atom", token))  # shown items are logged once
    with django_assert_max_num_queries(15):
        client.get(at("feed_atom", token))


def test_what_a_feed_reader_got_is_logged_once(token, client: Client, ada):
    first = client.get(at("feed_atom", token))
    client.get(at("feed_json", token), headers={"If-None-Match": first["ETag"]})
    assert Exposure.objects.filter(reader=ada, door="feed").count() == 2

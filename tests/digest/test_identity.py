"""What counts as the same."""

import socket
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from digest.identity import (
    GUID_MAX_CHARS,
    canonical_url,
    dated,
    entry_guid,
    fingerprint,
    item_urn,
    published_clamped,
    source_key,
)

NOW = datetime(2026, 3, 18, 12, tzinfo=UTC)
URLS = st.builds(
    "{}://{}{}{}".format,
    st.sampled_from(["http", "HTTPS", "ftp", "https"]),
    st.sampled_from(
        ["Example.com", "a.b:80", "münchen.example", "user:pw@x.example", "[::1]:443", "", "a..b"]
    ),
    st.text("/.aZ%2f é;:@\\", max_size=12).map(lambda t: f"/{t}"),
    st.text("?&=#utm_source+%2e", max_size=14).map(lambda t: f"?{t}"),
)


@given(URLS | st.text(max_size=40))
def test_a_canonical_url_is_its_own_canonical_url(url: str):
    once = canonical_url(url)
    assert canonical_url(once) == once
    assert not once or once.startswith(("http://", "https://", "urn:tidings:"))


@pytest.mark.parametrize(
    ("url", "canonical"),
    [
        ("HTTP://WWW.Example.COM:80/a?utm_source=x&b=1&FBCLID=2#top", "http://www.example.com/a?b=1"),
        ("https://example.com", "https://example.com/"),
        ("https://user:secret@example.com/a", "https://example.com/a"),
        ("https://example.com/a/../b", "https://example.com/b"),
        ("https://example.com:8443/a", "https://example.com:8443/a"),
        ("https://example.com/a%7Eb", "https://example.com/a~b"),
        ("https://münchen.example/", "https://xn--mnchen-3ya.example/"),
        ("urn:tidings:abc", "urn:tidings:abc"),
        ("javascript:alert(1)", ""),
        ("file:///etc/passwd", ""),
        ("https://", ""),
        ("nonsense", ""),
        ("https://example.com:99999/", ""),
        ("https://example.com/" + "a" * 3000, ""),
    ],
)
def test_spellings_of_one_address_become_one(url: str, canonical: str):
    assert canonical_url(url) == canonical


@pytest.mark.parametrize(
    ("url", "key"),
    [
        ("https://feeds.bbci.co.uk/news/rss.xml", "bbci.co.uk"),
        ("https://www.Example.com/feed", "example.com"),
        ("https://ada.github.io/feed.xml", "ada.github.io"),
        ("https://feeds.feedburner.com/TheDaily", "feedburner.com/thedaily"),
        ("http://localhost:8000/feed", "localhost"),
        ("http://127.0.0.1:8000/feed", "127.0.0.1"),
        ("https://wiki.corp/feed", "wiki.corp"),
        ("file:deep/The-Daily.xml.gz", "the-daily"),
        ("", ""),
        ("http://[", ""),
    ],
)
def test_a_source_is_named_after_its_domain_without_the_network(url: str, key: str, monkeypatch):
    def refused(*args: object) -> None:
        raise AssertionError("a source key must not need the network")

    monkeypatch.setattr(socket.socket, "connect", refused)
    assert source_key(url) == key


def test_an_entry_goes_by_its_guid_then_its_link_then_its_words():
    said = {"title": "Rain", "text": "It rained."}
    assert entry_guid(guid=" g ", link="https://x.example/", **said) == "g"
    assert entry_guid(guid="", link="https://x.example/", **said) == "https://x.example/"
    assert entry_guid(guid="", link="", **said) == item_urn(**said)
    assert len(entry_guid(guid="x" * 5000, link="", **said)) <= GUID_MAX_CHARS


def test_words_are_the_same_whatever_their_case_and_spacing():
    assert fingerprint("Rain  Today", "x") == fingerprint("rain today", "X")
    assert fingerprint("a", "b") != fingerprint("ab", "")


@pytest.mark.parametrize(
    ("published", "counts_from"),
    [
        (None, NOW),
        (NOW + timedelta(hours=1), NOW),
        (datetime(1970, 1, 1, tzinfo=UTC), NOW),
        (NOW - timedelta(days=3), NOW - timedelta(days=3)),
    ],
)
def test_a_date_that_lies_gives_way_to_when_it_was_first_seen(
    published: datetime | None, counts_from: datetime
):
    assert dated(published, NOW) == counts_from


def test_published_dates_are_clamped():
    assert published_clamped(datetime(1970, 1, 1, tzinfo=UTC), NOW).year == 1995
    assert published_clamped(NOW + timedelta(days=400), NOW) == NOW + timedelta(days=1)

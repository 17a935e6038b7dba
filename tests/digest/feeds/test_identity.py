"""Identities of posts, feeds and sources."""

import socket
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from digest.feeds import identity
from digest.feeds.dedupe import identify_entries
from digest.feeds.entities import ParsedEntry
from digest.feeds.identity import (
    GUID_MAX_CHARS,
    PLATFORM_SUFFIXES,
    PUBLISHER_RULES,
    SOURCE_KEY_MAX_CHARS,
    age_date,
    canonical_url,
    clamp_published,
    entry_guid,
    fingerprint,
    item_urn,
    source_key,
)
from digest.feeds.services import _SOURCE_KEY
from tests.support.pace import processor_within

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
        ("https://co.uk/feed", "co.uk"),
        ("https://rds.cn-north-1.amazonaws.com.cn/feed", "rds.cn-north-1.amazonaws.com.cn"),
        ("file:deep/The-Daily.xml.gz", "the-daily"),
        ("", ""),
        ("http://[", ""),
    ],
)
def test_a_source_is_named_after_its_domain_without_the_network(url: str, key: str, monkeypatch):
    def refused(*args: object) -> None:
        raise AssertionError("a source key must not need the network")

    monkeypatch.setattr(socket.socket, "connect", refused)
    identity._public_suffixes.cache_clear()  # as in a process that just began
    source_key.cache_clear()
    assert source_key(url) == key


SHARED = [
    # Publishers that stand in the host, by the public suffix list and by our own.
    ("https://ada.github.io/feed.xml", "ada.github.io"),
    ("https://ada.blogspot.com/feeds/posts/default", "ada.blogspot.com"),
    ("http://ada.blogspot.co.uk/2026/01/rain.html", "ada.blogspot.com"),
    ("https://ada.substack.com/feed", "ada.substack.com"),
    ("https://ada.substack.com/p/rain", "ada.substack.com"),
    ("https://open.substack.com/pub/ada/p/rain?r=1", "ada.substack.com"),
    ("https://www.substack.com/", "substack.com"),
    ("https://ada.wordpress.com/feed/", "ada.wordpress.com"),
    ("https://www.ada.wordpress.com/feed/", "ada.wordpress.com"),
    ("https://ada.tumblr.com/rss", "ada.tumblr.com"),
    ("https://www.tumblr.com/ada/123/rain", "ada.tumblr.com"),
    ("https://ada.bearblog.dev/feed/", "ada.bearblog.dev"),
    ("https://ada.ghost.io/rss/", "ada.ghost.io"),
    # In the path: feed first, then an item of the same publisher.
    ("https://medium.com/feed/@Ada", "medium.com/@ada"),
    ("https://medium.com/@ada/rain-1?source=rss", "medium.com/@ada"),
    ("https://ada.medium.com/feed", "medium.com/@ada"),
    ("https://medium.com/feed/rain-review", "medium.com/rain-review"),
    ("https://medium.com/rain-review/a-1", "medium.com/rain-review"),
    ("https://medium.com/p/1a2b", "medium.com"),
    ("https://www.reddit.com/r/Python/.rss", "reddit.com/r/python"),
    ("https://old.reddit.com/r/python/comments/1/rain/", "reddit.com/r/python"),
    ("https://www.reddit.com/r/python.rss?format=xml", "reddit.com/r/python"),
    ("https://www.reddit.com/user/ada/.rss", "reddit.com/user/ada"),
    ("https://github.com/Ada/rain/releases.atom", "github.com/ada/rain"),
    ("https://github.com/ada/rain/releases/tag/v1", "github.com/ada/rain"),
    ("https://raw.githubusercontent.com/ada/rain/main/feed.xml", "github.com/ada/rain"),
    ("https://github.com/ada.atom", "github.com/ada"),
    ("https://codeberg.org/ada/rain.rss", "codeberg.org/ada/rain"),
    ("https://mastodon.social/@Ada.rss", "mastodon.social/@ada"),
    ("https://mastodon.social/@ada/123", "mastodon.social/@ada"),
    ("https://feed.podbean.com/ada/feed.xml", "ada.podbean.com"),
    ("https://ada.podbean.com/e/rain", "ada.podbean.com"),
    ("https://feeds.fireside.fm/www/rss", "fireside.fm"),
    ("https://feeds.simplecast.com/gvt_Ui", "simplecast.com/gvt_ui"),
    ("https://feeds.feedburner.com/TheDaily", "feedburner.com/thedaily"),
    ("https://feeds.feedburner.com/~r/TheDaily/~3/abc/", "feedburner.com/thedaily"),
    ("http://feedproxy.google.com/~r/TheDaily/~3/abc/", "feedburner.com/thedaily"),
    ("https://feeds.feedburner.com/blogspot/WOBq", "feedburner.com/blogspot/wobq"),
    # In the query.
    ("https://www.youtube.com/feeds/videos.xml?channel_id=UCa-B_1", "youtube.com/channel/uca-b_1"),
    ("https://www.youtube.com/feeds/videos.xml?x=1&channel_id=UCa-B_1", "youtube.com/channel/uca-b_1"),
    ("https://www.youtube.com/channel/UCa-B_1/videos", "youtube.com/channel/uca-b_1"),
    ("https://www.youtube.com/feeds/videos.xml?user=Ada", "youtube.com/user/ada"),
    ("https://www.youtube.com/feeds/videos.xml?playlist_id=PLa", "youtube.com/playlist/pla"),
    ("https://www.youtube.com/watch?v=abc", "youtube.com"),
    ("https://www.flickr.com/services/feeds/photos_public.gne?id=1%40N00", "flickr.com/photos/1@n00"),
]


@pytest.mark.parametrize(("url", "key"), SHARED)
def test_publishers_on_a_shared_host_are_sources_of_their_own(url: str, key: str):
    assert source_key(url) == key


PARTS = [
    *["", "feed", "feeds", "@Ada", "~r", "r", "u", "Ada.rss", "x.atom.xml", "pub", "tag", "www", "channel"],
    *["%40b", "a%2fb", "%2561", "İ", "ß+é", "..", "show", "y" * 90, "z" * 130],
]
PLATFORM_URLS = st.builds(
    "https://{}{}{}{}".format,
    st.sampled_from(["", "www.", "feeds.", "ada.", "a.b.", "open.", f"{'x' * 60}."]),
    st.sampled_from(
        [
            *PLATFORM_SUFFIXES,
            *PUBLISHER_RULES,
            "blogspot.com",
            "blogspot.co.uk",
            "github.io",
            "s3.amazonaws.com",
        ]
    ),
    st.lists(
        st.sampled_from(PARTS) | st.text(max_size=6),
        max_size=5,
    ).map(lambda parts: "".join(f"/{part}" for part in parts)),
    st.sampled_from(
        ["", "?channel_id=UCx", "?user=A%2Fb", "?id=1%40N0", "?list=PLx", "?a=1&playlist_id=PLy"]
    ),
)


@given(PLATFORM_URLS)
def test_a_key_is_short_and_read_as_an_address_gives_itself(url: str):
    key = source_key(url)
    assert 0 < len(key) <= SOURCE_KEY_MAX_CHARS
    assert _SOURCE_KEY.match(key) and key == key.casefold()  # so that operators can move it
    assert source_key(f"https://{key}/") == source_key(f"https://{key}") == key


def test_long_keys_that_differ_at_their_end_stay_apart():
    one, other = (f"https://rsshub.app/{'a' * 200}/{end}" for end in ("ada", "ben"))
    assert source_key(one) != source_key(other)


@pytest.mark.parametrize("part", ["a=b&", "\xe9", "/..", "%2e", "utm_a&", " a", "a&"])
def test_thousands_of_long_addresses_are_compared_in_time(part: str):
    """Ten MB of links in one document took minutes."""
    long = "http://a.example/?" + part * (20_000 // len(part))
    entries = [
        ParsedEntry(
            guid=f"{long}{n}",
            link=f"{long}{n}",
            title=str(n),
            text="",
            author="",
            language="",
            published=None,
        )
        for n in range(500)
    ]
    with processor_within(2):
        assert len(identify_entries(entries, site=long)) == 500
    assert canonical_url(long) == ""


def test_an_entry_goes_by_its_guid_then_its_link_then_its_text():
    text = {"title": "Rain", "text": "It rained."}
    assert entry_guid(guid=" g ", link="https://x.example/", **text) == "g"
    assert entry_guid(guid="", link="https://x.example/", **text) == "https://x.example/"
    assert entry_guid(guid="", link="", **text) == item_urn(**text)
    assert len(entry_guid(guid="x" * 5000, link="", **text)) <= GUID_MAX_CHARS


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
def test_an_impossible_date_gives_way_to_when_it_was_first_seen(
    published: datetime | None, counts_from: datetime
):
    assert age_date(published, NOW) == counts_from


def test_published_dates_are_clamped():
    assert clamp_published(datetime(1970, 1, 1, tzinfo=UTC), NOW).year == 1995
    assert clamp_published(NOW + timedelta(days=400), NOW) == NOW + timedelta(days=1)

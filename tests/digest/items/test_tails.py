"""Feeds of one name are told apart."""

import pytest

from digest.items.tails import tails_of


@pytest.mark.parametrize(
    ("addresses", "tails"),
    [
        (["https://www.lamp.example/feed.atom", "http://lamp.example/feed.rss"], ["atom", "rss"]),
        (["https://a.example/feed", "https://b.example/feed"], ["a.example/feed", "b.example/feed"]),
        (
            ["https://a.example/AllNews.xml", "https://a.example/AllNewsLong.xml"],
            ["News.xml", "NewsLong.xml"],
        ),
        (["https://a.example/feed", "https://a.example/feed?page=2"], ["feed", "feed?page=2"]),
        (["https://a.example/x", "http://www.a.example/x/"], ["1", "2"]),
        (["", ""], ["1", "2"]),
        ([f"https://a.example/{'x' * 60}1", f"https://a.example/{'x' * 60}2"], ["1", "2"]),
    ],
)
def test_feeds_of_one_name_are_told_apart_by_their_addresses(addresses, tails):
    names = ["Lamp", "lamp", "Other"]
    assert tails_of(names, [*addresses, "https://other.example/"]) == [*tails, ""]
    assert tails_of(["One", "Two"], addresses) == ["", ""]

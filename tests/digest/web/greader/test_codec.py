"""Ids, streams and moments as clients write them."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from digest.web.greader.codec import (
    ID_MAX,
    Kind,
    Stream,
    folder_write,
    item_write,
    items_read,
    microseconds,
    moment_read,
    stream_read,
    stream_request_read,
)
from tests.support.adversarial import seconds

AT = datetime(2026, 3, 18, 12, 0, 0, 123456, tzinfo=UTC)


@given(st.integers(1, ID_MAX))
def test_an_id_is_the_same_in_each_of_its_forms(item_id: int):
    long = item_write(item_id)
    assert items_read([long, long.rpartition("/")[2]]) == [item_id]
    if item_id < 10**15:
        assert items_read([str(item_id)]) == [item_id]


LABEL_NAMES = st.sampled_from(
    ("Today", "Useful (folder)", "Not useful (folder) (folder)", "Search: a", "Search: a (folder)")
)


@given(st.text(st.characters(exclude_characters="\0"), min_size=1) | LABEL_NAMES)  # no folder has a NUL
def test_every_folder_has_an_id_that_no_label_has(name: str):
    assert stream_read(folder_write(name)) == Stream(Kind.FOLDER, name)


def test_an_id_of_a_million_letters_is_read_at_once():
    assert seconds(stream_read, "user/-/label/Nowhere" + " (folder)" * 111_111) < 0.5


@pytest.mark.parametrize(
    ("text", "item_id"),
    [
        ("tag:google.com,2005:reader/item/2f2", 0x2F2),  # without zeros, as NetNewsWire did
        ("000000000000048c", 0x48C),  # as Reeder writes it
        ("12345", 12345),  # as Liferea writes it
    ],
)
def test_ids_of_known_clients_are_read(text: str, item_id: int):
    assert items_read([text]) == [item_id]


def test_an_id_that_no_item_has_is_left_out():
    assert items_read(["-355401917359550817", "0", "tag:google.com,2005:reader/item/fb115bd6d34a8e9f"]) == []


@pytest.mark.parametrize("text", ["", "x", "12x", "tag:google.com,2005:reader/item/", "1" * 30, "٣"])
def test_what_is_no_id_is_refused(text: str):
    with pytest.raises(ValueError, match="not the id"):
        items_read([text])


@pytest.mark.parametrize(
    ("text", "stream"),
    [
        ("user/-/state/com.google/reading-list", Stream(Kind.ALL)),
        ("user/1000/state/com.google/starred", Stream(Kind.STARRED)),
        ("user/-/state/com.google/unread", Stream(Kind.UNREAD)),
        ("user/-/state/com.google/broadcast", Stream(Kind.OTHER)),
        ("user/-/label/Today", Stream(Kind.TODAY)),
        ("user/ada/label/Not useful", Stream(Kind.NOT_USEFUL)),
        ("user/-/label/News / Local", Stream(Kind.FOLDER, "News / Local")),
        ("feed/feed/https://a.example/feed?x=1", Stream(Kind.FEED, "https://a.example/feed?x=1")),
        ("feed/12", Stream(Kind.FEED, "12")),
        ("reading-list", Stream(Kind.ALL)),
        ("com.google/starred", Stream(Kind.STARRED)),
        ("state/com.google/read", Stream(Kind.READ)),
        ("label/News", Stream(Kind.FOLDER, "News")),
        ("user//state/com.google/reading-list", Stream(Kind.ALL)),
        ("user/-/starred", Stream(Kind.STARRED)),
        ("user/-/state/com.google/read/", Stream(Kind.READ)),
        ("reading-list/", Stream(Kind.ALL)),
        ("user%2F-%2Fstate%2Fcom.google%2Fstarred", Stream(Kind.STARRED)),
        ("user/-/label/50%2F50", Stream(Kind.FOLDER, "50%2F50")),
        ("user/-/state/org.freshrss/important", Stream(Kind.OTHER)),
        ("feed/12/", Stream(Kind.FEED, "12")),
        ("feed/https:/a.example/feed", Stream(Kind.FEED, "https://a.example/feed")),
        ("feed/https%3A%2F%2Fa.example%2Ffeed", Stream(Kind.FEED, "https://a.example/feed")),
        ("feed%2Fhttp%3A%2F%2Fa.example%2F", Stream(Kind.FEED, "http://a.example/")),
        ("http://a.example/feed", Stream(Kind.FEED, "http://a.example/feed")),
    ],
)
def test_a_stream_is_known_by_its_id(text: str, stream: Stream):
    assert stream_read(text) == stream


@pytest.mark.parametrize(
    "text",
    [
        "",
        "feed/",
        "user/-/label/",
        "splice/x",
        "reading",
        "label/",
        "feed%2F",
        "/",
        "feed%2F%00",
        "label%2F%00",
    ],
)
def test_what_is_no_stream_is_refused(text: str):
    with pytest.raises(ValueError, match="not a stream"):
        stream_read(text)


def test_a_moment_is_the_same_in_every_unit():
    count = microseconds(AT)
    units = [str(count * 1000), str(count), str(count // 1000), str(count // 10**6)]
    lost = [AT - moment for moment in map(moment_read, units)]
    assert (
        lost[:2] == [timedelta(0)] * 2
        and lost[2] < timedelta(milliseconds=1)
        and lost[3] < timedelta(seconds=1)
    )
    assert moment_read("") is moment_read("0") is moment_read("soon") is None


@given(st.text(st.characters(codec="utf-8"), max_size=40))
def test_a_request_is_read_or_refused_whatever_it_says(text: str):
    for stream in (text, f"feed/{text}", f"user/-/label/{text}"):
        try:
            asked = stream_request_read(stream, lambda name: [text], most=1000)
        except ValueError:
            continue
        assert 1 <= asked.limit <= 1000

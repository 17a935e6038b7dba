"""The parts of an entry beside its text: categories, sounds and films, a picture."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from digest.feeds.entities import Enclosure, ParsedEntry
from digest.feeds.media import (
    CATEGORIES_MAX,
    CATEGORY_MAX_CHARS,
    ENCLOSURES_MAX,
    entry_categories,
    entry_enclosures,
    entry_image,
)
from digest.feeds.parse import parse_checked, parse_document

BASE = "https://ada.example/1"
SPACES = (
    'xmlns:itunes="http://www.itunes.com/dtds/podcast-1.0.dtd" xmlns:media="http://search.yahoo.com/mrss/" '
    'xmlns:dc="http://purl.org/dc/elements/1.1/"'
)
EPISODE = (
    '<enclosure url="/e.mp3?a=1&amp;b=2" type="audio/mpeg" length="123"/><itunes:duration>1:02:03'
    '</itunes:duration><itunes:image href="https://ada.example/cover.jpg?a=1&amp;b=2"/>'
    "<category>Rivers</category><category>rivers </category><dc:subject>Rain &amp;amp; wind</dc:subject>"
)
FILM = (
    '<media:group><media:content url="https://www.youtube.com/v/x" type="application/x-shockwave-flash"/>'
    '<media:thumbnail url="https://i.example/t.jpg"/></media:group>'
)


def entry(inner: str, others: str = "") -> ParsedEntry:
    items = f"<item><title>a</title><link>{BASE}</link>{inner}</item>{others}"
    return parse_document(f'<rss version="2.0" {SPACES}><channel>{items}</channel></rss>'.encode()).entries[0]


def atom(inner: str) -> ParsedEntry:
    body = f'<feed xmlns="http://www.w3.org/2005/Atom" {SPACES}><entry><title>a</title><link href="{BASE}"/>'
    return parse_document(f"{body}{inner}</entry></feed>".encode()).entries[0]


def test_an_episode_has_its_sound_its_length_its_cover_and_its_categories():
    found = entry(EPISODE, "<item><title>b</title></item>")
    assert found.enclosures == (
        Enclosure("https://ada.example/e.mp3?a=1&b=2", "audio/mpeg", length_bytes=123, duration_s=3723),
    )
    assert found.image == "https://ada.example/cover.jpg?a=1&b=2"
    assert found.categories == ("Rivers", "Rain & wind")


def test_a_document_that_is_not_well_formed_has_the_same():
    body = f'<rss version="2.0" {SPACES}><channel><item><title>a</title><link>{BASE}</link>{EPISODE}</item>'
    broken = f"{body}<item><title>b</i></title></item></channel>"
    (found, _) = parse_checked(broken, url="").entries
    assert (found.enclosures, found.image) == (entry(EPISODE).enclosures, entry(EPISODE).image)


def test_an_item_has_its_own_picture_whatever_comments_hold():
    commented = f"<!-- <item> -->{FILM}"
    assert entry(f"{FILM}", "<item><title>b</title></item>").image == "https://i.example/t.jpg"
    assert entry(commented, "<item><title>b</title></item>").image == "https://i.example/t.jpg"


def test_a_film_of_another_site_has_a_picture_and_no_enclosure():
    found = entry(FILM)
    assert (found.enclosures, found.image) == ((), "https://i.example/t.jpg")


def test_atom_has_enclosures_and_categories():
    found = atom(
        '<link rel="enclosure" href="/a.ogg" type="audio/ogg"/><link rel="enclosure" href="/a.jpg"/>'
        '<link rel="related" href="/b.mp3"/><category term="a1" label="Rivers"/><category term="Rain"/>'
        '<category term="http://schemas.example/kind#post"/><category term="Uncategorized"/>'
    )
    assert found.enclosures == (
        Enclosure("https://ada.example/a.ogg", "audio/ogg"),
        Enclosure("https://ada.example/a.jpg", "image/jpeg"),
    )
    assert (found.categories, found.image) == (("Rivers", "Rain"), "https://ada.example/a.jpg")


def test_the_first_picture_of_the_text_stands_in_for_one_of_the_publishers():
    text = '<description>&lt;img src="/first.png"&gt; &lt;img src="/second.png"&gt;</description>'
    assert entry(text).image == "https://ada.example/first.png"
    assert entry(f'{text}<media:thumbnail url="/t.png"/>').image == "https://ada.example/t.png"


@pytest.mark.parametrize(
    ("one", "kind"),
    [
        ({"type": "Audio/MPEG; codecs=x"}, "audio/mpeg"),
        ({"type": "", "url": "/a.MP4?x=.mp3"}, "video/mp4"),
        ({"type": "application/octet-stream", "url": "/a.opus"}, "audio/ogg"),
        ({"medium": "image", "url": "/a"}, "image/jpeg"),
        ({"type": "text/html"}, None),
        ({"type": "image/svg+xml"}, None),
        ({"type": "audio/" + "x" * 99}, None),
        ({"url": "javascript:alert(1).mp3"}, None),
        ({"url": "data:audio/mpeg,x", "type": "audio/mpeg"}, None),
        ({"type": ["audio/mpeg"], "url": 3}, None),
    ],
)
def test_only_sounds_films_and_pictures_on_the_web_are_enclosed(one: dict, kind: str | None):
    found = entry_enclosures({"enclosures": [{"url": "/a", **one}]}, base=BASE)
    assert [enclosure.mime_type for enclosure in found] == ([kind] if kind else [])


@pytest.mark.parametrize(
    ("kind", "name", "read"),
    [
        ("mp3", "a", "audio/mpeg"),
        ("mp3", "a.mp3", "audio/mpeg"),
        ("audio/*", "a.m4a", "audio/mp4"),
        ("audio", "a", "audio/mpeg"),
        ("application/ogg", "a.ogg", "audio/ogg"),
        ("application/ogg", "a.ogv", "video/ogg"),
        ("binary/octet-stream", "a.mp3", "audio/mpeg"),
        ("video/*", "a", "video/mp4"),
        ("application/pdf", "d.pdf", "application/pdf"),
        ("", "d.pdf", "application/pdf"),
        ("application/octet-stream", "b.epub", "application/epub+zip"),
        ("application/epub+zip", "b", "application/epub+zip"),
        ("application/x-bittorrent", "t", "application/x-bittorrent"),
        ("application/x-shockwave-flash", "f.swf", ""),
        ("text/html", "a.html", ""),
        ("application/javascript", "a.js", ""),
        ("image/svg+xml", "a.svg", ""),
        ("application/force-download", "a.mp3", "audio/mpeg"),
        ("application/x-download", "a.m4a", "audio/mp4"),
        ("text/plain", "a.mp3", "audio/mpeg"),
        ("text/html", "d.pdf", "application/pdf"),
        ("text/plain", "notes", "text/plain"),
        ("application/force-download", "a", "application/force-download"),
    ],
)
def test_an_odd_type_is_told_by_the_name_and_a_file_is_a_link(kind: str, name: str, read: str):
    found = entry(f'<enclosure url="https://ada.example/{name}" type="{kind}" length="100"/>')
    assert [one.mime_type for one in found.enclosures] == ([read] if read else [])


FORMS = "".join(
    f'<media:content url="https://ada.example/{n}.jpg" medium="image" width="{n}00"{default}/>'
    for n, default in ((9, ""), (3, ' isDefault="true"'), (1, ""))
)
SIZES = "".join(
    f'<media:content url="https://ada.example/p.jpg?width={n}" width="{n}" type="image/jpeg"/>'
    for n in (140, 700)
)


def test_of_two_sizes_of_a_film_the_larger_is_kept():
    films = "".join(
        f'<media:content url="https://ada.example/{name}" type="video/mp4" {size}/>'
        for name, size in (("s.mp4", 'height="360"'), ("l.mp4", 'height="720"'))
    )
    assert [one.url[-5:] for one in entry(f"<media:group>{films}</media:group>").enclosures] == ["l.mp4"]


def test_one_sound_with_and_without_tls_is_one():
    sounds = "".join(
        f'<enclosure url="{scheme}://ada.example/{name}.mp3" type="audio/mpeg"/>'
        for scheme, name in (("http", "a"), ("https", "a"), ("https", "b"))
    )
    assert [one.url for one in entry(sounds).enclosures] == [
        "http://ada.example/a.mp3",
        "https://ada.example/b.mp3",
    ]


def test_of_the_forms_of_one_thing_one_is_shown():
    group = entry(f"<media:group>{FORMS}</media:group>")
    assert [one.url for one in group.enclosures] == ["https://ada.example/3.jpg"]
    assert group.image == "https://ada.example/3.jpg"
    assert [one.url for one in entry(SIZES).enclosures] == ["https://ada.example/p.jpg?width=700"]
    assert len(entry(FORMS).enclosures) == 3
    two = entry(f"<media:group>{FORMS}</media:group><media:group>{SIZES}</media:group>")
    assert len(two.enclosures) == 2


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        ("90", 90),
        ("1:30", 90),
        ("01:00:00", 3600),
        ("90.5", 90),
        (90, 90),
        ("0", None),
        ("-5", None),
        *((unknown, None) for unknown in ("1:2:3:4", "99999999", "٣", "about an hour", None, True)),
    ],
)
def test_a_duration_is_in_seconds_or_unknown(value: object, seconds: int | None):
    (found,) = entry_enclosures(
        {"links": [{"rel": "enclosure", "href": "/a.mp3"}], "itunes_duration": value}, base=BASE
    )
    assert found.duration_s == seconds


@pytest.mark.parametrize(
    ("value", "length"),
    [("7", 7), (7, 7), ("0", None), ("x", None), ("-1", None), ("9" * 30, None), ("²", None)],
)
def test_a_length_is_in_bytes_or_unknown(value: object, length: int | None):
    (found,) = entry_enclosures({"enclosures": [{"url": "/a.mp3", "length": value}]}, base=BASE)
    assert found.length_bytes == length


def test_an_episodes_duration_goes_to_its_first_sound():
    listed = [{"url": f"/a.{ending}"} for ending in ("jpg", "mp3", "ogg", "mp3")]
    found = entry_enclosures({"enclosures": listed, "itunes_duration": "60"}, base=BASE)
    assert [(one.url[-3:], one.duration_s) for one in found] == [("jpg", None), ("mp3", 60), ("ogg", None)]


def test_lists_are_bounded():
    tags = [{"term": f"topic {n}"} for n in range(40)]
    assert entry_categories({"tags": tags}) == tuple(f"topic {n}" for n in range(CATEGORIES_MAX))
    assert entry_categories({"tags": [{"term": "x" * (CATEGORY_MAX_CHARS + 1)}, {"term": "<b>B</b>"}]}) == (
        "B",
    )
    listed = [{"url": f"/{n}.mp3"} for n in range(40)]
    assert len(entry_enclosures({"enclosures": listed}, base=BASE)) == ENCLOSURES_MAX


ANYTHING = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.text(max_size=8)
    | st.sampled_from(["/a.mp3", "1:2", "audio/x"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ["url", "href", "type", "rel", "length", "term", "label", "medium", "thumbnail_url"]
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)
FIELDS = st.sampled_from(
    ["tags", "enclosures", "links", "media_content", "media_thumbnail", "image", "itunes_duration"]
)


@given(st.dictionaries(FIELDS, ANYTHING, max_size=5))
def test_values_of_wrong_types_count_as_missing(raw: dict):
    enclosures = entry_enclosures(raw, base=BASE)
    assert all(one.url.startswith("https://") for one in enclosures)
    image = entry_image(raw, enclosures, base=BASE, first="")
    assert not image or image.startswith("http")
    json.dumps([entry_categories(raw), image])


def test_sizes_of_one_picture_are_one_picture_and_other_pictures_are_not():
    def picture(name: str, width: int) -> str:
        return f'<media:content url="https://ada.example/{name}" medium="image" width="{width}"/>'

    names = [
        ("a-300x200.jpg", 300),
        ("a-1024x683.jpg", 1024),
        ("a.jpg", 10),
        ("b-300x200.jpg", 300),
        ("c2.png", 5),
    ]
    found = entry("".join(picture(*one) for one in names))
    kept = [one.url.rpartition("/")[2] for one in found.enclosures]
    assert kept == ["a-1024x683.jpg", "b-300x200.jpg", "c2.png"]

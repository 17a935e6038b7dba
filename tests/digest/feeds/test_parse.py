"""Documents of every format, and of no format at all."""

import gzip
import html
import json
from datetime import UTC, datetime

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from digest.feeds import prechecks
from digest.feeds.entities import Enclosure, FeedProblem
from digest.feeds.parse import ENTRIES_MAX, parse_document
from tests.support.documents import SPARED
from tests.support.pace import processor_within

RSS = b"""<?xml version="1.0"?><rss version="2.0"><channel><title>Rivers</title><link>https://rivers.example/</link>
<item><title>Rain &amp;amp; floods</title><link>/a?utm_source=x</link><guid isPermaLink="false">g1</guid>
<description>&lt;p&gt;It &lt;b&gt;rained&lt;/b&gt;.&lt;/p&gt;</description>
<pubDate>Wed, 18 Mar 2026 09:30:00 +0100</pubDate></item></channel></rss>"""
ATOM = b"""<feed xmlns="http://www.w3.org/2005/Atom"><title>Rivers</title><link href="https://rivers.example/"/>
<entry><id>tag:1</id><title>Rain</title><link href="https://rivers.example/a"/>
<updated>2026-03-18T08:30:00Z</updated><content type="xhtml">
<div xmlns="http://www.w3.org/1999/xhtml"><p>It rained.</p></div></content></entry></feed>"""
RDF = b"""<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns="http://purl.org/rss/1.0/">
<channel rdf:about="x"><title>Rivers</title><link>https://rivers.example/</link></channel>
<item rdf:about="https://rivers.example/a"><title>Rain</title><link>https://rivers.example/a</link></item></rdf:RDF>"""
JSON = json.dumps(
    {
        "version": "https://jsonfeed.org/version/1.1",
        "title": "Rivers",
        "home_page_url": "https://rivers.example/",
        "items": [{"id": 7, "url": "/a", "title": "Rain", "content_html": "<p>It rained.</p>", "tags": [1]}],
    }
).encode()


def rss(inner: bytes) -> bytes:
    return (
        b'<rss version="2.0"><channel><title>t</title><item><title>i</title>'
        + inner
        + b"</item></channel></rss>"
    )


def code_of(body: bytes) -> str:
    with pytest.raises(FeedProblem) as problem:
        parse_document(body)
    assert problem.value.message
    return problem.value.code


@pytest.mark.parametrize("body", [RSS, ATOM, RDF, JSON], ids=["rss", "atom", "rdf", "json"])
@pytest.mark.parametrize("packed", [False, True], ids=["bare", "gzip"])
def test_the_content_decides_the_format(body: bytes, packed: bool):
    feed = parse_document(gzip.compress(body) if packed else body, url="https://rivers.example/feed")
    assert (feed.title, feed.site_url) == ("Rivers", "https://rivers.example/")
    assert feed.entries[0].title.startswith("Rain")
    assert feed.entries[0].link.startswith("https://rivers.example/a")


def test_an_entry_is_plain_text_in_utc_with_its_own_guid():
    entry = parse_document(RSS).entries[0]
    assert (entry.title, entry.text, entry.guid) == ("Rain & floods", "It rained.", "g1")
    assert entry.published == datetime(2026, 3, 18, 8, 30, tzinfo=UTC)


def test_numbers_as_ids_and_wrong_types_in_json_are_survived():
    assert parse_document(JSON).entries[0].guid == "7"
    unusual = {"items": [{"id": {}, "title": ["x"], "content_text": "kept", "authors": [3]}, 5, None]}
    assert [e.text for e in parse_document(json.dumps(unusual).encode()).entries] == ["kept"]


@pytest.mark.parametrize(
    ("declared", "encoding"),
    [
        ("iso-8859-1", "latin-1"),
        ("windows-1251", "windows-1251"),
        ("utf-16", "utf-16"),
        ("utf-8", "cp1252"),
        ("bogus", "utf-8"),
    ],
)
def test_words_survive_declared_missing_and_wrong_encodings(declared: str, encoding: str):
    word = "Привет" if encoding == "windows-1251" else "Café"
    items = f"<item><title>{word}</title></item>"
    text = f'<?xml version="1.0" encoding="{declared}"?><rss version="2.0"><channel>{items}</channel></rss>'
    assert parse_document(text.encode(encoding)).entries[0].title == word


@pytest.mark.parametrize(
    ("body", "code"),
    [
        (b"", "empty"),
        (b" \n ", "empty"),
        (b"<!doctype html><html><body><p>Hello</p></body></html>", "not_a_feed"),
        (b"hello", "not_a_feed"),
        (b'{"a": 1}', "not_a_feed"),
        (b'{"items": [', "malformed"),
        (b"[" * 300_000, "too_deep"),
        (gzip.compress(RSS)[:60] + b"\x00" * 50, "malformed"),
        (b"x" * (10 * 1024 * 1024 + 1), "too_large"),
        (gzip.compress(b"x" * 50_000_000), "too_large"),
        (b'<!DOCTYPE r [<!ENTITY a "b">]>' + RSS[21:], "entity_declaration"),
        ('<!DOCTYPE r [<!entity a "b">]><rss/>'.encode("utf-16"), "entity_declaration"),
        (rss(b"<a>" * 200_000), "too_deep"),
        (rss(b"<a " + b" ".join(b'a%d="x"' % n for n in range(100_000)) + b"/>"), "too_complex"),
        (rss(b"<a b='>' " + b" ".join(b'a%d="x"' % n for n in range(1_000)) + b"/>"), "too_complex"),
        (rss(b'<a b = ">" ' + b" ".join(b"a%d='>'" % n for n in range(1_000)) + b"/>"), "too_complex"),
        (rss(b"<a/>" * 600_000), "too_complex"),
    ],
)
def test_hostile_documents_cost_a_clear_code_and_little_time(body: bytes, code: str):
    with processor_within(2):
        assert code_of(body) == code


MARKS = st.sampled_from(
    ["<", "</", ">", "/>", "p", "x:y", "<![CDATA[", "]", "]]>", "<!--", "-", "-->", "<?", "?", "?>", " a='b'"]
)


@given(st.lists(MARKS | st.sampled_from(["<a>", "</a>", "<b>"]), max_size=30).map("".join))
def test_tags_are_counted_alike_whether_listed_or_taken_one_by_one(text: str):
    """Few tags are listed at once, many are taken one by one. Quoted text holds no tag."""

    def found(listed: int) -> str:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(prechecks, "_LISTED_MAX", listed)
            patch.setattr(prechecks, "DEPTH_MAX", 3)
            try:
                return prechecks._scan(text)
            except FeedProblem as problem:
                return problem.code

    assert found(0) == found(1_000)
    quoted = f"<r><![CDATA[{text.replace(']', '')}]]><!--{text.replace('-', '')}--></r>"
    assert prechecks._scan(quoted) == "r"


@pytest.mark.parametrize(
    ("tag", "root"),
    [
        ("<r a='1>0'/><b>", "rb"),
        ('<r a = "1>0">it\'s<b>', "rb"),
        ("<r a='it>\"s'/><b>", "rb"),
        ("<r a=it's>it's <b>", "rb"),
        ('<r a="it>never ends <b>', "rb"),
    ],
)
def test_a_tag_ends_outside_its_quotes(tag: str, root: str):
    assert "".join(match[2] for match in prechecks._TOKEN.finditer(tag)) == root


@pytest.mark.parametrize(
    "inner",
    [
        b"<description>" + b"&lt;div&gt;" * 100_000 + b"</description>",
        b"<description>" + b"&" * 2_000_000 + b"</description>",
        b"<description>" + b" " * 5_000_000 + b"</description>",
        b"<description>" + b"<![CDATA[" * 300_000,
        b"<link " * 100_000,
        b'<link a="' * 100_000,
        b"<link " + b"='\"" * 1_000_000,
        b"<link " + b"= " * 1_000_000 + b'"',
        b"<!--" * 300_000,
    ],
)
def test_bulky_documents_are_read_or_refused_quickly(inner: bytes):
    with processor_within(2):
        try:
            parse_document(rss(inner))
        except FeedProblem as problem:
            assert problem.code in {"malformed", "too_complex", "too_deep"}


def test_a_plain_doctype_and_talk_about_entities_are_harmless():
    assert parse_document(b"<!DOCTYPE rss>" + RSS[21:]).entries
    assert parse_document(rss(b"<description><![CDATA[ <!ENTITY x> ]]></description>")).entries


def test_entries_beyond_the_limit_are_counted():
    feed = parse_document(
        b"<rss><channel>" + b"<item><title>x</title></item>" * (ENTRIES_MAX + 5) + b"</channel></rss>"
    )
    assert (len(feed.entries), feed.dropped) == (ENTRIES_MAX, 5)


@settings(max_examples=150 // SPARED, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    st.sampled_from([RSS, ATOM, RDF, JSON]),
    st.lists(st.tuples(st.integers(0, 700), st.binary(max_size=8), st.integers(0, 6)), max_size=6),
)
def test_mutated_documents_raise_nothing_but_feed_problems(body: bytes, cuts: list[tuple[int, bytes, int]]):
    for at, put, drop in cuts:
        body = body[:at] + put + body[at + drop :]
    try:
        parse_document(body)
    except FeedProblem as problem:
        assert problem.code and problem.message


XHTML = '<content type="xhtml" xml:base="/b/"><div xmlns="http://www.w3.org/1999/xhtml">{}</div></content>'
BODY = "<p>It <em>rained</em>: <a href='c'>more</a></p>"


@pytest.mark.parametrize(
    ("entry", "address"),
    [
        (f"<description>{html.escape(BODY)}</description>", "https://rivers.example/a/c"),
        (f"<content:encoded><![CDATA[{BODY}]]></content:encoded>", "https://rivers.example/a/c"),
        (f'<content type="html">{html.escape(BODY)}</content>', "https://rivers.example/a/c"),
        (f'<content type="html" xml:base="/b/">{html.escape(BODY)}</content>', "https://rivers.example/b/c"),
        (XHTML.format(f"<br/><script/>{BODY}"), "https://rivers.example/b/c"),
    ],
)
def test_an_entry_has_its_body_as_html_with_links_from_where_they_count(entry: str, address: str):
    kind = "feed" if "<content " in entry else "rss"
    body = {
        "rss": f'<rss version="2.0" xmlns:content="http://purl.org/rss/1.0/modules/content/"><channel><item>'
        f"<title>Rain</title><link>https://rivers.example/a/1</link>{entry}</item></channel></rss>",
        "feed": '<feed xmlns="http://www.w3.org/2005/Atom"><entry><title>Rain</title>'
        f'<link href="https://rivers.example/a/1"/>{entry}</entry></feed>',
    }[kind].encode()
    (found,) = parse_document(body, url="https://rivers.example/feed").entries
    link = f'<a href="{address}" rel="noopener noreferrer nofollow">more</a>'
    assert found.html.endswith(f"<p>It <em>rained</em>: {link}</p>")
    assert found.text == "It rained: more"


def test_json_feeds_have_html_and_media_too():
    item = {
        "id": 1,
        "url": "https://rivers.example/a/1",
        "content_html": BODY,
        "tags": ["Rain", "rain", 3, {}],
        "image": "/i.jpg",
        "attachments": [
            {
                "url": "/a.mp3",
                "mime_type": "audio/mpeg",
                "size_in_bytes": 7,
                "duration_in_seconds": 61,
            },
            5,
        ],
    }
    (entry,) = parse_document(json.dumps({"items": [item]}).encode()).entries
    assert '<a href="https://rivers.example/a/c"' in entry.html
    assert entry.categories == ("Rain", "3")
    assert entry.enclosures == (Enclosure("https://rivers.example/a.mp3", "audio/mpeg", 7, 61),)
    assert entry.image == "https://rivers.example/i.jpg"


def test_plain_text_has_no_html():
    items = [{"id": 1, "content_text": "a <b> c"}, {"id": 2, "content_html": "<p>a</p><p>b</p>"}]
    assert [e.html for e in parse_document(json.dumps({"items": items}).encode()).entries] == ["", ""]


def test_markup_beyond_what_a_document_may_have_is_text_alone():
    item = rss(b"<description>" + html.escape("<p><b>x</b></p> " * 10_000).encode() + b"</description>")
    inner = item[item.index(b"<item>") : item.index(b"</channel>")]
    with processor_within(1.5):
        found = parse_document(item.replace(inner, inner * 8)).entries
    assert [bool(entry.html) for entry in found] == [True] * 3 + [False] * 5
    assert all(entry.text.startswith("x\nx") for entry in found)


@pytest.mark.parametrize("guid", ["1", "2026-01-05", "12"])
def test_a_guid_is_no_date(guid):
    (entry,) = parse_document(
        f"<rss version='2.0'><channel><title>T</title><item><title>A</title><guid>{guid}</guid></item>"
        "</channel></rss>".encode()
    ).entries
    assert (entry.guid, entry.published) == (guid, None)


@pytest.mark.parametrize("name", ["language", "dc:language"])
def test_the_language_of_a_document_is_that_of_its_items(name: str):
    items = "<item><title>Rain</title><link>https://r.example/a</link><description>x</description></item>"
    head = f"<title>R</title><{name}> ur </{name}>"
    (entry,) = parse_document(f"<rss version='2.0'><channel>{head}{items}</channel></rss>".encode()).entries
    assert entry.language == "ur"
    inside = items.replace("<description>", "<language>fr</language><description>")
    found = parse_document(f"<rss><channel><title>R</title>{inside}{items}</channel></rss>".encode()).entries
    assert [entry.language for entry in found] == ["fr", ""]


@pytest.mark.parametrize(
    ("named", "kept"),
    [
        ("en", "en"),
        (" de-AT ", "de-AT"),
        ("zh_Hant_TW", "zh-Hant-TW"),
        ("language", ""),
        ("English", ""),
        ("en us", ""),
        ("\u0434\u0435", ""),
        ("en-" + "x" * 40, ""),
    ],
)
def test_a_language_is_a_tag_that_browsers_know(named: str, kept: str):
    item = "<item><title>i</title></item>"
    body = f"<rss version='2.0'><channel><language>{named}</language>{item}</channel></rss>"
    assert parse_document(body.encode()).entries[0].language == kept


TITLES_ESCAPED_TWICE = {
    # As a parser of XML reads them, in feeds of RSS and Atom alike.
    "I&#39;m told it&#x27;s fine": "I'm told it's fine",
    "&quot;Trains&quot; &amp; trams": '"Trains" & trams',
    "AT&amp;T buys": "AT&T buys",
    "Science &amp; technology": "Science & technology",
    "Lover&rsquo;s eye&hellip;": "Lover’s eye…",
    "Caf&eacute; d&#8217;or": "Café d’or",
    "Von K&ouml;ln nach Stra&szlig;burg": "Von Köln nach Straßburg",
}
TITLES_ABOUT_CODE = (
    "The &lt;div&gt; element",
    "Why &nbsp; breaks lines",
    "What &#39; means in &lt;b&gt;",
    "Escape & as &amp; first",
    "`I&#39;m` in a title",
    "R&D&amp;more",
    "a&#60;b and a&lt;b",
)


def titled(title: str, form: str) -> str:
    """Return the title that an entry has whose title a parser of XML reads as `title`, escaped once more."""
    written = html.escape(title, quote=False)
    if form == "atom":
        body = f"<entry><id>a:1</id><title>{written}</title><link href='https://a.example/1'/></entry>"
        document = f'<feed xmlns="http://www.w3.org/2005/Atom"><title>A</title>{body}</feed>'
    else:
        written = html.escape(written, quote=False)
        item = f"<item><title>{written}</title><link>https://a.example/1</link></item>"
        document = f'<rss version="2.0"><channel><title>A</title>{item}</channel></rss>'
    return parse_document(document.encode(), url="https://a.example/feed").entries[0].title


@pytest.mark.parametrize("form", ["atom", "rss"])
def test_signs_that_a_publisher_escapes_twice_are_read_and_code_in_a_title_stays(form: str):
    for title, shown in TITLES_ESCAPED_TWICE.items():
        assert titled(title, form) == shown
    for title in TITLES_ABOUT_CODE:
        assert titled(title, form) == title


def body_of(markup: str) -> tuple[str, str]:
    """Return text and markup of an entry with this body."""
    body = f"<description>{html.escape(markup, quote=False)}</description>"
    item = f"<item><title>A</title><link>https://a.example/1</link>{body}</item>"
    document = f'<rss version="2.0"><channel><title>A</title>{item}</channel></rss>'
    entry = parse_document(document.encode(), url="https://a.example/feed").entries[0]
    return entry.text, entry.html


def test_a_body_that_escapes_its_signs_twice_reads_as_words():
    text, written = body_of("<p>I&amp;#39;m &amp;quot;here&amp;quot; &amp;amp; there</p>")
    assert text == 'I\'m "here" & there' and "&amp;#39;" not in written and "&amp;quot;" not in written
    assert body_of("I&amp;#39;m here")[0] == "I'm here"


def test_a_whole_post_of_reddit_that_is_escaped_twice_is_markup():
    post = '<!-- SC_OFF --><div class="md"><p>I&#39;m <b>here</b></p></div><!-- SC_ON -->'
    assert body_of(html.escape(post, quote=False))[0] == "I'm here"
    by = ' submitted by <a href="https://www.reddit.com/user/a">a</a>'
    for written in (html.escape(f"{post}{by}", quote=False), f"{html.escape(post, quote=False)}{by}"):
        text, shown = body_of(written)
        assert text.split() == ["I'm", "here", "submitted", "by", "a"] and "&lt;" not in shown


@pytest.mark.parametrize(
    "markup",
    [
        "<p>In <code>I&amp;#39;m</code> the sign I&amp;#39;m is escaped.</p>",
        "<p>The name &amp;nbsp; stands for a space.</p>",
        "<p>Write &amp;quot;a&amp;quot; where you mean &quot;a&quot;.</p>",
        "<p>The &lt;div&gt; of I&amp;#39;m</p>",
    ],
)
def test_a_body_about_signs_keeps_them(markup: str):
    sign = next(sign for sign in ("&nbsp;", "&#39;", "&quot;a&quot;") if html.escape(sign) in markup)
    assert sign in body_of(markup)[0]

"""Entries have their publisher's words, names, links and people, in every format."""

import html
import json
import re
from datetime import UTC, datetime

import pytest

from digest.feeds.dedupe import identify_entries
from digest.feeds.parse import parse_document
from tests.support.entries import SPACES, atom, json_entry, read, rss

NAMING = [
    "Issue 8311: doesn't allow <col> in <colgroup>",
    "<hello-world>",
    "Any feature similar to <animate [etc.]>?",
    "A bold claim about <head>",
    "Why <script>alert(1)</script> is no greeting",
    "List<String> or Map<K, V>",
    "#include </etc/shadow>",
    "a < b and b > c",
    "AT&T & Co. &c.",
]


@pytest.mark.parametrize("words", NAMING)
def test_a_plain_title_keeps_the_words_that_look_like_tags(words: str):
    escaped = html.escape(words)
    assert atom(f"<title>{escaped}</title><id>1</id>").title == words
    assert atom(f'<title type="text">{escaped}</title><id>1</id>').title == words
    assert json_entry(id="1", title=words).title == words
    # HTML that names tags has escaped them once itself.
    assert atom(f'<title type="html">{html.escape(escaped)}</title><id>1</id>').title == words
    assert rss(f"<title>{html.escape(escaped)}</title>").title == words


@pytest.mark.parametrize("words", [words for words in NAMING if "alert" not in words])
def test_a_title_of_no_type_is_markup_only_where_it_has_some(words: str):
    assert rss(f"<title>{html.escape(words)}</title>").title == words
    assert rss(f"<title><![CDATA[{words}]]></title>").title == words


@pytest.mark.parametrize(
    ("written", "title"),
    [
        ("How <i>The Pitt</i> plays out", "How The Pitt plays out"),
        ("Rain &amp; wind", "Rain & wind"),
        ("Lover&rsquo;s eye &#8211; returned", "Lover’s eye – returned"),
        ("One<br>two", "One two"),
        ('<a href="/x">One</a>', "One"),
        ("<span class='x'>₹</span>4,000", "₹4,000"),
    ],
)
def test_a_title_of_no_type_with_markup_is_read_as_html(written: str, title: str):
    assert rss(f"<title>{html.escape(written)}</title>").title == title


def test_what_was_escaped_within_an_article_is_a_word_of_it():
    prose = "<p>Begin with &lt;system&gt;, then &lt;user&gt;. The &lt;canvas&gt; element draws.</p>"
    words = "Begin with <system>, then <user>. The <canvas> element draws."
    assert rss(f"<description><![CDATA[{prose}]]></description>").text == words
    assert rss(f"<content:encoded><![CDATA[{prose}]]></content:encoded>").text == words
    assert atom(f'<content type="html">{html.escape(prose)}</content>').text == words
    assert (
        atom(f'<content type="xhtml"><div xmlns="http://www.w3.org/1999/xhtml">{prose}</div></content>').text
        == words
    )
    assert json_entry(id="1", content_html=prose).text == words


def test_plain_content_stays_plain():
    words = "Use <b>bold</b> and &amp; here"
    assert json_entry(id="1", content_text=words).text == words
    assert json_entry(id="1", summary=words).text == words
    assert atom(f'<content type="text">{html.escape(words)}</content>').text == words
    assert atom(f'<summary type="text">{html.escape(words)}</summary>').text == words


def test_a_description_without_any_markup_is_words():
    assert (
        rss("<description>Use &lt;system&gt; and &lt;user&gt;</description>").text
        == "Use <system> and <user>"
    )
    assert rss("<description>Fish &amp;amp; chips</description>").text == "Fish & chips"


def test_the_short_feeds_of_blogger_call_html_without_its_tags_plain():
    words = "Smell &amp;amp; Tell&amp;nbsp;at &amp;lt;b&amp;gt;"
    summary = f'<id>1</id><title>A</title><summary type="text">{words}</summary>'
    blogger = '<generator version="7.00" uri="http://www.blogger.com">Blogger</generator>'
    assert atom(summary, head=blogger).text == "Smell & Tell at <b>"
    assert atom(summary, head="<generator>Other</generator>").text == "Smell &amp; Tell&nbsp;at &lt;b&gt;"


def test_a_body_that_was_escaped_once_too_often_is_read_as_it_was_meant():
    body = html.escape(html.escape("<p>It <b>rained</b>.</p>"))
    entry = rss(f"<description>{body}</description>")
    assert (entry.text, entry.html) == ("It rained.", "<p>It <b>rained</b>.</p>")


@pytest.mark.parametrize(
    "words",
    [
        "می‌خواهم کتاب‌ها را",
        "ශ්‍රී ලංකා",
        "👨‍👩‍👧 and 🏳️‍🌈 and 👩🏽‍🚀 and 🧑‍⚕️",
        "അവന്‍ വന്നു",
        "Auf‌lage",
    ],
)
def test_joiners_that_spell_stay(words: str):
    entry = rss(f"<title>{words}</title><description>{words}</description>")
    assert (entry.title, entry.text) == (words, words)


@pytest.mark.parametrize(
    "hidden",
    [
        "a\u200d\u200c\u200db",
        "\u200dab",
        "ab\u200c",
        "a\u200d \u200db",
        "a\u202eb",
        "a\u200bb",
        "a\U000e0041b",
        "a\u2066b",
    ],
)
def test_what_only_hides_goes(hidden: str):
    shown = rss(f"<title>{hidden}</title>").title
    assert shown.replace(" ", "") == "ab"


@pytest.mark.parametrize("kind", ["title", "summary", "content"])
def test_an_xhtml_construct_is_read_whole(kind: str):
    inside = '<div xmlns="http://www.w3.org/1999/xhtml">A <em>short</em> overview of <b>it</b>.</div>'
    entry = atom(f'<{kind} type="xhtml">{inside}</{kind}><id>1</id>')
    assert (entry.title if kind == "title" else entry.text) == "A short overview of it."


def test_markup_that_was_not_escaped_is_read_whole():
    assert rss("<description>It <b>rained</b>, <i>then</i> not.</description>").text == "It rained, then not."
    assert rss("<title>A <i>title</i></title>").title == "A title"


@pytest.mark.parametrize(
    "others",
    [
        "<media:title>The picture's title</media:title>",
        "<itunes:title>Short</itunes:title>",
        "<media:group><media:title>Of a film</media:title></media:group>",
        "<media:content url='/a.jpg'><media:title>Of a picture</media:title></media:content>",
        "<dc:title>Of a library</dc:title>",
        "<og xmlns:og='http://ogp.me/ns#'><title>Nested</title><description>Nested too</description></og>",
        "<title xmlns='urn:other'>Of another vocabulary</title>",
        "<x:info xmlns:x='urn:x'><x:title>Of x</x:title></x:info>",
        "<image><title>Of the picture</title></image>",
        "<source url='/s'>Of the source</source>",
    ],
)
@pytest.mark.parametrize("is_first", [True, False])
def test_names_of_other_vocabularies_are_not_the_entrys(others: str, is_first: bool):
    own = "<title>The post's title</title><description>Its text</description>"
    entry = rss(others + own if is_first else own + others)
    assert (entry.title, entry.text) == ("The post's title", "Its text")


def test_another_vocabularys_title_and_text_stand_where_there_is_no_other():
    assert rss("<media:title>Of a film</media:title>").title == "Of a film"
    assert rss("<itunes:title>Episode 1</itunes:title>").title == "Episode 1"
    assert rss("<title>a</title><itunes:summary>What it is about</itunes:summary>").text == "What it is about"
    assert rss("<title>a</title><dc:description>What it is about</dc:description>").text == "What it is about"


LINES = "One\nTwo https://a.example/\n\n0:00 Start"


def test_the_text_of_a_film_is_read_with_its_lines():
    film = f"<media:title>Film</media:title><media:description>{LINES}</media:description>"
    group = f"<media:group>{film}</media:group>"
    entry = atom(f"<title>Film</title>{group}")
    assert entry.text == "One\nTwo https://a.example/\n0:00 Start"


def test_a_caption_is_no_article():
    picture = "<media:content url='/a.jpg'><media:description>A caption</media:description></media:content>"
    for inner in (f"{picture}<description>Words</description>", f"<description>Words</description>{picture}"):
        assert rss(f"<title>a</title>{inner}").text == "Words"


@pytest.mark.parametrize("is_first", [True, False])
def test_the_description_stands_before_a_podcasts_summary(is_first: bool):
    both = ["<description>Words</description>", "<itunes:summary>Others</itunes:summary>"]
    assert rss("<title>a</title>" + "".join(both if is_first else reversed(both))).text == "Words"
    assert rss("<title>a</title><content:encoded></content:encoded>" + "".join(both)).text == "Words"


def test_the_whole_article_of_rss_1_is_read():
    feed = read(
        '<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns="http://purl.org/rss/1.0/" '
        'xmlns:content="http://purl.org/rss/1.0/modules/content/"><channel rdf:about="x"><title>R</title>'
        '</channel><item rdf:about="https://r.example/a"><title>Rain</title><link>https://r.example/a</link>'
        "<description>Short</description>"
        "<content:encoded><![CDATA[<p>All <b>of</b> it.</p>]]></content:encoded>"
        "</item></rdf:RDF>"
    )
    assert feed.entries[0].text == "All of it."


@pytest.mark.parametrize(
    ("links", "leads_to"),
    [
        ("<link>https://ada.example/1</link><a:link rel='self' href='https://ada.example/self'/>", "1"),
        ("<a:link rel='self' href='https://ada.example/self'/><link>https://ada.example/1</link>", "1"),
        ("<link>https://ada.example/1</link><a:link href='https://ada.example/2'/>", "1"),
        ("<a:link rel='enclosure' href='https://ada.example/e.mp3'/><link>https://ada.example/1</link>", "1"),
        ("<guid>https://ada.example/1</guid>", "1"),
        ("<guid>https://ada.example/g</guid><link>https://ada.example/1</link>", "1"),
    ],
)
def test_the_link_of_an_entry_is_that_of_its_page(links: str, leads_to: str):
    assert rss(f"<title>a</title>{links}").link == f"https://ada.example/{leads_to}"


def test_a_guid_that_is_no_address_is_no_link():
    assert rss("<title>a</title><guid>12</guid>").link == ""
    assert atom("<title>a</title><id>tag:ada.example,2026:1</id>").link == ""


def test_of_several_alternates_the_first_page_counts():
    pdf = '<link rel="alternate" type="application/pdf" href="/a.pdf"/>'
    pages = '<link href="/a"/><link rel="alternate" type="text/html" hreflang="de" href="/b"/>'
    assert atom(f"<title>a</title>{pdf}{pages}").link == "https://ada.example/a"
    assert atom(f"<title>a</title>{pdf}").link == "https://ada.example/a.pdf"


def test_bases_are_resolved_in_order():
    inside = html.escape('<b>x</b> <a href="notes.html">n</a>')
    body = f'<content type="html" xml:base="deep/">{inside}</content>'
    entry = atom(
        f'<title>a</title><link href="rooted.html"/>{body}',
        root='xml:base="https://based.example/ongoing/"',
    )
    assert entry.link == "https://based.example/ongoing/rooted.html"
    assert 'href="https://based.example/ongoing/deep/notes.html"' in entry.html
    relative = read(
        '<feed xmlns="http://www.w3.org/2005/Atom" xml:base="/a/"><title>x</title><entry xml:base="b/">'
        '<title>a</title><link href="c"/></entry></feed>'
    )
    assert relative.entries[0].link == "https://ada.example/a/b/c"


def test_a_base_within_an_article_holds_for_what_follows():
    body = '<base href="https://other.example/x/"><p><b>a</b> <a href="y">b</a></p>'
    entry = rss(
        f"<title>a</title><link>https://ada.example/1</link><description><![CDATA[{body}]]></description>"
    )
    assert 'href="https://other.example/x/y"' in entry.html


@pytest.mark.parametrize(
    ("people", "author"),
    [
        ("<dc:creator>Ada Lovelace</dc:creator><dc:creator>Ben Okri</dc:creator>", "Ada Lovelace, Ben Okri"),
        ("<dc:creator>Ada</dc:creator><author>ada@a.example (Ada)</author>", "Ada"),
        ("<author>cleo@au.example (Cleo Cole)</author>", "Cleo Cole"),
        ("<author>Cleo Cole &lt;cleo@au.example&gt;</author>", "Cleo Cole"),
        ("<author>cleo@au.example</author>", "cleo@au.example"),
        ("<author>cleo@au.example, ben@b.example</author>", "cleo@au.example, ben@b.example"),
        ('<author>"Cole, Cleo" &lt;c@au.example&gt;, Ben &lt;b@b.example&gt;</author>', "Cole, Cleo, Ben"),
        ("<author>https://a.example/@ada</author>", "https://a.example/@ada"),
        ("<a:author><a:name>Ada</a:name></a:author><a:author><a:name>Ben</a:name></a:author>", "Ada, Ben"),
        ("<itunes:author>Radio Ada</itunes:author>", "Radio Ada"),
        ("<itunes:author>Radio Ada</itunes:author><author>ben@b.example (Ben)</author>", "Ben"),
        ("<dc:creator>Ada &amp;lt;b&amp;gt; Lovelace</dc:creator>", "Ada <b> Lovelace"),
        ("", ""),
    ],
)
def test_all_who_wrote_an_entry_are_named(people: str, author: str):
    assert rss(f"<title>a</title>{people}").author == author


@pytest.mark.parametrize("name", ["Ada <b>", "<script>alert(1)</script>", "Ada & Ben", "A. &amp; B."])
def test_a_name_of_a_typed_format_is_words(name: str):
    assert atom(f"<title>a</title><author><name>{html.escape(name)}</name></author>").author == name
    assert json_entry(id=1, title="a", authors=[{"name": name}]).author == name


def test_an_entry_without_an_author_has_its_feeds():
    ada = "<author><name>Ada</name><email>ada@a.example</email></author>"
    assert atom("<title>a</title>", head=ada).author == "Ada"
    assert atom("<title>a</title><author><name>Ben</name></author>", head=ada).author == "Ben"
    source = "<source><title>s</title><author><name>Cleo</name></author></source>"
    assert atom(f"<title>a</title>{source}", head=ada).author == "Cleo"
    assert rss("<title>a</title>", head="<managingEditor>ed@a.example (Ed)</managingEditor>").author == "Ed"
    assert rss("<title>a</title>", head="<itunes:author>Radio Ada</itunes:author>").author == "Radio Ada"
    feed = {
        "authors": [{"name": "Ada"}],
        "items": [{"id": 1, "title": "a"}, {"id": 2, "author": {"name": "Ben"}, "title": "b"}],
    }
    assert [one.author for one in read(json.dumps(feed)).entries] == ["Ada", "Ben"]
    two = json_entry(
        id=1, title="a", authors=[{"name": "Ada"}, {"name": "Ben"}, {"url": "https://c.example"}]
    )
    assert two.author == "Ada, Ben"


def test_a_document_of_one_atom_entry_is_read():
    entry = '<entry xmlns="http://www.w3.org/2005/Atom"><title>Alone</title><id>1</id><summary>Words</summary></entry>'
    (found,) = read(f'<?xml version="1.0"?>{entry}').entries
    assert (found.title, found.text) == ("Alone", "Words")


def test_a_guid_that_is_no_link_is_opened_by_nobody():
    guid = "https://e.example/not-a-page"
    item = "<item><title>One</title><guid isPermaLink='{}'>{}</guid><enclosure url='https://e.example/1.mp3'/></item>"
    for is_link, link in (("true", guid), ("false", "")):
        (entry,) = read(f"<rss><channel><title>R</title>{item.format(is_link, guid)}</channel></rss>").entries
        assert (entry.guid, entry.link) == (guid, link)


@pytest.mark.parametrize(
    ("own", "author"),
    [
        ("only@mail.example", "only@mail.example"),
        ("chief@x.example", "Chief Editor"),
        ("CHIEF@x.example", "Chief Editor"),
        ("ben@x.example (Ben)", "Ben"),
        ("", "Chief Editor"),
    ],
)
def test_a_post_with_an_address_alone_is_by_nobody_else(own: str, author: str):
    feed = "<managingEditor>chief@x.example (Chief Editor)</managingEditor>"
    item = f"<item><title>One</title>{f'<author>{own}</author>' if own else ''}</item>"
    (entry,) = read(f"<rss version='2.0'><channel><title>R</title>{feed}{item}</channel></rss>").entries
    assert entry.author == author


ADDRESSES = {
    "/list?cat=1&currentPage=2": "/list?cat=1&currentPage=2",
    "/s?x=1&region=eu&reg=2": "/s?x=1&region=eu&reg=2",
    "/?a=1&copy=2&section=3&notify=1": "/?a=1&copy=2&section=3&notify=1",
    "/?a=1&amp;copy=2": "/?a=1&copy=2",
    "/?a=1&#38;copy=2": "/?a=1&copy=2",
    "/?q=caf&eacute;": "/?q=café",
    "/?q=caf&eacute": "/?q=café",
}


@pytest.mark.parametrize(("written", "leads"), ADDRESSES.items())
def test_an_ampersand_in_an_address_of_a_body_is_read_as_browsers_read_it(written: str, leads: str):
    body = f'<![CDATA[<p>See <a href="https://x.example{written}">x</a> <img src="https://x.example{written}"></p>]]>'
    item = f"<item><title>One</title><description>{body}</description></item>"
    (entry,) = read(f"<rss><channel><title>R</title>{item}</channel></rss>").entries
    hrefs, sources = (
        [html.unescape(one) for one in re.findall(rf'{name}="([^"]*)"', entry.html)]
        for name in ("href", "src")
    )
    assert [one.removeprefix("https://x.example") for one in (*hrefs, *sources)] == [leads, leads]
    assert entry.image == f"https://x.example{leads}"


def test_centred_words_are_lines_of_their_own():
    item = "<item><title>One</title><description>&lt;center&gt;Alpha&lt;/center&gt;Bravo</description></item>"
    (entry,) = read(f"<rss><channel><title>R</title>{item}</channel></rss>").entries
    assert entry.text.split() == ["Alpha", "Bravo"]


def test_letters_that_look_encoded_twice_are_the_publishers():
    assert rss("<title>Martine Ã©crit en UTF-8</title>").title == "Martine Ã©crit en UTF-8"
    assert rss("<title>Controls &#150; of &#8217;98</title>").title == "Controls – of ’98"


def test_a_json_feed_with_line_breaks_in_its_texts_is_read():
    body = '{"items": [{"id": "1", "title": "A\ttitle", "content_text": "One line,\nanother.\x01"}]}'
    entry = read(body).entries[0]
    assert (entry.title, entry.text) == ("A title", "One line,\nanother.")


# --- Which of several texts ------------------------------------------------------------------------------

WORDY = "It rained all day, and the river rose above the lower meadow before the night came."
TEXTS = {
    "a short content": (f"<content:encoded>Rain.</content:encoded><description>{WORDY}</description>", WORDY),
    "a content that is a teaser": (
        f"<content:encoded>{WORDY[:30]}</content:encoded><description>{WORDY}</description>",
        WORDY,
    ),
    "content first": (f"<content:encoded>{WORDY}</content:encoded><description>Rain.</description>", WORDY),
    "content last": (f"<description>Rain.</description><content:encoded>{WORDY}</content:encoded>", WORDY),
    "about the same": (
        f"<content:encoded>{WORDY}</content:encoded><description>{WORDY} And on.</description>",
        WORDY,
    ),
    "long markup, few words": (
        f"<content:encoded>&lt;p class='{'x' * 300}'&gt;Rain.&lt;/p&gt;</content:encoded>"
        f"<description>{WORDY}</description>",
        WORDY,
    ),
    "an empty content": (f"<content:encoded> </content:encoded><description>{WORDY}</description>", WORDY),
    "a summary of a podcast": (
        f"<description>Rain.</description><itunes:summary>{WORDY}</itunes:summary>",
        WORDY,
    ),
    "a description of other words": (
        f"<description>Rain.</description><dc:description>{WORDY}</dc:description>",
        WORDY,
    ),
    "the words of a picture": (
        f"<description>Rain.</description><media:description>{WORDY}</media:description>",
        "Rain.",
    ),
    "two short ones": (
        "<content:encoded>Rain.</content:encoded><description>Rain, and a bit.</description>",
        "Rain.",
    ),
}


@pytest.mark.parametrize(("texts", "text"), TEXTS.values(), ids=TEXTS)
def test_the_fullest_text_is_read(texts: str, text: str):
    item = f"<item><title>T</title><link>https://r.example/1</link>{texts}</item>"
    (entry,) = parse_document(f"<rss {SPACES}><channel>{item}</channel></rss>".encode()).entries
    assert entry.text == text


def test_the_fullest_text_of_other_formats_is_read():
    atom = (
        '<feed xmlns="http://www.w3.org/2005/Atom"><entry><title>T</title><content>Rain.</content>'
        f"<summary>{WORDY}</summary></entry></feed>"
    )
    item = {"id": "1", "title": "T", "content_html": "<p>Rain.</p>", "summary": WORDY}
    feed = json.dumps({"version": "https://jsonfeed.org/version/1.1", "items": [item]})
    for document in (atom, feed):
        assert parse_document(document.encode()).entries[0].text == WORDY


def test_an_entry_that_was_updated_keeps_the_date_it_was_published():
    atom = (
        '<feed xmlns="http://www.w3.org/2005/Atom"><entry><title>T</title><content>Rain.</content>'
        "<updated>2026-11-27T10:00:00Z</updated><published>2026-11-01T10:00:00Z</published></entry></feed>"
    )
    (entry,) = parse_document(atom.encode()).entries
    assert entry.published == datetime(2026, 11, 1, 10, tzinfo=UTC)


# --- The link target of a post without a link -----------------------------------------------------------

NOWHERE = {
    "comments": ("", "<comments>/1#talk</comments>", "https://ada.example/1#talk"),
    "a guid before comments": (
        "",
        "<guid>https://ada.example/1</guid><comments>/talk</comments>",
        "https://ada.example/1",
    ),
    "a link before comments": ("", "<link>/1</link><comments>/talk</comments>", "https://ada.example/1"),
    "a script for comments": ("", "<comments>javascript:talk()</comments>", ""),
    "nothing": ("", "", ""),
    "a guid before a script": (
        "",
        "<link>javascript:go()</link><guid>https://ada.example/1</guid>",
        "https://ada.example/1",
    ),
    "the publisher's link before that of a counter": (
        "",
        "<link>http://feedproxy.google.com/~r/a/~3/1</link><guid>7</guid>"
        "<feedburner:origLink>https://ada.example/1</feedburner:origLink>",
        "https://ada.example/1",
    ),
    "a counter's link before a script": (
        "",
        "<link>https://count.example/1</link><feedburner:origLink>javascript:go()</feedburner:origLink>",
        "https://count.example/1",
    ),
}


@pytest.mark.parametrize(("feed", "more", "link"), NOWHERE.values(), ids=NOWHERE)
def test_a_post_without_a_link_leads_to_its_comments(feed: str, more: str, link: str):
    document = f"<rss><channel>{feed}<item><title>T</title>{more}</item></channel></rss>"
    (entry,) = identify_entries(read(document).entries).values()
    assert entry.link == link


@pytest.mark.parametrize(
    ("feed", "site"),
    [
        ("<link>/blog</link>", "https://ada.example/blog"),
        ("<image><link>https://ada.example/</link></image>", "https://ada.example/"),
        ("<link>/blog</link><image><link>https://ada.example/</link></image>", "https://ada.example/blog"),
        ("", ""),
    ],
)
def test_the_site_of_a_feed_is_its_link_or_that_of_its_picture(feed: str, site: str):
    document = f"<rss><channel>{feed}<item><title>T</title></item></channel></rss>"
    assert read(document).site_url == site


def test_a_document_of_unknown_origin_says_where_its_links_count_from():
    document = (
        f'<rss {SPACES}><channel><a:link rel="self" href="https://ben.example/blog/f.xml"/><link>/blog/</link>'
        "<item><title>T</title><link>/blog/1</link></item></channel></rss>"
    )
    unknown, known = read(document, url=""), read(document)
    assert (unknown.site_url, unknown.entries[0].link) == (
        "https://ben.example/blog/",
        "https://ben.example/blog/1",
    )
    assert known.entries[0].link == "https://ada.example/blog/1"

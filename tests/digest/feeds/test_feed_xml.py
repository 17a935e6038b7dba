"""What is not well-formed is repaired or read loosely, and loses no entry."""

import re

import pytest

from digest.feeds.feed_xml import LOOSE, REPAIRED, STRICT, feed_xml_read, repair
from tests.support.entries import read

CAFE = "Caf&eacute; d&rsquo;or &mdash; 5&euro;"


def path_of(text: str) -> str:
    return feed_xml_read(text, url="", entries_max=9)[1]


@pytest.mark.parametrize(
    ("item", "path", "title"),
    [
        (f"<title>{CAFE}</title>", REPAIRED, "Café d’or — 5€"),
        ("<title>Fish & chips &c. &nosuch; AT&T</title>", REPAIRED, "Fish & chips &c. &nosuch; AT&T"),
        ("<title>A&#7;B&#0;C&#xFFFFFF;D</title>", REPAIRED, "ABCD"),
        ("<media:title>x</media:title><zz:y/><title>Prefixes</title>", REPAIRED, "Prefixes"),
        ("<title>Ends here</title><b>", LOOSE, "Ends here"),
        ("<title>Right</title>", STRICT, "Right"),
    ],
)
def test_what_is_not_well_formed_is_repaired_or_read_loosely(item: str, path: str, title: str):
    body = f"<rss><channel><title>R</title><item>{item}</item></channel></rss>"
    assert path_of(body) == path
    assert read(body).entries[0].title == title


@pytest.mark.parametrize(
    "second",
    [
        "<title>Two</titel><link>https://e.example/2</link><description>Words</description>",
        "<title>Two</title><link>https://e.example/2</lnk><description>Words</description>",
        "<title>Two</title><link>https://e.example/2</link><description>Words</descripton>",
        "<title>Two</title><link>https://e.example/2</link><guid>2</giud><description>Words</description>",
        "<title>Two</title><link>https://e.example/2</link><description>Words",
        "<title>Two<link>https://e.example/2</link><description>Words</description>",
        "<title>Two</title><link>https://e.example/2<description><![CDATA[Words]]></description>",
        "<title>Two<description>Words</description><link>https://e.example/2</link>",
        "<title>Two</title><link>https://e.example/2</link><description><![CDATA[<p>Words]]></descr>",
        "<title>Two\n  <link>https://e.example/2</link><description>Words</description>",
        "<title>Two</title>\n<link>https://e.example/2\n<description>Words</description>",
        "<TITLE>Two</TITEL><link>https://e.example/2</link><description>Words</description>",
        "<title>Two</title><link>https://e.example/2</link><dc:creator>Ada</dc:author><description>Words</description>",
        "<title>Two</title><link/>https://e.example/2<description>Words</description>",
        "<title>Two</title><link />\n https://e.example/2\n<description>Words</description>",
    ],
)
def test_a_field_without_its_own_end_tag_harms_neither_its_post_nor_the_others(second: str):
    one, three = (
        f"<item><title>{n}</title><link>https://e.example/{n}</link>"
        f"<description>{n} words</description></item>"
        for n in ("One", "Three")
    )
    feed = read(f"<rss><channel><title>R</title>{one}<item>{second}</item>{three}</channel></rss>")
    assert [(entry.title, entry.link, entry.text) for entry in feed.entries] == [
        ("One", "https://e.example/One", "One words"),
        ("Two", "https://e.example/2", "Words"),
        ("Three", "https://e.example/Three", "Three words"),
    ]


def test_an_atom_entry_with_a_misspelt_end_tag_keeps_its_title_and_names():
    entry = "<id>1</id><title>One</titel><author><name>Ada</nmae></author><link href='https://e.example/1'/>"
    feed = read(f"<feed xmlns='http://www.w3.org/2005/Atom'><title>F</titl><entry>{entry}</entry></feed>")
    assert feed.title == "F"
    assert [(one.title, one.author, one.link) for one in feed.entries] == [
        ("One", "Ada", "https://e.example/1")
    ]


@pytest.mark.parametrize(
    ("title", "text"),
    [
        ("Use <name> & co", "Words"),
        ("A stray </b> tag & more", "Words"),
        ("Fine & well", "<p>It is <b>bold</b><br>and <i>so on</p>"),
        ("Fine & well", "<details><summary>More</summary>Words</details>"),
    ],
)
def test_tags_within_a_text_end_no_field(title: str, text: str):
    item = f"<item><title>{title}</title><description>{text}</description></item>"
    (entry,) = read(f"<rss><channel><title>R</title>{item}</channel></rss>").entries
    for found, written in ((entry.title, title), (entry.text, text)):
        assert all(word in found for word in re.sub(r"<[^>]*>|&", " ", written).split())


def test_repair_leaves_what_is_quoted_as_it_is():
    quoted = "<![CDATA[&eacute; & ]]><!-- & --><a>&amp;&#65;</a>"
    assert repair(quoted) == quoted


@pytest.mark.parametrize(
    "body",
    [
        "<![CDATA[<p>It <b>rained</b> &amp; blew.</p>]]>",
        "&lt;p&gt;It &lt;b&gt;rained&lt;/b&gt; &amp;amp; blew.&lt;/p&gt;",
    ],
)
def test_a_document_read_loosely_has_its_articles_as_html(body: str):
    text = f"<rss><channel><item><title>a</title><description>{body}</description></item><b></channel></rss>"
    assert path_of(text) == LOOSE
    (entry,) = read(text).entries
    assert (entry.text, entry.html) == ("It rained & blew.", "<p>It <b>rained</b> &amp; blew.</p>")


@pytest.mark.parametrize(
    ("first", "text"),
    [
        ("<![CDATA[cut <b>o</b>f", "cut of"),
        (
            "<![CDATA[&lt;a> <![CDATA[ in ]]]]><![CDATA[> </description> b]]>",
            "<a> <![CDATA[ in ]]> </description> b",
        ),
        ("<![CDATA[a]]> and <![CDATA[b]]>", "a and b"),
    ],
)
@pytest.mark.parametrize("second", ["<![CDATA[two]]>", "two", "<![CDATA[two"])
def test_a_section_that_nothing_ends_ends_with_its_element(first: str, text: str, second: str):
    items = "".join(
        f"<item><title>{n}</title><description>{body}</description></item>"
        for n, body in enumerate((first, second))
    )
    found = read(f"<rss version='2.0'><channel><title>T</title>{items}</channel></rss>").entries
    assert [(one.title, one.text) for one in found] == [("0", text), ("1", "two")]


def test_elements_that_are_never_closed_cost_no_item():
    feed = read(
        "<rss version='2.0'><channel><title>N</title><item><title>First</title><link>https://n.example/1</link>"
        "<description>Hello<br> World<img src=a.png> and more</description></item><item><title>Second</title>"
        "<link>https://n.example/2</link></item></channel></rss>"
    )
    assert [(one.title, one.link) for one in feed.entries] == [
        ("First", "https://n.example/1"),
        ("Second", "https://n.example/2"),
    ]
    assert feed.entries[0].text.split() == ["Hello", "World", "and", "more"]


def test_a_document_whose_own_vocabulary_nobody_knows_is_read():
    item = "<item><title>Rain</title></item>"
    assert (
        read(f'<rss xmlns="urn:nobody"><channel><title>R</title>{item}</channel></rss>').entries[0].title
        == "Rain"
    )
    named = "<rss:item><rss:title>Rain</rss:title></rss:item>"
    assert (
        read(f"<rss><rss:channel><rss:title>R</rss:title>{named}</rss:channel></rss>").entries[0].title
        == "Rain"
    )

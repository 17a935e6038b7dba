"""Strangers' markup becomes an article: readable, bounded, and without anything that runs or asks."""

import re
from html.parser import HTMLParser
from pathlib import Path

import nh3
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lxml import html as lxml_html

from digest.feeds.body_html import _POLICY, DEPTH_MAX, HTML_MAX_CHARS, html_clean
from digest.feeds.entities import FeedProblem
from digest.feeds.parse import parse_document
from tests.support.documents import SPARED, documents, spared
from tests.support.pace import processor_within
from tests.test_scripts_browser import LINKS, PAYLOADS

BASE = "https://ada.example/posts/1"
REL = 'rel="noopener noreferrer nofollow"'
TAG_NAMES = (
    "p div ul ol li dl dt dd table caption thead tbody tfoot tr td th blockquote pre figure figcaption "
    "details summary hr h2 h3 h4 h5 h6 "
    "a abbr b bdi bdo br cite code del dfn em i img ins kbd mark q rp rt ruby s "
    "samp small strong sub sup time u var wbr"
)
ATTRIBUTE_NAMES = (
    "dir lang title colspan rowspan scope start reversed type value datetime alt width height data-src href "
    "rel"
)
TAGS, ATTRIBUTES = frozenset(TAG_NAMES.split()), frozenset(ATTRIBUTE_NAMES.split())
ADDRESS = re.compile(r"https?://[^\s<>\"]+|mailto:[^\s<>\"]+")
# Markup that changed its meaning between two parsers, in browsers or in sanitisers.
MUTATIONS = [
    '<svg></p><style><a id="</style><img src=1 onerror=alert(1)>">',
    '<math><mtext><table><mglyph><style><!--</style><img title="--&gt;&lt;img src=1 onerror=alert(1)&gt;">',
    "<form><math><mtext></form><form><mglyph><style></math><img src onerror=alert(1)>",
    '<noscript><p title="</noscript><img src=x onerror=alert(1)>">',
    '<template><p title="</template><img src=x onerror=alert(1)>">',
    '<xmp><p title="</xmp><svg onload=alert(1)>">',
    '<textarea><a title="</textarea><img src=x onerror=alert(1)>">',
    '<title><a title="</title><img src=x onerror=alert(1)>">',
    '<iframe><a title="</iframe><img src=x onerror=alert(1)>">',
    "<!--><img src=x onerror=alert(1)>-->",
    "<!--!><img src=x onerror=alert(1)>-->",
    "<!-- --!><img src=x onerror=alert(1)>-->",
    "<![CDATA[><img src=x onerror=alert(1)>]]>",
    "<?php <img src=x onerror=alert(1)> ?>",
    "<a href='x' title='`><img src=x onerror=alert(1)>'>x</a>",
    "<p><svg><desc><p><style></svg><img src=x onerror=alert(1)></style>",
    "<table><a href=javascript:alert(1)><tr><td>x</table>",
    "<b><p><a href=/x><p></b></a><script>alert(1)</script>",
    "<select><style></select><img src=x onerror=alert(1)></style>",
    "<img alt='<script>alert(1)</script>' src=x>",
    "<listing>&lt;img src=x onerror=alert(1)&gt;</listing>",
    "<plaintext><img src=x onerror=alert(1)>",
    "<isindex action=javascript:alert(1)>",
    "<a href='&#1;javascript:alert(1)'>x</a>",
    "<a href='java&#x0A;script:alert(1)'>x</a>",
    "<a href='javascript&colon;alert(1)'>x</a>",
    "<a href='\x01data:text/html,x'>x</a>",
    "<a href='vb&Tab;script:x'>x</a>",
    "<a href='//evil.example\\@ok.example'>x</a>",
    "<iframe src='javascript:alert(1)'></iframe><embed src='data:text/html,x'><video src='vbscript:x'>",
]
OTHER_NAMES = "h1 span svg math style title template script noscript iframe video textarea select xmp"
BITS = st.sampled_from(
    [
        *(f"<{slash}{name}>" for name in sorted(TAGS | {*OTHER_NAMES.split()}) for slash in ("", "/")),
        *(
            "<!--",
            "-->",
            "<![CDATA[",
            "]]>",
            "<?",
            "<",
            ">",
            "&",
            "&lt;",
            "&quot;",
            '"',
            "'",
            "=",
            "/",
            "\x00",
        ),
        *("\xa0", " a ", "\n", "<a href='/x'>", '<a href="javascript:x">', "<img src=/i>", "<iframe src=/f>"),
        *("<p dir=rtl lang=he>", "<td colspan=2>", "<img src=x alt='<b>", '<a title="--><script>'),
    ]
)
MARKUP = st.lists(BITS | st.text(max_size=4), max_size=40).map("".join)


class Found(HTMLParser):
    """Tags with attributes, found by an independent HTML parser."""

    def __init__(self, markup: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.others: list[str] = []
        self.feed(markup)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_comment(self, data: str) -> None:
        self.others.append(data)

    handle_decl = unknown_decl = handle_pi = handle_comment


def clean(markup: str, base: str = BASE) -> str:
    return html_clean(markup, base=base)[0]


def check_harmless(cleaned: str) -> None:
    """Fail if two independent parsers find markup that an article may not have."""
    found = Found(cleaned)
    assert not found.others
    tree = lxml_html.fragment_fromstring(cleaned, create_parent="div")
    elements = [(node.tag, dict(node.attrib)) for node in tree.iterdescendants()]
    for tag, attributes in [*found.tags, *elements]:
        assert tag in TAGS
        assert set(attributes) <= ATTRIBUTES
        for name in ("href", "data-src"):
            assert name not in attributes or ADDRESS.fullmatch(attributes[name] or "")
    assert len(cleaned) <= HTML_MAX_CHARS
    cleaned.encode()


@settings(max_examples=1_500 // SPARED)
@given(MARKUP)
def test_nothing_but_an_article_comes_of_any_markup(markup: str):
    cleaned, image = html_clean(markup, base=BASE)
    check_harmless(cleaned)
    assert not image or ADDRESS.fullmatch(image)


@settings(max_examples=1_500 // SPARED)
@given(MARKUP)
def test_a_browser_reads_what_was_stored_as_it_was_meant(markup: str):
    """Parsed again, and shown again, it is the same: nothing waits to change its meaning."""
    cleaned = clean(markup)
    assert _POLICY.clean(cleaned) == cleaned
    assert nh3.is_html(cleaned) or not cleaned


@pytest.mark.parametrize(
    "payload", [*MUTATIONS, *PAYLOADS, *(f'<a href="{link}">x</a><img src="{link}">' for link in LINKS)]
)
def test_no_payload_survives(payload: str):
    for wrap in ("{}", "<p>{}</p>", "<table><tr><td>{}", "<pre>{}</pre>", "<a href='/x'>{}</a>"):
        for markup in (wrap.format(payload), f"<b>b</b>{wrap.format(payload)}<i>i</i>"):
            check_harmless(clean(markup))


@pytest.mark.parametrize("payload", [*MUTATIONS, *PAYLOADS, *(f'<a href="{link}">x</a>' for link in LINKS)])
def test_the_policy_alone_stops_every_payload(payload: str):
    """The tidier makes an article readable; that nothing runs must not hang on it."""
    for tag, attributes in Found(_POLICY.clean(payload)).tags:
        assert tag in TAGS
        assert set(attributes) <= ATTRIBUTES
        assert "href" not in attributes or attributes["href"].startswith(("https:", "http:", "mailto:"))


@pytest.mark.data
def test_no_document_of_the_open_collections_has_anything_else_in_its_html(data_dir: Path):
    """Among them are feedparser's own, written to slip a script past a sanitiser."""
    bodies, read = documents(data_dir), 0
    for name in spared(bodies, seed=4):
        try:
            entries = parse_document(bodies[name], url="https://ada.example/feed").entries
        except FeedProblem:
            continue
        for entry in entries:
            if entry.html:
                check_harmless(entry.html)
                read += 1
    assert read > 300


@pytest.mark.parametrize(
    ("markup", "cleaned"),
    [
        ("<b>a</b>", "<b>a</b>"),
        ('<p class="x" style="color:red" id="y" onclick="z"><em>a</em></p>', "<p><em>a</em></p>"),
        ("<ul><li>a<li>b</ul>", "<ul><li>a</li><li>b</li></ul>"),
        ("<dl><dt>a<dd>b<dt>c</dl>", "<dl><dt>a</dt><dd>b</dd><dt>c</dt></dl>"),
        (
            "<table><tr><th scope=col>a<td colspan=2>b<tr><td></table>",
            '<table><tbody><tr><th scope="col">a</th><td colspan="2">b</td></tr><tr><td></td></tr>'
            "</tbody></table>",
        ),
        ("<table><b>a</b></table>", "<table><tbody><tr><td><b>a</b></td></tr></tbody></table>"),
        ("<td>a</td><b>b</b>", "a<b>b</b>"),
        ("<pre><code>if a &lt; b:\n    c</code></pre>", "<pre><code>if a &lt; b:\n    c</code></pre>"),
        ("<blockquote>a<cite>b</cite></blockquote>", "<blockquote>a<cite>b</cite></blockquote>"),
        ("a<b> </b>b", "a<b> </b>b"),
        ("<p>a<p><i>b</i>", "<p>a</p><p><i>b</i></p>"),
        ("<p dir=rtl lang=he>a</p>", '<p dir="rtl" lang="he">a</p>'),
        ("<section><h2>a</h2></section>", "<div><h2>a</h2></div>"),
        ("<hr/><p/>a<div/>", "<hr>a"),
        ("<xhtml:b>a</xhtml:b>", "<b>a</b>"),
        ("<p>a</p><div><p> <b></b></p></div><hr>", "<p>a</p><hr>"),
        ("<b>a</b> & b < c > d &copy; &#8217;", "<b>a</b> &amp; b &lt; c &gt; d © ’"),
        ("<script>if (a<b) '<img src=\"'</script><b>c</b>", "<b>c</b>"),
        ("<i>\u202ea\x07&#x202e;b\u200cc</i>", "<i>ab\u200cc</i>"),
        ("<details open><summary>a</summary>b</details>", "<details><summary>a</summary>b</details>"),
    ],
)
def test_an_article_keeps_its_shape_and_nothing_else(markup: str, cleaned: str):
    assert clean(markup) == cleaned


@pytest.mark.parametrize(
    "markup",
    ["", "a", "a &lt;b&gt; c", "<p>a</p><p>b<br>c</p>", "<div><span>a</span></div>", "a < b", "<p></p>"],
)
def test_there_is_no_html_where_it_shows_no_more_than_paragraphs(markup: str):
    assert clean(markup) == ""


@pytest.mark.parametrize(
    ("levels", "shown"),
    [
        ("1 2 3", "2 3 4"),
        ("2 3 2", "2 3 2"),
        ("4 6 4", "2 3 2"),
        ("5 1", "2 2"),
        ("1 4 2 6", "2 3 3 4"),
        ("1 2 3 4 5 6", "2 3 4 5 6 6"),
    ],
)
def test_headings_begin_below_the_pages_own_and_leave_out_no_level(levels: str, shown: str):
    cleaned = clean("".join(f"<h{n}>x</h{n}>" for n in levels.split()))
    assert cleaned == "".join(f"<h{n}>x</h{n}>" for n in shown.split())


@pytest.mark.parametrize(
    ("href", "address"),
    [
        ("/a?b=1&amp;c=2", "https://ada.example/a?b=1&amp;c=2"),
        ("2", "https://ada.example/posts/2"),
        ("#note", "https://ada.example/posts/1#note"),
        ("//ben.example/x", "https://ben.example/x"),
        ("HTTP://ben.example/a b", "HTTP://ben.example/a%20b"),
        (" https://ben.example/\n x ", "https://ben.example/%20x"),
        ("https://[2001:db8::1]:8080/", "https://[2001:db8::1]:8080/"),
        ("mailto:ada@ada.example?subject=Hi there", "mailto:ada@ada.example?subject=Hi%20there"),
    ],
)
def test_a_link_is_absolute_and_tells_nobody_where_from(href: str, address: str):
    assert clean(f'<a href="{href}">x</a>') == f'<a href="{address}" {REL}>x</a>'


@pytest.mark.parametrize(
    "href",
    [
        *LINKS[:6],
        "https://bank.example@evil.example/",
        "https://[x/",
        "ftp://a.example/",
        "https:///x",
        "file:///etc/passwd",
        "tel:1",
        "https://a.example/" + "x" * 2_000,
    ],
)
def test_a_link_elsewhere_is_its_text(href: str):
    assert clean(f'<b>a</b><a href="{href}">x</a>') == "<b>a</b>x"
    assert html_clean(f'<b>a</b><img src="{href}">', base=BASE) == ("<b>a</b>", "")


def test_a_relative_link_without_an_address_to_count_from_is_its_text():
    assert clean('<b>a</b><a href="/x">x</a>', base="") == "<b>a</b>x"
    assert clean('<b>a</b><a href="/x">x</a>', base="javascript:x") == "<b>a</b>x"


def test_a_picture_is_named_where_no_browser_asks_for_it():
    markup = (
        '<figure><img src="/a.png" srcset="/b.png 2x" loading=lazy alt="An &quot;a&quot;" title=t width=10 '
        "height=9><figcaption>b</figcaption></figure>"
    )
    cleaned, image = html_clean(markup, base=BASE)
    shown = (
        '<img data-src="https://ada.example/a.png" alt="An &quot;a&quot;" title="t" width="10" height="9">'
    )
    assert cleaned == f"<figure>{shown}<figcaption>b</figcaption></figure>"
    assert image == "https://ada.example/a.png"


def test_a_picture_that_loads_late_is_found_and_one_without_an_address_is_its_text():
    assert (
        html_clean("<img data-src=/a.png src=data:image/gif;base64,R0>", base=BASE)[1]
        == "https://ada.example/a.png"
    )
    assert clean("<b>a</b> <img src=data:image/gif;base64,R0 alt='x &lt; y'>") == "<b>a</b> x &lt; y"


@pytest.mark.parametrize(
    "pixel",
    [
        "<img src=/p.gif width=1 height=1>",
        "<img src=/p.gif height=1px>",
        "<img src=/p.gif width='0'>",
        "<img src=https://feeds.feedburner.com/~r/x/4>",
        "<img src=//pixel.wp.com/b.gif?x>",
    ],
)
def test_a_pixel_that_counts_readers_is_dropped_with_the_link_around_it(pixel: str):
    assert html_clean(f"<p>a</p><p><a href=/x>{pixel}</a></p><hr>", base=BASE) == ("<p>a</p><hr>", "")


@pytest.mark.parametrize(
    ("film", "address", "named"),
    [
        (
            "<iframe src='https://www.youtube.com/embed/dQw4w9WgXcQ?rel=0' title='A film'></iframe>",
            "https://www.youtube.com/watch?v=dQw4w9WgXcQ",
            "A film",
        ),
        (
            "<iframe src=//player.vimeo.com/video/76979871/>",
            "https://vimeo.com/76979871",
            "vimeo.com/76979871",
        ),
        ("<iframe src=/frame><b>none</b></iframe>", "https://ada.example/frame", "ada.example/frame"),
        (
            "<video controls><source src=/a.mp4><source src=/b.mp4>old browser</video>",
            "https://ada.example/a.mp4",
            "ada.example/a.mp4",
        ),
        ("<audio src=/a.mp3>old browser</audio>", "https://ada.example/a.mp3", "ada.example/a.mp3"),
        ("<object data=x><embed src=/a.swf></object>", "https://ada.example/a.swf", "ada.example/a.swf"),
    ],
)
def test_a_film_or_a_frame_is_a_link(film: str, address: str, named: str):
    assert clean(f"{film}<p>after</p>") == f'<p><a href="{address}" {REL}>{named}</a></p><p>after</p>'


def test_a_frame_inside_a_link_or_without_an_address_is_left_out():
    assert (
        clean("<b>a</b><a href=/x>b<iframe src=/y></iframe></a><iframe srcdoc=x></iframe>")
        == f'<b>a</b><a href="https://ada.example/x" {REL}>b</a>'
    )


def test_an_article_that_is_too_long_ends_after_a_whole_element():
    cleaned = clean("<blockquote>" + "<p>A <b>paragraph</b> of text</p>" * 10_000)
    assert 0.98 * HTML_MAX_CHARS < len(cleaned) <= HTML_MAX_CHARS
    assert cleaned.endswith("</b> of text</p></blockquote><p>…</p>")
    assert cleaned.count("<p>A") == cleaned.count("</b> of text</p>")
    assert clean("<b>a</b>" + "x" * 200_000) == ""
    assert clean("<b>a</b> b " * 20_000).endswith("b <b>a</b><p>…</p>")


def test_nesting_is_bounded():
    cleaned = clean("<blockquote>" * 5_000 + "<b>x</b>")
    assert cleaned.count("<blockquote>") == DEPTH_MAX
    assert cleaned.count("</blockquote>") == DEPTH_MAX


@pytest.mark.parametrize(
    "markup",
    [
        "<blockquote>" * 50_000,
        "<p>" + "".join(f"<b lang=a{n}>" for n in range(200)) + "<p>x" * 60_000,
        "<table><b><i><u><s>" + "x<tr>" * 50_000,
        "<a href=/x>x" * 20_000,
        "<" * 30_000,
        "<!--" * 60_000,
        "<script>" * 30_000,
        "<table>" * 30_000 + "<b>x",
        "<a href='" * 30_000,
        "<img " + "a=b " * 60_000 + ">",
        "<iframe src=/x>" * 17_000,
        "&amp;" * 50_000 + "<b>x",
        "<h1>x" * 40_000,
        "<ul><li>" * 30_000,
    ],
)
def test_no_markup_takes_more_than_linear_time(markup: str):
    with processor_within(1):
        assert len(clean(markup)) <= HTML_MAX_CHARS

"""Stored HTML on a page: pictures are ours, tables scroll, links open a new tab, nothing else comes in."""

import re

from hypothesis import given
from hypothesis import strategies as st

from digest.articles.render import addresses_render, article_render, pictures_in, pictures_render
from digest.feeds.body_html import html_clean
from tests.test_scripts_browser import PAYLOADS

BASE = "https://rivers.example/a"
ADDRESS = re.compile(r'(?:src|href|poster|action|data)="([^"]*)"')


def own(address: str) -> str:
    return f"/ui/picture/{address.encode().hex()}"


def shown(markup: str, pictures: str = "shown") -> str:
    stored, _ = html_clean(markup, base=BASE)
    return article_render(stored, pictures=pictures, href=own)


def test_a_picture_comes_from_us():
    found = shown('<p>x <img src="/b.png?a=1&amp;b=2" alt="a &quot;b&quot;" width=40 height=30></p>')
    source = own("https://rivers.example/b.png?a=1&b=2")
    assert found == (
        f'<p>x <img src="{source}" alt="a &quot;b&quot;" width="40" height="30" loading="lazy" '
        'decoding="async" referrerpolicy="no-referrer"></p>'
    )


def test_a_picture_waits_for_a_tap_or_never_comes():
    tap = shown('<p><img src="/b.png" alt="a boat"></p>', "tap")
    assert '<details class="picture"><summary>Show picture: a boat</summary><img src="/ui/' in tap
    never = shown('<p><img src="/b.png" alt="a &lt;boat&gt;"></p>', "never")
    assert never == '<p><span class="no-picture">Picture: a &lt;boat&gt;</span></p>'
    assert "img" not in shown('<p><img src="/b.png"></p>', "never")


def test_a_tap_on_a_linked_picture_shows_it_and_follows_no_link():
    found = shown(
        '<p><a href="/c"><img src="/b.png"></a> <a href="/d">more <img src="/e.png"> x</a></p>', "tap"
    )
    assert not re.search(r"<a [^>]*>(?:(?!</a>).)*<details", found)
    assert 'href="https://rivers.example/c"' not in found and found.count("<details") == 2
    assert re.search(r'<a href="https://rivers.example/d"[^>]*>more  x</a><details', found)


def test_tables_and_code_scroll_by_keyboard_too():
    found = shown("<table><tr><td>a</td></tr></table><pre>x</pre>")
    assert found.startswith('<div class="scrolls" role="group" aria-label="Table" tabindex="0"><table>')
    assert "</table></div>" in found and '<pre tabindex="0">x</pre>' in found


def test_links_open_a_new_tab_and_mails_do_not():
    found = shown('<p><a href="/b">b</a> <a href="mailto:a@b.example">m</a></p>')
    assert re.findall(r'<a href="([^"]*)" rel="noopener noreferrer nofollow"( target="_blank")?>', found) == [
        ("https://rivers.example/b", ' target="_blank"'),
        ("mailto:a@b.example", ""),
    ]


def test_a_tag_inside_a_value_stays_one():
    stored = html_clean(
        "<p><abbr title='<img data-src=\"x\" alt='>a</abbr><img alt='<img data-src=' src=/b.png></p>",
        base=BASE,
    )[0]
    found = article_render(stored, pictures="shown", href=own)
    assert found.count("<img src=") == 1
    assert pictures_in(stored) == {"https://rivers.example/b.png"}


def test_what_came_into_the_database_uncleaned_is_cleaned():
    found = article_render(
        '<p onclick="x()">a<script>b</script><img src="https://evil.example/p.gif"></p>'
        '<img data-src="javascript:x()" onerror="x()"><iframe src="https://evil.example"></iframe>',
        pictures="shown",
        href=own,
    )
    assert not re.search(r"script>|onclick|onerror|iframe|evil", found)


def test_pictures_that_no_text_shows_are_escaped():
    found = pictures_render(['https://a.example/?a="><script>'], pictures="shown", href=lambda one: one)
    assert "<script>" not in found and found.startswith('<img src="https://a.example/?a=&quot;&gt;')


def test_a_program_gets_the_addresses_of_the_publisher():
    stored, _ = html_clean('<p><img src="/b.png" alt="data-src="></p>', base=BASE)
    assert addresses_render(stored) == '<p><img src="https://rivers.example/b.png" alt="data-src="></p>'


PIECES = st.sampled_from(
    [
        *PAYLOADS,
        *("<p>", "</p>", "<img src=/b.png alt='", "'>", '"', "<table><td>", "</table>", "<a href=/c>"),
        *("</a>", "<pre>", "&lt;img data-src=&quot;", "<abbr title=\"<img data-src='", "<b>", "text"),
    ]
)


@given(st.lists(PIECES, max_size=12), st.sampled_from(["shown", "tap", "never"]))
def test_whatever_comes_a_browser_asks_nobody_but_us_by_itself(pieces: list[str], mode: str):
    found = shown("".join(pieces), mode)
    for tag in re.findall(r"<[a-z][^<>]*(?:\"[^\"]*\"[^<>]*)*>", found):
        name = re.match("<([a-z0-9]+)", tag)[1]
        assert name not in {"script", "style", "iframe", "object", "embed", "svg", "video", "audio", "form"}
        bare = re.sub(r'"[^"]*"', '""', tag)
        assert not re.search(r"\bon[a-z]+=|style=|srcset=|poster=|background=|data-src=", bare)
        for address in ADDRESS.findall(tag) if "src=" in bare else ():
            assert address.startswith("/ui/picture/")

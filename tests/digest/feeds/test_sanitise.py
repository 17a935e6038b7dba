"""Strangers' HTML always becomes plain text."""

import time
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from digest.feeds.sanitise import (
    FIELD_MAX_CHARS,
    TITLE_MAX_CHARS,
    _is_costly,
    clean_text,
    html_to_text,
    title_to_text,
)

MARKUP = st.lists(
    st.sampled_from(
        [
            "<",
            ">",
            "&",
            "&lt;",
            "&amp;lt;",
            "script",
            "<script>",
            "</script>",
            "<p>",
            "</p>",
            "<img src=x onerror=y>",
            "<!--",
            "-->",
            "<![CDATA[",
            "]]>",
            "\x00",
            "\u202e",
            "\u200b",
            "\ud800",
            "&#0;",
            "&#x202e;",
            "a",
            " ",
            "\n",
        ]
    )
    | st.text(max_size=6),
    max_size=40,
).map("".join)


@given(MARKUP)
def test_nothing_that_hides_survives(markup: str):
    for text in (html_to_text(markup), clean_text(markup), title_to_text(markup)):
        assert not [c for c in text if unicodedata.category(c) in {"Cc", "Cs"} and c not in "\n\t"]
        assert "\x00" not in text and "\u202e" not in text and "\u200b" not in text
        text.encode("utf-8")


@given(MARKUP)
def test_plain_text_stays_as_it_is_the_second_time(markup: str):
    once = clean_text(markup)
    assert clean_text(once) == once


@pytest.mark.parametrize(
    ("markup", "text"),
    [
        ("<p>One</p><p>Two</p>", "One\nTwo"),
        ("a<br>b", "a\nb"),
        ("Fish &amp; chips", "Fish & chips"),
        ("AT&T", "AT&T"),
        ("I &lt;3 you", "I <3 you"),
        (
            "<p>Begin with &lt;system&gt;, close with &lt;/user&gt;</p>",
            "Begin with <system>, close with </user>",
        ),
        ("1 < 2 and 3 > 2", "1 < 2 and 3 > 2"),
        ("&amp;lt;b&amp;gt;bold", "&lt;b&gt;bold"),
        ("<script>alert(1)</script>kept", "kept"),
        ("<style>p{}</style>kept<!-- not me -->", "kept"),
        ('<img src="https://tracker.example/pixel">kept', "kept"),
        ("caf&eacute;&nbsp;au lait", "café au lait"),
        ("a<DIV>b<Br/>c<h2>d</H2>e", "a\nb\nc\nd\ne"),
        ("a<preface>b<h7>c<divan>d", "abcd"),
        ("a\rb\x85c\u2028d\u2029e", "a\nb\nc\nd\ne"),
        ("a\x0bb\x1cc\td", "abc d"),
        ("a\U000e0101b", "ab"),
        ("<p>a std::vector<int> x</p><p>b</p>", "a std::vector x\nb"),
        ("<p>the <set>inner</set> and <text>its</text> words</p>", "the inner and its words"),
        ("<p>a <x-chart data-html='<b>c</b> > d'/>b <set title=\"1 > 0\">c</set></p>", "a b c"),
        ("<p><o:p>Word</o:p> <my-element>own</my-element></p>", "Word own"),
        ("<p>a <svg><text>drawn</text></svg> b <math><mi>x</mi></math> c</p>", "a b c"),
        ("<b>\u0645\u06cc</b>\u200c\u062e\u0648", "\u0645\u06cc\u200c\u062e\u0648"),
        ("2<sup>10</sup> m<sup class='x'>-2</sup>, 5<sup>th</sup>", "2\u00b9\u2070 m\u207b\u00b2, 5th"),
        ("a note<sup><a href='#1'>12</a></sup>", "a note\u00b9\u00b2"),
        ("<p><q cite='x'>So</q>, he said.</p>", "\u201cSo\u201d, he said."),
        ("<p>\u200ca</p>\u200d<p>b\u200c</p>", "a\nb"),
    ],
)
def test_html_reads_as_a_person_would_read_it(markup: str, text: str):
    assert html_to_text(markup) == text


def test_a_title_is_one_line_of_bounded_length():
    assert title_to_text("<b>Two</b>\n lines") == "Two lines"
    assert len(title_to_text("x" * 10_000)) == TITLE_MAX_CHARS
    assert title_to_text("x" * 10_000).endswith("…")


FORMATTED = "".join(f"<b a={n}>" for n in range(100))


@pytest.mark.parametrize(
    ("markup", "costly"),
    [
        ("<p>a <b>b</b><br></p>" * 2_000, False),
        ("<div>" * 150 + "<p>a</p>" * 2_000, False),
        ("<div></x>" * 500, True),
        (f"<p>{FORMATTED}</p>" + "<p>x</p>" * 500, True),
        (f"<p>{FORMATTED}</p>" + "<p>x</p></i>" * 500, True),
    ],
)
def test_markup_is_costly_that_nests_or_opens_elements_again_without_end(markup: str, costly: bool):
    assert _is_costly(markup) == costly


@pytest.mark.parametrize(
    "markup",
    [
        "<div>" * 20_000,
        "<a" * 40_000,
        "<" * 70_000,
        "&lt;" * 20_000,
        "<b>" * 199 + "<p>x" * 15_000,
        "<p>" + "".join(f"<b a={n}>" for n in range(190)) + "<p>x</x>" * 7_700,
        "<div></x>" * 7_281,
        "<!--" * 20_000,
    ],
)
def test_no_markup_costs_more_than_linear_time(markup: str):
    def cost_s(part: str) -> float:
        took = []
        for _ in range(3):
            started = time.thread_time()
            assert len(html_to_text(part)) <= FIELD_MAX_CHARS
            took.append(time.thread_time() - started)
        return min(took)

    # Quadratic work takes four times as long for twice the length.
    assert cost_s(markup) < max(0.05, 3 * cost_s(markup[: len(markup) // 2]))

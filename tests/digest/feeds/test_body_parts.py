"""Rewriting before an article is cleaned: formulas, late pictures, frames, forms, plain texts."""

import pytest

from digest.feeds.body_html import html_clean
from digest.feeds.body_parts import FORM_MAX_WORDS, body_prepared, plain_layout
from digest.feeds.sanitise import html_to_text

BASE = "https://ada.example/1"
MSUP = "<msup><mi>e</mi><mrow><mi>k</mi><mi>t</mi></mrow></msup>"
TEX = '<annotation encoding="application/x-tex">e^{kt}</annotation>'


def words(markup: str) -> str:
    return html_to_text(body_prepared(markup))


def picture(markup: str) -> str:
    return html_clean(body_prepared(markup), base=BASE)[1]


@pytest.mark.parametrize(
    ("formula", "read"),
    [
        ('<math alttext="x > 0"><mi>x</mi></math>', "x > 0"),
        (f"<math><semantics>{MSUP}{TEX}</semantics></math>", "e^{kt}"),
        (f"<math>{MSUP}</math>", "e^{kt}"),
        (f'<math alttext="e^{{kt}}">{MSUP}</math>', "e^{kt}"),
        ("<math><mi>x</mi><mo>=</mo><mn>42</mn></math>", "x=42"),
        ('<MATH xmlns="http://www.w3.org/1998/Math/MathML"><mi>x</mi></MATH>', "x"),
        ("<math><mfrac><mi>a</mi><mi>b</mi></mfrac></math>", "(a)/(b)"),
        ("<math><msqrt><mn>2</mn></msqrt></math>", "√(2)"),
        ("<math><msub><mi>x</mi><mn>1</mn></msub></math>", "x_{1}"),
        ("<math><mi>a</mi><mo>&lt;</mo><mi>b</mi></math>", "a<b"),
        ('<math><annotation-xml encoding="x">no</annotation-xml><mi>x</mi></math>', "x"),
    ],
)
def test_a_formula_leaves_no_hole_in_its_sentence(formula: str, read: str):
    assert words(f"<p>Cases grow like {formula}, as before.</p>") == f"Cases grow like {read}, as before."
    html, _ = html_clean(body_prepared(f"<p>So <b>{formula}</b>.</p>"), base=BASE)
    assert html_to_text(html) == f"So {read}."


KATEX = (
    f'<span class="katex"><span class="katex-mathml"><math><semantics>{MSUP}{TEX}</semantics></math></span>'
    '<span class="katex-html" aria-hidden="true"><span class="base"><span class="strut" style="height:1em"/>'
    '<span class="mord">e</span><span class="mord">kt</span></span></span></span>'
)


def test_a_formula_that_is_also_drawn_in_letters_is_read_once():
    assert words(f"<p>As {KATEX}, then {KATEX}.</p>") == "As e^{kt}, then e^{kt}."


def test_a_formula_in_a_script_for_mathjax_is_read_and_no_other_script_is():
    scripts = "<script>alert(1)</script><SCRIPT type='math/tex; mode=display'>a < b</SCRIPT>"
    assert words(f"<p>As {scripts}, so.</p>") == "As a < b, so."
    assert "alert" not in html_clean(body_prepared(f"<p><i>As</i> {scripts}</p>"), base=BASE)[0]
    tricky = "<script type='math/tex'><img src=x onerror=alert(1)></script>"
    assert "<img" not in html_clean(body_prepared(f"<p><i>As</i> {tricky}</p>"), base=BASE)[0]


def test_a_formula_that_is_drawn_only_or_never_ends_is_kept():
    drawn = '<span class="katex"><span class="katex-html" aria-hidden="true"><span>x</span></span></span>'
    assert words(f"<p>As {drawn} and {KATEX}, so.</p>") == "As x and e^{kt}, so."
    endless = KATEX.replace("</span>", "")
    assert words(f"<p>As {endless} goes on.</p>").endswith("goes on.")


@pytest.mark.parametrize(
    ("markup", "name"),
    [
        ('<img src="data:image/gif;base64,R0" data-srcset="/a-430.jpg 430w, /a-900.jpg 900w">', "a-900.jpg"),
        ('<img srcset="/a-430.jpg 430w, /a-900.jpg 900w, /a-4000.jpg 4000w">', "a-900.jpg"),
        ('<img srcset="/a.jpg 1x, /a2.jpg 2x">', "a2.jpg"),
        ('<amp-img src="/a.jpg" width="600" height="400"></amp-img>', "a.jpg"),
        ('<img srcset="/a.jpg, /a2.jpg 1.5x">', "a.jpg"),
        ('<img srcset="/a-4000.jpg 4000w, /a-9000.jpg 9000w">', "a-4000.jpg"),
        ('<img src="/a.jpg" srcset="/a2.jpg 2x">', "a.jpg"),
        ('<picture><source srcset="/p.webp"><img alt="C"></picture>', "p.webp"),
        ('<picture><source data-srcset="/p.webp 1x"><img src="data:,"></picture>', "p.webp"),
        ('<picture><source srcset="/p.webp"><img src="/p.jpg"></picture>', "p.jpg"),
        ('<picture><source srcset="/p.webp"></picture>', "p.webp"),
        ('<p>a</p><noscript><img src="/n.jpg"></noscript>', "n.jpg"),
        ('<img class="lazy" src="data:,"><noscript><img src="/n.jpg"></noscript>', "n.jpg"),
        ('<img src="/blank.gif"><noscript><img src="/n.jpg"></noscript>', "n.jpg"),
        ('<img src="/blank.gif" data-echo="/e.jpg">', "e.jpg"),
        ('<img src="/img/spacer-1.png?v=2" file="/e.webp">', "e.webp"),
        ('<img data-cfsrc="/c" style="display:none"><noscript><img src="/n.jpg"></noscript>', "c"),
        ('<img nitro-lazy-src="/n.avif" src="data:,">', "n.avif"),
        (
            '<img data-delayed-url="/d.jpg?w=2" src="data:,"><noscript><img src="/d.jpg"></noscript>',
            "d.jpg?w=2",
        ),
        ('<img src="/a.jpg" data-large="/b.jpg">', "a.jpg"),
        ('<img src="/spacer.png">', "spacer.png"),
        ('<img src="/s.jpg" alt="x.jpg" title="y.png">', "s.jpg"),
    ],
)
def test_a_late_picture_is_found_where_its_address_is(markup: str, name: str):
    assert picture(markup) == f"https://ada.example/{name}"


@pytest.mark.parametrize(
    ("markup", "read"),
    [
        ('<img src="https://s.w.org/a.png" alt="\u274c" class="wp-smiley">', "\u274c"),
        ('<img src="/a.png" alt="\U0001f680">', "\U0001f680"),
        ('<img class="emoji" alt=":tada:" src="/t.png">', ":tada:"),
        ('<img src="https://s0.wp.com/latex.php?latex=x" alt="x &lt; y^2" class="latex">', "x < y^2"),
        ('<img src="data:image/png;base64,AA" alt="a graph">', "a graph"),
        ('<img class="latex" alt="x > y" src="/a.png">', "x > y"),
        ('<img src="/a.png" alt="a graph">', ""),
        ('<img src="/a.png" alt="...">', ""),
        ('<img src="data:," data-src="/a.png" alt="a graph">', ""),
        ('<img src="/a.png" alt="a graph" class="latexed">', ""),
    ],
)
def test_a_picture_that_draws_letters_leaves_no_hole_in_its_sentence(markup: str, read: str):
    prepared = body_prepared(f"<p>It is {markup} indeed.</p>")
    assert html_to_text(prepared) == " ".join(f"It is {read} indeed.".split())
    assert ("<img" in prepared) is (read == "")


def test_what_only_holds_the_place_of_a_picture_is_not_shown():
    html, first = html_clean(body_prepared('<b>a</b><img src="/blank.gif"><img src="/b.jpg">'), base=BASE)
    assert html.count("<img") == 1 and first == "https://ada.example/b.jpg"


def test_a_picture_for_who_runs_no_script_does_not_come_twice():
    html, _ = html_clean(
        body_prepared('<p>a</p><img data-src="/a.jpg"><noscript><img src="/a.jpg"></noscript>'), base=BASE
    )
    assert html.count("<img") == 1
    assert words("<p>a</p><noscript>Please allow scripts.</noscript>") == "a"


def test_a_picture_after_a_picture_element_is_its_own():
    html, _ = html_clean('<picture><source srcset="/p.webp"><img></picture><img alt="x"><b>b</b>', base=BASE)
    assert html.count("<img") == 1


def test_a_frame_that_never_ends_takes_nothing_along():
    assert words('<p>safe<iframe src="https://a.example/"> <b>words</b></p>') == "safe words"


@pytest.mark.parametrize(
    "markup",
    ["<math>" * 20_000, "<noscript>" * 20_000, "</math><math>" * 9_000, "<img srcset=" + "a" * 9_000],
)
def test_no_markup_costs_more_than_it_is_long(markup: str):
    assert len(body_prepared(markup)) <= len(markup)
    html_clean(markup, base=BASE)


# --- Forms, boxes, objects, plain texts ----------------------------------------------------------------

ASKING = {
    "a newsletter": '<form action="/join"><p>Join!</p><input type="email"><button>Go</button></form>',
    "a search": "<FORM><label>Search</label><INPUT name=q></FORM>",
    "a button": "<button class='share'>Share this</button>",
    "a button with a picture": '<button type="button"><img src="/x.png" alt="Share">Share</button>',
    "a choice": "<select><option>Monthly</option><option>Yearly</option></select>",
    "a field": "<textarea>Your comment</textarea>",
    "a list": "<datalist id=x><option>Monthly</option></datalist>",
    "a reply": "<form method=post><textarea>Comment</textarea><select><option>A</option></select></form>",
}


@pytest.mark.parametrize("asked", ASKING.values(), ids=ASKING)
def test_words_of_forms_and_buttons_are_no_part_of_a_text(asked: str):
    prepared = body_prepared(f"<h2>Rain</h2><p>It rains.</p>{asked}<p>And on.</p>")
    html, _ = html_clean(prepared, base=BASE)
    assert html_to_text(prepared) == html_to_text(html) == "Rain\nIt rains.\nAnd on."


def test_a_form_around_an_article_leaves_the_article():
    article = f"<form><input type=hidden><p>{'rain ' * FORM_MAX_WORDS} and sun</p></form>"
    assert words(article).endswith("and sun")
    assert words("<form><p>A page of no questions.</p></form>") == "A page of no questions."
    assert words("<p>The &lt;button&gt; and &lt;/button&gt;.</p>") == "The <button> and </button>."
    assert words("<p>Before<button>never ends <p>and after</p>").endswith("and after")


def test_boxes_of_a_list_of_tasks_are_shown():
    tasks = (
        '<ul class="task-list"><li><input type="checkbox" checked disabled> Sow</li>'
        '<li><INPUT disabled type=checkbox>Reap</li><li><input checked="" type="checkbox"/> Eat</li></ul>'
    )
    assert [" ".join(line.split()) for line in words(tasks).splitlines()] == ["☑ Sow", "☐ Reap", "☑ Eat"]
    assert "☑" in html_clean(body_prepared(tasks), base=BASE)[0]


@pytest.mark.parametrize(
    ("markup", "href", "named"),
    [
        ('<object data="/a.pdf" type="application/pdf"></object>', "https://ada.example/a.pdf", ""),
        ('<object data="a.pdf"><p>No PDF here</p></object>', "https://ada.example/a.pdf", ""),
        ('<object data="/a.pdf" title="The map"/>', "https://ada.example/a.pdf", "The map"),
        (
            '<object data="/a.swf"><embed src="https://b.example/v.mp4"></object>',
            "https://b.example/v.mp4",
            "",
        ),
        ('<p>See <object data="/a.pdf"></object>.</p>', "https://ada.example/a.pdf", ""),
        ('<object><param name="x"><embed src="/a.pdf"></object>', "https://ada.example/a.pdf", ""),
    ],
)
def test_what_an_object_shows_is_a_link(markup: str, href: str, named: str):
    html, _ = html_clean(body_prepared(markup), base=BASE)
    assert f'href="{href}"' in html and (named or href.partition("://")[2]) in html
    assert "No PDF" not in html


@pytest.mark.parametrize("data", ["javascript:alert(1)", "data:text/html,x", "", "https://b@evil.example/"])
def test_an_object_that_leads_nowhere_is_no_link(data: str):
    assert "href" not in html_clean(f'<h2>x</h2><object data="{data}"></object>', base=BASE)[0]


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("One.\n\nTwo.", "<p>One.</p>\n<p>Two.</p>"),
        ("One.\n \t\nTwo,\nand on.", "<p>One.</p>\n<p>Two,<br>and on.</p>"),
        (
            "Say:\n\n    if x < 1:\n        y()\n\nEnd.",
            "<p>Say:</p>\n<pre>    if x &lt; 1:\n        y()</pre>\n<p>End.</p>",
        ),
        ("A list:\n- one\n  - two", "<p>A list:<br>- one<br>&nbsp;&nbsp;- two</p>"),
        ("a\tb\n\n\tc\nd", "<p>a   b</p>\n<p>&nbsp;&nbsp;&nbsp;&nbsp;c<br>d</p>"),
        ("<b>One.</b>\n\n&amp; two.", "<p>&lt;b&gt;One.&lt;/b&gt;</p>\n<p>&amp;amp; two.</p>"),
        ("Said in XML,\n      which is indented\n      throughout.\n    ", ""),
        ("Said,\n    indented:\n\n    - one", "<p>Said,<br>indented:</p>\n<p>- one</p>"),
        ("One line.", ""),
        ("One.\nTwo.\n", ""),
        ("\n\nOne.\n\n", ""),
        ("", ""),
    ],
)
def test_a_plain_text_keeps_its_blank_lines_and_its_indentation(text: str, shown: str):
    assert html_clean(plain_layout(text), base=BASE, plain=True)[0] == shown


def test_pictures_written_into_their_address_leave_room_for_the_words():
    long = f'<p><img src="data:image/png;base64,{"QUJD" * 200_000}">Words after it.</p>'
    assert len(body_prepared(long)) < 100 and words(long) == "Words after it."
    assert "base64,QUJD" in words(
        '<p>Write src="data:image/png;base64,QUJD" or url(data:a/b;base64,QUJD).</p>'
    )

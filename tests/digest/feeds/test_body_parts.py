"""What cleaning would leave out of an article: formulas, late pictures, frames that never end."""

import pytest

from digest.feeds.body_html import html_clean
from digest.feeds.body_parts import body_prepared
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
    ],
)
def test_a_late_picture_is_found_where_its_address_is(markup: str, name: str):
    assert picture(markup) == f"https://ada.example/{name}"


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

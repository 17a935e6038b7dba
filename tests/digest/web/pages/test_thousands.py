"""Whole numbers have the thousands separator of the page's language, wherever a text shows them."""

import pytest
from django.template import engines
from django.utils.translation import override

from digest.web.pages.item_parts import _Words
from ranking.language import thousands

TEXTS = {
    "value": "{% blocktranslate with unread=count %}{{ unread }} unread{% endblocktranslate %}",
    "plain": "{% blocktranslate %}{{ unread }} unread{% endblocktranslate %}",
    "counted": "{% blocktranslate count made=count %}{{ made }} digest{% plural %}{{ made }} digests"
    "{% endblocktranslate %}",
    "beside": "{% blocktranslate count one=count with shown=count %}{{ shown }} item{% plural %}"
    "{{ shown }} items{% endblocktranslate %}",
}


@pytest.mark.parametrize("text", TEXTS)
@pytest.mark.parametrize(("language", "words"), [("en", "12,345 "), ("de", "12.345 ")])
def test_a_text_of_a_page_separates_thousands(text: str, language: str, words: str):
    with override(language):
        page = engines["django"].from_string("{% load words %}" + TEXTS[text])
        assert page.render({"count": 12_345, "unread": 12_345}).startswith(words)


def test_a_text_of_one_takes_the_singular_and_names_stay_escaped():
    page = engines["django"].from_string("{% load words %}" + TEXTS["counted"])
    assert page.render({"count": 1}) == "1 digest"
    name = engines["django"].from_string(
        "{% load words %}{% blocktranslate count n=n %}{{ n }} of {{ name }}{% plural %}{{ n }} in {{ name }}"
        "{% endblocktranslate %}"
    )
    assert name.render({"n": 2_000, "name": "<b>"}) == "2,000 in &lt;b&gt;"


@pytest.mark.parametrize(("language", "words"), [("en", "1,234"), ("de", "1.234")])
def test_parts_of_rows_and_sentences_of_the_code_separate_them_too(language: str, words: str):
    with override(language):
        assert thousands(1_234) == words and thousands(999) == "999" and thousands(-1_234) == f"−{words}"
        also = ("also reported by %(sources)s other", "also reported by %(sources)s others")
        assert words in _Words().counted(*also, 1_234, sources=1_234)

"""Extracts: exact sentences of any text."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from digest.feedback.reasons import reasons_offline
from digest.summaries.grounding import grounding_of, whitespace_collapse
from digest.summaries.summarise import (
    READ_CHARS_MAX,
    SUMMARY_CHARS_MAX,
    extract_of,
    first_sentence,
    lead_of,
    sentences_of,
    summary_offline,
)

TEXT = (
    "Advertisement\n"
    "Dr. Ada Lind of St. Olav said on 3. May that the ferries would run all night. Nobody had expected that. "
    "The harbour council will pay for the night ferries until autumn, i.e. for five months. "
    "Ferries at night have long been asked for by nurses and by those who work in the harbour. "
    "The weather was fine and the band played on the quay.\n"
    "The post Night ferries appeared first on Harbour Post."
)


def test_sentences_end_where_sentences_end():
    assert sentences_of("It cost 3.5 million. Mr. Smith paid, e.g. in cash! Why? 今日は晴れ。明日は雨。") == [
        "It cost 3.5 million.",
        "Mr. Smith paid, e.g. in cash!",
        "Why?",
        "今日は晴れ。",
        "明日は雨。",
    ]


def test_the_extract_is_about_the_subject_of_the_text():
    found = extract_of("Night ferries for the harbour", TEXT)
    assert found and 1 <= len(found.sentences) <= 2
    assert "ferries" in found.text
    assert "appeared first" not in found.text and "Advertisement" not in found.text


def test_an_extract_cites_itself_and_is_grounded():
    made = summary_offline("Night ferries", TEXT)
    assert all(quote in whitespace_collapse(TEXT) for quote in made.citations)
    assert grounding_of(made.text, made.citations, title="Night ferries", text=TEXT).fault == ""


def test_an_extract_joins_torn_lines_and_begins_no_sentence_in_the_middle():
    torn = (
        "It should have been quite simple, but if I am here\nwriting of icons something went wrong.\n"
        "Icons\n\n(like those of every other site) are small pictures of the site."
    )
    found = extract_of("Icons are not hard", torn)
    whole = "It should have been quite simple, but if I am here writing of icons something went wrong."
    assert found and found.sentences == (whole,) and first_sentence(torn) == whole


def test_a_text_without_the_beginning_of_a_sentence_has_no_extract():
    assert extract_of("Icons", "and so the icons of all these sites went wrong again.") is None


def test_a_sentence_that_only_repeats_the_title_is_no_summary():
    title = "The harbour council keeps the ferries running"
    found = extract_of(title, f"{title}. It will pay for them until the autumn comes.")
    assert found and found.sentences == ("It will pay for them until the autumn comes.",)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "   \n",
        "Read more",
        "https://example.org/a/very/long/address/of/a/page",
        "Photo: A. Person",
        "★" * 50,
    ],
)
def test_a_text_without_usable_sentences_has_no_extract(text: str):
    assert extract_of("Title", text) is None
    assert summary_offline("Title", text).refusal == "NO_EVIDENCE"
    assert first_sentence(text) == ""


@given(st.text(max_size=3000), st.text(max_size=60))
def test_every_extract_is_short_and_exact(text: str, title: str):
    found = extract_of(title, text)
    if found is not None:
        assert 0 < len(found.text) <= SUMMARY_CHARS_MAX
        assert all(sentence in whitespace_collapse(text) for sentence in found.sentences)


@pytest.mark.parametrize("sign", [".", "!", "…", "。", "\n", " ", "_"])
def test_no_text_holds_the_others_back(sign: str):
    began = time.thread_time()
    summary_offline("Title", sign * 65_000)
    reasons_offline("Title", sign * 65_000)
    assert time.thread_time() - began < 0.5


def test_of_a_very_long_text_the_beginning_is_read_and_no_cut_sentence_is_shown():
    sentence = "The ferries of the harbour were counted again. "
    found = sentences_of(sentence * 2_000)
    assert set(found) == {sentence.strip()}
    assert READ_CHARS_MAX - len(sentence) < len(sentence) * len(found) <= READ_CHARS_MAX


@pytest.mark.parametrize(
    ("text", "lead"),
    [
        # A live report of the Guardian: its standfirst is lines without a full stop.
        (
            "Latest updates from the 8pm kick-off at Wembley\nClockwatch: keep up with all the matches\n"
            "8.13pm\nHe looks for the Eriksen Corner, but Jones comes in, sliding and blocking.",
            "Latest updates from the 8pm kick-off at Wembley … Clockwatch: keep up with all the matches … "
            "He looks for the Eriksen Corner, but Jones comes in, sliding and blocking.",
        ),
        # A quotation follows a sentence without its colon.
        (
            "It is a project of a photographer that seeks to\nThis project looks at the ferries of old.",
            "It is a project of a photographer that seeks to … This project looks at the ferries of old.",
        ),
        (
            "Advertisement\nPhoto: A. Hill\nNew ferries. They sail at night.",
            "New ferries. They sail at night.",
        ),
        ("Night ferries\nThey sail at night, from May.", "They sail at night, from May."),
        # Torn by line breaks.
        (
            "Welcome\nto the home of the night ferries. They sail.",
            "Welcome to the home of the night ferries. They sail.",
        ),
        (
            "The council asks its readers a question:\nWhat about the ferries?",
            "The council asks its readers a question: What about the ferries?",
        ),
        ("submitted by ada to ferries\n[link] [277 comments]", ""),
        ("", ""),
    ],
)
def test_a_lead_is_how_the_publisher_begins(text: str, lead: str):
    assert lead_of("Night ferries", text) == lead


@given(st.text(max_size=3000), st.text(max_size=60))
def test_every_lead_is_in_the_text_in_its_order(text: str, title: str):
    flat, at = whitespace_collapse(text), 0
    for part in lead_of(title, text).split(" … "):
        assert (at := flat.find(part.split("  ")[0][:20].rstrip(" …"), at)) >= 0


def test_an_extract_has_no_line_that_ends_in_the_middle_of_a_sentence():
    found = extract_of(
        "Origins of the night ferries",
        "The origins of the night ferries is a project that seeks to\nThis project looks at ferries of old. "
        "By looking at the origins of ferries, it challenges what the harbour says of its nights.",
    )
    assert found and "seeks to" not in found.text

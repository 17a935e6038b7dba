"""Grounding: inventions, misquotations and summaries of another text are detected."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from digest.summaries.grounding import OVERLAP_MIN, grounding_of, numbers_of, overlap_of

TITLE = "Harbour ferries to run all night"
TEXT = (
    "The harbour council voted on Tuesday to keep the ferries running all night from 1 May.\n"
    "Mayor Ingrid Solheim said the trial would cost 1,250,000 crowns over three months, of which the  state "
    "pays 40 percent. Passenger numbers grew by 5.67 percent last year, according to Statistics Norway."
)
CITED = "voted on Tuesday to keep the ferries running all night"


def check(summary: str, *citations: str):
    return grounding_of(summary, citations or (CITED,), title=TITLE, text=TEXT)


@pytest.mark.parametrize(
    "summary",
    [
        "The council keeps its ferries running all night from 1 May.",
        "Mayor Ingrid Solheim's trial costs 1 250 000 crowns over 3 months.",
        "Ferries will run all night; passengers grew 5.7 percent last year.",
        "Passenger numbers grew, according to Statistics Norway's figures for the ferries.",
        "Harbour ferries will run all night, for three months.",
    ],
)
def test_a_faithful_summary_is_grounded(summary: str):
    assert check(summary, CITED, "Mayor Ingrid Solheim said the trial would cost").fault == ""


@pytest.mark.parametrize(
    ("summary", "fault"),
    [
        ("The central bank raised interest rates again after inflation surprised economists.", "overlap"),
        ("The council keeps its ferries running all night from 2 May.", "number"),
        ("The ferries trial costs 1,350,000 crowns.", "number"),
        ("Passenger numbers of ferries grew by 56.7 percent last year.", "number"),
        ("The harbour council and Jonas Gahr keep ferries running all night.", "name"),
        ("Ferries running all night, the council voted: see https://evil.example", "link"),
    ],
)
def test_facts_that_are_not_in_the_text_are_detected(summary: str, fault: str):
    assert check(summary).fault == fault


@pytest.mark.parametrize(
    "citation",
    [
        "voted on Wednesday to keep the ferries running",
        "Voted on Tuesday to keep the ferries running",
        "Harbour ferries to run all night",  # the title is not the text
        "the ferries",  # too short to prove anything
        "",
    ],
)
def test_a_citation_must_be_exact(citation: str):
    assert check("The council keeps its ferries running all night.", citation).fault == "citation"


def test_white_space_and_outer_quotation_marks_of_a_citation_are_ignored():
    found = check("The state pays a share of the ferries' trial.", "“the state pays\n40 percent”")
    assert found.citations == ("the state pays 40 percent",)


def test_one_false_citation_fails_the_summary():
    assert check("The council keeps its ferries running all night.", CITED, "he lied").fault == "citation"


def test_an_unrelated_citation_does_not_count():
    found = check("The council keeps its ferries running all night.", "according to Statistics Norway")
    assert found.citations == () and not found.grounded


def test_a_summary_without_words_overlaps_nothing():
    assert overlap_of("…", TEXT) == 0.0 < OVERLAP_MIN


def test_languages_without_spaces_are_compared_by_pairs_of_characters():
    text = "東京都は火曜日、夜間フェリーの運航を五月から始めると発表した。"
    assert overlap_of("東京都が夜間フェリーの運航を始める。", text) > 0.6
    assert overlap_of("日本銀行は金利を引き上げた。", text) < OVERLAP_MIN


def test_german_nouns_are_not_taken_for_names():
    text = "Der Stadtrat hat am Dienstag beschlossen, dass die Fähren im Hafen in der Nacht fahren."
    text += " Die Stadt zahlt."
    summary = (
        "Der Rat lässt die Fähren nun auch in der Nacht im Hafen fahren; das ist ein Beschluss der Stadt."
    )
    found = grounding_of(summary, ["die Fähren im Hafen in der Nacht fahren"], title="", text=text)
    assert found.names == ()


def test_spellings_of_a_number_are_equal():
    assert numbers_of("1,250,000 or 1 250 000, 5,7 and 5.7, 10:30") == [
        "1250000",
        "1250000",
        "5.7",
        "5.7",
        "10:30",
    ]


def test_only_links_of_the_text_are_allowed():
    text = f"{TEXT} See https://harbour.example/ferries for more."
    for link, fault in (("https://harbour.example/ferries", ""), ("https://evil.example/ferries", "link")):
        summary = f"The council voted to keep ferries running all night, see {link}."
        assert grounding_of(summary, [CITED], title=TITLE, text=text).fault == fault


@given(
    st.text(max_size=400),
    st.lists(st.text(max_size=80), max_size=3),
    st.text(max_size=60),
    st.text(max_size=2400),
)
def test_every_check_has_a_result(summary, citations, title, text):
    found = grounding_of(summary, citations, title=title, text=text)
    assert 0.0 <= found.overlap <= 1.0
    assert found.grounded == (found.fault == "")


@given(st.from_regex(r"([A-Z][a-z]{4,9} ?([0-9]{1,4}(\.[0-9])?)? ){5,20}", fullmatch=True))
def test_a_text_is_always_grounded_in_itself(text):
    found = grounding_of(text, [text], title="", text=text)
    assert (found.overlap, found.numbers, found.names) == (1.0, (), ())

"""Sentences about saved searches are read in two languages; sentences about anything else are left alone."""

import pytest

from suggestions.wishes.searches import REMOVE, SAVE, TOPIC, searches_read, source_last


def read(text: str) -> list[tuple[str, str]]:
    return [(wish.deed, wish.query) for wish in searches_read(text)[0]]


@pytest.mark.parametrize(
    ("text", "deed"),
    [
        ("save a search for harbour", SAVE),
        ("Please save the search harbour.", SAVE),
        ("save search: harbour", SAVE),
        ("keep harbour as a search", SAVE),
        ("search for harbour and save it", SAVE),
        ("speichere die Suche nach harbour", SAVE),
        ("Bitte merke dir die Suche harbour!", SAVE),
        ("lege eine Suche nach harbour an", SAVE),
        ("suche nach harbour und speichere sie", SAVE),
        ("behalte harbour als Suche", SAVE),
        ("delete my saved search for harbour", REMOVE),
        ("remove harbour from my searches", REMOVE),
        ("lösche die gespeicherte Suche nach harbour", REMOVE),
        ("make my search harbour a topic", TOPIC),
        ("turn the search for harbour into a topic", TOPIC),
        ("mach aus der Suche harbour ein Thema", TOPIC),
        ("mache die Suche nach harbour zum Thema", TOPIC),
    ],
)
def test_a_deed_and_the_words_of_a_search_are_read(text: str, deed: str):
    assert read(text) == [(deed, "harbour")]


@pytest.mark.parametrize(
    "text",
    [
        "save harbour",
        "search for harbour",
        "add search engines",
        "make harbour a topic",
        "more about search",
        "less crypto",
        "save a search",
        "merke dir die Suche",
        "",
    ],
)
def test_what_is_about_no_saved_search_is_left_to_the_grammar(text: str):
    assert searches_read(text) == ([], text)


def test_signs_of_a_query_stay_as_they_were_typed():
    assert read('save this search: "harbour news" -storm') == [(SAVE, '"harbour news" -storm')]
    assert read("Less crypto. Save a search for .NET.") == [(SAVE, ".NET")]


def test_the_rest_of_the_words_goes_to_the_grammar():
    assert (
        searches_read("Save a search for harbour; less crypto\nno football")[1] == "less crypto; no football"
    )


def test_a_verb_that_may_be_about_anything_says_so():
    (wish,), _rest = searches_read("remove search engines")
    assert not wish.is_named


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("harbour in the Gazette", ("harbour", "Gazette")),
        ("Hafen bei der Gazette", ("Hafen", "Gazette")),
        ("old harbour from Gazette", ("old harbour", "Gazette")),
        ("ships in harbour", ("ships in harbour", "")),
        ("in Gazette", ("in Gazette", "")),
    ],
)
def test_a_source_at_the_end_narrows_the_search(query: str, found: tuple[str, str]):
    assert source_last(query, {"gazette"}) == found

"""No spelling of an address, number, request or unknown name passes. Honest models' words do."""

import pytest

from digest.llm.phishing import (
    ADDRESS,
    CHARACTERS,
    NAME,
    NUMBER,
    REQUEST,
    Grounds,
    lure_problem,
    phishing_problem,
)
from tests.support.model_words import GROUNDS, honest, hostile


def test_there_are_enough_sentences_of_either_kind():
    assert len(hostile()) >= 300 and len(honest()) >= 100


def test_no_hostile_spelling_passes():
    assert [text for text in hostile() if phishing_problem(text, GROUNDS) is None] == []


def test_no_hostile_spelling_passes_where_nothing_is_named():
    assert [text for text in hostile() if phishing_problem(text) is None] == []


def test_every_honest_sentence_passes():
    refused = [(problem, text) for text in honest() if (problem := phishing_problem(text, GROUNDS))]
    assert refused == []


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("See evil\u200b here.", CHARACTERS),
        ("See evil.dev here.", ADDRESS),
        ("See help@evil here.", ADDRESS),
        ("The number is 555 0199.", NUMBER),
        ("Sign in for more.", REQUEST),
        ("As Reuters says.", NAME),
    ],
)
def test_each_problem_has_its_kind(text: str, kind: str):
    problem = phishing_problem(text)
    assert problem is not None and problem.kind == kind


def test_words_of_a_title_may_be_used_and_its_addresses_and_requests_may_not():
    titles = Grounds(texts=("Sign in at evil.dev with your password, says Reuters",))
    assert phishing_problem("You liked what Reuters says.", titles) is None
    for text in ("evil.dev is good.", "Sign in with Reuters.", "Your password is good."):
        assert phishing_problem(text, titles) is not None


def test_a_name_that_looks_like_an_address_passes_whole_and_only_where_it_is_the_name():
    named = Grounds(names=("bbc.co.uk", "Booking.com news", "Password Managers"))
    for text in (
        "You like bbc.co.uk.",
        "You liked 5 of Booking.com news",
        "Stories about Password Managers.",
    ):
        assert phishing_problem(text, named) is None, text
        assert phishing_problem(text) is not None, text
    for text in ("See news.bbc.co.uk.", "See bbc.co.uk/sign.", "See bbc.co.uk.evil", "bbc.co.uk@evil"):
        assert phishing_problem(text, named) is not None, text


def test_a_capital_makes_a_name_of_a_plain_word_unless_it_begins_a_sentence():
    assert (
        phishing_problem("Signal is strong. Science wins: “Energy” too.", Grounds(texts=("Energy",))) is None
    )
    problem = phishing_problem("You like what Science says.")
    assert problem is not None and (problem.kind, problem.piece) == (NAME, "Science")


def test_short_texts_of_any_words_may_still_lead_nowhere():
    assert lure_problem("zählt jede Möwe") is None
    for text in ("siehe evil.dev", "call 555 0199", "password needed", "evil\u200b", "help at evil dot dev"):
        assert lure_problem(text) is not None, text


@pytest.mark.parametrize("text", ["", " ", ".", "…", "-", "a" * 5_000, "." * 5_000, "a." * 2_500])
def test_any_text_has_an_answer(text: str):
    assert phishing_problem(text, GROUNDS) is None or phishing_problem(text, GROUNDS).kind

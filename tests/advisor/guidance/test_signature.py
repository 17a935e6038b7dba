"""Texts that say the same have one signature, and words are compared in one form."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from advisor.guidance.admission import SIGNED_CHARS, stem, text_signature, tokens_of


def test_case_punctuation_and_figures_make_no_other_text() -> None:
    assert text_signature("You accepted 4 of 5 topics.") == text_signature("you ACCEPTED 12 of 30, topics!")
    assert text_signature("It costs 0.5") == text_signature("it costs 1,25")


def test_another_word_is_another_text() -> None:
    assert text_signature("Add topics this reader likes") != text_signature("Add sources this reader likes")
    assert text_signature("boost_source") == text_signature("boost source")


def test_only_the_beginning_counts() -> None:
    start = "word " * (SIGNED_CHARS // 5)
    assert text_signature(f"{start} one end") == text_signature(f"{start} another")
    assert text_signature(start[:-15]) != text_signature(start)


@given(st.text(), st.text())
def test_any_text_has_a_signature_that_spacing_does_not_change(left: str, right: str) -> None:
    signed = text_signature(f"{left} {right}")
    assert len(signed) == 40
    assert signed == text_signature(f"  {left}   {right}\n")


def test_tools_and_plurals_are_words_in_one_form() -> None:
    assert tokens_of("Boost_topic Electric CARS, cars") == ("boost", "topic", "electric", "car", "car")


@pytest.mark.parametrize(
    ("words", "form"),
    [
        ("rated rating", "rat"),
        ("changed changing change", "chang"),
        ("stopped stopping stop", "stop"),
        ("imported imports", "import"),
        ("bring", "bring"),
        ("need", "need"),
        ("red", "red"),
        ("falling", "fall"),
        ("zeitung", "zeitung"),
    ],
)
def test_a_verb_has_one_form(words: str, form: str) -> None:
    assert set(tokens_of(words)) == {form}


@given(st.text(alphabet="abcdeiglnsu", max_size=12))
def test_a_stem_is_the_beginning_of_its_word(word: str) -> None:
    assert word.startswith(stem(word))
    assert bool(stem(word)) is bool(word)

"""Advice gets in and garbage does not, in sentences the rules were shaped on and in as many they were not."""

import pytest

from advisor.evaluation.guidance_phrasings import ADVICE, CHECKED, SECTIONS, SHAPED, half_of, phrasings
from advisor.guidance.distilling import distil
from advisor.guidance.shapes import shapeless
from advisor.guidance.substance import hollow, overlap
from tests.advisor.guidance.memories import NOW
from tests.advisor.guidance.test_distilling import bare

ADVISED = "Leave the weight of reuters.com alone, because most of it sits behind a wall."
# Of each half at most so many sentences are judged wrongly: garbage let in, or advice refused.
WRONG = {
    SHAPED: {"injection": 0, "platitude": 0, "edge": 0, "noise": 0, "empty": 0, ADVICE: 0},
    CHECKED: {"injection": 0, "platitude": 2, "edge": 0, "noise": 1, "empty": 0, ADVICE: 3},
}


def admitted(text: str) -> bool:
    """With the columns that garbage claims as well."""
    claimed = bare(
        text, tool="write_suggestion", suggestion_type="reduce_source", target_key="reuters.com", evidence=2
    )
    return distil(claimed, now=NOW, known=()).admitted


@pytest.mark.parametrize("half", [SHAPED, CHECKED], ids=["shaped", "checked"])
@pytest.mark.parametrize("section", SECTIONS)
def test_hardly_a_sentence_is_taken_for_what_it_is_not(section: str, half: int) -> None:
    wrong = [text for text in half_of(section, half) if admitted(text) is not (section == ADVICE)]
    assert len(wrong) <= WRONG[half][section]


@pytest.mark.parametrize(("half", "let_in"), [(SHAPED, 0), (CHECKED, 2)], ids=["shaped", "checked"])
def test_an_order_is_found_behind_good_advice(half: int, let_in: int) -> None:
    assert admitted(ADVISED)
    assert sum(admitted(f"{ADVISED} {order}") for order in half_of("injection", half)) <= let_in
    assert sum(admitted(f"{order} {ADVISED}") for order in half_of("injection", half)) <= let_in


def test_the_halves_share_no_sentence_and_hold_as_much_of_each_sort() -> None:
    for section, lines in phrasings().items():
        shaped, checked = half_of(section, SHAPED), half_of(section, CHECKED)
        assert not set(shaped) & set(checked)
        assert len(shaped) + len(checked) == len(lines) >= 36
        assert abs(len(shaped) - len(checked)) <= 1


@pytest.mark.parametrize(
    "text",
    [
        "Повысить вес источника после трёх оценок.",
        "Wenn der Leser nicht mehr will, dann ist das so.",
        "the weight the weight the weight the weight",
        "L o w e r it now",
        "Because most of the",
        "weight source topic thumb digest reader",
        "…",
    ],
)
def test_what_is_no_english_sentence_has_no_shape(text: str) -> None:
    assert shapeless(text)


@pytest.mark.parametrize(
    "text",
    ["Lower reuters.com.", "Propose “Повысить вес” as a topic.", "Spare reuters.com a reduction: 3/5."],
)
def test_short_advice_and_foreign_names_in_quotes_have_one(text: str) -> None:
    assert not shapeless(text, "reuters.com")


def test_a_reason_that_says_the_same_again_is_none() -> None:
    assert overlap("proper handling gives proper results", "handle each topic properly")
    assert not overlap("most of it sits behind a wall", "lower it")


def test_naming_the_target_alone_makes_no_text_worth_more() -> None:
    assert hollow("Treat reuters.com with great care.", "reuters.com")
    assert not hollow("Lower reuters.com after three thumbs down.", "reuters.com")

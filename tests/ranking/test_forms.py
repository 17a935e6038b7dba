"""The settings form: what is typed becomes a config, and what was typed on a stale page is not lost."""

import pytest

from ranking.config_body import body_default
from ranking.forms import ConfigForm, form_values, values_merged

PLAIN = {
    "version": "3",
    "topics": "",
    "keyword_boosts": "",
    "recency_half_life_hours": "24",
    "ai_score_alpha": "0.1",
}


def form(**typed: str) -> ConfigForm:
    checked = ConfigForm({**PLAIN, **typed})
    checked.is_valid()
    return checked


def test_only_touched_weights_and_pins_are_taken():
    typed = {
        **{"weight:a": " 1.3 ", "was:a": "1.00"},
        **{"weight:b": "0.90", "was:b": "0.90"},
        **{"weight:c": " ", "was:c": "1.20"},
        **{"weight:d": ""},
        **{"pin:a": "locked", "pin:b": ""},
    }
    checked = form(**typed)
    assert checked.is_valid()
    assert checked.cleaned_data["source_weights"] == {"a": 1.3, "c": None}
    assert checked.cleaned_data["pins"] == {"a": "locked"}
    assert checked.typed_weights() == {"a": " 1.3 ", "c": " "}
    assert checked.typed_pins() == {"a": "locked"}
    assert checked.cleaned_data["version"] == 3


@pytest.mark.parametrize("weight", ["0.1", "2", "2.0"])
def test_the_bounds_of_a_weight_can_be_typed(weight):
    checked = form(**{"weight:a": weight})
    assert checked.is_valid() and checked.cleaned_data["source_weights"] == {"a": float(weight)}


def test_each_wrong_weight_is_named_by_its_source_and_the_page_is_told_once():
    checked = form(**{"weight:a": "9", "weight:b": "lots", "weight:c": "0.09", "weight:d": "1"})
    assert checked.weight_errors == {
        "a": "The weight must lie between 0.1 and 2.0; you gave 9.",
        "b": "The weight must be a number such as 1.2; you gave “lots”.",
        "c": "The weight must lie between 0.1 and 2.0; you gave 0.09.",
    }
    assert checked.non_field_errors() == ["A weight cannot be saved as it was typed."]
    assert form().weight_errors == {} and form().is_valid()


def test_a_pin_names_its_target_and_the_choices_where_it_is_none():
    checked = form(**{"pin:" + "x" * 50: "loved", "pin:" + "y" * 120: "open"})
    words = "can be one of: May be suggested, Leave as it is, Never suggest."
    assert checked.non_field_errors() == [f"“{'x' * 40}” {words}"]


@pytest.mark.parametrize(
    ("typed", "boosts"),
    [
        ("rust: 5\n\n  go :-5", {"rust": 5.0, "go": -5.0}),
        ("a: b: 1", {"a: b": 1.0}),
        ("Rust: 1\nRUST: 1", {"Rust": 1.0}),
    ],
)
def test_a_boost_is_a_word_and_a_number_a_line(typed, boosts):
    assert form(keyword_boosts=typed).cleaned_data["keyword_boosts"] == boosts


@pytest.mark.parametrize(
    ("typed", "words"),
    [
        (" rust ", "“rust” should read like “rust: 0.5”, the number with a point, from −5 to 5."),
        (": 1", "“: 1” should read like"),
        ("rust: 5.1", "“rust: 5.1” should read like"),
        ("rust: x", "should read like"),
        (" !!: 1 ", "“!!: 1” has no letter, number or sign"),
        ("rust: 1\nrust: 2", "“rust” is one word with two boosts, 1 and 2. Keep one of the lines."),
        ("car: 1\nCars: 2", "“car” and “Cars” are one word with two boosts, 1 and 2."),
    ],
)
def test_a_line_that_is_no_boost_is_named(typed, words):
    (error,) = form(keyword_boosts=typed).errors["keyword_boosts"]
    assert words in error


def test_topics_are_lines_that_say_something():
    assert form(topics=" rust \n\n electric  cars").cleaned_data["topics"] == ["rust", "electric cars"]
    (error,) = form(topics="rust\n ?! ").errors["topics"]
    assert error == "“?!” has no letter, number or sign that a text could have."


def test_the_numbers_have_bounds_and_the_version_is_one():
    ok = (
        form(recency_half_life_hours="1", ai_score_alpha="0"),
        form(recency_half_life_hours="2160", ai_score_alpha="1", version="0"),
    )
    assert all(checked.is_valid() for checked in ok)
    wrong = form(recency_half_life_hours="0.9", ai_score_alpha="1.1", version="-1")
    assert set(wrong.errors) == {"recency_half_life_hours", "ai_score_alpha", "version"}


def test_after_a_stale_save_stands_what_was_typed_where_it_was_typed_and_what_came_meanwhile_elsewhere():
    base = body_default() | {"topics": ["rust", "go"], "keyword_boosts": {"hype": -1.0}}
    current = base | {"topics": ["harbours"], "recency_half_life_hours": 48.0, "ai_score_alpha": 0.25}
    typed = form_values(base, 3) | {
        "version": "3",
        "topics": " rust\r\ngo\r\n ",
        "keyword_boosts": "hype: -2\r\nx: 1 ",
    }
    assert values_merged(typed, base, current, 5) == {
        "version": 5,
        "topics": "harbours",
        "keyword_boosts": "hype: -2\nx: 1",
        "recency_half_life_hours": "48",
        "ai_score_alpha": "0.25",
    }
    emptied = {name: said for name, said in typed.items() if name != "topics"}
    assert values_merged(emptied, base, current, 5)["topics"] == "", "a field emptied was meant so"

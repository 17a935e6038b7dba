"""Ranking in words."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ranking.config_body import effective_body
from ranking.config_words import (
    body_words,
    boost_lines,
    cause_words,
    change_words,
    learned_words,
    weight_parts_words,
    weight_words,
)
from ranking.entities import Config, EffectiveConfig
from ranking.language import times


@pytest.mark.parametrize(
    ("weight", "words"),
    [
        (0.1, "much less than usual"),
        (0.7, "less than usual"),
        (0.95, "a bit less than usual"),
        (1.0, "as usual"),
        (1.15, "a bit more than usual"),
        (1.3, "more than usual"),
        (2.0, "much more than usual"),
    ],
)
def test_weights_have_words(weight, words):
    assert weight_words(weight) == words


@given(st.floats(0.1, 2.0), st.floats(0.1, 2.0))
def test_a_higher_weight_never_sounds_lower(one, other):
    sizes = ("much less", "less", "a bit less", "as", "a bit more", "more", "much more")
    order = [f"{words} usual" if words == "as" else f"{words} than usual" for words in sizes]
    low, high = sorted((one, other))
    assert order.index(weight_words(low)) <= order.index(weight_words(high))


@pytest.mark.parametrize("way", [0.01, 0.02, 0.03, 0.15, 0.16, 0.3, 0.5, 0.51, 0.9])
def test_as_far_below_the_usual_as_above_it_sounds_as_far(way):
    assert weight_words(1 - way) == weight_words(1 + way).replace("more", "less")


@pytest.mark.parametrize(
    ("field", "target", "before", "after", "words"),
    [
        ("topics", "rust", False, True, "“rust” joined your interests"),
        ("topics", "rust", True, False, "“rust” left your interests"),
        ("source_weights", "gazette.example", 1.0, 1.3, "Gazette: as usual → more than usual"),
        ("source_weights", "gazette.example", 1.3, 1.5, "Gazette: more than usual, more than before"),
        ("source_weights", "gazette.example", 1.0, 1.0, "Gazette: stays as usual"),
        (
            "source_weights",
            "gazette.example",
            1.1,
            1.15,
            "Gazette: a bit more than usual, a bit more than before",
        ),
        ("source_weights", "gazette.example", 0.7, 0.6, "Gazette: less than usual, a bit less than before"),
        ("source_weights", "gazette.example", 0.9, 0.5, "Gazette: a bit less than usual → less than usual"),
        ("keyword_boosts", "gossip", None, -0.8, "Less about “gossip” (none → −0.8)"),
        ("recency_half_life_hours", "", 24.0, 36.0, "News stays 1.5 times as long"),
        ("avoided", "gazette.example", False, True, "“Gazette” is never to be suggested"),
        ("locked", "rust", True, False, "“rust” opened to suggestions"),
    ],
)
def test_changes_read_as_sentences(field, target, before, after, words):
    change = {"field": field, "target": target, "before": before, "after": after}
    assert change_words(change, {"gazette.example": "Gazette"}) == words


def test_going_back_names_where_to():
    assert cause_words("revert", "3") == "You went back to version 3"
    assert cause_words("revert", "0") == "You went back to the defaults"
    assert cause_words("accept", "17") == "You accepted a suggestion"


def test_the_names_of_weights_are_for_the_readers_own_setting():
    assert weight_parts_words(1.0, "") == "as usual"
    assert weight_parts_words(1.0, times("2.00")) == f"your setting: as usual; your ratings: {times('2.00')}"


def test_a_learned_step_says_why():
    words = learned_words(1.0, 1.12, "liked_more_than_usual")
    assert words.startswith(
        "×\N{NO-BREAK SPACE}1.00 → ×\N{NO-BREAK SPACE}1.12: you found it useful more often"
    )


def test_boosts_are_one_a_line():
    assert boost_lines({"rust": 0.5, "gossip": -1.0}) == "rust: more\ngossip: −1"


@pytest.mark.parametrize(
    ("share", "words"), [(0.1, "usual: between near equals"), (0.5, "more: like my favourites"), (0.3, "0.3")]
)
def test_likeness_is_told_in_the_words_of_settings(share: float, words: str):
    settings = effective_body(EffectiveConfig(Config(ai_score_alpha=share)))
    assert dict(body_words(settings))["Likeness to what you found useful"] == words

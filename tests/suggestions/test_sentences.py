"""Suggestions in words."""

import pytest

from suggestions.planner.hypotheses import MEANING
from suggestions.proposals import Preview, PreviewItem
from suggestions.sentences import (
    because,
    bounds,
    confidence_words,
    error_words,
    evidence_words,
    forecast_words,
    headline,
    move_sign,
    move_words,
    others_words,
    refusal_words,
    sentence,
    today_words,
    weight_step,
)


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        ("boost_source", "Show me more from Reuters"),
        ("reduce_source", "Show me less from Reuters"),
        ("add_topic", "Add “Reuters” to your interests"),
        ("remove_topic", "Remove “Reuters” from your interests"),
    ],
)
def test_headlines_say_what_is_asked(kind, words):
    assert headline(kind, "Reuters") == words


def test_topics_get_a_sentence_and_sources_a_step_in_words():
    assert "becomes one of your topics" in sentence("add_topic", "rust")
    assert sentence("boost_source", "Reuters") == ""
    assert weight_step(1.0, "1.15") == ("as usual", "a bit more than usual")
    assert weight_step(1.1, "1.15") == (
        "a bit more than usual",
        "a bit more than usual, a bit more than before",
    )
    assert weight_step("", "rust") == ("", "rust")


@pytest.mark.parametrize(
    ("kind", "current", "low", "high"),
    [
        ("boost_source", 1.0, "1.00", "1.30"),
        ("boost_source", 1.9, "1.90", "2.00"),
        ("reduce_source", 1.0, "0.70", "1.00"),
        ("reduce_source", 0.2, "0.10", "0.20"),
    ],
)
def test_another_amount_stays_near_the_current_one_and_in_the_same_direction(kind, current, low, high):
    found = bounds(kind, current)
    assert (found.low, found.high) == (low, high)


@pytest.mark.parametrize(
    ("gain", "low", "high", "words"),
    [
        (None, None, None, "Not tested yet"),
        (0.04, 0.01, 0.08, "would rank higher"),
        (-0.04, -0.08, -0.01, "would rank lower"),
        (0.04, -0.01, 0.08, "a little higher, which may be chance"),
        (-0.02, -0.06, 0.01, "a little lower, which may be chance"),
        (0.0, -0.001, 0.001, "about the same"),
    ],
)
def test_a_forecast_never_promises_more_than_was_measured(gain, low, high, words):
    assert words in forecast_words({"ndcg_gain": gain, "ndcg_low": low, "ndcg_high": high})


@pytest.mark.parametrize(
    ("others", "words"), [(0.2, "like it more than usual"), (-0.2, "like it less than usual"), (0.0, "")]
)
def test_what_others_think_is_said_where_it_counts(others, words):
    said = others_words({"p_helpful": 0.9, "others": others})
    assert words in said and ("Other readers" in said) is bool(others)


@pytest.mark.parametrize(
    ("level", "said"), [("high", "We are fairly sure"), ("medium", "We think so"), ("low", "We are not sure")]
)
def test_confidence_says_what_it_is_worth(level: str, said: str):
    words = confidence_words(level)
    assert words.startswith(f"{said}: ") and MEANING[level] in words


@pytest.mark.parametrize(
    ("enters", "leaves", "moves", "words"),
    [
        (0, 0, 0, "nothing moves"),
        (0, 0, 15, "the same articles, 15 moved"),
        (1, 1, 14, "1 new, 1 gone, 14 moved"),
        (1, 0, 0, "1 new, 0 gone, 0 moved"),
    ],
)
def test_what_today_would_look_like_is_told_in_numbers(enters: int, leaves: int, moves: int, words: str):
    item = PreviewItem(1, "Title", "gazette.example", None, 1)
    preview = Preview((item,) * enters, (item,) * leaves, (item,) * moves)
    assert today_words(preview) == f"On today’s page: {words}."


def test_moves_say_where_from_and_where_to():
    assert move_words(None, 7) == "Comes in at 7"
    assert move_words(30, None) == "Drops out from 30"
    assert move_words(9, 4) == "Up from 9 to 4"
    assert move_words(4, 9) == "Down from 4 to 9"
    assert [move_sign(*move) for move in ((None, 7), (9, 4), (4, 9), (30, None))] == ["↑", "↑", "↓", "↓"]


def test_a_reason_ends_its_headline():
    reason = "You liked 1 of 9 articles from Medscape, against 43 of 99 elsewhere."
    assert because(reason) == ", since you liked 1 of 9 such articles, against 43 of 99 elsewhere."
    assert because("You liked 1 of 1 article by Ann.") == ", since you liked 1 of 1 such article."
    assert because("You liked 8 of 10.") == ", since you liked 8 of 10."
    assert because("Gazette was liked.") == ". Gazette was liked."


@pytest.mark.parametrize(
    ("code", "words"),
    [
        ("already_resolved", "Already answered"),
        ("invalid_weight", "Couldn’t apply this change"),
        ("missing_target_key", "This suggestion is no longer valid"),
        ("not_found", "Suggestion not found"),
        ("something_new", "Something went wrong. Please try again."),
    ],
)
def test_errors_have_words(code, words):
    assert error_words(code) == words


def test_details_follow_only_where_the_reader_can_act_on_them():
    assert refusal_words("invalid_weight", "Too much.") == "Couldn’t apply this change. Too much."
    assert refusal_words("already_resolved", "You said yes.") == "Already answered. You said yes."


def test_the_items_shown_are_called_examples_not_all_that_was_counted():
    assert evidence_words(0) == "No article is shown as evidence."
    assert evidence_words(1) == "1 of the articles you rated is shown as evidence."
    assert evidence_words(5) == "5 of the articles you rated are shown as evidence."


def test_high_and_medium_confidence_do_not_read_alike():
    high, medium = MEANING["high"], MEANING["medium"]
    assert "agree" in high and "2 in 3" in medium
    assert "9 in 10" not in high + medium

"""Suggestions in words."""

import pytest

from suggestions.planner.hypotheses import MEANING
from suggestions.proposals import Preview, PreviewItem, WeekEffect, WeekItem
from suggestions.sentences import (
    because,
    bounds,
    checked_words,
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
    since_words,
    ten_words,
    today_words,
    week_words,
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


def test_a_preview_says_that_today_is_older_than_its_places_if_it_moves_something():
    item = PreviewItem(1, "Title", "gazette.example", None, 1)
    since = since_words(Preview((item,), (), (), since=7))
    assert since.endswith("Your latest ratings and new articles alone change 7 places.")
    assert since_words(Preview((item,), (), ())) == since_words(Preview((), (), (), since=7)) == ""


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


@pytest.mark.parametrize(
    ("found", "withdrawn", "words"),
    [
        (
            {"liked": 5, "rated": 6, "others_liked": 0, "others_rated": 1, "p_before": 0.6, "p_after": 0.8},
            False,
            "You found 5 of 6 headlines from Gazette useful, and 0 of 1 other. So we are surer now.",
        ),
        (
            {"liked": 3, "rated": 6, "others_liked": 2, "others_rated": 2, "p_before": 0.6, "p_after": 0.5},
            False,
            "You found 3 of 6 headlines from Gazette useful, and 2 of 2 others. So we are less sure now.",
        ),
        (
            {"liked": 1, "rated": 4, "others_liked": 0, "others_rated": 0, "p_before": 0.6, "p_after": 0.3},
            True,
            "You found 1 of 4 headlines from Gazette useful. That does not fit this suggestion, so we "
            "withdraw it.",
        ),
        (
            {"liked": 4, "rated": 4, "p_before": 0.6, "p_after": 0.6},
            False,
            "You found 4 of 4 headlines from Gazette useful. So we are as sure as before.",
        ),
    ],
)
def test_a_check_says_what_the_answers_were_and_what_follows(found: dict, withdrawn: bool, words: str):
    assert checked_words(found, label="Gazette", of_source=True, withdrawn=withdrawn) == words
    about = checked_words(found, label="Gazette", of_source=False, withdrawn=withdrawn)
    assert about == words.replace("from Gazette", "about Gazette")


@pytest.mark.parametrize(
    ("sources", "days", "words"),
    [
        (
            ["a"],
            7,
            "Of the last 7 days’ articles, 1 would have come into the first ten of a page, from Gazette.",
        ),
        (
            ["a", "a"],
            7,
            "Of the last 7 days’ articles, 2 would have come into the first ten of a page, all from Gazette.",
        ),
        (
            ["a", "b"],
            28,
            "Of the last 28 days’ articles, 2 would have come into the first ten of a page, "
            "1 of them from Gazette.",
        ),
        (["b"], 7, "Of the last 7 days’ articles, 1 would have come into the first ten of a page."),
        ([], 7, ""),
    ],
)
def test_a_card_says_of_which_source_the_articles_are_that_it_counts(
    sources: list[str], days: int, words: str
):
    effect = WeekEffect(enters=tuple(WeekItem(n, "A", key) for n, key in enumerate(sources)), days=days)
    assert week_words(effect, source="a", name="Gazette") == words
    assert "Gazette" not in week_words(effect), "a change that is of no source"


@pytest.mark.parametrize(
    ("count", "days", "words"),
    [
        (2, 7, "."),
        (3, 7, ": one every 2 days."),
        (5, 7, ": one on most days."),
        (7, 7, ": about 1 a day."),
        (10, 7, ": about 1 a day."),
        (24, 7, ": about 3 a day."),
        (3, 28, ": one every 9 days."),
    ],
)
def test_what_is_counted_over_days_is_told_by_the_day_too(count: int, days: int, words: str):
    items = tuple(WeekItem(n, "A", "b") for n in range(count))
    for effect in (WeekEffect(enters=items, days=days), WeekEffect(leaves=items, days=days)):
        assert week_words(effect).endswith(f"the first ten of a page{words}")


@pytest.mark.parametrize(
    ("moves", "words"),
    [
        (
            [(None, 3, "a"), (14, 9, "a"), (2, 4, "a")],
            "A yes brings 2 articles into the first ten of today’s page, all from Gazette.",
        ),
        ([(11, 10, "b"), (10, 11, "a")], "A yes brings 1 article into the first ten of today’s page."),
        ([(4, None, "a"), (9, 12, "b")], "A yes takes 2 articles out of the first ten of today’s page."),
        ([(1, 2, "a"), (20, None, "a"), (None, 11, "a")], "Today’s page keeps its first ten with a yes."),
        ([], "Today’s page keeps its first ten with a yes."),
    ],
)
def test_a_card_says_what_a_yes_does_to_the_first_ten_of_today(moves: list, words: str):
    items = [PreviewItem(n, "A", key, before, after) for n, (before, after, key) in enumerate(moves)]
    preview = Preview(
        enters=tuple(i for i in items if i.before is None),
        leaves=tuple(i for i in items if i.after is None),
        moves=tuple(i for i in items if i.before and i.after),
    )
    assert ten_words(preview, source="a", name="Gazette") == words

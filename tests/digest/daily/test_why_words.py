"""Why an article is here, in a sentence: the one or two strongest reasons, as plain main clauses."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from digest.daily.compose import NOVELTY
from digest.daily.diversity import AGAIN, RANKED, RATED, RESERVED
from digest.daily.item_words import score_explain
from digest.daily.why_words import FOUND
from ranking.entities import ScoreBreakdown

PLAIN = ScoreBreakdown(1.0, 1.0, 0.0, 6.0, 1.0, (), {}, 0.0, 0.0, 1.0)
LIKED = ("source", "gazette.example", 8, 9, 0.4)
AGE_ALONE = "Nothing that you set or rated counts for it or against it, only its age: "


def said(slot: str = RANKED, **fields: object) -> str:
    parts = {**replace(PLAIN).as_dict(), **fields}
    return score_explain(parts, 1.0, "Gazette", slot).sentence


@pytest.mark.parametrize(
    ("fields", "sentence"),
    [
        ({}, f"{AGE_ALONE}6 hours old."),
        ({"source_weight": 1.3, "config_weight": 1.3}, "You want more from Gazette."),
        ({"source_weight": 0.7, "config_weight": 0.7}, "You want less from Gazette."),
        ({"source_weight": 1.1}, "Your ratings speak for Gazette."),
        ({"source_weight": 0.9}, "Your ratings speak against Gazette."),
        ({"topics": ["rust"], "interest": 2.0}, "It is about your topic “rust”."),
        (
            {"topics": ["rust"], "about": ["tennis"], "about_worths": {"tennis": 0.7}, "interest": 2.7},
            "It is about your topics “rust”, “tennis”.",
        ),
        ({"boosts": {"ev": -0.5}, "interest": 0.5}, "You want less of “ev”."),
        ({"boosts": {"ev": 0.5}, "interest": 1.5}, "You want more of “ev”."),
        ({"similarity": 0.6, "interest": 1.06}, "It is like what you found useful."),
        ({"community": 0.3, "interest": 1.9}, "Other readers here found it useful."),
        ({"community": -0.1, "interest": 0.7}, "Other readers here seldom found it useful."),
        ({"reported_by": 4, "interest": 1.2}, "4 of your sources report it."),
        ({"reading": 0.05, "shown": 8, "opened": 7, "interest": 1.05}, "You often open what Gazette brings."),
        ({"reading": -0.05, "interest": 0.95}, "You seldom open its category."),
        ({"taste": 1.8, "tastes": [LIKED]}, "You liked 8 of 9 from Gazette."),
    ],
)
def test_each_part_of_a_score_is_said_in_plain_words(fields, sentence):
    assert said(**fields) == sentence


def test_what_orders_only_articles_of_one_age_is_said_if_nothing_else_counts():
    little = {"similarity": 0.01, "interest": 1.001}
    age = "Its age counts: 6 hours old. Among articles of that age this counts a little:"
    assert said(**little) == f"{age} it is like what you found useful."
    assert said(**little | {"source_weight": 1.1}) == "Your ratings speak for Gazette."
    why = score_explain({**replace(PLAIN).as_dict(), **little}, 1.001, "Gazette")
    (line,) = [one for one in why.lines if one.label == "Similarity"]
    assert (line.words, line.figure) == ("its words are 1% like those you found useful", "+ 0.001")


def test_the_two_strongest_are_said_and_whether_they_agree():
    parts = {
        "source_weight": 1.3,
        "config_weight": 1.3,
        "reported_by": 4,
        "topics": ["rust"],
        "interest": 2.2,
    }
    assert said(**parts) == "It is about your topic “rust”, and you want more from Gazette."
    lowered = parts | {"source_weight": 0.4, "config_weight": 0.4}
    assert said(**lowered) == "You want less from Gazette, but it is about your topic “rust”."


@pytest.mark.parametrize(
    ("slot", "fields", "sentence"),
    [
        (NOVELTY, {}, "It was drawn, from a source that you rarely see."),
        (RESERVED, {}, "Its source is never missed."),
        (RANKED, {"age_hours": 200.0}, "It is the latest of a source that you added."),
        (RATED, {"age_hours": 200.0}, f"{AGE_ALONE}8 days old."),
        (FOUND, {"age_hours": 200.0}, f"{AGE_ALONE}8 days old."),
        (AGAIN, {}, "It was high on an earlier page of yours, so it stands below what is new."),
    ],
)
def test_what_gave_it_a_place_of_its_own_comes_first(slot, fields, sentence):
    assert said(slot, **fields) == sentence
    more = said(slot, **fields, source_weight=1.3, config_weight=1.3)
    assert more.endswith("ou want more from Gazette.")


@pytest.mark.parametrize(
    ("tastes", "sentence"),
    [
        ([("article", "", 1, 1, 0.6), LIKED], "You liked 8 of 9 from Gazette."),
        ([("article", "", 1, 1, 0.6)], "It is like what you found useful."),
        ([("article", "", 1, 1, 0.05)], f"{AGE_ALONE}6 hours old."),
        ([("article", "Harbour", 1, 1, 0.6), LIKED], "It is like “Harbour”, which you liked."),
        ([("article", "Harbour", 1, 0, 0.6)], "It is like “Harbour”, which you want more of."),
        ([("category", "Ann", 0, 0, 0.6)], "You asked for more of “Ann”."),
    ],
    ids=["named first", "nothing named", "too weak to be seen", "an article", "an article wanted", "a label"],
)
def test_an_article_is_named_only_if_its_likeness_deserves_it(tastes, sentence):
    assert said(taste=1.5, tastes=tastes) == sentence


@given(
    st.floats(0.1, 2.0),
    st.lists(st.sampled_from(["rust", "news"]), unique=True),
    st.dictionaries(st.sampled_from(["ev", "war"]), st.floats(-5, 5), max_size=2),
    st.floats(0, 1),
    st.floats(-0.15, 0.7),
    st.floats(1 / 3, 3),
    st.sampled_from([RANKED, NOVELTY, AGAIN, RESERVED, RATED, FOUND]),
)
def test_any_score_has_one_sentence(weight, topics, boosts, similarity, community, taste, slot):
    interest = max(0.05, 1 + len(topics) + sum(boosts.values()) + 0.1 * similarity + 3 * community)
    lean = ("source", "gazette.example", 1, 2, taste - 1)
    fields = {
        "source_weight": weight, "topics": topics, "boosts": boosts, "similarity": similarity,
        "community": community, "interest": interest, "taste": taste, "tastes": [lean],
    }  # fmt: skip
    sentence = said(slot, **fields)
    assert sentence[0].isupper() and sentence.endswith(".") and "{" not in sentence

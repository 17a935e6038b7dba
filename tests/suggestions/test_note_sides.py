"""A model's note takes the side of its change."""

import pytest

from suggestions.note_sides import side_problem

FOR = (
    "You liked 9 of 11 stories from Quiet Port.",
    "You liked most of what it brings.",
    "You often enjoy its long reports.",
    "You disliked only one of its stories. You liked the rest.",
    "You rarely disliked a story about trains.",
    "You disliked 2 of 11 stories here.",
)
AGAINST = (
    "You disliked 9 of 11 stories from Giga.",
    "You disliked most of what it brings.",
    "You did not like its headlines.",
    "You never liked a story about bitcoin.",
    "You liked few of its stories.",
    "You liked 1 of 9 stories here.",
    "You skipped nearly all of it.",
)
NEITHER = (
    "",
    "Many stories here are hype.",
    "Its stories are long and careful.",
    "You liked other sources far more than this one.",
    "Your thumbs say depth.",
)


@pytest.mark.parametrize("note", FOR)
def test_a_note_that_says_liked_may_stand_on_more_and_not_on_less(note: str):
    assert side_problem(note, liked=True) is None
    assert side_problem(note, liked=False), "it stood on a card that shows less"


@pytest.mark.parametrize("note", AGAINST)
def test_a_note_that_says_disliked_may_stand_on_less_and_not_on_more(note: str):
    assert side_problem(note, liked=False) is None
    assert side_problem(note, liked=True)


@pytest.mark.parametrize("note", NEITHER)
@pytest.mark.parametrize("liked", [True, False])
def test_a_note_that_says_neither_may_stand_anywhere(note: str, liked: bool):
    assert side_problem(note, liked=liked) is None


def test_a_note_of_both_sides_is_its_changes_own():
    assert side_problem("You liked its reports. You disliked 8 of 9 of its quizzes.", liked=False) is None

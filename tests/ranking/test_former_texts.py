"""Texts of earlier versions in the words of today."""

import pytest

from ranking.former_texts import text_today
from ranking.language import stored_text
from suggestions.wording import CHANGES_STOPPED

FOUND = "A change was found, but you {} every change of its kind so far, so it was not proposed. Rest."
MISSING = "Not enough {} for suggestions yet. Give reasons for 3 more {}."
HEADLINES = "Not enough {} for suggestions yet. Rate 7 more headlines for suggestions today (43 so far)."
TESTED = "We tested it on the 60 articles you rated: your other {} told which you liked, better than chance."
EARLIER = "Your earlier {} put those you liked lower; you can go back."


@pytest.mark.parametrize(
    ("text", "former", "today"),
    [
        ("You {} and took that back.", "turned this down", "said no"),
        ("You {} and took that back at once.", "accepted this", "said yes"),
        (FOUND, "turned down", "said no to"),
        (MISSING, "thumbs", "ratings"),
        (HEADLINES, "thumbs", "ratings"),
        (TESTED, "thumbs", "ratings"),
        (EARLIER, "thumbs", "ratings"),
    ],
)
def test_a_stored_text_is_shown_in_the_words_of_today(text: str, former: str, today: str):
    stored, shown = text.replace("{}", former), text.replace("{}", today)
    assert text_today(stored) == stored_text(stored) == shown
    assert text_today(shown) == shown


def test_a_refusal_of_the_review_says_what_the_reader_can_do():
    stored = "A change was found, but the review did not let it through, so it was not proposed."
    assert text_today(stored) == CHANGES_STOPPED["review_refused"]
    assert "More can settle it" in text_today(stored)


def test_words_of_a_model_or_a_publisher_stay():
    words = "A model says: you turned this down and took that back."
    assert text_today(words) == words

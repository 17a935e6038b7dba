"""What no setting can do is said, with what can be done instead, in English and German; nothing changes."""

import pytest

from suggestions.wishes.limits import LIMITS
from suggestions.wishes.reading import wishes_read
from tests.support.wish_words import TODAY, names

NAMES = names()


@pytest.mark.parametrize(
    ("code", "words"),
    [
        ("undo", "please revert what I changed last night"),
        ("undo", "mach meine letzten Änderungen rückgängig"),
        ("praise", "thanks, great job!"),
        ("praise", "danke, super Auswahl heute!"),
        ("feeds", "can you add more sources about space"),
        ("feeds", "füge bitte den Feed von Zeit Online hinzu"),
        ("look", "make the text bigger"),
        ("look", "größere Schrift bitte"),
        ("media", "no videos"),
        ("language", "bitte nur Artikel auf Deutsch"),
        ("paywall", "nichts hinter einer Bezahlschranke"),
        ("seen", "hide what I've already read"),
        ("seen", "Bereits gelesenes ausblenden"),
        ("worth", "only positive news"),
        ("worth", "nur das Wichtigste"),
        ("length", "nothing shorter than 500 words"),
        ("order", "sort by date"),
        ("order", "oldest first"),
        ("order", "show me the oldest articles first please"),
        ("order", "Bitte die ältesten Artikel zuerst"),
        ("mail", "schick mir das jeden Morgen per Mail"),
        ("deed", "can you summarise every article"),
        ("deed", "Kannst du mir das vorlesen?"),
        ("count", "only 20 articles please"),
        ("question", "who are you?"),
    ],
)
def test_it_is_said_and_nothing_changes(code: str, words: str):
    reading = wishes_read(words, NAMES, TODAY)
    assert (reading.wishes, reading.question, reading.notes) == ((), None, (LIMITS[code],))


@pytest.mark.parametrize("words", ["thanks, less Trump please", "Danke! Weniger Trump bitte."])
def test_thanks_around_a_wish_need_no_answer(words: str):
    reading = wishes_read(words, NAMES, TODAY)
    assert [wish.target.key for wish in reading.wishes] == ["Trump"] and not reading.notes


def test_beside_a_wish_the_part_that_cannot_be_done_is_quoted():
    reading = wishes_read("more Apple, and can you summarise heise", NAMES, TODAY)
    assert [wish.target.label for wish in reading.wishes] == ["Apple"]
    assert reading.notes == (f"“can you summarise heise”: {LIMITS['deed']}",)


@pytest.mark.parametrize("words", ["why so much Apple?", "Wieso kommt ständig Apple?"])
def test_a_question_about_something_known_offers_what_can_be_wished_of_it(words: str):
    question = wishes_read(words, NAMES, TODAY).question
    assert question is not None and question.text == LIMITS["question"]
    assert [choice.words.partition(" ")[0] for choice in question.choices] == ["less", "more", "mute"]


@pytest.mark.parametrize(
    "words", ["more video games", "mute podcasts", "less newsletter spam", "how about more books?"]
)
def test_a_subject_that_sounds_like_one_is_still_a_subject(words: str):
    assert len(wishes_read(words, NAMES, TODAY).wishes) == 1

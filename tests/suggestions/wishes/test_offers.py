"""Where the grammar cannot tell what is meant, a reader chooses among likely deeds."""

import pytest

from suggestions.wishes.lookup import Lookup
from suggestions.wishes.reading import wishes_look_up, wishes_read
from suggestions.wishes.wish import Reading
from tests.support.wish_words import TODAY, names

NAMES = names()


def read(words: str) -> Reading:
    return wishes_read(words, NAMES, TODAY)


@pytest.mark.parametrize(
    ("words", "offered"),
    [
        ("my cousin writes for The Verge and I would rather not meet her", "The Verge"),
        ("hab mir nen raspberry pi gekauft und bin jetzt süchtig", "raspberry pi"),
        ("Seit mein Mann im Krankenhaus liegt, ertrage ich nichts mehr über Krebs", "Krebs"),
        ("wie hieß die Seite noch, netz-dingsbums?", "netzpolitik.org"),
        ("ukraine. I know it matters. I just can't this week", "ukraine"),
    ],
)
def test_a_story_is_asked_about_by_what_it_names(words: str, offered: str):
    reading = read(words)
    assert reading.wishes == () and reading.question is not None
    assert offered in reading.question.choices[0].label


def test_of_two_things_the_first_choice_says_what_is_likely_of_both_and_each_other_one_thing():
    question = read("lol why is there so much football, im a tennis person, always have been").question
    assert question is not None
    both, *others = question.choices
    assert both.words == 'less word "football"; more word "tennis"'
    assert len(read(both.words).wishes) == 2
    assert [len(read(choice.words).wishes) for choice in others] == [1] * len(others)


def test_a_time_is_offered_with_the_mute_that_ends_by_itself():
    question = read("ukraine. I know it matters. I just can't this week").question
    assert question is not None and question.choices[0].words == 'mute word "ukraine" until 2026-12-05'


def test_of_a_long_sentence_with_a_wish_in_it_the_wish_is_a_choice():
    reading = read("my old neighbour with the green hat keeps on telling stories, less Apple")
    assert reading.wishes == () and reading.question is not None
    assert reading.question.choices[0].words == 'less word "Apple"'


def test_a_name_in_no_story_changes_nothing_by_what_stands_in_another_sentence():
    assert [wish.target.label for wish in read("Less Apple. I have a job.").wishes] == ["Apple"]


@pytest.mark.parametrize(
    "words",
    [
        "at most 2 a day of Golem and nothing older than a day",
        "Golem max 2 a day, nothing older than a day",
        "at most 2 a day and nothing older than a day of Golem",
    ],
)
def test_a_source_gets_both_rules_that_are_wished(words: str):
    assert [(one.most, one.hours) for one in read(words).wishes] == [(2, None), (None, 24)]


def test_the_day_of_a_wish_about_it_is_kept():
    [wish] = read("Weihnachten! Kein einziges Wort mehr davon, bis der Spuk am 27. rum ist").wishes
    assert str(wish.until) == "2026-12-27"


def test_a_direction_goes_back_over_no_but():
    reading = read("Golem, aber die Lottozahlen brauche ich nicht")
    assert all(wish.target.label != "Golem.de" for wish in reading.wishes)


@pytest.mark.parametrize(
    "words",
    [
        "no more than one xkcd at a time",
        "Bitte Golem nicht mehr ganz so weit oben",
        "ich will doch nicht nur noch Apple",
    ],
)
def test_less_than_now_is_no_mute(words: str):
    assert [wish.direction for wish in read(words).wishes] == ["less"]


def test_what_everything_is_hidden_but_for_is_wished_for():
    question = read("alles raus ausser sport").question
    assert question is not None and question.choices[0].words == 'more source "BBC Sport"'


@pytest.mark.parametrize(
    ("words", "likely"),
    [
        ("My uncle talks of crypto all day, I can't bear it any more", [("none", "crypto")]),
        ("I skip every single Trump headline. Draw your own conclusions.", [("none", "Trump")]),
        ("Die Rezepte waren immer so schön, da dürfte es wieder mehr geben", [("more", "Rezepte")]),
        ("TIME ist mir zu amerikanisch", [("less", "TIME")]),
        ("drop xkcd", [("none", "xkcd")]),
        ("I'm not into Tennis", [("less", "Tennis")]),
        ("a colleague told me about the space telescope, I'd love to hear more about that", ["more"]),
    ],
)
def test_a_choice_far_ahead_is_drafted_beside_the_question(words: str, likely: list[object]):
    reading = read(words)
    found = [(wish.direction, wish.target.label) for wish in reading.likely]
    assert found == likely or [way for way, _label in found] == likely
    assert reading.wishes == () and reading.question is not None and reading.question.choices[0].leads
    assert not any(choice.leads for choice in reading.question.choices[1:])


@pytest.mark.parametrize(
    "words",
    [
        # Nothing leans, or both ways do.
        "football",
        "Whoever thought I care about gaming was mistaken",
        # What leans may be about another thing, or a word that names none.
        "gimme linux, I love my dog",
        "Apple-Produkte besitze ich nicht, Android hingegen schon.",
        # Conditions, and times that are no last day.
        "Zu Weihnachten Rezepte, sonst bitte nicht",
        "I don't want politics while I'm at work",
        # Who does not mind says nothing.
        "I don't mind politics",
        # Denials and questions.
        "It's not that I want less politics",
        "why do you think I want more football?",
    ],
)
def test_without_a_clear_lean_nothing_is_drafted(words: str):
    reading = read(words)
    offered = reading.question.choices if reading.question else ()
    assert reading.likely == () and not any(choice.leads for choice in offered)


def test_a_line_beside_a_rating_has_no_likely_wish():
    lookup = Lookup(names(), "drop xkcd")
    assert wishes_look_up(lookup, TODAY).likely and not wishes_look_up(lookup, TODAY, is_line=True).likely

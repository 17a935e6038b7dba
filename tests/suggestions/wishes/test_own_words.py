"""Wishes as people say them, by what they are about: no part of a sentence is dropped without saying so."""

from dataclasses import replace

import pytest

from suggestions.wishes.reading import wishes_read
from suggestions.wishes.wish import Reading
from tests.support.wish_words import TODAY, names

# The reader hides The Verge and a word.
NAMES = replace(
    names(),
    topics=("linux", "politics", "climate"),
    listed=("linux", "politics", "climate"),
    muted=("theverge.com", "trump"),
)


def read(words: str) -> Reading:
    return wishes_read(words, NAMES, TODAY)


def done(words: str) -> list[str]:
    """Return what the words ask for, such as "less The Guardian"."""
    reading = read(words)
    return [
        " ".join(filter(None, (one.direction, one.target.label, str(one.most or one.hours or ""))))
        for one in reading.wishes
    ]


@pytest.mark.parametrize(
    ("words", "wished"),
    [
        ("un-mute the verge please", ["unmute The Verge"]),
        ("take trump off the mute list", ["unmute trump"]),
        ("I muted trump by mistake, please bring it back", ["unmute trump"]),
        ("hebe die Sperre für Trump auf", ["unmute trump"]),
        ("The Verge darf zurückkommen", ["unmute The Verge"]),
        ("let my ratings count more", ["more taste"]),
        ("ignore my ratings completely", ["none taste"]),
        ("the ranking should follow my likes less", ["less taste"]),
        ("Du übertreibst es mit der Personalisierung", ["less taste"]),
        ("old articles should drop off sooner", ["fresher freshness"]),
        ("don't let articles expire so fast", ["older freshness"]),
        ("lass Artikel nicht so schnell verfallen", ["older freshness"]),
        ("I don't need more than one xkcd a day", ["limit xkcd 1"]),
        ("BBC News: three a day", ["limit BBC News 3"]),
        ("more from BBC News, at most four a day", ["limit BBC News 4", "more BBC News"]),
        ("keep heise articles no longer than two days", ["age heise online 48"]),
        ("heise ist nur einen Tag lang interessant", ["age heise online 24"]),
        ("don't let a single kottke post get lost", ["keep kottke.org"]),
        ("lass keinen xkcd-Beitrag aus", ["keep xkcd"]),
        ("no more of the guardian's football coverage", ["none football"]),
        ("dont ever hide kottke", ["keep kottke.org"]),
        ("kottke bitte niemals ausblenden", ["keep kottke.org"]),
        ("i keep missing xkcd", ["keep xkcd"]),
        ("make sure every xkcd shows up", ["keep xkcd"]),
        ("keep Hacker News to three", ["limit Hacker News 3"]),
        ("xkcd auf zwei begrenzen", ["limit xkcd 2"]),
        ("BBC News twice a day tops, xkcd once", ["limit BBC News 2", "limit xkcd 1"]),
        ("my ratings shouldn't matter that much", ["less taste"]),
        ("I hid The Verge, but I like it", ["unmute The Verge"]),
        ("Trump darf wieder rein", ["unmute trump"]),
        ("instead of politics show me linux", ["less politics", "more linux"]),
        ("statt Politik lieber Linux", ["less politics", "more linux"]),
        ("I'm not a sports person, so less football", ["less football"]),
    ],
)
def test_a_rule_or_a_switch_is_known_by_many_turns_of_speech(words: str, wished: list[str]):
    assert done(words) == wished and not read(words).question


@pytest.mark.parametrize(
    ("words", "wished"),
    [
        ("there's way too much hn on my front page", ["less Hacker News"]),
        ("more of the postillon guy", ["more Der Postillon"]),
        ("slighly less from the gaurdian", ["less The Guardian"]),
        ("less politcs", ["less politics"]),
        ("weniger politk", ["less politics"]),
        ("moechte mehr ueber Kuenstliche Intelligenz lesen", ["more künstliche intelligenz"]),
        ("keine Fußballnews mehr", ["none Fußball"]),
        ("Politics has been on every page. Dial it back.", ["less politics"]),
        ("Die Politik erschlägt mich, bitte weniger", ["less politics"]),
        ("jede Überschrift mit Tesla blockieren", ["none Tesla"]),
        ("alles was mit Elon Musk zu tun hat ausblenden", ["none Elon Musk"]),
        ("bis Freitag nichts über Politik", ["none Politik"]),
        ("NASA soll höher gewichtet werden", ["more NASA Breaking News"]),
    ],
)
def test_a_name_half_right_is_found_among_the_words_around_it(words: str, wished: list[str]):
    assert done(words) == wished and not read(words).question


@pytest.mark.parametrize(
    ("words", "label"),
    [
        ("less heise but keep politics", "politics"),
        ("weniger heise, aber Politik soll bleiben", "politics"),
        ("less Guardian, though I like their climate coverage", "climate"),
    ],
)
def test_what_should_stay_is_told_and_is_no_wish(words: str, label: str):
    reading = read(words)
    assert [wish.direction for wish in reading.wishes] == ["less"] and not reading.question
    assert reading.notes == (f"“{label}” stays as it is.",)


@pytest.mark.parametrize(
    "words",
    [
        "ich bekomme gar nichts mehr von LWN",
        "was ist mit xkcd los, seh ich gar nicht mehr",
        "I never get any LWN articles",
        "bin kein großer Fan von kottke",
        "I don't think heise is great",
        "lern bitte nicht aus meinen Bewertungen",
    ],
)
def test_a_complaint_is_asked_about_and_never_turned_round(words: str):
    reading = read(words)
    assert reading.wishes == () and reading.question is not None


@pytest.mark.parametrize(
    ("words", "left"),
    [
        ("mehr Linux waer schee", "schee"),
        ("less personal, more neutral ranking", "neutral ranking"),
        ("mehr xkcd und sprudelt LWN hoch", "sprudelt"),
        ("less football, it bores me. sprinkle LWN higher", "sprinkle"),
        ("more videos, fewer articles", "videos"),
        ("mehr lange Artikel über Linux", "long"),
        ("less heise but keep politics sprinkled", "sprinkled"),
        ("mornings: sprinkled news, evenings: fun stuff", "sprinkled"),
        ("Zeig mehr von LWN, die sind meistens super", "meistens"),
        ("kottke soll niemals oben stehen", "kottke soll niemals oben stehen"),
    ],
)
def test_words_that_were_not_understood_are_named(words: str, left: str):
    reading = read(words)
    shown = [*reading.notes, reading.question.text if reading.question else ""]
    assert any(f"“{left}”" in one or left in one for one in shown), reading


@pytest.mark.parametrize(
    "words", ["fewer short blurbs", "more watching", "mehr Podcasts", "show me Spanish articles"]
)
def test_forms_lengths_and_languages_are_no_words_to_go_by(words: str):
    reading = read(words)
    assert reading.wishes == () and (reading.notes or reading.question)


@pytest.mark.parametrize("words", ["undo the last change", "das war ein Versehen, bitte zurücknehmen"])
def test_the_last_change_is_undone_and_everything_is_not(words: str):
    assert read(words).undoes and not read(f"{words} and reset everything").undoes


@pytest.mark.parametrize(
    "words", ["hide football but only from the guardian", "Politik ja, aber nicht von heise"]
)
def test_a_condition_that_names_a_source_offers_a_mute_there(words: str):
    question = read(words).question
    assert question is not None and question.choices[-1].label.startswith("Mute the word")
    assert read(question.choices[-1].words).wishes[0].within

"""Wishes of readers in plain words, in English and German: most are understood, the rest is asked or
reported."""

from collections import Counter
from dataclasses import replace
from datetime import date, timedelta

import pytest

from suggestions.changes.change import FRESHER, LESS
from suggestions.wishes.reading import wishes_read
from suggestions.wishes.wish import Reading
from tests.support.wish_words import ASKS, RIGHT, TODAY, WRONG, Sentence, grade, names, sentences

NAMES = names()
# Of the sentences held out when the grammar was made.
HELD_RIGHT_MIN = 0.85
OPEN = [one for one in sentences() if not one.is_held]


def read(sentence: str) -> Reading:
    return wishes_read(sentence, NAMES, TODAY)


@pytest.mark.parametrize("sentence", OPEN, ids=lambda one: one.text)
def test_what_readers_write_is_understood_or_asked(sentence: Sentence):
    assert grade(sentence, read(sentence.text)) in (RIGHT, ASKS)


def test_of_sentences_held_out_most_are_understood():
    held = [one for one in sentences() if one.is_held]
    grades = Counter(grade(one, read(one.text)) for one in held)
    assert len(held) == 102 and grades[RIGHT] >= HELD_RIGHT_MIN * len(held), grades


def test_a_grade_knows_a_wrong_reading():
    [politics] = [one for one in OPEN if one.text == "Less politics please"]
    right = read(politics.text)
    assert grade(politics, right) == RIGHT
    turned = replace(right, wishes=(replace(right.wishes[0], direction="more"),))
    assert grade(politics, turned) == WRONG and grade(politics, Reading()) == WRONG


def test_what_is_clear_stands_beside_a_question():
    reading = read("newest first, and more Time Machine")
    assert next(wish.direction for wish in reading.wishes) == FRESHER
    both = read("fewer tech stories from TIME on weekends, and more AI")
    assert [wish.target.label for wish in both.wishes] == ["AI"] and both.question


def test_an_answer_leaves_the_next_question_open():
    question = read("less Sport, mehr Bücher, only xkcd when it's about space").question
    assert question is not None
    again = read(question.choices[0].words)
    assert len(again.wishes) == 1 and again.question is not None and "xkcd" in again.question.choices[0].label


@pytest.mark.parametrize(
    ("words", "days"),
    [
        ("for a week, hide football", 7),
        ("hide football for a week", 7),
        ("eine Woche lang kein Fußball", 7),
        ("Fußball für zwei Wochen ausblenden", 14),
        ("bis Ende des Monats nichts über Trump", 2),
        ("keine Wahlen bis zum 3. Januar", 36),
        ("mute crypto over the weekend", 1),
        ("until new year no crypto", 34),
    ],
)
def test_a_mute_for_a_time_has_an_end(words: str, days: int):
    [wish] = read(words).wishes
    assert (wish.direction, wish.until) == ("none", TODAY + timedelta(days=days))


@pytest.mark.parametrize(
    "words", ["hide football during the cup", "hide football while I'm away", "kein Fußball während der WM"]
)
def test_a_mute_whose_end_nobody_knows_is_asked(words: str):
    assert read(words).wishes == () and read(words).question is not None


def test_counts_and_conditions_are_asked_never_dropped():
    for words in ("höchstens 2 pro Woche von Golem", "no more than 30 from Golem a day"):
        question = read(words).question
        assert question and [choice.label for choice in question.choices] == ["Less of the source “Golem.de”"]
    question = read("hide Apple unless it's from Daring Fireball").question
    assert question is not None and "unless it's from Daring Fireball" in question.text


@pytest.mark.parametrize(
    ("words", "most"),
    [
        ("höchstens 2 am Tag von Golem", 2),
        ("no more than three from Golem a day", 3),
        ("Golem, max 2 per day", 2),
    ],
)
def test_a_count_of_one_source_by_the_day_is_its_daily_limit(words: str, most: int):
    [wish] = read(words).wishes
    assert (wish.target.label, wish.most) == ("Golem.de", most)


@pytest.mark.parametrize(
    ("words", "sources"),
    [
        ("never miss xkcd and LWN", ["xkcd", "LWN.net"]),
        ("xkcd und LWN nie verpassen", ["xkcd", "LWN.net"]),
        ("nothing older than two days from Golem and heise", ["Golem.de", "heise online"]),
        ("nothing older than two days, from Golem", ["Golem.de"]),
        ("at most two a day of Golem and heise", ["Golem.de", "heise online"]),
        ("never hide xkcd", ["xkcd"]),
        ("never skip a post of xkcd", ["xkcd"]),
    ],
)
def test_a_rule_counts_for_each_source_that_is_named(words: str, sources: list[str]):
    reading = read(words)
    assert [wish.target.label for wish in reading.wishes] == sources and reading.question is None
    assert all(wish.direction in ("keep", "age", "limit") for wish in reading.wishes)


def test_results_are_wished_away_beside_what_is_wished_for():
    reading = read("mich interessiert Schach, aber bitte keine Ergebnisse")
    wishes = [(wish.direction, wish.target.label) for wish in reading.wishes]
    assert wishes == [("more", "Schach"), ("none", "Ergebnisse")]


@pytest.mark.parametrize(
    ("words", "answer"),
    [
        ("only one article per story", "each story once already"),
        ("nur ein Artikel pro Geschichte", "each story once already"),
        ("only show me long reads", "nothing of an article’s length"),
        ("nur lange Artikel", "nothing of an article’s length"),
    ],
)
def test_what_no_setting_knows_gets_the_answer_to_it(words: str, answer: str):
    reading = read(words)
    assert reading.wishes == () and answer in " ".join(reading.notes)


@pytest.mark.parametrize(
    "words",
    [
        "at most two a day of Golem, and less of it",
        "Golem, max 2 per day, and less of it",
        "at most two a day of Golem, but less of it",
        "höchstens 2 am Tag von Golem, und weniger davon",
    ],
)
def test_less_of_it_beside_a_rule_for_a_source_counts_as_well(words: str):
    reading = read(words)
    assert [wish.target.label for wish in reading.wishes] == ["Golem.de"] * 2 and reading.question is None
    assert [wish.direction for wish in reading.wishes] == ["limit", "less"]


@pytest.mark.parametrize(
    "words",
    [
        "at most two a day of The Verge, and less of it",
        "The Verge: höchstens zwei am Tag, und weniger davon",
        "nothing older than two days from The Verge, and less of it",
    ],
)
def test_less_of_a_source_is_wished_beside_any_rule_for_it(words: str):
    rule, less = read(words).wishes
    assert rule.target == less.target and less.direction == LESS and rule.direction != LESS


@pytest.mark.parametrize(
    "words",
    [
        "no TIME and heise in Today",
        "show The Verge only in All",
        "put xkcd back in Today",
        "Golem, but not in Today",
        "nothing older than Tuesday from Golem",
        "nothing older than two months from Golem",
        "nothing older than 0 days from Golem",
        "nur noch heise unter Alle Artikel",
    ],
)
def test_a_rule_that_no_setting_knows_is_said_and_makes_no_change(words: str):
    reading = read(words)
    assert reading.wishes == () and reading.notes and not reading.notes[0].startswith("Not understood")


@pytest.mark.parametrize(
    ("words", "labels"),
    [
        ("never miss the gardian", ["Never miss The Guardian"]),
        ("keep the gardian out of Today", ["Keep The Guardian out of Today"]),
        ("nothing older than a day from the gardian", ["Nothing older than 1 day from The Guardian"]),
        (
            "nothing about Trump from heise older than 2 days",
            ["Nothing older than 2 days from heise online", "Mute the word “Trump” in heise online"],
        ),
        ("never miss football", ["More of the word “football”"]),
    ],
)
def test_a_rule_that_is_unclear_is_asked_and_each_answer_is_clear(words: str, labels: list[str]):
    question = read(words).question
    assert question is not None and [choice.label for choice in question.choices] == labels
    for choice in question.choices:
        again = read(choice.words)
        assert again.question is None and (len(again.wishes) == 1 or "Today" in again.notes[0])


@pytest.mark.parametrize(
    ("today", "days"),
    [(date(2026, 11, 25), 4), (date(2026, 11, 27), 2), (date(2026, 11, 28), 7), (date(2026, 11, 29), 7)],
)
@pytest.mark.parametrize("words", ["no football this week", "diese Woche kein Fußball"])
def test_this_week_at_its_end_means_seven_days_and_says_so(words: str, today: date, days: int):
    reading = wishes_read(words, NAMES, today)
    assert [wish.until for wish in reading.wishes] == [today + timedelta(days=days)]
    assert bool(reading.notes) == (days == 7) and all("next seven days" in note for note in reading.notes)


@pytest.mark.parametrize("words", ["This Week in Rust", "more This Week in Rust", "less this week in Chile"])
def test_a_name_with_this_week_in_it_is_no_day(words: str):
    assert all(wish.until is None for wish in read(words).wishes)


@pytest.mark.parametrize(
    ("words", "echoed"),
    [
        ("mehr KI", "KI"),
        ("kein Fußball", "Fußball"),
        ("less McLaren", "McLaren"),
        ("kein Böller-Thema", "Böller"),
        ("unmute Fußball", "Fußball"),
        ("no AI in The Verge", "AI"),
        ("less AI from The Verge", "AI"),
        ("ÖPNV?", "ÖPNV"),
        ("I hate ChatGPT", "ChatGPT"),
    ],
)
def test_words_are_echoed_as_they_were_typed(words: str, echoed: str):
    reading = read(words)
    shown = [wish.target.label for wish in reading.wishes] + list(reading.notes)
    if reading.question:
        shown += [reading.question.text, *(one.label for one in reading.question.choices)]
    assert any(echoed in one for one in shown), shown


@pytest.mark.parametrize(
    ("words", "days"),
    [
        ("two weeks without football", 14),
        ("eine Woche ohne Fußball", 7),
        ("no football for the whole week", 7),
        ("die ganze Woche kein Fußball", 7),
    ],
)
def test_a_time_free_of_something_is_a_mute_for_that_time(words: str, days: int):
    assert [(wish.direction, wish.until) for wish in read(words).wishes] == [
        ("none", TODAY + timedelta(days=days))
    ]


def test_a_time_that_was_not_read_is_said_and_is_no_word():
    reading = read("no weekend")
    assert reading.wishes == () and reading.notes
    assert [wish.target.key for wish in read('mute word "weekend"').wishes] == ["weekend"]


def test_words_beside_a_source_that_a_rule_leaves_over_are_asked_about():
    question = read("nothing older than two days from kryptic heise").question
    assert question is not None
    assert [one.label for one in question.choices] == ["Nothing older than 2 days from heise online"]


@pytest.mark.parametrize(
    ("words", "first"),
    [
        ("mute football after Friday", "after Friday"),
        ("mute football and crypto after Friday", "after Friday"),
        ("from tomorrow on, no Trump and no crypto", "from tomorrow on"),
        ("nächste Woche kein Fußball", "nächste Woche"),
        ("kein Tennis am Montag", "am Montag"),
    ],
)
def test_a_change_that_should_begin_later_is_asked_for_every_target(words: str, first: str):
    reading = read(words)
    assert reading.wishes == () and reading.question and first in reading.question.text


@pytest.mark.parametrize(
    "words", ["no football starting today", "ab heute kein Fußball", "as of today no football"]
)
def test_a_change_that_should_begin_today_has_no_end(words: str):
    assert [(wish.direction, wish.until) for wish in read(words).wishes] == [("none", None)]


@pytest.mark.parametrize(
    "words", ["more from May", "more Black Friday", "less of the next iPhone", "more Sun"]
)
def test_names_with_words_of_days_are_no_beginning(words: str):
    reading = read(words)
    assert not reading.question or "no conditions" not in reading.question.text


@pytest.mark.parametrize("words", ["I only read heise once a day", "more than two a day from Golem"])
def test_a_number_that_nothing_calls_a_limit_is_none(words: str):
    assert all(wish.most is None for wish in read(words).wishes)


@pytest.mark.parametrize("words", ["mute the coast after the vote", "kein Fußball seit dem Pokal"])
def test_a_phrase_with_a_time_in_it_is_not_taken_for_a_name(words: str):
    assert read(words).wishes == ()


def test_a_long_phrase_is_never_called_the_word():
    reading = read("more of whatever it was that my cousin read on the train last summer")
    assert reading.wishes == () and reading.question is not None
    assert all("whatever" not in one.label for one in reading.question.choices)


def test_words_that_nothing_has_are_taken_only_if_the_sentence_is_clear():
    assert [wish.target.key for wish in read("more archaeology").wishes] == ["archaeology"]
    unclear = read("colourless green ideas sleep. more archaeology")
    assert unclear.wishes == () and unclear.question is not None


def test_names_nearly_right_are_taken_or_asked():
    assert [wish.target.label for wish in read("more ars tecnica").wishes] == ["Ars Technica"]
    assert [wish.target.label for wish in read("less gamign").wishes] == ["gaming"]
    question = read("hide the gardian").question
    assert question is not None and question.choices[0].label == "Mute the source “The Guardian”"


def test_a_source_called_like_an_everyday_word_is_known_as_it_is_spelled():
    assert [wish.target.label for wish in read("a bit less TIME").wishes] == ["TIME"]


def test_what_is_muted_is_asked_for_again():
    for words in ("unmute crypto", "zeig Krypto wieder", "Krypto wieder anzeigen", "show me crypto again"):
        assert [wish.direction for wish in read(words).wishes] == ["unmute"], words


def test_german_dates_are_read_in_the_readers_calendar():
    assert read("kein Trump bis Montag").wishes[0].until == date(2026, 11, 30)


@pytest.mark.parametrize(
    ("words", "label"),
    [
        ("less US politics", "US politics"),
        ("less us politics", "us politics"),
        ("US politics is too much", "US politics"),
        ("I do not want any more US politics", "US politics"),
        ("less politics in the US", "politics in the US"),
        ("no US news", "US"),
        ("less UK news", "UK"),
        ("more AI research", "AI research"),
        ("more IT security", "IT security"),
        ("less EU law", "EU law"),
        ("more NBA results", "NBA results"),
        ("less WHO", "WHO"),
        ("weniger US-Politik", "US-Politik"),
        ("mehr US Politik", "US Politik"),
        ("mehr KI-Forschung", "KI-Forschung"),
        ("less time travel", "time travel"),
        ("fewer posts about the post office", "post office"),
        ("weniger Bin Laden", "Bin Laden"),
    ],
)
def test_no_word_of_a_name_is_dropped(words: str, label: str):
    reading = read(words)
    assert [wish.target.label for wish in reading.wishes] == [label] and reading.question is None


@pytest.mark.parametrize("words", ["less U.S. politics", "less E.U. law", "less politics from the U.S."])
def test_a_name_with_full_stops_is_asked_about_whole(words: str):
    question = read(words).question
    assert question is not None and question.choices[0].label == f"Less of the word “{words[5:]}”"


@pytest.mark.parametrize("words", ["show us less politics", "Give us less politics", "LESS POLITICS FOR US"])
def test_us_who_ask_are_no_country(words: str):
    assert [wish.target.key.casefold() for wish in read(words).wishes] == ["politics"]


@pytest.mark.parametrize(
    "words",
    [
        "I am tired of murder stories",
        "I'm sick of murder articles",
        "I am sick and tired of murder stories",
        "I have had enough of murder news",
        "I've had it with murder",
        "I have had it up to here with murder",
        "I am fed up with murder posts",
        "fed up with murder posts",
        "I am tired of reading about murder",
        "we are weary of murder",
    ],
)
def test_who_is_tired_of_something_wants_less_of_it(words: str):
    reading = read(words)
    assert [(wish.direction, wish.target.key) for wish in reading.wishes] == [("less", "murder")]
    assert reading.question is None and not reading.notes


@pytest.mark.parametrize(
    ("words", "direction"),
    [
        ("Ich habe genug von Mord", "less"),
        ("ich hab genug von Mord", "less"),
        ("Ich habe die Nase voll von Mord", "less"),
        ("Mord hängt mir zum Hals raus", "less"),
        ("Ich habe Mord satt", "less"),
        ("Ich kann Mord nicht mehr sehen", "none"),
        ("ich kann Mord nicht mehr hören", "none"),
    ],
)
def test_wer_genug_hat_will_weniger(words: str, direction: str):
    reading = read(words)
    assert [(wish.direction, wish.target.key) for wish in reading.wishes] == [(direction, "Mord")]
    assert reading.question is None and not reading.notes


@pytest.mark.parametrize(
    "words", ["I am", "we were", "less who", "have had", "am I", "ich bin", "I am not interested in murder"]
)
def test_a_word_that_carries_a_sentence_is_no_target(words: str):
    reading = read(words)
    labels = [wish.target.key for wish in reading.wishes]
    labels += [one.label for one in reading.question.choices] if reading.question else []
    assert all("murder" in label for label in labels)


@pytest.mark.parametrize(
    ("words", "direction"),
    [
        ("don't hide crypto any more", "unmute"),
        ("Krypto nicht mehr stummschalten", "unmute"),
        ("stop recommending crypto", "none"),
        ("no need to show me crypto", "none"),
        ("I don't wanna see crypto", "none"),
        ("I couldn't live without xkcd", "more"),
        ("give politics a rest", "less"),
        ("turn the crypto down a notch", "less"),
        ("put ars first", "more"),
        ("take Trump off my page", "none"),
        ("dreh Politik runter", "less"),
        ("Raumfahrt hochdrehen", "more"),
        ("schraub die Politik mal etwas zurück", "less"),
        ("crypto nein danke", "none"),
        ("Fußball gern", "more"),
        ("HN: less", "less"),
        ("guardain more often", "more"),
        ("Trump muss weg", "none"),
        ("Politik darf ruhig weniger werden", "less"),
        ("ich würde mich freuen, wenn es mehr über Bücher gäbe", "more"),
    ],
)
def test_a_turn_of_phrase_means_what_people_mean_by_it(words: str, direction: str):
    reading = read(words)
    assert [wish.direction for wish in reading.wishes] == [direction] and reading.question is None
    assert len(reading.wishes[0].target.label.split()) <= 2


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("hide trump but not in the guardian", "not in the guardian"),
        ("morgens keine Politik", "morgens"),
        ("no politics in December", "in December"),
        ("zeig ab Januar wieder Fußball", "ab Januar"),
        ("less chess, except when it's about Germany", "except"),
        ("tone football down but keep the finals", "keep the finals"),
        ("less football but keep chess", "keep chess"),
        ("hacker news is great but only the ones about programming", "only the ones about programming"),
    ],
)
def test_a_condition_is_said_wherever_it_stands(words: str, said: str):
    question = read(words).question
    assert question is not None and said in question.text


@pytest.mark.parametrize(
    ("words", "about", "told"),
    [
        ("more long reads about chess", "chess", "long"),
        ("more chess long reads", "chess", "long"),
        ("mehr lange Texte über Schach", "Schach", "long"),
        ("mehr Texte über Schach", "Schach", ""),
        ("more essays about chess", "chess", "essays"),
        ("mehr Reportagen über Schach", "Schach", "Reportagen"),
    ],
)
def test_how_long_or_of_what_form_articles_are_is_no_part_of_their_subject(words: str, about: str, told: str):
    reading = read(words)
    assert [(wish.direction, wish.target.label) for wish in reading.wishes] == [("more", about)]
    assert told in " ".join(reading.notes) and bool(told) == bool(reading.notes)


def test_a_form_that_is_wished_away_hides_no_subject():
    reading = read("no podcasts about AI")
    assert reading.wishes == () and "what form" in reading.notes[0]


@pytest.mark.parametrize(
    "words", ["no crypto for a while", "vorerst kein Krypto", "no crypto over christmas"]
)
def test_a_time_without_an_end_is_asked_with_answers(words: str):
    question = read(words).question
    assert question is not None and len(question.choices) == 3
    untils = [read(choice.words).wishes[0].until for choice in question.choices]
    assert untils == [TODAY + timedelta(days=7), TODAY + timedelta(days=30), None]


def test_the_end_of_what_is_told_first_is_the_end_of_the_mute():
    reading = read("I'm away until Sunday, no politics please")
    assert [(wish.target.key, wish.until) for wish in reading.wishes] == [("politics", date(2026, 11, 29))]
    assert read("heute kein Fußball").wishes[0].until == TODAY


@pytest.mark.parametrize(
    ("words", "wished"),
    [
        ("Promis raus, Wissenschaft rein", [("none", "Promis"), ("more", "Wissenschaft")]),
        ("Less TIME, it's mostly fluff", [("less", "TIME")]),
        ("bring back the football news that I hid", [("unmute", "football")]),
        ("apple apple apple everywhere", [("less", "apple")]),
        ("hide everything with 'Black Friday' in the title", [("none", "Black Friday")]),
        ("bring back The Verge", [("unmute", "The Verge")]),
        ("it would be nice if there was something about tea", [("more", "tea")]),
        ("make sure LWN is never missed", [("keep", "LWN.net")]),
        ("heise darf nie fehlen", [("keep", "heise online")]),
    ],
)
def test_what_stands_around_a_wish_is_no_part_of_it(words: str, wished: list[tuple[str, str]]):
    reading = read(words)
    assert [(wish.direction, wish.target.label) for wish in reading.wishes] == wished
    assert reading.question is None


@pytest.mark.parametrize(
    "words", ["Ich brauche nicht jeden Tag Fußball", "Ich mag Tennis, aber nicht Fußball", "not Fußball"]
)
def test_a_not_is_never_a_part_of_a_name(words: str):
    question = read(words).question
    assert question is not None and [one.words.split()[0] for one in question.choices] == ["less", "mute"]


def test_a_limit_after_a_yes_is_kept():
    [wish] = read("Heise? Gern, aber höchstens vier am Tag").wishes
    assert (wish.target.label, wish.most) == ("heise online", 4)


def test_a_long_phrase_asks_for_the_names_in_it():
    question = read("dont show me spoilers for the second season of Severance").question
    assert question is not None and 'mute word "Severance"' in [one.words for one in question.choices]
    assert all("“Severance”" in one.label or "“spoilers”" in one.label for one in question.choices)


@pytest.mark.parametrize("words", ["there's hardly anything about books", "kaum noch Bücher"])
def test_too_few_or_too_many_is_asked(words: str):
    assert read(words).wishes == () and read(words).question is not None


@pytest.mark.parametrize(
    ("words", "wished"),
    [
        ("I have no time for politics", [("none", "politics")]),
        ("I'd kill for some tennis", [("more", "tennis")]),
        ("hab keinen nerv mehr auf krieg", [("none", "krieg")]),
        ("mehr Werkzeug", [("more", "Werkzeug")]),
        ("mehr Spielzeug und Fußballzeug", [("more", "Spielzeug"), ("more", "Fußball")]),
        ("more animals", [("more", "animals")]),
        ("mach weniger Apple rein", [("less", "Apple")]),
        ("zu Elon Musk nicht mehr anzuzeigen", [("none", "Elon Musk")]),
        ("gimme linux", [("more", "linux")]),
        ("football god no", [("none", "football")]),
    ],
)
def test_a_word_in_a_turn_of_phrase_is_no_other_wish(words: str, wished: list[tuple[str, str]]):
    assert [(wish.direction, wish.target.label) for wish in read(words).wishes] == wished


def test_who_has_no_interest_is_offered_no_more_of_it():
    for words in ("I have no interest for the sport", "Sport ist nicht von Interesse"):
        question = read(words).question
        assert question is not None and len(question.choices) >= 2
        assert not any(choice.label.startswith("More") for choice in question.choices), words


@pytest.mark.parametrize(
    ("words", "silly"),
    [
        ("I only trust the BBC for war news", "trust"),
        ("Honestly the Guardian is getting on my nerves lately", "nerves"),
        ("Mein Arzt hat mir Aufregung verboten, Politik also bitte sehr dosiert", "Arzt"),
        ("I skip every single Trump headline. Draw your own conclusions.", "Draw"),
    ],
)
def test_words_that_name_nothing_are_not_offered(words: str, silly: str):
    reading = read(words)
    labels = [choice.label for choice in reading.question.choices] if reading.question else []
    assert not any(f"“{silly}”" in label for label in labels), labels

"""Clear wishes in plain words are proposed, unclear ones are asked back, and orders to a model are no
wishes."""

import random
import time
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from itertools import product

import pytest

from ranking.entities import Candidate
from suggestions.wishes.german import GERMAN
from suggestions.wishes.lexicon import CONDITION, PHRASES
from suggestions.wishes.reading import wishes_read
from suggestions.wishes.wish import BIG, SMALL, USUAL, WISH_CHARS_MAX, WISHES_MAX, Names, Reading, Wish
from tests.support.paraphrases import SOURCES, TODAY, names, paraphrases, unclear

NAMES = names()
F1_MIN = 0.90
PARAPHRASES = paraphrases(500, seed=7)


def read(sentence: str) -> Reading:
    return wishes_read(sentence, NAMES, TODAY)


def one(sentence: str) -> Wish:
    reading = read(sentence)
    assert len(reading.wishes) == 1, reading
    return reading.wishes[0]


def changes(sentence: str) -> frozenset[tuple[str, str, str]]:
    return frozenset((w.target.kind, w.target.key, w.direction) for w in read(sentence).wishes)


def test_what_is_meant_is_understood():
    found = [(changes(one.sentence), one.truth) for one in PARAPHRASES]
    right = sum(len(got & truth) for got, truth in found)
    f1 = 2 * right / sum(len(got) + len(truth) for got, truth in found)
    wrong = [one.sentence for one, (got, truth) in zip(PARAPHRASES, found, strict=True) if got != truth]
    assert f1 >= F1_MIN, (f1, wrong[:20])


@pytest.mark.parametrize("sentence", sorted(set(unclear(200, seed=3))))
def test_what_is_unclear_is_asked_and_not_guessed(sentence: str):
    reading = read(sentence)
    assert reading.question is not None and reading.wishes == ()


@pytest.mark.parametrize("sentence", sorted(set(unclear(200, seed=4))))
def test_each_answer_to_a_question_says_all_that_was_asked(sentence: str):
    question = read(sentence).question
    assert question is not None
    for choice in question.choices:
        assert len(read(choice.words).wishes) == 1, choice


def test_a_topic_or_a_source_of_that_name_is_asked():
    question = read("more climate").question
    assert question is not None
    labels = [choice.label for choice in question.choices]
    assert labels == ["More of the word “climate”", "More of the source “Climate Home”"]
    assert one(question.choices[1].words).target.key == "climatehome.example"


def test_a_last_day_at_the_end_counts_for_all_before_it():
    wishes = read("Less crypto, no football, until Friday").wishes
    assert [wish.until for wish in wishes] == [date(2026, 3, 20)] * 2


@pytest.mark.parametrize(
    ("words", "days"),
    [
        ("until Friday", 2),
        ("until Wednesday", 7),
        ("till tomorrow", 1),
        ("for 3 days", 3),
        ("for a week", 7),
        ("for the next two weeks", 14),
        ("this week", 4),
        ("until the end of the month", 13),
        ("until next week", 4),
        ("until 2026-03-28", 10),
        ("until 1 April", 14),
        ("until April 1st", 14),
        ("until 1st of March", 348),
    ],
)
def test_a_last_day_is_read_in_the_readers_calendar(words: str, days: int):
    assert one(f"mute football {words}").until == TODAY + timedelta(days=days)


@pytest.mark.parametrize(
    ("words", "amount"),
    [
        ("a bit less football", SMALL),
        ("turn football down a little", SMALL),
        ("less football", USUAL),
        ("much less football", BIG),
        ("reduce football significantly", BIG),
        ("a lot more from Gazette", BIG),
        ("slightly more from Gazette", SMALL),
    ],
)
def test_how_much_is_wanted_is_read(words: str, amount: str):
    assert one(words).amount == amount


@pytest.mark.parametrize("words", ["until 2026-02-30", "until 2025-01-01", "until the cows come", "until"])
def test_a_last_day_that_is_none_is_asked(words: str):
    question = read(f"mute football {words}").question
    assert question is not None and "Until when?" in question.text


def test_a_word_to_mute_may_be_one_that_nothing_has_yet():
    wish = one("no bogsnorkelling until Friday")
    assert (wish.target.key, wish.direction) == ("bogsnorkelling", "none")
    assert read("no gazete").question is not None  # nearly a source


def test_lengths_are_left_out_with_a_sentence():
    reading = read("more long gardening pieces")
    assert [wish.target.key for wish in reading.wishes] == ["gardening"]
    assert "“long”" in reading.notes[0]


def test_a_fourth_change_is_left_for_the_next_time():
    reading = read("less crypto, football, chess, elections and podcasts")
    assert len(reading.wishes) == WISHES_MAX and "“elections”, “podcasts”" in reading.notes[0]
    assert reading.left == "less elections and podcasts"


@pytest.mark.parametrize(
    "sentence",
    [
        "less crypto, football, chess, elections and podcasts",
        "more crypto; less football; more chess; no elections until Friday; less podcasts",
        "I would like much less about crypto, football, chess, elections and podcasts",
        "weniger crypto, football, chess, elections und podcasts",
        "kein crypto, kein football, kein chess, kein elections bis Freitag",
        "no crypto, football, chess, elections until Friday",
        "less crypto, a gaziebo, chess, football, elections",
    ],
)
def test_the_words_that_are_left_ask_for_the_rest_and_for_nothing_else(sentence: str):
    whole = wishes_read(sentence, NAMES, TODAY)
    again = wishes_read(whole.left, NAMES, TODAY)
    asked = [wish.target.key for wish in (*whole.wishes, *again.wishes)]
    assert len(whole.wishes) == WISHES_MAX and again.wishes and again.left == ""
    assert len(set(asked)) == len(asked)
    assert {wish.direction for wish in again.wishes} <= {wish.direction for wish in whole.wishes} | {"none"}
    assert ("Friday" in sentence or "Freitag" in sentence) == any(wish.until for wish in again.wishes)
    assert all(f"“{wish.target.label}”" in " ".join(whole.notes) for wish in again.wishes)


def test_what_is_no_wish_is_named():
    reading = read("what is the weather in Oslo tomorrow")
    assert not reading.wishes and reading.question is None and "a question, not a wish" in reading.notes[0]


def test_only_the_readers_own_sources_are_known():
    assert "secret.example" not in SOURCES
    question = read("more from Secret Ledger").question
    assert question is not None and all("the source" not in c.label for c in question.choices)


def test_a_source_is_known_by_the_name_its_reader_gave_a_feed_of_it():
    key = min(SOURCES)
    called = replace(NAMES, called={"My Morning Paper": key})
    assert [wish.target.key for wish in wishes_read("less from my morning paper", called, TODAY).wishes] == [
        key
    ]


@pytest.mark.parametrize("unit", ["more ", "“", '"', "until ", "not ", "a.b", "for two ", "crypto, ", "and "])
def test_any_sentence_of_full_length_is_read(unit: str):
    sentence = (unit * WISH_CHARS_MAX)[:WISH_CHARS_MAX]
    assert len(read(sentence).wishes) <= WISHES_MAX


@pytest.mark.parametrize("phrase", [" ".join(one) for one, (kind, _) in PHRASES.items() if kind == CONDITION])
def test_a_sentence_may_be_a_condition_alone_or_begin_with_it(phrase: str):
    """ "When there is less chess" was no wish, but an error, for its reader's runs too if they wrote it."""
    for rest in ("", " there is less chess", ", never miss it", " at most two a day", " until Friday"):
        assert len(read(f"{phrase}{rest}").wishes) <= WISHES_MAX


def test_words_of_the_grammar_are_read_in_any_order():
    chance = random.Random(1)
    words = sorted({word for phrase in (*PHRASES, *GERMAN) for word in phrase})
    more = ["Gazette", "chess", ",", ".", "(", "“", "-", "at", "most", "two", "a", "day", "31", "²", "9999"]
    for _ in range(400):
        sentence = " ".join(chance.choices([*words, *more * 8], k=chance.randint(1, 9)))
        assert len(read(sentence).wishes) <= WISHES_MAX


def test_thirty_names_that_a_publisher_of_invented_words_never_wrote_are_looked_up_in_time():
    """A sentence of 500 signs took minutes: for each of its names every word was folded anew."""
    invented = product("abcdefgh", repeat=6)
    at = datetime(2026, 3, 18, tzinfo=UTC)
    texts = [" ".join("qz" + "".join(next(invented)) for _ in range(800)) for _ in range(300)]
    items = [Candidate(n, "gazette.example", f"Story {n}", text, at) for n, text in enumerate(texts)]
    items.append(Candidate(300, "gazette.example", "On gaming", "", at))
    unknown = " and ".join(f"more qzxw{one}{two}" for one in "ijkl" for two in "mnopqrst")[:WISH_CHARS_MAX]
    begun = time.process_time()
    found = wishes_read(unknown, Names(SOURCES, items=items), TODAY)
    assert time.process_time() - begun < 5.0
    assert len(found.wishes) == WISHES_MAX and "“qzxwln”" in found.notes[-1]
    # The words of titles are compared first, so no flood of words hides one of them.
    taken = wishes_read("less gamign", Names(SOURCES, items=items), TODAY).wishes
    assert [wish.target.label for wish in taken] == ["gaming"]


def test_a_hundred_parts_of_a_sentence_are_not_each_looked_for_in_every_text():
    at = datetime(2026, 3, 18, tzinfo=UTC)
    texts = [Candidate(n, "gazette.example", "T", "gazebo bake " * 2_000, at) for n in range(400)]
    begun = time.process_time()
    found = wishes_read(("more of a, b " * 50)[:WISH_CHARS_MAX], Names(SOURCES, items=texts), TODAY)
    assert time.process_time() - begun < 8.0
    assert len(found.wishes) <= WISHES_MAX


def filed(title: str, *categories: str, author: str = "", source: str = "gazette.example") -> Candidate:
    dated_at = datetime(2026, 3, 18, tzinfo=UTC)
    return Candidate(hash(title), source, title, "", dated_at, author, categories=categories)


def read_of(sentence: str, *items: Candidate, topics: tuple[str, ...] = ()) -> Reading:
    return wishes_read(sentence, Names(SOURCES, topics, topics, items), TODAY)


VOTE = filed("The vote is counted", "Politics", "Machine-Learning", author="Ada Hill and Ben Low")
SPEECH = filed("A speech on politics")


@pytest.mark.parametrize(
    ("sentence", "kind", "key", "direction"),
    [
        ("more politics", "word", "politics", "more"),
        ("less about politics until Friday", "word", "politics", "less"),
        ("follow politics", "word", "politics", "add"),
        ("more machine learning", "word", "machine learning", "more"),
        ("more from politics", "word", "politics", "more"),
        ("more about Ada Hill", "word", "Ada Hill", "more"),
        ("no politics", "word", "politics", "none"),
        ("mute the topic politics", "word", "politics", "none"),
        ("mute the category sports", "category", "sports", "none"),
        ("mute the word politics", "word", "politics", "none"),
        ("mute Ada Hill", "author", "Ada Hill", "none"),
        ("nothing about Ada Hill", "author", "Ada Hill", "none"),
        ("less Ada Hill", "author", "Ada Hill", "less"),
        ("follow Ben Low", "author", "Ben Low", "add"),
    ],
)
def test_what_publishers_filed_items_under_is_known(sentence: str, kind: str, key: str, direction: str):
    [wish] = read_of(sentence, VOTE).wishes
    assert (wish.target.kind, wish.target.key, wish.direction) == (kind, key, direction)


def test_a_source_or_a_category_of_that_name_is_asked():
    vote = filed("The vote is counted", "Wired")
    question = read_of("more Wired", vote).question
    assert question is not None and len(question.choices) == 2
    # Its own items are not a second meaning.
    assert read_of("more Wired", replace(vote, source="wired.example")).wishes


@pytest.mark.parametrize("items", [(VOTE,), (SPEECH,), (VOTE, SPEECH)])
def test_a_mute_of_a_word_hides_its_category_too_and_is_not_asked_about(items: tuple[Candidate, ...]):
    reading = read_of("no politics until Friday", *items)
    assert [wish.target.kind for wish in reading.wishes] == ["word"] and reading.question is None


@pytest.mark.parametrize("items", [(VOTE,), (SPEECH,), (VOTE, SPEECH)])
@pytest.mark.parametrize(
    "sentence", ["politics", "I hate politics", "no politics", "only politics", "Ada Hill"]
)
def test_each_answer_on_a_category_says_all_that_was_asked(sentence: str, items: tuple[Candidate, ...]):
    for topics in ((), ("Politics",)):
        question = read_of(sentence, *items, topics=topics).question
        for choice in question.choices if question else ():
            assert len(read_of(choice.words, *items, topics=topics).wishes) == 1, choice


def test_an_interest_that_is_a_category_alone_can_be_muted():
    question = read_of("no politics", VOTE, topics=("Politics",)).question
    assert question is not None
    found = [read_of(choice.words, VOTE, topics=("Politics",)).wishes[0] for choice in question.choices]
    assert [(one.target.kind, one.direction) for one in found] == [("topic", "remove"), ("word", "none")]


@pytest.mark.parametrize("sentence", ["no sport", "less sport", "more trains", "kein Sport"])
def test_a_word_of_its_own_is_never_taken_for_one_with_the_same_letters(sentence: str):
    items = replace(VOTE, title="The strop of a razor, and the strains"), SPEECH
    reading = read_of(sentence, *items)
    offered = [choice.label for choice in reading.question.choices] if reading.question else []
    meant = [wish.target.label.casefold() for wish in reading.wishes]
    assert not any("stro" in label or "strains" in label for label in (*offered, *meant))
    word = sentence.split()[-1].casefold()
    assert word in meant or all(word in label.casefold() for label in offered)


def test_a_misspelled_word_still_finds_the_one_with_its_letters():
    assert read_of("less sprot", replace(VOTE, title="The sport of kings")).wishes[0].target.label == "sport"


def test_no_two_answers_to_a_question_read_alike():
    for sentence in ("Politics can go until Friday?", "no politics until Friday", "politics until Friday"):
        for items in ((VOTE,), (SPEECH,), (VOTE, SPEECH)):
            question = read_of(sentence, *items).question
            labels = [choice.label for choice in question.choices] if question else []
            assert len({*labels}) == len(labels), labels
            ends = [choice for choice in question.choices if "until" in choice.words] if question else []
            assert all("until 20 March 2026" in choice.label for choice in ends)

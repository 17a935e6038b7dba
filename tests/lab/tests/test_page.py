"""The simulation of first pages, on an invented stream of three subjects."""

from dataclasses import replace
from datetime import timedelta

import numpy as np

from ranking.entities import Candidate
from ranking.meaning.table import meaning_vectors
from ranking.similarity import HASH_BUCKETS, document_counts_add, term_counts, tfidf_vector
from ranking.taste.entities import TasteLevel
from ranking.taste.leans import SPREAD_PRIOR
from suggestions.planner.by_taste import SURE_Z, THUMBS_MIN
from suggestions.planner.population import BATCH_MIN
from tests.lab.page.arms import (
    BY_HOUR,
    DEALT,
    FREE,
    HOURLY,
    NEWEST,
    NO_LUCK,
    OFF,
    ON,
    ORACLE,
    SURE,
    TASTE_ON,
    TOLD,
    Arm,
)
from tests.lab.page.course import Page, Simulation
from tests.lab.page.feeds import BEGIN, DAYS, Stream
from tests.lab.page.offers import Looked, asked_at, published
from tests.lab.page.readers import NO_PREFERENCES, REAL, SHUFFLED, Reader, reader_draw
from tests.lab.page.table import rows_of, targets_of, words_of

SUBJECTS = (
    (
        "Tennis final in straight sets",
        "The champion served well and won the match on grass at the tournament.",
    ),
    ("Central bank raises rates", "Markets fell as inflation and bond yields rose again this quarter."),
    (
        "Telescope finds a distant planet",
        "Astronomers measured the orbit and the light of a star in the galaxy.",
    ),
)
PAGES = 6


def small_stream() -> Stream:
    """Return twelve feeds of 120 items, four feeds for each subject, spread over all days."""
    items, feeds = [], []
    for feed in range(12):
        title, text = SUBJECTS[feed % 3]
        feeds.append(np.arange(len(items), len(items) + 120))
        items += [
            Candidate(
                len(items) + n,
                f"site-{feed}.example",
                f"{title}, part {feed} {n}",
                text,
                BEGIN + timedelta(days=DAYS - 1, hours=-5 * n - feed / 12),
                url=f"https://site-{feed}.example/{n}",
            )
            for n in range(120)
        ]
    counted = [term_counts(item.title, item.text) for item in items]
    counts = document_counts_add(np.zeros(HASH_BUCKETS, np.uint32), counted)
    return Stream(
        items,
        feeds,
        np.array([item.dated_at.timestamp() for item in items]),
        [tfidf_vector(one, counts, len(items)) for one in counted],
        meaning_vectors([item.title for item in items], [item.text for item in items]),
    )


STREAM = small_stream()
SUBJECT_OF = np.repeat(np.arange(12) % 3, 120)


def tennis_fan() -> Reader:
    """Return a reader of all feeds who likes tennis and nothing else, and says so without fail."""
    likes = np.where(SUBJECT_OF == 0, 0.85, 0.15)
    return Reader(1, 12, np.arange(1440), likes, SUBJECT_OF == 0, SUBJECT_OF, frozenset({0}))


def pages(arm: Arm, reader: Reader) -> list[Page]:
    return Simulation(STREAM, reader, arm).run(PAGES)


def test_a_seed_is_the_same_reader_whatever_their_thumbs_know() -> None:
    groups = [SUBJECT_OF, SUBJECT_OF]
    real = reader_draw(STREAM, groups, seed=4, size=6)
    shuffled, even = (
        reader_draw(STREAM, groups, seed=4, size=6, law=law) for law in (SHUFFLED, NO_PREFERENCES)
    )

    assert real.rows.tolist() == shuffled.rows.tolist() == even.rows.tolist()
    assert real.likes.tolist() == shuffled.likes.tolist() and real.thumbs.tolist() != shuffled.thumbs.tolist()
    assert {*even.likes.tolist()} == {0.45} and not even.to_taste.any()


def test_a_reader_rates_some_of_the_first_fifteen_and_nothing_twice() -> None:
    reader, places = tennis_fan(), list(range(30))
    rated = reader.rated_on(2, places, {0, 1, 2})

    assert 5 <= len(rated) <= 9 and max(rated) < 15 and not {0, 1, 2} & {*rated}
    assert rated == reader.rated_on(2, places, {0, 1, 2})


def test_the_oracle_fills_the_page_that_chance_fills_by_a_third() -> None:
    reader = tennis_fan()
    newest, oracle = (pages(Arm(name), reader)[-1] for name in (NEWEST, ORACLE))

    assert newest.base == oracle.base and abs(newest.base - 1 / 3) < 0.05
    assert oracle.liked > newest.liked + 0.3
    assert newest.thumbs > 25


def test_accepting_suggestions_shows_more_of_what_the_reader_likes() -> None:
    reader = tennis_fan()
    today, accepted = (
        Simulation(STREAM, reader, arm).run(12)
        for arm in (Arm(BY_HOUR, HOURLY), Arm("x", HOURLY, accepts=True))
    )

    assert today[:2] == accepted[:2]
    assert accepted[-1].liked > today[-1].liked


def test_what_stood_among_the_first_before_does_not_count_again() -> None:
    shown = pages(Arm(ORACLE, goes=False), replace(tennis_fan(), rows=np.arange(120)))

    assert shown[-1].repeats > 0.5 and shown[-1].to_taste in (None, 1.0)


def test_a_row_has_the_gain_over_its_base_by_reader() -> None:
    courses = {arm: [pages(Arm(arm), tennis_fan())] * 3 for arm in (BY_HOUR, ORACLE)}
    today, oracle = rows_of(250, [Arm(BY_HOUR), Arm(ORACLE)], courses)

    assert "over" not in today and oracle["over"] == BY_HOUR
    assert oracle["days_4_5_over"][0] == round(oracle["days_4_5"] - today["days_4_5"], 4)
    assert oracle["thumbs"][0] == 0 and oracle["thumbs"][1] > 15


def test_vectors_of_other_items_may_lose_and_shuffled_thumbs_may_not() -> None:
    control = f"{SHUFFLED}: {ON}"

    def met(arm: str, over: list[float]) -> bool:
        (target,) = targets_of([{"feeds": 250, "arm": arm, "over": "base", "days_16_18_over": over}])
        return target["met"]

    assert [met(arm, [-0.07, -0.1, -0.03]) for arm in (DEALT, control)] == [True, False]
    assert [met(arm, [0.07, 0.03, 0.1]) for arm in (DEALT, control)] == [False, False]
    assert [met(arm, [0.01, -0.03, 0.1]) for arm in (DEALT, control)] == [True, True]


def test_an_interview_is_answered_before_the_first_page() -> None:
    first, *_ = pages(Arm("answers", answers=20), tennis_fan())

    assert first.thumbs == 20


def test_answers_without_luck_name_what_is_to_taste_and_are_compared_with_thumbs_alone() -> None:
    wrong = replace(tennis_fan(), thumbs=SUBJECT_OF != 0)
    asked = Arm("20 answers", TASTE_ON, answers=20)
    sure = replace(asked, name=NO_LUCK, has_luck=False)
    arms = (Arm(ON, TASTE_ON), asked, sure)
    courses = {arm.name: [Simulation(STREAM, wrong, arm).run(1)] * 3 for arm in arms}
    alone, lucky, without = rows_of(250, arms, courses)

    assert without["day_1"] > lucky["day_1"] + 0.2
    assert "over_thumbs" not in alone
    assert without["over_thumbs"][0][0] == round(without["day_1"] - alone["day_1"], 4)
    assert without["over_thumbs"][1] is None
    assert f"{without['over_thumbs'][0][0]:+.3f} [" in words_of([alone, lucky, without]).splitlines()[-1]


def test_thumbs_without_luck_say_what_is_to_taste() -> None:
    wrong = replace(tennis_fan(), thumbs=SUBJECT_OF != 0)
    misled, sure = (
        Simulation(STREAM, wrong, arm).run(PAGES)[-1]
        for arm in (Arm(ON, TASTE_ON), Arm(SURE, TASTE_ON, is_sure=True))
    )

    assert sure.liked > misled.liked + 0.1


def test_known_groups_find_what_dealt_vectors_cannot_tell() -> None:
    dealt = Arm(DEALT, TASTE_ON, is_dealt=True)
    known = replace(dealt, name=TOLD, knows_groups=True)
    shuffled, told = ([page.liked for page in pages(arm, tennis_fan())] for arm in (dealt, known))

    assert np.mean(told) > np.mean(shuffled) + 0.05


def test_without_rules_the_page_has_the_newest_although_one_source_fills_it() -> None:
    # One feed with all of its articles, and one with every third.
    reader = replace(tennis_fan(), rows=np.concatenate([np.arange(120), np.arange(120, 240, 3)]))
    bound, free = (pages(arm, reader)[0] for arm in (Arm(OFF), Arm(FREE, has_rules=False)))

    assert (free.age_days or 0) < (bound.age_days or 0)


def test_taste_shows_what_thumbs_like() -> None:
    on = replace(HOURLY, taste=TasteLevel.ON)
    plain, tasted = (pages(Arm("arm", config), tennis_fan())[-1] for config in (HOURLY, on))

    assert tasted.liked > plain.liked + 0.1
    assert plain.others is None and tasted.others is None


def test_of_thumbs_that_tell_nothing_it_is_said_how_much_of_the_page_they_change() -> None:
    reader = replace(tennis_fan(), law=SHUFFLED, thumbs=np.random.default_rng(5).random(1440) < 0.5)
    off, on = (pages(arm, reader)[-1] for arm in (Arm(OFF), Arm("on", TASTE_ON)))

    assert off.others is None and on.others is not None and on.others > 0.2


def test_named_articles_tell_on_the_first_morning_what_thumbs_cannot_know_yet() -> None:
    arms = (Arm("on", TASTE_ON), Arm("named", TASTE_ON, named=3), Arm("d", TASTE_ON, named=3, is_dealt=True))
    without, named, dealt = (pages(arm, tennis_fan())[0] for arm in arms)

    assert named.thumbs == 0
    assert named.liked > without.liked + 0.1 and named.liked > dealt.liked + 0.1


def test_what_was_rated_or_stood_on_two_pages_does_not_come_back() -> None:
    reader = replace(tennis_fan(), rows=np.arange(120))
    gone, stays = (pages(Arm(OFF, goes=goes), reader)[-1].repeats for goes in (True, False))

    assert gone < stays - 0.2


def test_who_is_asked_to_order_their_page_and_what_an_installation_publishes():
    groups = [np.repeat(np.arange(12) % 3, 120)]
    dealt = Looked(STREAM, reader_draw(STREAM, groups, seed=4, size=12, law=SHUFFLED), DAYS)
    fan = Looked(STREAM, tennis_fan(), DAYS)

    checks = fan.checks(SPREAD_PRIOR)
    assert [thumbs for thumbs, _ in checks] == sorted(thumbs for thumbs, _ in checks)
    assert (asked_at(checks, SURE_Z) or 0) >= THUMBS_MIN and asked_at(checks, 99.0) is None
    assert asked_at(dealt.checks(0.0), SURE_Z) is None
    assert published(STREAM, groups, 12, BATCH_MIN - 1, SHUFFLED) == SPREAD_PRIOR
    assert published(STREAM, groups, 12, 100, SHUFFLED) < published(STREAM, groups, 12, 100, REAL)


def test_what_was_passed_by_on_the_first_page_leaves_the_first_places_of_the_second_to_what_is_new() -> None:
    reader = replace(tennis_fan(), rows=np.arange(240))
    plain, sunk = (pages(Arm("arm", sinks=sinks), reader)[1] for sinks in (False, True))

    assert plain.passed is not None and sunk.passed is not None
    assert sunk.passed < plain.passed

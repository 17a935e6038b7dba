"""Opens are weak evidence: limited, corrected for place, weighed by their predictions, below any thumb."""

from dataclasses import replace
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ranking.entities import Candidate, Config, EffectiveConfig
from ranking.implicit import (
    CORRECTION_MAX,
    IMPLICIT_MAX,
    ITEM_MAX,
    WEIGHT_PRIOR,
    ImplicitLeans,
    ReadingEvent,
    Thumb,
    articles_skipped,
    implicit_leans,
    position_correction,
)
from ranking.learning import STEP_MAX
from ranking.pool import Pool
from ranking.scoring import Signals, rank

NOW = datetime(2026, 3, 18, 12, 0, tzinfo=UTC)
SOURCES, CATEGORIES = ("good", "bad", "other"), ("harbour", "rail")
NONE: frozenset[str] = frozenset()
KEYS = st.frozensets(st.sampled_from(CATEGORIES))
FLAGS = st.booleans()
EVENTS = st.lists(
    st.builds(
        ReadingEvent,
        st.sampled_from(SOURCES),
        KEYS,
        st.integers(1, 30),
        FLAGS,
        FLAGS,
        FLAGS,
        st.none() | FLAGS,
        st.floats(0, 60),
    ),
    max_size=40,
)
THUMBS = st.lists(st.builds(Thumb, st.sampled_from(SOURCES), KEYS, FLAGS, st.floats(0.1, 1)), max_size=12)


def pages(count: int, wanted: str = "good", passed: str = "bad") -> list[ReadingEvent]:
    """Return events: this many items of one source opened, and as many of another skipped."""
    return [ReadingEvent(wanted, opened=True), ReadingEvent(passed)] * count


def thumbs(good: int, bad: int) -> list[Thumb]:
    """Return ten thumbs on each of two sources, with this many up."""
    return [Thumb(source, NONE, n < ups) for source, ups in (("good", good), ("bad", bad)) for n in range(10)]


# --- a thumb always outweighs it ----------------------------------------------------------------------


@given(EVENTS, THUMBS, st.sampled_from(SOURCES), KEYS, FLAGS)
def test_after_one_thumb_no_reading_points_the_other_way(events, before, source, keys, useful):
    leans = implicit_leans(events, before)
    was = leans.added(source, keys)
    now = leans.with_thumbs([Thumb(source, keys, useful)]).added(source, keys)
    assert (now >= 0 and now >= was - 1e-12) if useful else (now <= 0 and now <= was + 1e-12)


@given(EVENTS, THUMBS, FLAGS)
def test_thumbs_that_agree_on_a_source_forbid_reading_to_object(events, others, useful):
    mine = [Thumb("good", NONE, useful)] * 3
    rest = [thumb for thumb in others if thumb.source != "good"]
    contrary = [replace(thumb, useful=not useful) for thumb in rest]
    added = implicit_leans(events, mine + contrary).added("good")
    assert added >= 0 if useful else added <= 0


@given(EVENTS, THUMBS, st.sampled_from(SOURCES), KEYS)
def test_whatever_was_read_it_stays_below_a_step_that_thumbs_teach(events, given_thumbs, source, keys):
    added = implicit_leans(events, given_thumbs).added(source, keys)
    assert abs(added) <= IMPLICIT_MAX
    assert (1 - STEP_MAX) * (1 + IMPLICIT_MAX) < 1 < (1 + STEP_MAX) * (1 - IMPLICIT_MAX)


@given(EVENTS)
def test_no_item_counts_more_than_a_quarter_of_a_thumb(events):
    assert all(0 <= event.mass <= ITEM_MAX for event in events)


def test_a_thumb_takes_back_what_the_same_item_says_against_it():
    opened = [*pages(6), *[ReadingEvent("good", opened=True, useful=False)] * 6]
    assert implicit_leans(opened, ()).sources["good"].opened == 6


# --- place and exposure -------------------------------------------------------------------------------


def test_an_open_further_down_counts_more_up_to_a_bound():
    ranks = [position_correction(rank) for rank in (1, 4, 9, 30, 10_000)]
    assert ranks == [1, 2, 3, CORRECTION_MAX, CORRECTION_MAX]


def test_two_sources_opened_as_often_lean_apart_where_one_was_further_down():
    top = [ReadingEvent("top", rank=1, opened=True), ReadingEvent("top")] * 8
    low = [ReadingEvent("low", rank=4, opened=True), ReadingEvent("low")] * 8
    leans = implicit_leans([*top, *low], ()).sources
    assert leans["low"].log_odds > 0 > leans["top"].log_odds


def test_only_what_lay_above_an_open_was_passed_over():
    assert articles_skipped({10: 1, 11: 2, 12: 3, 13: 4}, [12]) == {10, 11}
    assert articles_skipped({10: 1, 11: 2}, []) == set()
    assert articles_skipped({10: 1, 11: 2}, [99]) == set()


def test_old_opens_count_less():
    assert ReadingEvent("a", opened=True, age_days=60).mass == ReadingEvent("a", opened=True).mass / 2


def test_saving_says_more_than_reading_to_the_end_and_that_more_than_opening():
    opened = ReadingEvent("a", opened=True)
    finished, saved = replace(opened, finished=True), replace(opened, saved=True)
    assert ReadingEvent("a").mass < opened.mass < finished.mass < saved.mass


def test_however_much_is_read_of_one_source_it_stays_two_thumbs():
    some, very = (implicit_leans(pages(n), ()).sources["good"].log_odds for n in (30, 3000))
    assert some == pytest.approx(very, abs=0.01) and 0 < very < 1


# --- the learnt weight --------------------------------------------------------------------------------


def test_before_any_thumb_the_weight_is_the_priors():
    assert implicit_leans(pages(10), ()).weight == WEIGHT_PRIOR


def test_opens_that_foretell_thumbs_gain_weight_and_those_that_contradict_them_lose_all():
    agreeing, opposite = implicit_leans(pages(20), thumbs(10, 0)), implicit_leans(pages(20), thumbs(0, 10))
    assert agreeing.weight > WEIGHT_PRIOR and opposite.weight == 0
    assert opposite.added("good") == opposite.added("bad") == 0


def test_opens_that_say_nothing_of_thumbs_lose_weight_slowly():
    weights = [implicit_leans(pages(20), thumbs(5, 5) * times).weight for times in (1, 4, 40)]
    assert WEIGHT_PRIOR > weights[0] > weights[1] > weights[2] and weights[2] < 0.2


def test_what_was_rated_is_no_witness_for_itself():
    rated = [replace(event, useful=event.wanted) for event in pages(20)]
    assert implicit_leans(rated, thumbs(10, 0)).weight == WEIGHT_PRIOR


# --- in the score -------------------------------------------------------------------------------------


@given(EVENTS, THUMBS, st.lists(st.tuples(st.sampled_from((*SOURCES, "unread")), KEYS), max_size=8))
def test_a_column_of_items_gets_what_each_alone_would(events, given_thumbs, items):
    leans = implicit_leans(events, given_thumbs)
    pool = Pool([Candidate(n, s, "t", "", NOW, categories=sorted(keys)) for n, (s, keys) in enumerate(items)])
    assert pool.implicit(leans).tolist() == pytest.approx([leans.added(s, keys) for s, keys in items])


def test_a_source_that_is_opened_comes_before_one_that_is_passed_over_and_says_why():
    items = [Candidate(1, "bad", "t", "", NOW), Candidate(2, "good", "t", "", NOW)]
    leans = implicit_leans(pages(6), ())
    first, second = rank(items, EffectiveConfig(Config()), NOW, Signals(implicit=leans))
    assert [first.candidate.source, second.candidate.source] == ["good", "bad"]
    assert (first.parts.opened, first.parts.shown, second.parts.opened) == (6, 6, 0)
    assert (
        first.total == pytest.approx(1 + first.parts.reading)
        and second.parts.reading < 0 < first.parts.reading
    )


def test_a_category_leans_by_itself_and_a_thumb_on_it_counts():
    harbour, rail = frozenset({"harbour"}), frozenset({"rail"})
    leans = implicit_leans([ReadingEvent("a", harbour, opened=True), ReadingEvent("a", rail)] * 8, ())
    assert leans.added("a", harbour) > 0 > leans.added("a", rail)
    assert leans.with_thumbs([Thumb("b", harbour, useful=False)]).added("c", harbour) == 0


def test_nothing_read_says_nothing():
    assert implicit_leans((), ()) == ImplicitLeans(WEIGHT_PRIOR)

"""A digest shows a story once, gives a source its share, and leaves room for little-known sources."""

from collections import Counter
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from digest.daily.compose import NOVELTY, Composition, NoveltyDraw, PlacedItem, Rules, compose, novelty_draw
from digest.daily.diversity import AGAIN, RANKED, RATED, Choice, ExclusionReason, source_cap
from ranking.entities import Config, EffectiveConfig

SEED = NoveltyDraw("ada|2026-03-18")
CHOICES = st.lists(
    st.builds(
        Choice,
        item_id=st.integers(0, 60),
        source=st.sampled_from("abcdefgh"),
        story=st.one_of(st.none(), st.integers(1, 5)),
        low=st.booleans(),
        muted=st.booleans(),
        most=st.none(),
        reserved=st.just(False),
        late=st.just(False),
        share=st.sampled_from([1.0, 1.3]),
    ),
    unique_by=lambda choice: choice.item_id,
    max_size=50,
)
RULES = st.builds(
    Rules, size=st.integers(1, 30), stories=st.booleans(), cap=st.booleans(), novelty=st.booleans()
)
# Shares only: no novelty draw, and only the order of the score.
BY_SCORE = Rules(6, novelty=False, alternate=False)


def items(*sources: str, start: int = 0) -> list[Choice]:
    """Return one choice for each of `sources`, best first, numbered from `start`."""
    return [Choice(n, source) for n, source in enumerate(sources, start=start)]


def ids(composed: Composition) -> list[int]:
    return [place.item_id for place in composed.places]


def slots(composed: Composition) -> list[str]:
    return [place.slot for place in composed.places]


@given(CHOICES, RULES)
def test_every_candidate_is_shown_once_or_left_out_with_a_reason(ranked, rules):
    composed = compose(ranked, rules, SEED)
    shown = ids(composed)
    assert len(shown) == len(set(shown))
    assert {*shown} | {*composed.left_out} == {choice.item_id for choice in ranked}
    assert not {*shown} & {*composed.left_out}
    assert sum(composed.counts().values()) == len(ranked) - len(shown)


@given(CHOICES, RULES)
def test_a_digest_is_never_short_while_there_is_a_story_to_tell(ranked, rules):
    stories = Counter(c.story for c in ranked if c.story is not None) if rules.stories else Counter()
    to_tell = len(ranked) - sum(n - 1 for n in stories.values())
    assert len(compose(ranked, rules, SEED).places) == min(rules.size, to_tell)


@given(CHOICES, RULES)
def test_what_is_shown_by_score_stands_in_the_order_of_the_score(ranked, rules):
    rules = replace(rules, alternate=False)
    by_score = [place.item_id for place in compose(ranked, rules, SEED).places if place.slot == RANKED]
    assert by_score == [choice.item_id for choice in ranked if choice.item_id in by_score]


@given(CHOICES, RULES, st.sets(st.integers(0, 60)))
def test_what_was_passed_by_takes_no_place_from_others_and_stands_below_them(ranked, rules, passed):
    rules = replace(rules, novelty=False)
    plain = compose(ranked, rules, SEED)
    composed = compose([c._replace(again=c.item_id in passed) for c in ranked], rules, SEED)
    assert {*ids(composed)} == {*ids(plain)} and composed.left_out == plain.left_out
    assert [i in passed for i in ids(composed)] == [slot == AGAIN for slot in slots(composed)]
    assert slots(composed) == sorted(slots(composed), key=lambda slot: slot == AGAIN)


@given(CHOICES, st.integers(1, 30))
def test_plain_rules_show_the_best_and_nothing_else(ranked, size):
    assert ids(compose(ranked, Rules.score_only(size), SEED)) == [c.item_id for c in ranked[:size]]


@given(CHOICES, RULES)
def test_composing_again_with_what_was_drawn_in_place_changes_nothing(ranked, rules):
    first = compose(ranked, rules, SEED)
    source = {choice.item_id: choice.source for choice in ranked}
    drawn = {
        rank: PlacedItem(place.item_id, source[place.item_id], None, place.propensity)
        for rank, place in enumerate(first.places, start=1)
        if place.slot == NOVELTY
    }
    assert compose(ranked, rules, SEED, drawn=drawn) == first


# --- one telling of a story ---------------------------------------------------------------------------


def test_the_best_telling_of_a_story_stands_for_the_others():
    ranked = [Choice(1, "a", 7), Choice(2, "b"), Choice(3, "c", 7), Choice(4, "d")]
    composed = compose(ranked, Rules(3), SEED)
    assert ids(composed) == [1, 2, 4]
    assert composed.left_out == {3: ExclusionReason.SAME_STORY}


def test_what_was_rated_tells_its_story_even_if_another_scores_better_now():
    ranked = [Choice(1, "a", 7), Choice(2, "b"), Choice(3, "c", 7)]
    composed = compose(ranked, Rules(3), SEED, rated={2: PlacedItem(3, "c", 7)})
    assert ids(composed) == [2, 3]
    assert slots(composed) == [RANKED, RATED]
    assert composed.left_out == {1: ExclusionReason.SAME_STORY}


def test_a_story_nobody_tells_in_the_digest_is_no_reason_to_leave_an_item_out():
    ranked = [*items("a", "b", "c"), Choice(3, "d", 7), Choice(4, "e", 7)]
    assert compose(ranked, Rules(3), SEED).left_out == {3: ExclusionReason.BELOW, 4: ExclusionReason.BELOW}


# --- a share for each source --------------------------------------------------------------------------


def test_no_source_takes_more_than_a_third_while_others_have_something():
    ranked = items(*"aaaaaaaa", *"bbb", *"cccc")
    composed = compose(ranked, Rules(9, novelty=False), SEED)
    assert Counter(ranked[item].source for item in ids(composed)) == {"a": 3, "b": 3, "c": 3}
    assert composed.counts() == {"below": 1, "source_cap": 5}
    assert composed.left_out[14] == ExclusionReason.BELOW  # the fourth of "c", behind the last that is shown


def test_a_share_gives_way_where_there_is_nothing_else():
    ranked = items(*"aaaaaaaa", "b", "c")
    composed = compose(ranked, BY_SCORE, SEED)
    assert ids(composed) == [0, 1, 2, 3, 8, 9]  # two as its share, two to fill up, in the order of the score


@pytest.mark.parametrize(("sources", "most"), [("a", 6), ("ab", 3), ("abc", 2), ("abcd", 2)])
def test_with_fewer_than_three_sources_the_share_is_an_equal_one(sources, most):
    ranked = [Choice(n, source) for source in sources for n in range(10 * ord(source), 10 * ord(source) + 9)]
    shown = compose(ranked, Rules(6, novelty=False), SEED).places
    first = Counter(place.item_id // 10 for place in shown)[ord("a")]
    assert first == most


@pytest.mark.parametrize(
    ("sources", "most"), [(1, 30), (2, 15), (3, 10), (6, 10), (7, 9), (10, 6), (20, 3), (30, 2), (247, 2)]
)
def test_the_more_sources_there_are_the_smaller_is_the_share_of_each(sources, most):
    ranked = [Choice(1000 * n + k, f"s{n}") for k in range(30) for n in range(sources)]
    loud_first = sorted(ranked, key=lambda choice: choice.item_id)
    shown = compose(loud_first, Rules(30, novelty=False), SEED).places
    assert Counter(place.item_id // 1000 for place in shown)[0] == most


def test_a_source_that_the_reader_wants_more_of_has_a_share_as_many_times_as_large_as_its_weight():
    ranked = [
        Choice(1000 * n + k, f"s{n}", share=1.3 if n < 2 else 1.0) for n in range(30) for k in range(30)
    ]
    shown = compose(ranked, Rules(30, novelty=False), SEED).places
    counts = Counter(place.item_id // 1000 for place in shown)
    assert [counts[n] for n in range(4)] == [3, 3, 2, 2]


@given(st.integers(1, 300), st.integers(1, 100))
def test_no_share_is_more_than_a_third_nor_less_than_an_equal_one(sources, size):
    cap = source_cap([Choice(n, str(n)) for n in range(sources)], (), size)
    assert size / sources <= cap <= max(-(-size // min(3, sources)), 1)


def test_rated_items_count_towards_the_share_of_their_source():
    ranked = items("a", "a", "b", "b", "c", "c")
    composed = compose(ranked, Rules(3, novelty=False), SEED, rated={1: PlacedItem(99, "a")})
    assert ids(composed) == [99, 2, 4]


@given(CHOICES, RULES)
def test_who_wants_less_of_something_never_loses_it_to_what_scores_lower_within_the_shares(ranked, rules):
    composed = compose(ranked, replace(rules, novelty=False), SEED)
    sources = Counter(c.source for c in ranked)
    at = {choice.item_id: n for n, choice in enumerate(ranked)}
    last = max((at[item] for item in ids(composed)), default=-1)
    for choice in ranked[:last]:
        if choice.item_id in composed.left_out and sources[choice.source] == 1 and choice.story is None:
            assert not choice.unwanted or not rules.cap or at[choice.item_id] >= rules.size


@pytest.mark.parametrize(
    "wish",
    [{"low": True}, {"muted": True}, {"disliked": True}],
    ids=["of the source", "of a word", "by taste"],
)
def test_who_wants_a_little_less_of_something_still_sees_it_before_what_scores_lower(wish):
    ranked = items(*"aaaaaa", "b", "c", "d", "e", "f")
    ranked[8] = ranked[8]._replace(**wish)
    assert ids(compose(ranked, BY_SCORE, SEED)) == [0, 1, 6, 7, 8, 9]


def test_what_the_score_alone_would_show_is_not_passed_over_for_what_comes_often():
    ranked = [*items(*"aa"), Choice(2, "d", low=True), Choice(3, "e", muted=True), *items(*"aaaa", start=4)]
    assert ids(compose(ranked, Rules(4, novelty=False), SEED)) == [0, 1, 2, 3]


def test_what_the_reader_wants_less_of_takes_no_place_from_what_comes_often_and_scores_higher():
    ranked = [*items(*"aaaaaa", "b", "c"), Choice(8, "d", low=True), Choice(9, "e", disliked=True)]
    composed = compose(ranked, BY_SCORE, SEED)
    assert ids(composed) == [0, 1, 2, 3, 6, 7]


# --- room for little-known sources -------------------------------------------------------------------

LOUD = items(*"abcabcabcabcabcabc")
QUIET = items("q", "r", "s", "t", "q", start=100)


def test_each_tenth_place_is_drawn_from_sources_without_one_and_says_how_likely_it_was():
    composed = compose([*LOUD, *QUIET], Rules(10), SEED)
    assert slots(composed) == [RANKED] * 9 + [NOVELTY]
    drawn = composed.places[-1]
    assert drawn.item_id in {100, 101, 102, 103}  # the best of each, not 104
    assert drawn.propensity == 1 / 4


def test_the_same_reader_and_day_draw_the_same_and_other_days_draw_each_source_as_often():
    days = [compose([*LOUD, *QUIET], Rules(10), NoveltyDraw(f"ada|{n}")).places[-1] for n in range(800)]
    counts = Counter(place.item_id for place in days)
    assert {*counts} == {100, 101, 102, 103}
    assert all(0.2 < count / 800 < 0.3 for count in counts.values())  # 6 standard errors beside 1/4
    assert compose([*LOUD, *QUIET], Rules(10), NoveltyDraw("ada|5")).places[-1] == days[5]


def test_the_logged_probability_is_the_one_it_is_drawn_with_when_there_are_several_slots():
    ranked = [Choice(n, "abcdefghij"[n % 10]) for n in range(60)]
    ranked += items("q", "r", "s", "t", "u", start=100)
    seen: Counter[int] = Counter()
    for n in range(800):
        composed = compose(ranked, Rules(20), NoveltyDraw(f"ben|{n}"))
        drawn = [place for place in composed.places if place.slot == NOVELTY]
        assert [place.propensity for place in drawn] == [2 / 5] * 2
        seen.update(place.item_id for place in drawn)
    assert all(0.3 < count / 800 < 0.5 for count in seen.values()) and len(seen) == 5


def test_what_a_word_counts_against_is_never_drawn():
    ranked = [*LOUD, *(choice._replace(muted=True) for choice in QUIET)]
    assert slots(compose(ranked, Rules(10), SEED)) == [RANKED] * 10


def test_a_source_of_less_than_half_the_weight_is_never_drawn():
    weights = EffectiveConfig(Config(source_weights={"q": 0.49, "r": 0.5, "s": 0.1}, avoided=("t",)))
    drawn = compose([*LOUD, *QUIET], Rules(10), novelty_draw("ada|2026-03-18", (), weights)).places[-1]
    assert (drawn.item_id, drawn.slot, drawn.propensity) == (101, NOVELTY, 1.0)


def test_what_is_older_than_it_may_be_is_never_drawn():
    draw = novelty_draw("ada|2026-03-18", (), EffectiveConfig(Config()), never={100, 101, 103, 104})
    drawn = compose([*LOUD, *QUIET], Rules(10), draw).places[-1]
    assert (drawn.item_id, drawn.slot, drawn.propensity) == (102, NOVELTY, 1.0)


def test_known_and_avoided_sources_are_never_drawn():
    open_ = replace(SEED, closed=frozenset("qrs"))
    assert ids(compose([*LOUD, *QUIET], Rules(10), open_))[-1] == 103
    assert (
        slots(compose([*LOUD, *QUIET], Rules(10), replace(SEED, closed=frozenset("qrst")))) == [RANKED] * 10
    )


def test_who_reads_one_source_gets_its_best_and_no_draw():
    assert ids(compose(items(*"a" * 40), Rules(30), SEED)) == [*range(30)]


def test_where_everything_has_a_place_nothing_is_drawn():
    assert slots(compose([*LOUD[:6], *QUIET[:4]], Rules(10), SEED)) == [RANKED] * 10


def test_a_draw_stays_where_it_was_while_newer_items_come_in():
    before = compose([*LOUD, *QUIET], Rules(10), SEED).places[-1]
    again_at = PlacedItem(before.item_id, "qrst"[before.item_id - 100], None, before.propensity)
    newer = items("q", "r", "s", "t", start=200)
    after = compose([*newer[2:], *LOUD[:9], *newer, *QUIET][2:], Rules(10), SEED, drawn={10: again_at})
    assert after.places[-1] == before


def test_a_draw_ends_when_its_reader_wants_less_of_it():
    ranked = [*LOUD, *QUIET]
    shut = replace(SEED, closed=frozenset("q"))
    after = compose(ranked, Rules(10), shut, drawn={10: PlacedItem(100, "q", None, 0.25)})
    assert after.places[-1].item_id in {101, 102, 103}


def test_a_rated_draw_uses_its_slot_up():
    rated = {10: PlacedItem(100, "q", None, 0.25)}
    composed = compose([*LOUD, *QUIET], Rules(10), SEED, rated=rated)
    assert slots(composed) == [RANKED] * 9 + [RATED]
    assert composed.places[-1].propensity == 0.25

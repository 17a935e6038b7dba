"""A reason for leaving an item out is a promise: were that one thing otherwise, the item would be shown."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from digest.daily.compose import NoveltyDraw, PlacedItem, Rules, compose
from digest.daily.diversity import RANKED, RATED, Choice, ExclusionReason, order_by_share, places_lost

SEED = NoveltyDraw("ada|2026-03-18")


def choice(n: int, source: str, score: float, weight: float = 1.0, unmuted: float | None = None) -> Choice:
    """Return a candidate whose score is lowered by its weight and by the words against it."""
    free = score if unmuted is None else unmuted
    low = weight < 1
    return Choice(n, source, None, low, free > score, score, score / weight if low else score, free)


@st.composite
def ranked(draw: st.DrawFn) -> list[Choice]:
    """Up to forty candidates, best first, of sources of weight 1/8 to 1; words count against some of them."""
    weights = {source: draw(st.sampled_from([1.0, 1.0, 0.5, 0.125])) for source in "abcde"}
    merits = draw(st.lists(st.integers(1, 10_000), unique=True, max_size=40))
    found = []
    for n, merit in enumerate(merits):
        source = draw(st.sampled_from("abcde"))
        free = merit * weights[source]
        score = free * draw(st.sampled_from([1.0, 1.0, 0.75, 0.25]))
        found.append(choice(n, source, score, weights[source], free))
    # Equal scores do not tell which item stands first.
    clear = {
        value
        for value, n in Counter(v for c in found for v in {c.score, c.at_par, c.unmuted}).items()
        if n == 1
    }
    return best_first([c for c in found if {c.score, c.at_par, c.unmuted} <= clear])


def best_first(choices: list[Choice]) -> list[Choice]:
    return sorted(choices, key=lambda one: -one.score)


def at_par(choices: list[Choice], source: str) -> list[Choice]:
    """Return the same choices, were that source's weight 1."""
    return best_first(
        [
            choice(c.item_id, c.source, c.at_par, 1.0, c.unmuted * c.at_par / c.score)
            if c.source == source
            else c
            for c in choices
        ]
    )


def shown(choices: list[Choice], rules: Rules, rated: dict[int, PlacedItem]) -> set[int]:
    return {place.item_id for place in compose(choices, rules, SEED, rated=rated).places}


RULES = st.builds(Rules, size=st.integers(1, 12), cap=st.booleans(), novelty=st.just(False))
RATED_ITEMS = st.sampled_from(
    [{}, {1: PlacedItem(99, "a")}, {1: PlacedItem(99, "b"), 2: PlacedItem(98, "b")}]
)


@given(ranked(), RULES, RATED_ITEMS)
def test_low_weight_is_said_just_where_weight_1_would_show_the_item(choices, rules, rated):
    out = compose(choices, rules, SEED, rated=rated).left_out
    fixed = [placed.source for placed in rated.values()]
    within = order_by_share(choices, fixed, rules.size).within if rules.cap else choices
    for one in (c for c in choices if c.item_id in out):
        would = one.low and one.item_id in shown(at_par(choices, one.source), rules, rated)
        claimed = out[one.item_id] is ExclusionReason.LOW_WEIGHT
        assert would or not claimed
        assert claimed == would or one.muted or one not in within


@given(ranked(), RULES, RATED_ITEMS)
def test_keyword_is_said_just_where_the_item_would_be_shown_without_the_words_against_it(
    choices, rules, rated
):
    out = compose(choices, rules, SEED, rated=rated).left_out
    fixed = [placed.source for placed in rated.values()]
    within = order_by_share(choices, fixed, rules.size).within if rules.cap else choices
    for one in (c for c in choices if c.item_id in out):
        free = [c if c is not one else c._replace(score=c.unmuted, muted=False) for c in choices]
        would = one.muted and one.item_id in shown(best_first(free), rules, rated)
        claimed = out[one.item_id] is ExclusionReason.KEYWORD
        assert would or not claimed
        assert claimed == would or one.low or one not in within


@given(ranked(), RULES)
def test_source_cap_is_said_only_of_what_the_score_alone_would_show(choices, rules):
    out = compose(choices, rules, SEED).left_out
    best = {c.item_id for c in choices[: rules.size]}
    assert {n for n, why in out.items() if why is ExclusionReason.SOURCE_CAP} <= best
    assert not {n for n, why in out.items() if why is ExclusionReason.BELOW} & best


def test_a_low_weight_that_decides_nothing_is_not_blamed():
    ranked_ = [choice(0, "a", 0.9), choice(1, "b", 0.8), choice(2, "c", 0.1, weight=0.9)]
    assert compose(ranked_, Rules(2), SEED).left_out == {2: ExclusionReason.BELOW}


@pytest.mark.parametrize(
    ("weight", "why"),
    [(0.51, ExclusionReason.LOW_WEIGHT), (0.49, ExclusionReason.LOW_WEIGHT), (0.9, ExclusionReason.BELOW)],
)
def test_no_weight_is_a_cliff(weight, why):
    ranked_ = [choice(0, "a", 0.9), choice(1, "b", 0.8), choice(2, "c", 0.5, weight=weight)]
    assert compose(ranked_, Rules(2), SEED).left_out == {2: why}
    assert 2 in shown(best_first([*ranked_[:2], ranked_[2]._replace(score=0.85)]), Rules(2), {})


def test_what_stands_lower_says_by_how_many_places_of_other_sources():
    ranked_ = [
        choice(0, "a", 0.9),
        choice(1, "b", 0.8),
        choice(2, "c", 0.5, weight=0.6),  # 0.83 at weight 1: past b
        choice(3, "c", 0.45, weight=0.6),  # 0.75: it passes only d
        choice(4, "d", 0.4),
    ]
    assert places_lost(ranked_, dict.fromkeys(range(5), RANKED)) == {2: 1}
    assert places_lost(ranked_, dict.fromkeys(range(5), RANKED) | {2: RATED}) == {}


@given(ranked())
def test_what_stands_lower_would_stand_just_so_much_higher(choices):
    places = places_lost(choices, {c.item_id: RANKED for c in choices})
    for now, one in enumerate(choices):
        then = [c.item_id for c in at_par(choices, one.source)].index(one.item_id)
        assert places.get(one.item_id, 0) == (now - then if one.low else 0)

"""Rated items keep their place; the others move around them."""

from hypothesis import given
from hypothesis import strategies as st

from digest.daily.compose import merge_at_ranks

RANKED = st.lists(st.integers(0, 30), unique=True, max_size=20)
KEPT = st.dictionaries(st.integers(1, 15), st.integers(0, 40), max_size=6).filter(
    lambda fixed: len({*fixed.values()}) == len(fixed)
)
SIZE = st.integers(1, 15)


@given(RANKED, KEPT, SIZE)
def test_nothing_kept_is_lost_and_nothing_stands_twice(ranked, fixed, size):
    placed = merge_at_ranks(ranked, fixed, size)
    assert len(placed) == len(set(placed))
    assert set(fixed.values()) <= set(placed) <= {*ranked, *fixed.values()}


@given(RANKED, KEPT, SIZE)
def test_a_kept_item_stands_at_its_rank_or_at_the_end_of_a_list_that_ends_before_it(ranked, fixed, size):
    placed = merge_at_ranks(ranked, fixed, size)
    for rank, item in fixed.items():
        if placed[rank - 1 : rank] != [item]:
            assert placed.index(item) < rank - 1
            assert set(placed[placed.index(item) :]) <= set(fixed.values())


@given(RANKED, KEPT, SIZE)
def test_the_rest_keeps_its_order_and_the_best_come_in(ranked, fixed, size):
    placed = [item for item in merge_at_ranks(ranked, fixed, size) if item not in fixed.values()]
    assert placed == [item for item in ranked if item not in fixed.values()][: max(0, size - len(fixed))]


@given(RANKED, SIZE)
def test_without_ratings_the_best_are_shown_in_order(ranked, size):
    assert merge_at_ranks(ranked, {}, size) == ranked[:size]


@given(RANKED, KEPT, SIZE)
def test_placing_again_what_was_placed_changes_nothing(ranked, fixed, size):
    placed = merge_at_ranks(ranked, fixed, size)
    again = {placed.index(item) + 1: item for item in fixed.values()}
    assert merge_at_ranks(ranked, again, size) == placed

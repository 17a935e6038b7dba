"""Words that set some items apart: those that are frequent inside and rare outside."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from ranking.meaning.words import MATCHES_MIN, words_apart, words_of_items

TEXTS = st.lists(
    st.tuples(st.sampled_from(["tide", "tide tables", "bread", "bread and tide", ""]), st.booleans()),
    max_size=12,
)


@given(rows=TEXTS)
def test_any_items_are_told_apart_or_not_and_nothing_breaks(rows: list[tuple[str, bool]]):
    items, inside = words_of_items(text for text, _ in rows), np.array([one for _, one in rows], dtype=bool)
    found = words_apart(items, inside)
    assert all(one.matches >= MATCHES_MIN and one.z > 0 for one in found)
    assert [one.z for one in found] == sorted((one.z for one in found), reverse=True)


def test_items_of_one_word_alone_have_it_apart_from_items_without():
    items = words_of_items(["tide"] * 4 + ["bread"] * 4)
    assert [one.word for one in words_apart(items, np.arange(8) < 4)] == ["tide"]


def test_a_word_that_all_items_have_sets_none_apart():
    items = words_of_items(["tide tables"] * 4 + ["tide bread"] * 4)
    assert [one.word for one in words_apart(items, np.arange(8) < 4)] == ["tables"]

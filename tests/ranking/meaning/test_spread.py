"""How much an answer about one item tells about the others."""

import numpy as np
import pytest

from ranking.meaning.spread import tells_more
from ranking.meaning.table import DIMENSIONS, Vectors


def around(axis: int, count: int, seed: int = 1) -> Vectors:
    """Return items of one subject: along an axis, with a little noise."""
    rng = np.random.default_rng([seed, axis])
    rows = rng.normal(0, 4, (count, DIMENSIONS))
    rows[:, axis] += 100
    return np.round(rows).astype(np.int8)


ITEMS = np.concatenate([around(0, 30), around(1, 10), around(2, 10), around(3, 2)])


def asked(count: int, known: Vectors) -> list[int]:
    """Return the axes that are asked about, one after the other."""
    found = []
    for _ in range(count):
        row = ITEMS[int(tells_more(ITEMS, known).argmax())]
        found.append(int(row.argmax()))
        known = np.concatenate([known, row[None]])
    return found


NOTHING = np.zeros((0, DIMENSIONS), dtype=np.int8)


def test_every_subject_comes_before_any_twice_and_the_smallest_last():
    order = asked(4, NOTHING)
    assert sorted(order) == [0, 1, 2, 3]
    assert order[-1] == 3


def test_a_subject_that_is_known_comes_last():
    assert asked(4, around(0, 1, seed=2))[-1] == 0


def test_an_item_that_was_asked_about_tells_nothing_more():
    gains = tells_more(ITEMS, ITEMS[:1])
    assert gains[0] == pytest.approx(gains.min())
    assert tells_more(ITEMS, ITEMS) == pytest.approx(np.zeros(len(ITEMS)), abs=1e-3)


def test_items_without_meaning_tell_nothing_and_change_nothing():
    empty = np.zeros((3, DIMENSIONS), dtype=np.int8)
    gains = tells_more(np.concatenate([ITEMS, empty]), NOTHING)
    assert gains[-3:].tolist() == [0, 0, 0]
    assert gains[:-3] == pytest.approx(tells_more(ITEMS, empty))
    assert tells_more(empty, NOTHING).tolist() == [0, 0, 0]

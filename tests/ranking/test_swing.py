"""Swing: the formulas against a naive double loop, by-hand cases, copies, and a threshold by chance."""

from math import sqrt

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ranking.swing import RAW, SwingIndex, SwingSettings, likes_matrix, likes_shuffled, threshold_by_chance

NORMAL, SEED = SwingSettings(), SwingSettings(form=RAW)
profiles = st.lists(st.sets(st.integers(0, 11), max_size=9), min_size=2, max_size=9)


def index(likes: list[set[int]], settings: SwingSettings = NORMAL) -> SwingIndex:
    pairs = [(reader, thing) for reader, things in enumerate(likes) for thing in things]
    return SwingIndex(likes_matrix(pairs, len(likes), 12), settings)


def naive_raw(likes: list[set[int]], u: int, v: int) -> float:
    readers_of = [sum(i in things for things in likes) for i in range(12)]
    both = (len(likes[u]) + 5) ** 0.3 * (len(likes[v]) + 5) ** 0.3
    return sum(1 / (both * (readers_of[i] + 1)) for i in likes[u] & likes[v])


def naive_normalised(likes: list[set[int]], u: int, v: int) -> float:
    w = [1 / (sum(i in things for things in likes) + 1) for i in range(12)]
    common = likes[u] & likes[v]
    if not common:
        return 0.0
    norm = sqrt(sum(w[i] for i in likes[u]) * sum(w[i] for i in likes[v]))
    return sum(w[i] for i in common) / norm * len(common) / (len(common) + 10)


@given(profiles)
def test_a_row_says_what_a_double_loop_says(likes):
    for settings, naive in ((SEED, naive_raw), (NORMAL, naive_normalised)):
        asked = index(likes, settings)
        for u in range(len(likes)):
            expected = [0.0 if v == u else naive(likes, u, v) for v in range(len(likes))]
            assert asked.row(u) == pytest.approx(expected)


@given(profiles)
def test_it_is_mutual_and_lies_between_0_and_1(likes):
    asked = index(likes)
    whole = np.array([asked.row(u) for u in range(len(likes))])
    assert np.allclose(whole, whole.T)
    assert whole.min() >= 0 and whole.max() <= 1


def test_the_raw_formula_by_hand():
    # Two readers with one like each, the same: 1 / (6^.3 * 6^.3 * (2 + 1)), the only such way over 0.1.
    assert (
        index([{0}, {0}], SEED).row(0)[1]
        == pytest.approx(1 / (6**0.6 * 3))
        == pytest.approx(0.1138, abs=1e-4)
    )
    # A third who likes it too makes it worth less; a busy reader is worth less again.
    assert index([{0}, {0}, {0}], SEED).row(0)[1] == pytest.approx(1 / (6**0.6 * 4))
    busy = index([{0}, {0, 1, 2, 3}], SEED).row(0)[1]
    assert busy == pytest.approx(1 / (6**0.3 * 9**0.3 * 3))


def test_the_normalised_form_by_hand():
    # The same ten likes and nobody else: a cosine of 1, shrunk by 10 / 20.
    same = set(range(10))
    assert index([same, same]).row(0)[1] == pytest.approx(0.5)
    # One in common tells little, however exclusive it is.
    assert index([{0}, {0}]).row(0)[1] == pytest.approx(1 / 11)


def test_a_reader_who_likes_nothing_is_like_nobody():
    assert index([set(), {0}, {0}]).row(0).tolist() == [0, 0, 0]
    assert index([set(), {0}, {0}]).peers(0) == []


def test_peers_are_above_the_threshold_nearest_first_and_never_oneself():
    likes = [set(range(6)), {0, 1, 2, 3, 6, 7}, {2, 3, 4, 9}, {0, 9, 10, 11}, {6, 7}]
    peers = index(likes).peers(0)
    assert [reader for reader, _ in peers] == [1, 2]
    assert all(similarity > 0.1 for _, similarity in peers)
    assert [reader for reader, _ in index(likes, SwingSettings(top_k=1)).peers(0)] == [1]
    assert index(likes, SwingSettings(threshold=0.9)).peers(0) == []


def test_a_hundred_copies_are_one_voice_and_copies_of_the_reader_are_none():
    victim, steering, honest = set(range(6)), {0, 1, 2, 3, 9, 10}, {0, 1, 2, 4, 5, 9, 10}
    likes = [victim, *[victim] * 100, *[steering] * 100, honest]
    peers = index(likes, SwingSettings(top_k=50)).peers(0)
    assert sorted(map(sorted, (likes[reader] for reader, _ in peers))) == [sorted(steering), sorted(honest)]


@given(profiles, st.integers(0, 5))
def test_a_shuffle_keeps_how_much_each_likes_and_is_liked(likes, seed):
    asked = index(likes).likes
    shuffled = likes_shuffled(asked, seed)
    assert shuffled.max() <= 1 if shuffled.nnz else True
    assert np.diff(shuffled.indptr).sum() <= asked.nnz
    if shuffled.nnz == asked.nnz:
        assert np.diff(shuffled.indptr).tolist() == np.diff(asked.indptr).tolist()
        assert shuffled.sum(axis=0).tolist() == asked.sum(axis=0).tolist()


def two_camps(rng: np.random.Generator, readers: int = 80, liked: int = 20) -> SwingIndex:
    pairs = [(u, int(i) + 100 * (u % 2)) for u in range(readers) for i in rng.permutation(100)[:liked]]
    return SwingIndex(likes_matrix(pairs, readers, 200))


def test_a_shuffle_of_a_loose_matrix_keeps_every_degree():
    asked = two_camps(np.random.default_rng(1)).likes
    shuffled = likes_shuffled(asked, 7)
    assert shuffled.sum(axis=1).tolist() == asked.sum(axis=1).tolist()
    assert shuffled.sum(axis=0).tolist() == asked.sum(axis=0).tolist()
    assert (shuffled != asked).nnz > 0


def test_the_threshold_by_chance_lets_camps_through_and_chance_not():
    camps = two_camps(np.random.default_rng(1))
    threshold = threshold_by_chance(camps.likes, NORMAL, 99)
    found = SwingIndex(camps.likes, SwingSettings(threshold=threshold))
    with_peers = sum(bool(found.peers(u)) for u in range(80))
    assert with_peers >= 40
    assert all(reader % 2 == u % 2 for u in range(80) for reader, _ in found.peers(u))
    noise = SwingIndex(likes_shuffled(camps.likes, 3), SwingSettings(threshold=threshold))
    assert sum(bool(noise.peers(u)) for u in range(80)) <= 4
    assert threshold_by_chance(likes_matrix([], 3, 4), NORMAL, 99) == 0.0

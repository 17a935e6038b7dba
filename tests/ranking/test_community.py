"""Published figures: the distribution of the noise, its cost, and the best attacker's guess."""

from collections.abc import Sequence
from math import exp, sqrt

import numpy as np
import pytest
from numpy.typing import NDArray

from ranking.community import (
    ALPHA,
    COUNT_MIN,
    EPSILON,
    EPSILON_SPREAD,
    EPSILON_SPREAD_WEIGHT,
    EPSILON_WHOLE,
    FALSE_SHARE,
    LOSSES,
    LOWEST,
    Figure,
    count_least,
    figures_sum,
    item_rate,
    like_rate,
    noise,
    opinion_of,
    publish,
    with_noise,
)

RUNS = 40_000
# Four standard errors of a share of RUNS. A true bound fails by chance once in 30,000 tests.
CHANCE = 4 * 0.5 / sqrt(RUNS)
Ints = NDArray[np.int64]


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(15)


def epsilon_of_a_thumb(*, seen: bool) -> float:
    """Return the total privacy loss of one thumb over all publications, by basic composition.

    It covers whether the thumb is a like or a dislike or, with `seen`, whether it was given at all.
    """
    if seen:
        return 2 * sum(LOSSES) + EPSILON_SPREAD + EPSILON_SPREAD_WEIGHT
    return sum(LOSSES) + EPSILON_SPREAD


def guess_right_max(epsilon: float, delta: float = 0.0) -> float:
    """Return the best chance to tell two equally likely cases apart: (e^eps + delta) / (1 + e^eps)."""
    return (exp(epsilon) + delta) / (1 + exp(epsilon))


def uniforms(rng: np.random.Generator, rows: int, runs: int = RUNS) -> NDArray[np.float64]:
    return 1 - rng.random((rows, runs))


def drawn(rng: np.random.Generator, likes: int, thumbs: int, runs: int = RUNS) -> tuple[Ints, Ints]:
    """Return for each run the noisy likes and thumbs of a figure, whether it would be kept or dropped."""
    shape = np.ones(runs, dtype=np.int64)
    return with_noise(likes * shape, thumbs * shape, uniforms(rng, 4, runs), EPSILON)


def seen(rng: np.random.Generator, likes: int, thumbs: int, known: tuple[int, int]) -> Ints:
    """Return all that a figure says about one thumb, to attackers who know the others (`known`).

    1 to 4 by whether each count exceeds the known one: the likelihood ratio of two geometric distributions
    one apart takes only two values. These attackers see even the figures that are dropped.
    """
    return sight(*drawn(rng, likes, thumbs), known)


def sight(liked: Ints, counted: Ints, known: tuple[int, int]) -> Ints:
    found: Ints = 1 + 2 * (counted > known[1]) + (liked > known[0])
    return found


def best_guess(one: Sequence[Ints], other: Sequence[Ints]) -> float:
    """Return how often the best guess between two worlds is right, from the published figures of each.

    It is tuned on half of the runs (which observation is likelier in which world, the best rule there is) and
    judged on the other half.
    """
    first, second = (np.ravel_multi_index(world, (5,) * len(world)) for world in (one, other))
    half, sights = len(first) // 2, 5 ** len(one)
    counts = [np.bincount(world[:half], minlength=sights) for world in (first, second)]
    says_first = counts[0] > counts[1]
    return float((says_first[first[half:]].mean() + (~says_first)[second[half:]].mean()) / 2)


# --- the mechanism ---------------------------------------------------------------------------------


def test_noise_has_the_distribution_that_the_proof_names(rng):
    found = noise(uniforms(rng, 2, 400_000), EPSILON)
    for k in (-8, -1, 0, 1, 8):
        expected = (1 - ALPHA) / (1 + ALPHA) * ALPHA ** abs(k)
        assert (found == k).mean() == pytest.approx(expected, abs=4 * sqrt(expected / 400_000))


@pytest.mark.parametrize("moved", [-1, 1])
def test_no_noisy_count_is_more_likely_by_more_than_its_factor_where_one_thumb_differs(moved):
    k = np.arange(-200, 201)
    ratio = ALPHA ** np.abs(k) / ALPHA ** np.abs(k - moved)
    assert ratio.max() <= exp(EPSILON) * (1 + 1e-12)


@pytest.mark.parametrize("items", [1, 20, 1000])
def test_where_nobody_rated_anything_hardly_a_figure_is_kept(rng, items):
    nothing = np.zeros(items, dtype=np.int64)
    rounds = [publish(nothing, nothing, uniforms(rng, 4, items))[2].any() for _ in range(2000)]
    assert np.mean(rounds) <= FALSE_SHARE + 4 * sqrt(FALSE_SHARE / 2000)


def test_where_much_is_rated_few_of_the_figures_kept_are_noise_alone(rng):
    thumbs = np.repeat([0, 3, 12, 80], 500)
    counted = publish(thumbs // 2, thumbs, uniforms(rng, 4, 2000))[1]
    kept = counted >= count_least(counted)
    assert kept[thumbs == 80].all() and kept[thumbs == 12].mean() > 0.5
    assert kept[thumbs == 0].sum() <= 2 * FALSE_SHARE * kept.sum()
    assert count_least(np.array([], dtype=np.int64)) == float("inf")
    assert count_least(np.full(9, 500)) == COUNT_MIN


def test_what_is_stated_of_a_thumb_follows_from_its_figures():
    assert (epsilon_of_a_thumb(seen=False), epsilon_of_a_thumb(seen=True)) == (
        pytest.approx(0.85),
        pytest.approx(1.5),
    )
    assert guess_right_max(0.85) == pytest.approx(0.7006, abs=1e-4)
    assert guess_right_max(1.5) == pytest.approx(0.8176, abs=1e-4)


def test_figures_are_opinions_in_steps_between_their_limits():
    good, dull = Figure(90, 100), Figure(10, 100)
    usual = like_rate([good, dull])
    assert (usual, like_rate([])) == (0.5, 0.5)
    assert (opinion_of(good, usual).deviation, opinion_of(dull, usual).deviation) == (0.2, -0.2)
    assert opinion_of(Figure(34, 58), usual).thumbs == 55
    assert item_rate(good, usual) == pytest.approx(0.55) and item_rate(Figure(0, 100), 0.9) == LOWEST
    assert figures_sum([good, dull]) == Figure(100, 200)


# --- attacks: all but the victim's thumb is the accomplices' own, so they know it --------------------


def thumb(rng: np.random.Generator, others: tuple[int, int], *, likes: int, thumbs: int) -> list[Ints]:
    """Everything ever published of a victim's thumb: the figures of item, source and whole, each once."""
    counts = others[0] + likes, others[1] + thumbs
    ones = np.ones(RUNS, dtype=np.int64)
    whole = with_noise(counts[0] * ones, counts[1] * ones, uniforms(rng, 4), EPSILON_WHOLE)
    return [*(seen(rng, *counts, others) for _ in range(2)), sight(*whole, others)]


@pytest.mark.parametrize("others", [4, 53, 80, 1000])
def test_no_number_of_accomplices_tells_a_like_from_a_dislike(rng, others):
    known = (others // 2, others)
    right = best_guess(thumb(rng, known, likes=1, thumbs=1), thumb(rng, known, likes=0, thumbs=1))
    assert right <= guess_right_max(epsilon_of_a_thumb(seen=False)) + CHANCE
    print(f"useful or not, {others} others: {right:.1%}")
    assert right > 0.53  # the bound is no idle one


@pytest.mark.parametrize("others", [0, 4, 53, 80, 1000])
def test_joining_and_leaving_around_a_thumb_does_not_show_whether_it_was_given(rng, others):
    known = (others // 2, others)
    right = best_guess(thumb(rng, known, likes=1, thumbs=1), thumb(rng, known, likes=0, thumbs=0))
    assert right <= guess_right_max(epsilon_of_a_thumb(seen=True)) + CHANCE
    print(f"given at all, {others} others: {right:.1%}")
    assert right > 0.53


def test_a_figure_drawn_anew_every_day_would_give_a_thumb_away(rng):
    # The control: if a figure were published daily for two months, the attack would succeed.
    means = [np.mean([drawn(rng, 40 + like, 80, 4_000)[0] for _ in range(60)], axis=0) for like in (0, 1)]
    right = ((means[0] < 40.5).mean() + (means[1] > 40.5).mean()) / 2
    assert right > 0.7 > guess_right_max(sum(LOSSES))


def test_exact_sums_would_give_a_thumb_away():
    # The control of the guess itself: without noise it is always right.
    sights = np.ones(200, dtype=np.int64)
    assert best_guess([4 * sights], [3 * sights]) == 1.0

"""The yardstick of harm separates noise from loss: changes without effect harm nobody, and harmful ones are
found."""

import numpy as np
import pytest

from tests.lab.histories.pools import HARMFUL_THUMBS, SPLITS, Halves, History, Rated, start_config, targets_of
from tests.lab.histories.yardstick import GRID, harm_of, lost_over_gained, noise_of, true_worths
from tests.lab.world.entities import Asked, Course, course_of

READERS, EACH, NOISE = 150, 3, 0.0166


def course(number: int, worths: np.ndarray, rng: np.random.Generator) -> Course:
    """Return a reader with changes of these true worths, each measured twice with noise, several times."""
    asked = []
    for worth in worths:
        # The noise of a half is larger by the root of two; all splits deal the same thumbs.
        drawn = worth + NOISE * np.sqrt(2) * rng.standard_normal((SPLITS, 2))
        halves = tuple((float(a), float(b)) for a, b in drawn)
        gain = float(worth + NOISE * rng.standard_normal())
        asked.append(Asked(1, "add_topic", "water", gain, True, halves=halves))
    return Course(number, False, 0.5, (0.0, 0.0), (50,), tuple(asked))


def courses(worths: np.ndarray, seed: int = 3) -> list[Course]:
    rng = np.random.default_rng(seed)
    return [course(n, some, rng) for n, some in enumerate(worths.reshape(READERS, EACH))]


def test_changes_that_do_nothing_measure_a_third_harmful_and_little_of_it_is_left():
    nothing = courses(np.zeros(READERS * EACH))
    raw = np.mean([a.gain < HARMFUL_THUMBS for c in nothing for a in c.asked])
    harm = harm_of(nothing)
    # Not nothing, by noise of the estimate: hence the floor beside it.
    assert raw > 0.3 and harm["harmful_deconvolved"] < raw / 3


def test_harm_that_is_there_is_found_within_its_interval():
    worths = np.where(np.arange(READERS * EACH) % 5 == 0, -0.04, 0.03)
    harm = harm_of(courses(worths))
    low, high = harm["harmful_deconvolved_95"]
    assert low <= harm["harmful_deconvolved"] <= high and low < 0.2 < high
    assert harm["harmful_deconvolved"] == pytest.approx(0.2, abs=0.05)
    # A fifth lose 0.04, the others gain 0.03.
    assert harm["lost_gained"] == pytest.approx(0.2 * 0.04 / (0.8 * 0.03), abs=0.12)


def test_what_is_lost_and_gained_is_judged_by_the_half_that_did_not_choose():
    def asked(*halves: tuple[float, float]) -> Asked:
        return Asked(1, "add_topic", "water", 0.0, True, halves=halves)

    assert lost_over_gained([asked((0.1, 0.1)), asked((-0.05, -0.05))]) == pytest.approx(0.5)
    # A loss on one half that is a gain on the other is no loss, and no gain.
    assert lost_over_gained([asked((0.1, 0.1)), asked((-0.05, 0.05))]) == 0.0


def test_the_noise_is_half_the_difference_of_the_halves():
    rng = np.random.default_rng(5)
    halves = NOISE * np.sqrt(2) * rng.standard_normal((2000, SPLITS, 2))
    assert noise_of(halves).mean() == pytest.approx(NOISE, rel=0.05)


def test_worths_that_are_measured_without_noise_are_what_is_measured():
    weights = true_worths(np.array([-0.02, 0.04] * 20), np.full(40, 1e-4))
    assert weights.sum() == pytest.approx(1.0)
    assert {round(float(g), 3) for g in GRID[weights > 0.4]} == {-0.02, 0.04}


def test_too_few_changes_tell_nothing():
    assert harm_of(courses(np.zeros(READERS * EACH))[:3]) == {}


def test_halves_of_later_thumbs_survive_their_way_between_processes():
    rated = tuple(
        Rated(f"https://a.example/{n}", f"Film {n}", f"s{n % 3}", ("water",), n % 2 == 0) for n in range(80)
    )
    targets = targets_of([History("ada", rated)])
    first = start_config(targets)
    halves = Halves(rated, 7)
    found = halves.gains(first, first)
    assert found == ((0.0, 0.0),) * SPLITS
    one = Course(1, False, 0.5, (0.0,), (50,), (Asked(1, "add_topic", "x", 0.0, True, halves=found),))
    assert course_of(one.as_dict()) == one

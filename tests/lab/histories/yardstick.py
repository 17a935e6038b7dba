"""The true harm of changes, measured by noisy thumbs.

The gain of a change is measured by later thumbs, and those are few. By them a third or more of the changes
without any effect look "harmful". So each change is measured twice, on two halves of the later thumbs, dealt
several times. Half the difference of the two is the noise of their mean.

- *lost over gained*: one half tells which changes cost and which gain, the other one measures how much.
- *harmful, deconvolved*: the share of changes whose true gain is below the limit. It comes from the
  distribution of true gains that explains the measured ones best: the nonparametric maximum likelihood of
  Kiefer and Wolfowitz (1956), found by EM on a grid. Its interval comes from resampled readers.

Beside both stand the same figures for readers with shuffled thumbs, whose changes have no effect: the floor.
The raw share stays in the record. Pure.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from tests.lab.histories.pools import HARMFUL_THUMBS
from tests.lab.world.entities import Asked, Course
from tests.lab.world.world import Floats

Json = dict[str, Any]
# True worths that are possible, in nDCG@10.
GRID: Floats = np.arange(-0.12, 0.1601, 0.002)
STEPS, DRAWS = 400, 60
# The noise of one change is little known: its own splits count two, the mean of all changes four.
OWN, ALL = 2, 4
# Fewer changes tell nothing about a distribution.
CHANGES_MIN = 20
SEED = 2


def harm_of(courses: Sequence[Course]) -> Json:
    """Return lost over gained and the deconvolved share of harmful changes, or nothing for too few
    changes."""
    by_reader = [[a for a in course.asked if a.halves] for course in courses]
    asked = [one for some in by_reader for one in some]
    if len(asked) < CHANGES_MIN:
        return {}
    rng = np.random.default_rng(SEED)
    drawn = []
    for _ in range(DRAWS):
        picked = rng.integers(0, len(by_reader), len(by_reader))
        again = [one for n in picked for one in by_reader[n]]
        if again:
            drawn.append((lost_over_gained(again), _harmful(again)))
    share = lost_over_gained(asked)
    return {
        "lost_gained": None if share is None else round(share, 4),
        "lost_gained_95": _ends([lost for lost, _ in drawn if lost is not None]),
        "harmful_deconvolved": round(_harmful(asked), 4),
        "harmful_deconvolved_95": _ends([harmful for _, harmful in drawn]),
    }


def lost_over_gained(asked: Sequence[Asked]) -> float | None:
    """Return the losses on one half of the changes that the other half calls a loss, over the gains of the
    rest.

    `None` if the rest gains nothing, as changes without effect may.
    """
    halves = np.array([one.halves for one in asked])
    lost = gained = 0.0
    for chooser, judge in ((halves[..., 0], halves[..., 1]), (halves[..., 1], halves[..., 0])):
        lost -= float(judge[chooser < 0].sum())
        gained += float(judge[chooser > 0].sum())
    return max(0.0, lost) / gained if gained > 0 else None


def noise_of(halves: Floats) -> Floats:
    """Return the standard deviation of each change's measured worth; `halves` is (changes, splits, 2)."""
    own = (((halves[..., 0] - halves[..., 1]) / 2) ** 2).mean(axis=1)
    noise: Floats = np.sqrt((OWN * own + ALL * own.mean()) / (OWN + ALL) + 1e-12)
    return noise


def true_worths(gains: Floats, noise: Floats) -> Floats:
    """Return the weight of each worth of `GRID` that explains `gains` with this noise best."""
    likelihood = np.exp(-0.5 * ((gains[:, None] - GRID) / noise[:, None]) ** 2) / noise[:, None]
    weights: Floats = np.full(len(GRID), 1 / len(GRID))
    for _ in range(STEPS):
        shares = likelihood * weights
        weights = (shares / np.maximum(shares.sum(axis=1, keepdims=True), 1e-300)).mean(axis=0)
    return weights


def _harmful(asked: Sequence[Asked]) -> float:
    gains, halves = np.array([one.gain for one in asked]), np.array([one.halves for one in asked])
    return float(true_worths(gains, noise_of(halves))[GRID < HARMFUL_THUMBS].sum())


def _ends(values: Sequence[float]) -> list[float] | None:
    """Return the ends of 95 %; `None` if less than half of the draws have a value."""
    if len(values) < DRAWS / 2:
        return None
    return [round(float(end), 4) for end in np.percentile(values, (2.5, 97.5))]

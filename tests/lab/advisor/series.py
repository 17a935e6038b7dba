"""The series behind a row's figures, for plots: uplift by week, calibration by bin, precision by threshold.

All are over the readers with preferences, except calibration, which is over everybody's suggestions, as in
`tests.lab.advisor.metrics`. Pure.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from tests.lab.advisor.metrics import BINS, interval
from tests.lab.world.entities import Asked, Course

# Least stated probabilities at which only surer suggestions are counted.
THRESHOLDS = (0.0, 0.5, 0.6, 0.7, 0.8, 0.85, 0.9, 0.95, 0.98)
Json = dict[str, Any]


def series_of(courses: Sequence[Course]) -> Json:
    """Return `uplift_by_week`, `calibration_bins` and `by_threshold` of one row, empty without
    suggestions."""
    with_taste = [c for c in courses if not c.null]
    return {
        "uplift_by_week": uplift_by_week(with_taste),
        "calibration_bins": calibration_bins([a for c in courses for a in c.asked]),
        "by_threshold": precision_by_threshold(with_taste),
    }


def uplift_by_week(courses: Sequence[Course]) -> list[Json]:
    """Return the mean change of nDCG@10 after each week, week 0 being the start, with its 95 % interval by
    reader.

    Readers of shorter courses count only as long as theirs last.
    """
    weeks = max((len(c.curve) for c in courses), default=0)
    rows = []
    for week in range(weeks):
        values = [c.curve[week] for c in courses if week < len(c.curve)]
        mean = round(float(np.mean(values)), 4)
        rows.append({"week": week, "uplift": mean, "uplift_95": interval(values)})
    return rows


def calibration_bins(asked: Sequence[Asked]) -> list[Json]:
    """Return the stated probability and the true share for each tenth of the probability with a
    suggestion."""
    rows = []
    for number in range(BINS):
        mine = [a for a in asked if a.p_helpful is not None and _bin(a.p_helpful) == number]
        if mine:
            stated = float(np.mean([a.p_helpful or 0.0 for a in mine]))
            true = float(np.mean([a.gain > 0 for a in mine]))
            rows.append({"n": len(mine), "stated": round(stated, 4), "true": round(true, 4)})
    return rows


def precision_by_threshold(courses: Sequence[Course]) -> list[Json]:
    """Return readers reached and the truly helpful share, if only suggestions this sure were made.

    It filters the suggestions of one run. Another run might have asked a reader something else instead.
    """
    rows = []
    for least in THRESHOLDS:
        kept = [[a for a in c.asked if a.p_helpful is not None and a.p_helpful >= least] for c in courses]
        said = [a for asked in kept for a in asked]
        if said:
            rows.append(
                {
                    "at_least": least,
                    "n": len(said),
                    "coverage": round(sum(map(bool, kept)) / len(courses), 4),
                    "precision": round(float(np.mean([a.gain > 0 for a in said])), 4),
                }
            )
    return rows


def _bin(probability: float) -> int:
    return min(int(probability * BINS), BINS - 1)

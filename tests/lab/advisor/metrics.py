"""Compute figures from courses: uplift, precision, silence, calibration, each with a 95 % interval by reader.

Intervals are percentiles of a bootstrap over readers (Efron and Tibshirani, 1993). Readers are drawn with
replacement together with all their data, so two rows over the same readers are compared in pairs. Percentages
of suggestions are over the readers with preferences; calibration is over all readers. Pure.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tests.lab.world.entities import Asked, Course
from tests.lab.world.truth import HARMFUL

DRAWS = 1000
INTERVAL = (2.5, 97.5)
BINS = 10
COVERAGE_WEEK, COVERAGE_THUMBS = 6, 50
Json = dict[str, Any]
Figure = Callable[[Sequence[Course]], float | None]


def row_of(name: str, courses: Sequence[Course], oracle: Sequence[Course], **more: Any) -> Json:
    """Return one row of the table: a rule's figures over its readers, beside the oracle's on the same
    readers."""
    with_taste = [c for c in courses if not c.null]
    nulls = [c for c in courses if c.null]
    numbers = {c.reader: c for c in oracle if not c.null}
    paired = [(c, numbers[c.reader]) for c in with_taste if c.reader in numbers]
    asked = [a for c in with_taste for a in c.asked]
    figures: Json = {
        "name": name,
        "readers": len(with_taste),
        "null_readers": len(nulls),
        "thumbs_per_week": _round(_mean([t for c in courses for t in c.thumbs])),
        "start": _round(_mean([c.start for c in with_taste])),
        "uplift": _round(_mean([c.uplift for c in with_taste])),
        "uplift_95": interval([c.uplift for c in with_taste]),
        "captured": _round(_captured(paired)),
        "captured_95": _ratio_interval([c.uplift for c, _ in paired], [o.uplift for _, o in paired]),
        "worse_off": _round(_mean([c.uplift < HARMFUL for c in with_taste])),
        "suggestions": len(asked),
        "accepted": sum(a.accepted for a in asked),
        "suggestions_per_reader": _round(len(asked) / len(with_taste)) if with_taste else None,
        "precision_all": precision(asked),
        "precision_accepted": precision([a for a in asked if a.accepted]),
        "precision_accepted_95": figure_interval(with_taste, _precision_accepted),
        "harmful_accepted": harmful([a for a in asked if a.accepted]),
        "harmful_accepted_95": figure_interval(with_taste, _harmful_accepted),
        "null_rate": null_rate(nulls),
        "null_rate_95": figure_interval(nulls, null_rate),
        "coverage": coverage(with_taste),
        "null_uplift": _round(_mean([c.uplift for c in nulls])),
    }
    return figures | calibration([a for c in courses for a in c.asked]) | more


def precision(asked: Sequence[Asked]) -> float | None:
    """Return the share that truly helped; `None` of none."""
    return _round(_mean([a.gain > 0 for a in asked]))


def harmful(asked: Sequence[Asked]) -> float | None:
    """Return the share that truly cost more than 0.002 of nDCG@10; `None` of none."""
    return _round(_mean([a.gain < HARMFUL for a in asked]))


def lost_by(courses: Sequence[Course]) -> float | None:
    """Return the loss by accepted changes, divided by their gain, of readers with preferences."""
    gains = [one.gain for course in courses if not course.null for one in course.asked if one.accepted]
    gained = sum(gain for gain in gains if gain > 0)
    return round(-sum(gain for gain in gains if gain < 0) / gained, 4) if gained else None


def null_rate(nulls: Sequence[Course]) -> float | None:
    """Suggestions per reader without preferences and week."""
    weeks = sum(len(c.curve) - 1 for c in nulls)
    return round(sum(len(c.asked) for c in nulls) / weeks, 4) if weeks else None


def coverage(courses: Sequence[Course]) -> float | None:
    """Return the share of readers who got a suggestion by the end of week 6, among those with 50 thumbs by
    then."""
    able = [c for c in courses if sum(c.thumbs[:COVERAGE_WEEK]) >= COVERAGE_THUMBS]
    return _round(_mean([any(a.week <= COVERAGE_WEEK for a in c.asked) for c in able]))


def calibration(asked: Sequence[Asked]) -> Json:
    """Return Brier score and expected calibration error of the stated `p_helpful` against [gain > 0].

    ECE uses ten equally wide bins, weighted by their size (Naeini et al., 2015). For each confidence word:
    the number of suggestions, the stated probability and the true share.
    """
    stated = [a for a in asked if a.p_helpful is not None]
    if not stated:
        return {"brier": None, "ece": None, "by_confidence": {}}
    p = np.array([a.p_helpful for a in stated], dtype=np.float64)
    true = np.array([a.gain > 0 for a in stated], dtype=np.float64)
    bins = np.minimum((p * BINS).astype(int), BINS - 1)
    error = sum(abs(float((p - true)[bins == b].sum())) for b in range(BINS)) / len(stated)
    words = {}
    for word in ("high", "medium", "low"):
        mine = [i for i, a in enumerate(stated) if a.confidence == word]
        if mine:
            words[word] = {
                "n": len(mine),
                "stated": _round(float(p[mine].mean())),
                "true": _round(float(true[mine].mean())),
            }
    return {"brier": _round(float(((p - true) ** 2).mean())), "ece": _round(error), "by_confidence": words}


def interval(values: Sequence[float]) -> list[float] | None:
    """Return the 95 % interval of the mean over readers."""
    if len(values) < 2:
        return None
    data = np.array(values, dtype=np.float64)
    return _ends(data[_drawn(len(data))].mean(axis=1))


def difference(one: Sequence[Course], other: Sequence[Course]) -> Json:
    """Return the mean difference of uplift between two rows over the readers in both, paired, with its
    interval."""
    numbers = {c.reader: c.uplift for c in other if not c.null}
    pairs = [c.uplift - numbers[c.reader] for c in one if not c.null and c.reader in numbers]
    return {"mean": _round(_mean(pairs)), "interval_95": interval(pairs), "readers": len(pairs)}


def figure_interval(courses: Sequence[Course], figure: Figure) -> list[float] | None:
    """Return the 95 % interval of any figure of a set of readers, drawing whole readers."""
    if len(courses) < 2:
        return None
    drawn = [figure([courses[i] for i in picks]) for picks in _drawn(len(courses), DRAWS // 2)]
    known = [value for value in drawn if value is not None]
    return _ends(np.array(known)) if len(known) >= len(drawn) // 2 and known else None


def _precision_accepted(courses: Sequence[Course]) -> float | None:
    return precision([a for c in courses for a in c.asked if a.accepted])


def _harmful_accepted(courses: Sequence[Course]) -> float | None:
    return harmful([a for c in courses for a in c.asked if a.accepted])


def _captured(paired: Sequence[tuple[Course, Course]]) -> float | None:
    best = sum(o.uplift for _, o in paired)
    return sum(c.uplift for c, _ in paired) / best if best > 0 else None


def _ratio_interval(mine: Sequence[float], best: Sequence[float]) -> list[float] | None:
    if len(mine) < 2 or sum(best) <= 0:
        return None
    picks = _drawn(len(mine))
    return _ends(np.array(mine)[picks].sum(axis=1) / np.array(best)[picks].sum(axis=1))


def _drawn(n: int, draws: int = DRAWS) -> "np.ndarray[Any, np.dtype[np.int64]]":
    """Return the same draws for the same number of readers, so that rows are compared in pairs."""
    return np.random.default_rng(n).integers(0, n, (draws, n))


def _ends(values: "np.ndarray[Any, Any]") -> list[float]:
    low, high = np.percentile(values, INTERVAL)
    return [round(float(low), 4), round(float(high), 4)]


def _mean(values: Sequence[float] | Sequence[bool] | Sequence[int]) -> float | None:
    return float(np.mean(values)) if len(values) else None


def _round(value: float | None) -> float | None:
    return None if value is None else round(value, 4)

"""The quality of yes/no forecasts, and the changes by a second round. Pure.

Flips: R records that round 2 corrected, W that it spoilt; net gain (R - W) / N; McNemar's exact test on them
(a two-sided sign test); and a 95 % interval of the net gain by resampling readers, because the records of one
reader are dependent. Kappa is Cohen's, between the rounds. ECE has ten equal bins.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import binomtest

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]
BINS = 10
DRAWS = 500
YES_FROM = 0.5


def forecast_metrics(p: Floats, liked: Flags) -> dict[str, Any]:
    """Accuracy, precision, recall, F1 of "yes", Brier score and calibration error of the probabilities."""
    said = p >= YES_FROM
    hits, claimed, real = int((said & liked).sum()), int(said.sum()), int(liked.sum())
    precision, recall = (hits / claimed if claimed else 0.0), (hits / real if real else 0.0)
    return _rounded(
        accuracy=float((said == liked).mean()),
        precision=precision,
        recall=recall,
        f1=2 * precision * recall / (precision + recall) if hits else 0.0,
        brier=float(((p - liked) ** 2).mean()),
        ece=calibration_error(p, liked),
    )


def calibration_error(p: Floats, liked: Flags) -> float:
    """Return the mean distance between stated and true shares, over ten bins, weighted by size."""
    bins = np.minimum((p * BINS).astype(int), BINS - 1)
    size, said, so = (np.bincount(bins, w, BINS) for w in (np.ones_like(p), p, liked.astype(float)))
    return float(np.abs(said - so).sum() / size.sum()) if len(p) else 0.0


def flip_metrics(
    first: Floats, second: Floats, liked: Flags, readers: Sequence[str], seed: int
) -> dict[str, Any]:
    """Return the corrections and errors of round 2, the net gain and its interval."""
    one, two = first >= YES_FROM, second >= YES_FROM
    right = int(((two == liked) & (one != liked)).sum())
    wrong = int(((two != liked) & (one == liked)).sum())
    low, high = _net_interval((two == liked).astype(float) - (one == liked), readers, seed)
    p = float(binomtest(right, right + wrong).pvalue) if right + wrong else 1.0
    return {"put_right": right, "put_wrong": wrong, "mcnemar_p": float(f"{p:.3g}")} | _rounded(
        net_gain=(right - wrong) / len(liked), net_low=low, net_high=high, kappa=kappa(one, two)
    )


def kappa(one: Flags, two: Flags) -> float:
    """Return Cohen's kappa. It is 1 if both agree and no other answer was possible."""
    agreed = float((one == two).mean())
    chance = float(one.mean() * two.mean() + (1 - one.mean()) * (1 - two.mean()))
    return (agreed - chance) / (1 - chance) if chance < 1 else 1.0


def _net_interval(change: Floats, readers: Sequence[str], seed: int) -> tuple[float, float]:
    """Return the 95 % interval of the mean change over draws of whole readers."""
    index = np.unique(np.asarray(readers), return_inverse=True)[1]
    sums, sizes = np.bincount(index, change), np.bincount(index)
    drawn = np.random.default_rng(seed).integers(0, len(sums), (DRAWS, len(sums)))
    means = sums[drawn].sum(axis=1) / sizes[drawn].sum(axis=1)
    low, high = np.quantile(means, [0.025, 0.975])
    return float(low), float(high)


def _rounded(**values: float) -> dict[str, float]:
    return {name: round(value, 4) for name, value in values.items()}

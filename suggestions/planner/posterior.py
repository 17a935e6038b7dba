"""The posterior of one reader's tastes: how source and topics together make a rating positive.

Like-rates taken one by one confuse a source with its topics. So all of them are estimated at once, in a
logistic regression per reader:

    logit P(up) = base + source + sum of the topics in the title

with Gaussian priors around 0 (or, as a second explanation, around other readers' opinions of a source),
fitted by Laplace's approximation. How widely sources and topics vary is unknown, so a grid of scales is
averaged by evidence (MacKay, 1992): the smallest scale means "no preferences at all", and a reader who has
none falls back to it. Topics are sparse besides: most phrases of a title mean nothing to a reader. A draw
includes each topic with the probability that it matters at all, its Savage-Dickey ratio against the slab
(Dickey, 1971); the share of topics that matter is estimated from all of them by expectation maximisation.
Pure.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solve_triangular
from scipy.special import expit

Array = NDArray[np.float64]

# Prior of the base in logits: a reader may like one item in twenty or nearly all.
BASE_SCALE = 1.5
# The scales tried for sources and topics, with their prior weights; set by simulation.
SCALES = (0.001, 0.35, 0.8)
SCALE_WEIGHTS = (0.35, 0.3, 0.35)
# Share of topics that matter, as if so many (yes, no) had been seen before.
TOPIC_SHARE_PRIOR = (2.0, 8.0)
EM_ROUNDS = 12
NEWTON_ROUNDS = 12
NEWTON_TOLERANCE = 1e-4
DRAWS = 160


@dataclass(frozen=True, slots=True)
class Design:
    """Ratings as a regression sees them.

    `rows` (observations x columns) are 1 where an observation has a column: the base, then `sources` sources,
    then topics. `liked` is 1 or 0, `weight` the weight of each observation, `expected` the prior mean of each
    source and topic in logits.
    """

    rows: Array
    liked: Array
    weight: Array
    sources: int
    expected: Array


def posterior_draws(design: Design, seed: int, draws: int = DRAWS) -> Array:
    """Return `draws` samples of (base, attributes...) from the posterior; the same for the same seed."""
    rng = np.random.default_rng(seed)
    modes = _modes(design)
    evidence = np.array([mode[2] for mode in modes])
    shares = np.exp(evidence - evidence.max())
    counts = rng.multinomial(draws, shares / shares.sum())
    return np.concatenate(
        [_sample(mode, count, design, rng) for mode, count in zip(modes, counts, strict=True) if count]
    )


def _modes(design: Design) -> list[tuple[Array, Array, float, float]]:
    """Return (mode, Cholesky factor of the precision, log evidence, topic scale) per pair of priors."""
    topics = design.rows.shape[1] - 1 - design.sources
    found = []
    for source_scale, source_share, mean in _source_priors(design):
        for topic_scale, topic_share in zip(SCALES, SCALE_WEIGHTS, strict=True):
            if not topics and topic_scale != SCALES[0]:
                continue
            scales = np.repeat([BASE_SCALE, source_scale, topic_scale], [1, design.sources, topics])
            mode, factor, evidence = _laplace(design, scales, mean)
            weight = float(np.log(source_share) + np.log(topic_share))
            found.append((mode, factor, evidence + weight, topic_scale))
    return found


def _source_priors(design: Design) -> Iterator[tuple[float, float, Array]]:
    """Yield (scale, prior weight, prior means) of each explanation of the sources.

    Others' opinions are an explanation beside the reader's own, each half as likely at first, and never part
    of "no preferences at all": a reader who agrees with nobody must not get what others like.
    """
    own = np.zeros(len(design.expected) + 1)
    others = np.concatenate([[0.0], design.expected])
    for scale, share in zip(SCALES, SCALE_WEIGHTS, strict=True):
        if scale == SCALES[0] or not design.expected.any():
            yield scale, share, own
        else:
            yield scale, share / 2, own
            yield scale, share / 2, others


def _laplace(design: Design, scales: Array, mean: Array) -> tuple[Array, Array, float]:
    """Return the mode by Newton's method, the factor of the precision there, and the log evidence."""
    features, precision = design.rows, 1 / scales**2
    theta = mean.copy()
    for _ in range(NEWTON_ROUNDS):
        p = expit(features @ theta)
        slope = features.T @ (design.weight * (design.liked - p)) - precision * (theta - mean)
        bend = (features * (design.weight * p * (1 - p))[:, None]).T @ features
        bend[np.diag_indices_from(bend)] += precision
        step = np.linalg.solve(bend, slope)
        theta += step
        if np.abs(step).max() < NEWTON_TOLERANCE:
            break
    factor = np.linalg.cholesky(bend)
    z = features @ theta
    fit = float((design.weight * (design.liked * z - np.logaddexp(0, z))).sum())
    prior = -0.5 * float((precision * (theta - mean) ** 2).sum()) + 0.5 * float(np.log(precision).sum())
    return theta, factor, fit + prior - float(np.log(np.diag(factor)).sum())


def _sample(
    mode: tuple[Array, Array, float, float], count: int, design: Design, rng: np.random.Generator
) -> Array:
    """Return `count` draws around one mode, with topics that do not matter set to 0."""
    theta, factor, _, topic_scale = mode
    noise = rng.normal(size=(len(theta), count))
    drawn: Array = theta + solve_triangular(factor.T, noise, lower=False).T
    first = 1 + design.sources
    if len(theta) > first and topic_scale > SCALES[0]:
        matters = _matters(theta[first:], _spreads(factor)[first:], topic_scale)
        drawn[:, first:] *= rng.random((count, len(theta) - first)) < matters
    return drawn


def _spreads(factor: Array) -> Array:
    """Return the posterior standard deviation of each coefficient, from the factor of the precision."""
    inverse = solve_triangular(factor, np.eye(len(factor)), lower=True)
    spread: Array = np.sqrt((inverse**2).sum(axis=0))
    return spread


def _matters(mean: Array, spread: Array, scale: float) -> Array:
    """Return the probability of each topic that it matters at all."""
    log_factor = np.log(spread / scale) + 0.5 * (mean / spread) ** 2
    yes, no = TOPIC_SHARE_PRIOR
    share = yes / (yes + no)
    for _ in range(EM_ROUNDS):
        likely = expit(log_factor + np.log(share / (1 - share)))
        share = (yes + likely.sum()) / (yes + no + len(mean))
    result: Array = expit(log_factor + np.log(share / (1 - share)))
    return result

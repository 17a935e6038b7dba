"""How sure we may be that a reader prefers, or avoids, a source or topic. Pure.

With a dozen sources and a hundred phrases to look at, some will seem special by chance. So each target is
weighed as a mixture of two explanations, as local false discovery rates do (Efron, 2010, chapter 5):

- nothing special: its thumbs come at the expected rate (the reader's base rate; for a topic, the rate its
  sources would have had anyway, so that a topic cannot borrow the shine of its source);
- a preference: its rate is drawn from Beta(SLAB_KAPPA * expected, SLAB_KAPPA * (1 - expected)).

The share of targets with a preference is learnt from all targets of the kind by expectation maximisation,
starting from a prior for sources and a lower one for topics; for a reader without preferences it falls, and
a target must be very special to count. `p_helpful` = P(a preference) x P(its direction).
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import betainc, betaln, expit

from ranking.entities import SourceTally
from ranking.posterior import Posterior, expected_gain, posterior

SLAB_KAPPA = 3.0
# Beta prior of the share of targets with a preference: (preferred, plain), as if so many had been seen.
# Chosen so that readers without any preference are left in peace: with shuffled thumbs, 1 to 3 % of 60
# MovieLens readers got a hypothesis, and 0 to 4 % of simulated ones, while nine of ten hypotheses about
# simulated preferences were right.
SOURCE_PRIOR = (12.0, 8.0)
TOPIC_PRIOR = (8.0, 40.0)
EM_ROUNDS = 30
# Rates of exactly 0 or 1 would make one thumb the other way impossible.
RATE_MIN = 0.002

# Thresholds of confidence in words; "high" also needs later thumbs that agree.
P_HIGH = 0.95
P_MEDIUM = 0.8


@dataclass(frozen=True, slots=True)
class Tally:
    """Decayed thumbs on one target against the rate `expected` of it. `count` is undecayed."""

    key: str
    n: float
    likes: float
    count: int
    expected: float


@dataclass(frozen=True, slots=True)
class Belief:
    """What the thumbs say of one target.

    `p_helpful` is the probability that there is a preference in the likelier direction, `liked` that
    direction, `posterior` the target taken alone (however many were tried), `gain` a size for ranking
    hypotheses, `count` the thumbs, undecayed.
    """

    key: str
    liked: bool
    p_helpful: float
    posterior: Posterior
    gain: float
    count: int


def source_tallies(tallies: Sequence[SourceTally]) -> list[Tally]:
    """Each source against the reader's base rate."""
    base = own_rate(tallies)
    return [Tally(t.source, t.n, t.likes, t.count, base) for t in tallies]


def own_rate(tallies: Sequence[SourceTally]) -> float:
    """The reader's base rate, not held off 0 and 1: who likes everything prefers nothing."""
    return (sum(t.likes for t in tallies) + 1) / (sum(t.n for t in tallies) + 2)


def source_means(tallies: Sequence[Tally]) -> dict[str, float]:
    """The posterior mean like-rate of each source."""
    return {t.key: posterior(t.likes, t.n, t.expected).mean for t in tallies}


def beliefs_of(tallies: Sequence[Tally], prior: tuple[float, float], total: float) -> dict[str, Belief]:
    """One belief per target, by key. `total` is the reader's decayed thumbs in all."""
    if not tallies:
        return {}
    n, likes, expected = (
        np.array([getattr(t, name) for t in tallies]) for name in ("n", "likes", "expected")
    )
    expected = np.clip(expected, RATE_MIN, 1 - RATE_MIN)
    a, b = SLAB_KAPPA * expected, SLAB_KAPPA * (1 - expected)
    hits, misses = np.minimum(likes, n), np.maximum(0.0, n - likes)
    log_factor = (
        betaln(a + hits, b + misses) - betaln(a, b) - hits * np.log(expected) - misses * np.log1p(-expected)
    )
    share = prior[0] / sum(prior)
    for _ in range(EM_ROUNDS):
        preferred = expit(log_factor + np.log(share / (1 - share)))
        share = (prior[0] + preferred.sum()) / (sum(prior) + len(tallies))
    p_above = 1 - betainc(a + hits, b + misses, expected)
    return {
        t.key: _belief(t, float(expected[i]), float(preferred[i]), float(p_above[i]), total)
        for i, t in enumerate(tallies)
    }


def _belief(tally: Tally, expected: float, preferred: float, p_above: float, total: float) -> Belief:
    simple = posterior(tally.likes, tally.n, expected)
    return Belief(
        key=tally.key,
        liked=p_above >= 0.5,
        p_helpful=preferred * max(p_above, 1 - p_above),
        posterior=simple,
        gain=expected_gain(simple, tally.n / total if total else 0.0),
        count=tally.count,
    )


def p_of_direction(belief: Belief | None, liked: bool) -> float:
    """`p_helpful` of a change in this direction; a target never seen, or seen the other way, has none."""
    return belief.p_helpful if belief is not None and belief.liked is liked else 0.0


def confidence_of(p_helpful: float, gain: float | None, high: float | None) -> str:
    """Confidence in words from the thumbs that chose a change and the later ones that checked it.

    "low" below 0.8 or when the whole 90 % interval of the later gain lies below zero; "high" from 0.95 when
    later thumbs also show a gain; "medium" in between.
    """
    if p_helpful < P_MEDIUM or (high is not None and high < 0):
        return "low"
    return "high" if p_helpful >= P_HIGH and gain is not None and gain > 0 else "medium"

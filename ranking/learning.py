"""Estimate a reader's likes from thumbs, and decide the learning loop's steps of effective weights.

A like-rate of 80 % on five thumbs arises by chance every other time. So each decision uses the probability
that the true rate is above the reader's own base rate (Beta posteriors).

The learning loop works per source. Thumbs decay with a half-life of 60 days. The target weight is exp(0.8 x
log-odds). A step is at most 0.15. It needs a likely direction (P > 0.8 or < 0.2) and at least five decayed
thumbs. Pure.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import exp, sqrt

from ranking.common.probability import beta_below, log_odds
from ranking.entities import EffectiveConfig, SourceTally, WeightChange, clamp_weight

# The weight of the prior, in thumbs. Measured: 8 keeps 45 % of an oracle's uplift and no reader is worse off,
# 1 gains more but harms some readers, 30 learns too slowly.
KAPPA = 8.0
BASE_MIN, BASE_MAX = 0.05, 0.95
# The normal quantile for 95 %, two-sided.
Z_95 = 1.959964
FEEDBACK_HALF_LIFE_DAYS = 60.0
LEARNING_GAIN = 0.8
STEP_MAX = 0.15
N_MIN = 5.0
P_HIGH, P_LOW = 0.8, 0.2
# After a person sets a source's weight, the loop leaves it alone for this many days.
HOLD_DAYS = 14


@dataclass(frozen=True, slots=True)
class Posterior:
    """The belief about one target: `mean` is the posterior mean like-rate, `p_better` is P(rate > base)."""

    n: float
    likes: float
    base: float
    mean: float
    p_better: float

    @property
    def log_odds(self) -> float:
        """Return the distance of the mean from the reader's base rate, in logits; positive if above."""
        return log_odds(self.mean) - log_odds(self.base)


def base_rate(likes: float, n: float) -> float:
    """Return the reader's own base like-rate, (likes + 1) / (n + 2), between 0.05 and 0.95."""
    return min(BASE_MAX, max(BASE_MIN, (likes + 1) / (n + 2)))


def posterior(
    likes: float, n: float, base: float, prior: float | None = None, kappa: float = KAPPA
) -> Posterior:
    """Return the Beta(kappa * prior + likes, kappa * (1 - prior) + n - likes) posterior against `base`.

    `prior` is the expected rate before any thumb. By default it is the base rate.
    """
    expected = min(BASE_MAX, max(BASE_MIN, base if prior is None else prior))
    a = kappa * expected + likes
    b = kappa * (1 - expected) + max(0.0, n - likes)
    return Posterior(n, likes, base, float(a / (a + b)), 1 - beta_below(a, b, base))


def wilson(hits: int, total: int) -> tuple[float, float]:
    """Return the 95 % score interval of the share hits / total (Wilson, 1927); (0, 1) if `total` is 0."""
    if total == 0:
        return 0.0, 1.0
    share, square = hits / total, Z_95 * Z_95
    middle = share + square / (2 * total)
    spread = Z_95 * sqrt((share * (1 - share) + square / (4 * total)) / total)
    whole = 1 + square / total
    return max(0.0, (middle - spread) / whole), min(1.0, (middle + spread) / whole)


def learn(
    tallies: Sequence[SourceTally],
    effective: EffectiveConfig,
    *,
    on_hold: Mapping[str, str] | None = None,
    deviation: Mapping[str, float] | None = None,
) -> list[WeightChange]:
    """Return the decision of one learning cycle for each of a reader's sources.

    `on_hold` maps the sources that the loop must leave alone to the reason. `deviation` is the community's
    deviation from the base rate per source; a missing source counts as 0.
    """
    base = base_rate(sum(t.likes for t in tallies), sum(t.n for t in tallies))
    return [
        _decide(
            tally.source,
            effective.weight(tally.source),
            posterior(tally.likes, tally.n, base, base + (deviation or {}).get(tally.source, 0.0)),
            (on_hold or {}).get(tally.source, ""),
        )
        for tally in tallies
    ]


def _decide(source: str, before: float, belief: Posterior, excluded: str) -> WeightChange:
    target = clamp_weight(exp(LEARNING_GAIN * belief.log_odds))
    step = max(-STEP_MAX, min(STEP_MAX, target - before))
    reason = excluded or _objection(belief, step)
    after = before if reason else clamp_weight(before + step)
    direction = "liked_more_than_usual" if step > 0 else "liked_less_than_usual"
    return WeightChange(source, before, after, belief.p_better, belief.n, reason or direction)


def _objection(belief: Posterior, step: float) -> str:
    if belief.n < N_MIN:
        return "too_few_thumbs"
    if P_LOW <= belief.p_better <= P_HIGH:
        return "undecided"
    if abs(step) < 1e-9:
        return "at_target"
    if (step > 0 and belief.base >= BASE_MAX) or (step < 0 and belief.base <= BASE_MIN):
        # A reader who likes nearly everything prefers no source. Without this rule every weight would creep
        # up.
        return "no_contrast"
    if (step > 0) != (belief.p_better > 0.5):
        return "beyond_target"
    return ""

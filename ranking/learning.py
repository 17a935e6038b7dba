"""The learning loop's arithmetic: thumbs in, small bounded steps of effective weights out.

Per source: a Beta posterior with a 60-day half-life against the reader's own base rate; the target
weight is exp(0.8 x log-odds); a step is at most 0.15 and is taken only when the direction is likely
(P > 0.8 or < 0.2) and at least five decayed thumbs speak for it.
"""

from collections.abc import Mapping, Sequence
from math import exp

from ranking.entities import EffectiveConfig, SourceTally, WeightChange, clamp_weight
from ranking.posterior import BASE_MAX, BASE_MIN, Posterior, base_rate, posterior

FEEDBACK_HALF_LIFE_DAYS = 60.0
LEARNING_GAIN = 0.8
STEP_MAX = 0.15
N_MIN = 5.0
P_HIGH, P_LOW = 0.8, 0.2
HOLD_DAYS = 14


def learn(
    tallies: Sequence[SourceTally],
    effective: EffectiveConfig,
    *,
    held: Mapping[str, str] | None = None,
    deviation: Mapping[str, float] | None = None,
) -> list[WeightChange]:
    """One cycle over all of a reader's sources.

    `held` names sources the loop must leave alone, with the reason; `deviation` is the community's
    deviation from the base rate per source (0 where unknown).
    """
    base = base_rate(sum(t.likes for t in tallies), sum(t.n for t in tallies))
    return [
        _decide(
            tally.source,
            effective.weight(tally.source),
            posterior(tally.likes, tally.n, base, base + (deviation or {}).get(tally.source, 0.0)),
            (held or {}).get(tally.source, ""),
        )
        for tally in tallies
    ]


def _decide(source: str, before: float, belief: Posterior, held: str) -> WeightChange:
    target = clamp_weight(exp(LEARNING_GAIN * belief.log_odds))
    step = max(-STEP_MAX, min(STEP_MAX, target - before))
    reason = held or _why_not(belief, step)
    after = before if reason else clamp_weight(before + step)
    return WeightChange(source, before, after, belief.p_better, belief.n, reason or _direction(step))


def _why_not(belief: Posterior, step: float) -> str:
    if belief.n < N_MIN:
        return "too_few_thumbs"
    if P_LOW <= belief.p_better <= P_HIGH:
        return "undecided"
    if abs(step) < 1e-9:
        return "at_target"
    if (step > 0 and belief.base >= BASE_MAX) or (step < 0 and belief.base <= BASE_MIN):
        # Who likes nearly everything likes nothing more than usual: without this, every weight creeps up.
        return "no_contrast"
    if (step > 0) != (belief.p_better > 0.5):
        return "beyond_target"
    return ""


def _direction(step: float) -> str:
    return "liked_more_than_usual" if step > 0 else "liked_less_than_usual"

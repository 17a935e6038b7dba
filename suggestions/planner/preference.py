"""The probability that a lean has the wrong sign, or that its reader prefers nothing at all.

A reader without preferences likes every source and topic at one rate. Against that stand five hypotheses,
"tastes vary with the variance s". For the surplus z of a column's likes, with u its variance if thumbs were
dealt out at random and v how fast it grows with the taste (`ranking.taste.leans`), the Bayes factor of each
is

    log B(s) = sum over columns of  c (z^2/u r/(1 + r) - log(1 + r)) / 2,   r = s v^2/u

c is 1 for topics and 0.5 for sources, because columns overlap. With prior odds of 5 to 1, spread evenly, the
weight of s is 5/5 B(s) / (1 + 5 mean of B). Thumbs do not decay in it: an old preference still shows that the
reader has preferences. Columns chosen by dislikes, such as words to hide, prove nothing and are left out.

The local false sign rate (Stephens, 2017) of a lean is 1 - sum over s of weight(s) x P(the sign, given s).
Odds, variances and c were set on simulated readers and readers of MovieLens (docs/planner.md). Pure.
"""

from dataclasses import dataclass

import numpy as np

from ranking.common.probability import normal_above
from ranking.taste.leans import Array, Tallies, leans_of

ODDS_BEFORE = 5.0
SPREADS = (0.05, 0.1, 0.2, 0.4, 0.8)
OF_SOURCES, OF_TOPICS = 0.5, 1.0
# exp of more than this is certainty.
_LOG_MAX = 50.0


@dataclass(frozen=True, slots=True)
class Preference:
    """The probability of each of `SPREADS`; the rest is that the reader prefers nothing."""

    weights: tuple[float, ...]

    @property
    def p_anything(self) -> float:
        """Return P(the reader prefers anything at all)."""
        return sum(self.weights)


def preference_of(whole: Tallies, columns: int) -> Preference:
    """Return the evidence of undecayed tallies about the spread of tastes, by their first `columns`
    columns."""
    rates = whole.rates
    variance = whole.variance(rates)[:columns]
    seen = variance > 0
    u = variance[seen]
    v = whole.information(rates)[:columns][seen]
    squared = whole.surplus(rates)[:columns][seen] ** 2 / u
    counts = np.where(np.arange(columns) < whole.source_count, OF_SOURCES, OF_TOPICS)[seen]
    ratio = np.array(SPREADS)[:, None] * v**2 / u
    logs = (counts * (squared * ratio / (1 + ratio) - np.log1p(ratio))).sum(axis=1) / 2
    odds = ODDS_BEFORE / len(SPREADS) * np.exp(np.minimum(logs, _LOG_MAX))
    return Preference(tuple((odds / (1 + odds.sum())).tolist()))


def false_signs(preference: Preference, tallies: Tallies, others: Array | float = 0.0) -> Array:
    """Return the local false sign rate of the lean of each column; `others` as in `leans_of`."""
    sure = np.zeros(len(tallies.thumbs))
    for spread, weight in zip(SPREADS, preference.weights, strict=True):
        leans = leans_of(tallies, spread, others)
        above = [1 - normal_above(t) for t in (np.abs(leans.lean) / leans.sd).tolist()]
        sure += weight * np.array(above)
    found: Array = 1 - sure
    return found

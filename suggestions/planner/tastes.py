"""A reader's tastes for sources and topics, and the expected gain of acting on them.

`ranking.taste.leans` computes the leans and has the formulas. This module has the columns of a reader's
ratings, the value of a lean as a change, and the spread of tastes.

On MovieLens, by rules on arrays, others' thumbs gained 0.001 of nDCG@10 on average (within chance if periods
are sources) and harmed a little less often.

The spread of tastes comes from all readers together: one variance of true log-odds for sources and topics,
estimated by the method of moments (James and Stein, 1961; DerSimonian and Laird, 1986), because z^2 has the
expectation u + spread v^2. A reader's contribution is a bounded estimate of the spread, from sources and
topics together, and its weight:

    estimate = clip(w q / d, -0.3, 0.5),   q = sum of (z^2 - u N / (N - 1)),   d = sum of v^2
    weight   = w = D / (D + 5),            D = d with 1/4 for b (1 - b)

The weight depends on the number of thumbs and not on their direction. The sums of a batch are published with
noise (`ranking.community`). The spread is the mean under a normal prior:

    (0.2 / s^2 + W Q / V) / (1 / s^2 + W^2 / V),   at least 0;   s = 0.2

with W the sum of the weights over all batches, Q 1.4 times that of the estimates, since the bounds cut off
more than a quarter, and V the variance of Q: 1.96 times 0.08 W and that of the noise. The prior is the spread
of MovieLens readers, so an installation too small to publish anything begins there. There is one spread and
not one each for sources and topics: the two were similar (0.12 to 0.30), and the noise on one sum is a third
of that on each of two. With 50 thumbs or more of MovieLens' readers it comes out at 0.18 to 0.27, and near 0,
with a standard deviation of about 0.03, if their thumbs are shuffled. Pure.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

import numpy as np

from digest.entities import RatedItem
from ranking.common.probability import logistic, normal_above
from ranking.community import SPREAD_ESTIMATES, SPREAD_STEPS, spread_noise_variance
from ranking.taste.leans import (
    SPREAD_PRIOR,
    Array,
    Tallies,
    leans_of,
    rating_weight,
    reason_weights,
    tallies_made,
    tallies_within,
)
from suggestions.changes.change import ChangeKind, Finder
from suggestions.changes.columns import SOURCES, Attributes
from suggestions.changes.registry import COLUMN_KINDS
from suggestions.planner.preference import Preference, false_signs, preference_of

# A smaller lean, in log-odds, is not worth a question (measured on MovieLens: more questions, no more gain).
LEAN_MIN = 0.15
# A lean is not asked about if its sign is wrong, or its reader prefers nothing, with more than this
# probability. Chosen on simulated readers and on MovieLens (docs/planner.md).
FALSE_SIGN_MAX = 0.28
# The same for changes without other names, once a run has tried such names for a topic. What is asked less by
# that pays for the false topics that names may bring: a model asks no more by chance than the planner.
FALSE_SIGN_AFTER_NAMES = 0.27
# Decayed thumbs on a target, and of a reader, below which nothing is proposed.
TARGET_MIN, READER_MIN = 3.0, 10.0
# How a lean becomes P(the change helps) and an expected gain of nDCG@10: fitted on later ratings of readers
# of MovieLens-100k and -latest-small at even places of the set, checked on the others (docs/planner.md).
SURENESS_SLOPE, GAIN_SLOPE = 0.43, 0.08
# The same if taste orders the page: it counts the lean already, so a change adds less than the lean says.
SURENESS_SLOPE_WITH_TASTE = 0.15
# The standard deviation of the spread before anything is published.
SPREAD_PRIOR_SD = 0.2
WEIGHT_HALF = 5.0
# The variance of one reader's estimate per weight, and the correction for the bounds, on MovieLens.
READER_VARIANCE, UNBOUND = 0.08, 1.4


@dataclass(frozen=True, slots=True)
class Batch:
    """The sums of a batch of readers, in steps of a hundredth: estimates and weights."""

    estimates: int
    weights: int


@dataclass(frozen=True, slots=True)
class Taste:
    """The lean towards one target in log-odds, its standard deviation, and how much a change can move.

    `reach` is s(1 - s) with s the target's share of the thumbs: a target that is everywhere or nowhere moves
    nothing. `thumbs` are the decayed thumbs on it, `thumbs_all` the reader's, and `others` is other readers'
    addition to the lean. `false_sign` is the probability that the lean has the wrong sign or the reader
    prefers nothing. `slope` is how a lean becomes a probability.
    """

    lean: float
    sd: float
    reach: float
    thumbs: float
    thumbs_all: float
    others: float = 0.0
    false_sign: float = 0.0
    slope: float = SURENESS_SLOPE

    @property
    def p_helps(self) -> float:
        """Return P(more of the target helps): logistic in lean / sd, one half at 0."""
        return logistic(self.slope * self.lean / self.sd) if self.sd > 0 else 0.5

    @property
    def expected_gain(self) -> float:
        """Return the expected change of nDCG@10 of more of the target."""
        return GAIN_SLOPE * self.lean * self.reach

    @property
    def information(self) -> float:
        """Return the expected value of perfect information about it, in nDCG@10 (Raiffa, Schlaifer, 1961).

        The gain of knowing the true lean under N(lean, sd^2), compared with acting on its mean.
        """
        if self.sd <= 0:
            return 0.0
        t = abs(self.lean) / self.sd
        density = float(np.exp(-t * t / 2) / np.sqrt(2 * np.pi))
        return GAIN_SLOPE * self.reach * (self.sd * density - abs(self.lean) * normal_above(t))

    @property
    def is_known(self) -> bool:
        """Return whether thumbs are enough to tell anything."""
        return self.thumbs >= TARGET_MIN and self.thumbs_all >= READER_MIN

    @property
    def is_clear(self) -> bool:
        """Return whether thumbs are enough, and the lean is large and sure enough, to propose a change."""
        return self.is_known and abs(self.lean) >= LEAN_MIN and self.false_sign <= FALSE_SIGN_MAX


def hits_of(rated: Sequence[RatedItem], attributes: Attributes) -> Array:
    """Return how far each rating counts for each target: a row a rating, 0 if it is about another target."""
    at = {source: n for n, source in enumerate(attributes.sources)}
    parts: list[tuple[ChangeKind, list[tuple[Finder, bool]]]] = []
    for column in [one for one in attributes.targets if one is not SOURCES]:
        # The finder of each target, a topic's by any of its names, and whether it looks in whole texts.
        kind, labels = COLUMN_KINDS[column], attributes.labels(column)
        names = attributes.names if kind.is_named else {}
        spellings = [(label, *names.get(key, ())) for key, label in labels.items()]
        whole = [attributes.is_whole(column, key) for key in labels]
        parts.append((kind, list(zip(map(kind.finder_of, spellings), whole, strict=True))))
    first = len(at)
    hits = np.zeros((len(rated), first + sum(len(finders) for _, finders in parts)))
    for n, item in enumerate(rated):
        source, topic = reason_weights(item.tags, liked=item.useful)
        hits[n, at[item.source]] = source
        found: list[bool] = []
        for kind, finders in parts:
            asked = {
                is_whole: kind.as_found(item, has_names=is_whole) for is_whole in {w for _, w in finders}
            }
            found += [finds(asked[is_whole]) for finds, is_whole in finders]
        hits[n, first:] = topic * np.array(found)
    return hits


def tallies_of(
    rated: Sequence[RatedItem], attributes: Attributes, now: datetime | None, hits: Array | None = None
) -> Tallies:
    """Return the reader's thumbs and likes by source and topic, decayed until `now` (`None`: undecayed).

    `hits` are those of `hits_of`, if they are known: to search the texts takes most of the time.
    """
    has = hits_of(rated, attributes) if hits is None else hits
    at = {source: n for n, source in enumerate(attributes.sources)}
    weight = np.array([rating_weight(one.at, now) if now else 1.0 for one in rated], dtype=np.float64)
    liked = np.array([item.useful for item in rated], dtype=np.float64)
    sources = np.array([at[item.source] for item in rated], dtype=np.int64)
    authors = [n for n, (column, key) in enumerate(attributes.keys) if attributes.is_author(column, key)]
    made = tallies_made(has, weight, liked, len(at))
    return tallies_within(made, authors, has, weight, liked, sources)


def reader_preference(
    rated: Sequence[RatedItem], attributes: Attributes, hits: Array | None = None
) -> Preference:
    """Return the evidence of all of a reader's undecayed thumbs about the spread of their tastes, on sources
    and topics. `hits` as for `tallies_of`."""
    columns = len(attributes.sources) + len(attributes.topics)
    return preference_of(tallies_of(rated, attributes, None, hits), columns)


def spreads_for(attributes: Attributes, spread: float) -> Array:
    """Return the spread of tastes for each key of each column; `spread` is that of the installation.

    That one was measured on sources and on topics in titles. It tells nothing about topics that count in
    texts, too: readers who differ in subjects may not differ in any one word. So these have the prior.
    """
    whole = [attributes.is_whole(column, key) for column, key in attributes.keys]
    return np.where(whole, SPREAD_PRIOR, spread).astype(np.float64)


def others_lean(attributes: Attributes, deviations: Mapping[str, float], tallies: Tallies) -> Array:
    """Return what other readers add to the lean towards each source or topic, in log-odds; 0 if unknown.

    How far others like a source more or less than usual is a difference of rates. It becomes one of log-odds
    at the reader's own like-rate.

    `deviations` are like-rates above or below the usual one, by source.
    """
    found = np.zeros(len(tallies.thumbs))
    found[: tallies.source_count] = [deviations.get(source, 0.0) for source in attributes.sources]
    return found / (tallies.base * (1 - tallies.base))


def tastes_of(
    tallies: Tallies,
    spread: Array | float,
    others: Array | float = 0.0,
    preference: Preference | None = None,
    *,
    with_taste: bool = False,
) -> list[Taste]:
    """Return the taste of each column; `others` is m of each. Without a `preference` no sign is doubted.

    `with_taste` says whether taste orders the reader's page.
    """
    leans, reach = leans_of(tallies, spread, others), tallies.share * (1 - tallies.share)
    doubted = false_signs(preference, tallies, others) if preference else np.zeros(len(reach))
    columns = np.column_stack([leans.lean, leans.sd, reach, tallies.thumbs, leans.others, doubted]).tolist()
    total, slope = tallies.thumbs_all, SURENESS_SLOPE_WITH_TASTE if with_taste else SURENESS_SLOPE
    return [Taste(lean, sd, r, n, total, more, doubt, slope) for lean, sd, r, n, more, doubt in columns]


def contribution_of(tallies: Tallies) -> Batch:
    """Return one reader's contribution, each number within its bounds."""
    seen = tallies.thumbs >= 1
    rates = tallies.rates
    variance = tallies.variance(rates)[seen]
    d, most = (float((tallies.information(rate)[seen] ** 2).sum()) for rate in (rates, 0.5))
    if d <= 0:
        return Batch(0, 0)
    n = tallies.thumbs_all
    q = float((tallies.surplus(rates)[seen] ** 2 - variance * n / max(1.0, n - 1)).sum())
    weight = most / (most + WEIGHT_HALF)
    low, high = SPREAD_ESTIMATES
    return Batch(round(SPREAD_STEPS * min(high, max(low, weight * q / d))), round(SPREAD_STEPS * weight))


def batch_sum(contributions: Iterable[Batch]) -> Batch:
    """Return the sums of several contributions."""
    rows = list(contributions)
    return Batch(sum(row.estimates for row in rows), sum(row.weights for row in rows))


def spread_of(batches: Sequence[Batch]) -> float:
    """Return the variance of true log-odds by all published batches; without any, the prior's."""
    q = UNBOUND * sum(batch.estimates for batch in batches) / SPREAD_STEPS
    w = sum(batch.weights for batch in batches) / SPREAD_STEPS
    if w <= 0:
        return SPREAD_PRIOR
    variance = UNBOUND**2 * (READER_VARIANCE * w + len(batches) * spread_noise_variance())
    precision = 1 / SPREAD_PRIOR_SD**2
    return max(0.0, (SPREAD_PRIOR * precision + w * q / variance) / (precision + w * w / variance))

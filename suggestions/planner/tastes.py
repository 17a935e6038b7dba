"""A reader's tastes: how much more or less than usual they like each source and each topic.

Each source and topic is judged by itself against the reader's own like-rate b = (likes + 1) / (thumbs + 2).
Of n thumbs on a target, k of them likes, out of N:

    z = k - b n                      the score test's surplus of likes (Rao, 1948)
    v = b (1 - b) n (1 - n / N)      how fast z grows with the taste
    u = v x (mean squared weight / mean weight)      its variance if thumbs were dealt out at random
    lean = (z v / u) / (v^2 / u + 1 / spread),   sd = (v^2 / u + 1 / spread)^(-1/2)      in log-odds

Where no thumb has decayed, u is v and the lean z / (v + 1 / spread). So a lean is shrunk towards 0 by how
much readers' tastes vary: `spread` is the variance of true log-odds, one for sources and one for topics,
estimated from all readers together by the method of moments (James and Stein, 1961; DerSimonian and Laird,
1986), since z^2 has the expectation u + spread v^2. Where readers prefer nothing, the spread is 0 and so is
every lean: silence needs no other gate.

Where others' thumbs on a source are published (`digest.feedback.peers`), m is how much more or less than
usual they like it, in log-odds, and the prior's mean:

    others = (m / spread) / (v^2 / u + 1 / spread),   between -|lean| and |lean|,   added to the lean

So others add to what a reader's own thumbs say, at most as much again, or take it back, and never say
anything where those are silent. On MovieLens, by rules on arrays, that gained 0.001 of nDCG@10 on average
(within chance where periods are sources) and harmed a little less often.

An author is judged within the sources they write for: b and N are of the thumbs on those, so that a reader
who likes a source does not seem to like everybody who writes there.

Thumbs decay with a half-life of 60 days. A reason says what was meant: "my kind of topic" names the topics;
depth, hype or a paywall the source; "well explained" the one item. A thumb counts 0.3 for the kinds that its
reason does not name.

How much tastes vary is known from all readers together. A reader's contribution is a bounded estimate of the
spread, from sources and topics alike, and its weight:

    estimate = clip(w q / d, -0.3, 0.5),   q = sum of (z^2 - u N / (N - 1)),   d = sum of v^2
    weight   = w = D / (D + 5),            D = d with 1/4 for b (1 - b)

The weight knows how many thumbs there are and nothing of what they say. The sums of a batch are published
with noise (`ranking.community`). The spread is the mean under a normal prior:

    (0.2 / s^2 + W Q / V) / (1 / s^2 + W^2 / V),   at least 0;   s = 0.2

with W the sum of the weights over all batches, Q 1.4 times that of the estimates, since the bounds cut off
more than a quarter, and V the variance of Q: 1.96 times 0.08 W and that of the noise. The prior is what
MovieLens readers have, so that an installation too small to publish anything begins there. One spread and not
one for sources and one for topics: the two came out alike (0.12 to 0.30), and the noise on one sum is a third
of that on each of two. With 50 thumbs or more of MovieLens' readers it comes out at 0.18 to 0.27, and near 0,
with a standard deviation of about 0.03, where their thumbs are shuffled. Pure.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

import numpy as np
from numpy.typing import NDArray

from digest.entities import RatedItem
from ranking.common.categories import label_keys, topic_finder
from ranking.common.probability import logistic, normal_above
from ranking.common.text import fold
from ranking.community import SPREAD_ESTIMATES, SPREAD_STEPS, spread_noise_variance
from ranking.entities import Mute
from ranking.learning import FEEDBACK_HALF_LIFE_DAYS
from ranking.mutes import WORD, mute_finder
from suggestions.changes.entities import Field
from suggestions.changes.mutes import MUTE_WORD
from suggestions.planner.phrases import Attributes

Array = NDArray[np.float64]

# The attribute that a reason names (slugs of the taxonomy).
ABOUT_TOPIC = frozenset({"on-topic", "off-topic"})
ABOUT_SOURCE = frozenset({"depth", "original", "practical", "hype", "clickbait", "paywall"})
ABOUT_ITEM = frozenset({"clarity", "surprising", "shallow", "known"})
# The reasons for a thumb down, in all three kinds; the others are for a thumb up.
AGAINST = frozenset({"off-topic", "hype", "clickbait", "paywall", "shallow", "known"})
# What a thumb counts for the kinds that its reason does not name.
NOT_NAMED = 0.3
# A smaller lean, in log-odds, is not worth a question (measured on MovieLens: more questions, no more gain).
LEAN_MIN = 0.15
# Decayed thumbs on a target, and of a reader, below which nothing is proposed.
TARGET_MIN, READER_MIN = 3.0, 10.0
# How a lean becomes P(the change helps) and an expected gain of nDCG@10: fitted on later ratings of readers
# of MovieLens-100k and -latest-small with an even number, checked on the others (docs/planner.md).
SURENESS_SLOPE, GAIN_SLOPE = 0.43, 0.08
# The spread before anything is published, and the standard deviation of that guess.
SPREAD_PRIOR, SPREAD_PRIOR_SD = 0.2, 0.2
WEIGHT_HALF = 5.0
# The variance of one reader's estimate per weight, and what undoes the bounds, on MovieLens.
READER_VARIANCE, UNBOUND = 0.08, 1.4


@dataclass(frozen=True, slots=True)
class Batch:
    """The sums of a batch of readers, in steps of a hundredth: estimates and weights."""

    estimates: int
    weights: int


@dataclass(frozen=True, slots=True)
class Tallies:
    """Decayed thumbs and likes (columns,), the first `source_count` columns sources; those of all together.

    `squares` are the sums of squared weights. Reasons weigh the columns, not the totals. `among` and
    `likes_among` are thumbs and likes of what each column is compared with: all, but for authors.
    """

    thumbs: Array
    likes: Array
    squares: Array
    source_count: int
    thumbs_all: float
    likes_all: float
    among: Array
    likes_among: Array

    @property
    def base(self) -> float:
        """Return the reader's own like-rate."""
        return (self.likes_all + 1) / (self.thumbs_all + 2)

    @property
    def share(self) -> Array:
        """Return the share of all thumbs that each column has."""
        share: Array = np.minimum(1.0, self.thumbs / max(self.thumbs_all, 1e-9))
        return share

    @property
    def rates(self) -> Array:
        """Return b of each column: that of what it is compared with."""
        found: Array = np.where(
            self.among < self.thumbs_all, (self.likes_among + 2 * self.base) / (self.among + 2), self.base
        )
        return found

    @property
    def surplus(self) -> Array:
        """Return z of each column."""
        return self.likes - self.rates * self.thumbs

    def information(self, rates: Array | float) -> Array:
        """Return v of each column at the like-rates `rates`."""
        found: Array = rates * (1 - rates) * self.thumbs * self._apart
        return found

    @property
    def variance(self) -> Array:
        """Return u of each column."""
        found: Array = self.rates * (1 - self.rates) * self.squares * self._apart
        return found

    @property
    def _apart(self) -> Array:
        """Return 1 - n / N of each column."""
        found: Array = 1 - np.minimum(1.0, self.thumbs / np.maximum(self.among, 1e-9))
        return found


@dataclass(frozen=True, slots=True)
class Taste:
    """The lean towards one target in log-odds, its standard deviation, and how much a change can move.

    `reach` is s(1 - s) with s the target's share of the thumbs: what is everywhere or nowhere moves nothing.
    `thumbs` are the decayed thumbs on it, `thumbs_all` the reader's, `others` what those of others add to
    the lean.
    """

    lean: float
    sd: float
    reach: float
    thumbs: float
    thumbs_all: float
    others: float = 0.0

    @property
    def p_helps(self) -> float:
        """Return P(more of the target helps): logistic in lean / sd, one half at 0."""
        return logistic(SURENESS_SLOPE * self.lean / self.sd) if self.sd > 0 else 0.5

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
        """Return whether thumbs are enough and the lean is large enough to propose a change."""
        return self.is_known and abs(self.lean) >= LEAN_MIN


def tallies_of(rated: Sequence[RatedItem], attributes: Attributes, now: datetime) -> Tallies:
    """Return the reader's decayed thumbs and likes by source and topic."""
    at = {source: n for n, source in enumerate(attributes.sources)}
    first = len(at)
    topics_end = first + len(attributes.topics)
    has = np.zeros((len(rated), topics_end + len(attributes.words)))
    finders = [topic_finder(attributes.labels[key]) for key in attributes.topics]
    hides = [mute_finder(Mute(WORD, attributes.labels[key])) for key in attributes.words]
    for n, item in enumerate(rated):
        source, topics = _kind_weights(item)
        folded, keys = fold(item.title), label_keys(item.categories, item.author)
        has[n, at[item.source]] = source
        has[n, first:topics_end] = [topics * finds(folded, keys) for finds in finders]
        if hides:
            lead = MUTE_WORD.text_rated(item)
            has[n, topics_end:] = [topics * finds(lead) for finds in hides]
    weight = np.array([rating_weight(item.at, now) for item in rated], dtype=np.float64)
    liked = weight * np.array([item.useful for item in rated], dtype=np.float64)
    squares = weight**2 @ has**2
    among, likes_among = (np.full(has.shape[1], float(row.sum())) for row in (weight, liked))
    sources = np.array([at[item.source] for item in rated], dtype=np.int64)
    for column in (attributes.column(Field.TOPICS, key) for key in attributes.authors):
        there = np.isin(sources, sources[has[:, column] > 0])
        among[column], likes_among[column] = weight[there].sum(), liked[there].sum()
    totals = float(weight.sum()), float(liked.sum())
    return Tallies(weight @ has, liked @ has, squares, first, *totals, among, likes_among)


def rating_weight(at: datetime, now: datetime) -> float:
    """Return the weight of a rating: 2^(-age / 60 days), the age in whole UTC days as in source tallies."""
    days = (now.timestamp() // 86400) - (at.timestamp() // 86400)
    return float(0.5 ** (max(0.0, days) / FEEDBACK_HALF_LIFE_DAYS))


def _kind_weights(item: RatedItem) -> tuple[float, float]:
    """Return what a thumb counts for its source and for its topics; 1 without a reason, or with several.

    Imports and the API may bring a thumb up for "hype": a reason that contradicts its thumb names nothing.
    """
    tags = {tag for tag in item.tags if (tag in AGAINST) is not item.useful}
    named = [kind for kind in (ABOUT_TOPIC, ABOUT_SOURCE, ABOUT_ITEM) if not kind.isdisjoint(tags)]
    if len(named) != 1:
        return 1.0, 1.0
    return (
        1.0 if named[0] is ABOUT_SOURCE else NOT_NAMED,
        1.0 if named[0] is ABOUT_TOPIC else NOT_NAMED,
    )


def others_lean(attributes: Attributes, deviations: Mapping[str, float], tallies: Tallies) -> Array:
    """Return m of each column: how others differ from usual in log-odds at the reader's like-rate; 0 unknown.

    `deviations` are like-rates above or below the usual one, by source.
    """
    found = np.zeros(len(tallies.thumbs))
    found[: tallies.source_count] = [deviations.get(source, 0.0) for source in attributes.sources]
    return found / (tallies.base * (1 - tallies.base))


def tastes_of(tallies: Tallies, spread: float, others: Array | float = 0.0) -> list[Taste]:
    """Return the taste of each column; `others` is m of each."""
    information = tallies.information(tallies.rates)
    # 1 / (v + 1 / spread) without a division by 0.
    known = np.divide(
        information, tallies.variance, out=np.zeros_like(information), where=tallies.variance > 0
    )
    squared = spread / (1 + information * known * spread)
    own, reach = tallies.surplus * known * squared, tallies.share * (1 - tallies.share)
    # squared / spread, without a division by 0.
    rest = 1 / (1 + information * known * spread)
    added = np.clip(others * rest, -np.abs(own), np.abs(own))
    columns = np.column_stack([own + added, np.sqrt(squared), reach, tallies.thumbs, added]).tolist()
    return [Taste(lean, sd, r, n, tallies.thumbs_all, more) for lean, sd, r, n, more in columns]


def contribution_of(tallies: Tallies) -> Batch:
    """Return one reader's contribution, each number within its bounds."""
    seen = tallies.thumbs >= 1
    variance = tallies.variance[seen]
    d, most = (float((tallies.information(rate)[seen] ** 2).sum()) for rate in (tallies.rates, 0.5))
    if d <= 0:
        return Batch(0, 0)
    n = tallies.thumbs_all
    q = float((tallies.surplus[seen] ** 2 - variance * n / max(1.0, n - 1)).sum())
    weight = most / (most + WEIGHT_HALF)
    low, high = SPREAD_ESTIMATES
    return Batch(round(SPREAD_STEPS * min(high, max(low, weight * q / d))), round(SPREAD_STEPS * weight))


def batch_sum(contributions: Iterable[Batch]) -> Batch:
    """Return the sums of several contributions, or of several batches."""
    rows = list(contributions)
    return Batch(sum(row.estimates for row in rows), sum(row.weights for row in rows))


def spread_of(batches: Sequence[Batch]) -> float:
    """Return the variance of true log-odds by everything published; that of the prior where nothing was."""
    total = batch_sum(batches)
    q, w = UNBOUND * total.estimates / SPREAD_STEPS, total.weights / SPREAD_STEPS
    if w <= 0:
        return SPREAD_PRIOR
    variance = UNBOUND**2 * (READER_VARIANCE * w + len(batches) * spread_noise_variance())
    precision = 1 / SPREAD_PRIOR_SD**2
    return max(0.0, (SPREAD_PRIOR * precision + w * q / variance) / (precision + w * w / variance))

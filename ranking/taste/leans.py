"""How much more or less than usual a reader likes each of some targets.

Each target (a source, a topic, a category, an author) is judged by itself against the reader's own like-rate
b = (likes + 1) / (thumbs + 2). Of n thumbs on a target, k of them likes, out of N:

    z = k - b n                      the score test's surplus of likes (Rao, 1948)
    v = b (1 - b) n (1 - n / N)      how fast z grows with the taste
    u = v x (mean squared weight / mean weight)      its variance if thumbs were dealt out at random
    lean = (z v / u) / (v^2 / u + 1 / spread),   sd = (v^2 / u + 1 / spread)^(-1/2)      in log-odds

If no thumb has decayed, u is v and the lean z / (v + 1 / spread). So a lean is shrunk towards 0 by the spread
of readers' tastes: `spread` is the variance of true log-odds. If readers prefer nothing, the spread is 0 and
so is every lean.

If others' thumbs on a source are published, m is how much more or less than usual they like it, in log-odds,
and it becomes the prior's mean:

    others = (m / spread) / (v^2 / u + 1 / spread),   between -|lean| and |lean|,   added to the lean

So others can at most double the lean of a reader's own thumbs, or cancel it. They add nothing if the reader
has no thumbs there.

An author is judged within the sources they write for: b and N count the thumbs on those, so that a reader who
likes a source does not seem to like everybody who writes there.

Thumbs decay with a half-life of 60 days. A reason names the target of a thumb: "my kind of topic" the topics;
depth, hype or a paywall the source; "well explained" the one item. A thumb counts 0.3 for the kinds that its
reason does not name. Pure.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime

import numpy as np
from numpy.typing import NDArray

from ranking.learning import FEEDBACK_HALF_LIFE_DAYS

Array = NDArray[np.float64]

# The spread before any is published: that of MovieLens readers.
SPREAD_PRIOR = 0.2
# The attribute that a reason names (slugs of the taxonomy).
ABOUT_TOPIC = frozenset({"on-topic", "off-topic"})
ABOUT_SOURCE = frozenset({"depth", "original", "practical", "hype", "clickbait", "paywall"})
ABOUT_ITEM = frozenset({"clarity", "surprising", "shallow", "known"})
# The reasons for a thumb down, in all three kinds; the others are for a thumb up.
AGAINST = frozenset({"off-topic", "hype", "clickbait", "paywall", "shallow", "known"})
# The weight of a thumb for the kinds that its reason does not name.
NOT_NAMED = 0.3


@dataclass(frozen=True, slots=True)
class Tallies:
    """Decayed thumbs and likes (columns,), first those of `source_count` sources, and the totals.

    `squares` are the sums of squared weights. Reasons weigh the columns, not the totals. `among` and
    `likes_among` are thumbs and likes of each column's comparison group: all ratings, except for authors.
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
        """Return the like-rate b of each column's comparison group."""
        found: Array = np.where(
            self.among < self.thumbs_all, (self.likes_among + 2 * self.base) / (self.among + 2), self.base
        )
        return found

    def surplus(self, rates: Array) -> Array:
        """Return z of each column at the like-rates `rates`."""
        return self.likes - rates * self.thumbs

    def information(self, rates: Array | float) -> Array:
        """Return v of each column at the like-rates `rates`."""
        found: Array = rates * (1 - rates) * self.thumbs * self._apart
        return found

    def variance(self, rates: Array) -> Array:
        """Return u of each column at the like-rates `rates`."""
        found: Array = rates * (1 - rates) * self.squares * self._apart
        return found

    @property
    def _apart(self) -> Array:
        """Return 1 - n / N of each column."""
        found: Array = 1 - np.minimum(1.0, self.thumbs / np.maximum(self.among, 1e-9))
        return found


@dataclass(frozen=True, slots=True)
class Leans:
    """The lean of each column in log-odds (columns,), its standard deviation, and the part that others
    add."""

    lean: Array
    sd: Array
    others: Array


def tallies_made(
    has: Array, weight: Array, liked: Array, source_count: int, counted: Array | None = None
) -> Tallies:
    """Return the tallies of ratings with these weights (rows,), likes (rows,) and columns (rows, columns).

    `has` is 0, or the weight of a rating for a column. `counted` (rows,) is 0 for ratings that do not count
    for the reader's like-rate, such as named articles. Every column is compared with all ratings; for authors
    `tallies_within` changes that.
    """
    likes = weight * liked
    among, likes_among = (np.full(has.shape[1], float(row.sum())) for row in (weight, likes))
    squares = weight**2 @ has**2
    rated = weight if counted is None else weight * counted
    totals = float(rated.sum()), float((rated * liked).sum())
    return Tallies(weight @ has, likes @ has, squares, source_count, *totals, among, likes_among)


def tallies_within(
    tallies: Tallies,
    columns: Iterable[int],
    has: Array,
    weight: Array,
    liked: Array,
    sources: NDArray[np.int64],
) -> Tallies:
    """Return the tallies with each of `columns` compared only with the ratings of its own sources.

    `sources` (rows,) are the sources of the ratings, as numbers. The other arguments are those of
    `tallies_made`.
    """
    among, likes_among = tallies.among.copy(), tallies.likes_among.copy()
    for column in columns:
        there = np.isin(sources, sources[has[:, column] > 0])
        among[column], likes_among[column] = weight[there].sum(), (weight * liked)[there].sum()
    return replace(tallies, among=among, likes_among=likes_among)


def leans_of(tallies: Tallies, spread: Array | float, others: Array | float = 0.0) -> Leans:
    """Return the lean of each column; `others` is m of each. `spread` is one for all, or one for each."""
    rates = tallies.rates
    information, variance = tallies.information(rates), tallies.variance(rates)
    # 1 / (v + 1 / spread) without a division by 0.
    known = np.divide(information, variance, out=np.zeros_like(information), where=variance > 0)
    squared = spread / (1 + information * known * spread)
    own = tallies.surplus(rates) * known * squared
    # squared / spread, without a division by 0.
    rest = 1 / (1 + information * known * spread)
    added = np.clip(others * rest, -np.abs(own), np.abs(own))
    return Leans(own + added, np.sqrt(squared), added)


def rating_weight(at: datetime, now: datetime) -> float:
    """Return the weight of a rating: 2^(-age / 60 days), the age in whole UTC days as in source tallies."""
    days = (now.timestamp() // 86400) - (at.timestamp() // 86400)
    return float(0.5 ** (max(0.0, days) / FEEDBACK_HALF_LIFE_DAYS))


def reason_weights(tags: Iterable[str], *, liked: bool) -> tuple[float, float]:
    """Return the weights of a thumb for its source and for its topics: 1 without a reason, or with several.

    Imports and the API may bring a thumb up for "hype". A reason that contradicts its thumb names nothing.
    """
    fitting = {tag for tag in tags if (tag in AGAINST) is not liked}
    named = [kind for kind in (ABOUT_TOPIC, ABOUT_SOURCE, ABOUT_ITEM) if not kind.isdisjoint(fitting)]
    if len(named) != 1:
        return 1.0, 1.0
    return (
        1.0 if named[0] is ABOUT_SOURCE else NOT_NAMED,
        1.0 if named[0] is ABOUT_TOPIC else NOT_NAMED,
    )

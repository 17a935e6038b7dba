"""Find items that are about a topic although they never say its name. Pure.

The items that do say it, the *seeds*, show its subject. All vectors are centred on the mean of the
installation's items. The topic's direction is that of a linear discriminant: the sum of the seeds, times the
inverse of the usual spread of articles (`usual_spread`), so that what many articles share counts less. An
item's *likeness* is its cosine with this direction; for a seed itself, with that of the other seeds. A
mixture of two groups (`mixture`) tells from the likenesses how probably an item is about the topic. It joins
from a probability of 0.15, and adds half a topic to the interest, plus half its probability.

Measured on 3,469 items of 183 real feeds: of the items nearest to a direction, half as many as there are
seeds, 16 % say the topic later in their text, and 11 % of those nearest to the plain sum. Of 252 items that
joined 31 % were about the topic, by reading; of 355 above the likeness of nine in ten seeds and the three
nearest for each seed 16 %. Above a worth of 0.87 it was 57 %.

A topic stays literal if the seeds are fewer than five, if half of them are not more like their sum than 85 of
100 others or their median cosine with it is below 0.25, or if the mixture says that fewer than 15 of 100
items about it say it. With vectors dealt to other items no topic passes, and of 240 times five to forty
items drawn by chance from real feeds none did. "Sport" and "business" pass; "house" and "plan" do not.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ranking.meaning.mixture import ODDS_MAX, mixture_fit
from ranking.meaning.table import DIMENSIONS, Floats, Vectors, unit_rows, usual_spread_inverse

SEEDS_MIN = 5
# The share of others that the median of the seeds' own likeness must stand above, and its least value.
OTHERS_MIDDLE_SHARE, LIKENESS_MIDDLE_MIN = 0.85, 0.25
# The least probability of an item that joins, and the least share of the items about the topic that say it.
PROBABILITY_MIN, SHARE_MIN = 0.15, 0.15
# The interest added by an item that hardly joins. One that says the topic adds 1, the others something
# between. An item scored before probabilities were known has added this, too.
ABOUT_WORTH = 0.5

Mask = NDArray[np.bool_]
_PLAIN: Floats = np.eye(DIMENSIONS, dtype=np.float32)


@dataclass(frozen=True, slots=True)
class TopicMeaning:
    """The common meaning of a topic's seeds: the mean of all items (128,), a direction (128,) and the cut.

    An item at the cut is about the topic with `PROBABILITY_MIN`; `steepness` is that of the odds above it.
    0 if it is not known, as of a topic stored by the release before.
    """

    mean: Floats
    direction: Floats
    cut: float
    seeds: int
    steepness: float

    def likeness(self, vectors: Vectors) -> Floats:
        """Return the cosine of each row with the direction, (rows,); -1 for a row of zeros."""
        found: Floats = centre_rows(vectors, self.mean) @ self.direction
        found[~vectors.any(axis=1)] = -1.0
        return found

    def about(self, vectors: Vectors) -> Mask:
        """Return which rows are about the topic, (rows,)."""
        return self.likeness(vectors) >= self.cut

    def worth(self, vectors: Vectors) -> Floats:
        """Return the interest that each row gains from the topic, (rows,); 0 if it is not about it."""
        likeness = self.likeness(vectors)
        if not self.steepness:
            return np.where(likeness >= self.cut, ABOUT_WORTH, 0.0).astype(np.float32)
        above = np.clip(self.steepness * (likeness - self.cut), 0, ODDS_MAX)
        odds = PROBABILITY_MIN / (1 - PROBABILITY_MIN) * np.exp(above)
        gained = ABOUT_WORTH + (1 - ABOUT_WORTH) * odds / (1 + odds)
        return np.where(likeness >= self.cut, gained, 0.0).astype(np.float32)

    def packed(self) -> bytes:
        """Return mean and direction as little-endian single precision: 1,024 bytes."""
        return self.mean.astype("<f4").tobytes() + self.direction.astype("<f4").tobytes()

    @classmethod
    def unpacked(cls, packed: bytes, *, cut: float, seeds: int, steepness: float) -> "TopicMeaning":
        """Return the meaning that `packed` wrote."""
        both = np.frombuffer(packed, "<f4").reshape(2, DIMENSIONS)
        return cls(both[0], both[1], cut, seeds, steepness)


def centre_rows(vectors: Vectors | Floats, mean: Floats) -> Floats:
    """Return the rows as unit vectors, minus the mean, with length 1 again."""
    return unit_rows(unit_rows(vectors) - mean)


def topic_meaning(vectors: Vectors, seeds: Mask) -> TopicMeaning | None:
    """Return the common meaning of the seeds, or None if they are too few or do not stand out.

    `vectors` (rows, 128) are the items of some weeks. `seeds` (rows,) marks those that say the topic.
    """
    group = _Group.of(vectors, seeds)
    if group is None or not group.has_in_common():
        return None
    direction, likeness = group.towards(usual_spread_inverse())
    mixture = mixture_fit(likeness[group.is_seed], likeness[~group.is_seed])
    if mixture is None or mixture.share < SHARE_MIN:
        return None
    cut = mixture.likeness_at(PROBABILITY_MIN)
    return TopicMeaning(group.mean, direction, cut, int(group.is_seed.sum()), mixture.steepness)


def seeds_likeness(vectors: Vectors, seeds: Mask) -> Floats | None:
    """Return the cosine of each row with the sum of the seeds, (rows,), or None if they do not stand out.

    -1 for a row of zeros. Cheaper than `topic_meaning`: it does not ask how many other items are about it.
    """
    group = _Group.of(vectors, seeds)
    if group is None or not group.has_in_common():
        return None
    found = np.full(len(vectors), -1.0, dtype=np.float32)
    found[vectors.any(axis=1)] = group.rows @ group.towards(_PLAIN)[0]
    return found


@dataclass(frozen=True, slots=True)
class _Group:
    """The rows with a vector as centred unit vectors, (known rows, 128), their mean, and which are seeds."""

    rows: Floats
    mean: Floats
    is_seed: Mask

    @classmethod
    def of(cls, vectors: Vectors, seeds: Mask) -> "_Group | None":
        """Return the rows with their seeds, or None if there are too few seeds or nothing else."""
        known = vectors.any(axis=1)
        rows, is_seed = unit_rows(vectors[known]), seeds[known]
        if is_seed.sum() < SEEDS_MIN or is_seed.all():
            return None
        mean: Floats = rows.mean(axis=0)
        return cls(unit_rows(rows - mean), mean, is_seed)

    def towards(self, scale: Floats) -> tuple[Floats, Floats]:
        """Return the direction of the seeds' sum times `scale`, and the cosine of each row with it.

        For a seed it is the direction of the other seeds.
        """
        seeds = self.rows[self.is_seed]
        total = seeds.sum(axis=0)
        direction: Floats = unit_rows((total @ scale)[None])[0]
        likeness: Floats = self.rows @ direction
        likeness[self.is_seed] = (seeds * unit_rows((total - seeds) @ scale)).sum(axis=1)
        return direction, likeness

    def has_in_common(self) -> bool:
        """Return whether half of the seeds stand out by their plain cosine with the sum of the others."""
        _, likeness = self.towards(_PLAIN)
        middle = float(np.median(likeness[self.is_seed]))
        least = float(np.quantile(likeness[~self.is_seed], OTHERS_MIDDLE_SHARE))
        return middle >= LIKENESS_MIDDLE_MIN and middle > least

"""Find items that are about a topic although they never say its name. Pure.

The items that do say it, the *seeds*, show its subject. All vectors are centred on the mean of the
installation's items. An item's *likeness* is its cosine with the sum of the seeds; for a seed itself, with
the sum of the others. An item is about the topic if its likeness reaches the cut, the largest of

    the likeness that nine of ten seeds have,
    the likeness that 92 of 100 other items do not have, and
    the likeness that all but three other items for each seed do not have.

A rare topic needs the last one. Without it every topic takes in 8 % of all items: twelve items on football
among 3,500 of real feeds found 270 others. To check the nearest items, we counted long items that do not say
the topic at first but do so later: 4 to 8 % of all items; of the nearest ones, half as many as there are
seeds, 27 %; of the next half 21 %, of the next as many 16 %, then 13 % and 9 %.

The first limit alone would let everything in if the seeds have nothing in common. So the topic stays literal
if half of the seeds do not stand above 85 of 100 others, if their median likeness is below 0.25, or if there
are fewer than five. With vectors dealt to other items no topic passes. Of five items drawn by chance from
real feeds 2 % do, of fifteen none. "Sport" and "business" pass; "world", "house" and "plan" do not.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ranking.meaning.table import DIMENSIONS, Floats, Vectors, unit_rows

SEEDS_MIN = 5
# The share of the seeds whose likeness an item must reach, and the shares of others it must stand above.
SEEDS_SHARE, OTHERS_SHARE = 0.9, 0.92
# The share of others that the median of the seeds' own likeness must stand above, and its least value.
OTHERS_MIDDLE_SHARE, LIKENESS_MIDDLE_MIN = 0.85, 0.25
# How many others join for each seed at most.
FOUND_PER_SEED = 3
# The interest added by such an item. One that says the topic adds 1.
ABOUT_WORTH = 0.5

Mask = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class TopicMeaning:
    """The common meaning of a topic's seeds: the mean of all items (128,), a direction (128,) and the cut."""

    mean: Floats
    direction: Floats
    cut: float
    seeds: int

    def likeness(self, vectors: Vectors) -> Floats:
        """Return the cosine of each row with the direction, (rows,); -1 for a row of zeros."""
        found: Floats = centre_rows(vectors, self.mean) @ self.direction
        found[~vectors.any(axis=1)] = -1.0
        return found

    def about(self, vectors: Vectors) -> Mask:
        """Return which rows are about the topic, (rows,)."""
        return self.likeness(vectors) >= self.cut

    def packed(self) -> bytes:
        """Return mean and direction as little-endian single precision: 1,024 bytes."""
        return self.mean.astype("<f4").tobytes() + self.direction.astype("<f4").tobytes()

    @classmethod
    def unpacked(cls, packed: bytes, *, cut: float, seeds: int) -> "TopicMeaning":
        """Return the meaning that `packed` wrote."""
        both = np.frombuffer(packed, "<f4").reshape(2, DIMENSIONS)
        return cls(both[0], both[1], cut, seeds)


def centre_rows(vectors: Vectors | Floats, mean: Floats) -> Floats:
    """Return the rows as unit vectors, minus the mean, with length 1 again."""
    return unit_rows(unit_rows(vectors) - mean)


def topic_meaning(vectors: Vectors, seeds: Mask) -> TopicMeaning | None:
    """Return the common meaning of the seeds, or None if they are too few or do not stand out.

    `vectors` (rows, 128) are the items of some weeks. `seeds` (rows,) marks those that say the topic.
    """
    known = vectors.any(axis=1)
    rows, is_seed = unit_rows(vectors[known]), seeds[known]
    count = int(is_seed.sum())
    if count < SEEDS_MIN or count == len(rows):
        return None
    mean = rows.mean(axis=0)
    rows = unit_rows(rows - mean)
    total = rows[is_seed].sum(axis=0)
    length = float(np.sqrt((total**2).sum()))
    if not length:
        return None
    direction = total / length
    likeness = rows @ direction
    others = likeness[~is_seed]
    # A seed's likeness to the others: the direction of the sum without it.
    without = total - rows[is_seed]
    own = (rows[is_seed] * unit_rows(without)).sum(axis=1)
    middle = float(np.median(own))
    if middle < LIKENESS_MIDDLE_MIN or middle <= float(np.quantile(others, OTHERS_MIDDLE_SHARE)):
        return None
    cut = max(
        float(np.quantile(own, 1 - SEEDS_SHARE)),
        float(np.quantile(others, OTHERS_SHARE)),
        float(np.sort(others)[-min(FOUND_PER_SEED * count, len(others))]),
    )
    return TopicMeaning(mean, direction, cut, count)

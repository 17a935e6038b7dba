"""The data that ranking needs about a reader's taste, and the factor of an exponent. Pure."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from math import log

import numpy as np
from numpy.typing import NDArray

from ranking.meaning.table import DIMENSIONS, Floats, vectors_of
from ranking.taste.entities import BOUNDS, STRENGTH, Example, TasteLevel
from ranking.taste.foretold import Foretold, foretold
from ranking.taste.leans import SPREAD_PRIOR
from ranking.taste.learn import columns_of
from ranking.taste.likeness import Array, likeness_of

# The newest examples that count: about five weeks of a heavy reader. 300 x 5,000 likenesses take 20 ms.
EXAMPLES_MAX = 300
NO_CENTRE: Floats = np.zeros(DIMENSIONS, dtype=np.float32)


@dataclass(frozen=True, slots=True)
class TasteSignal:
    """A reader's examples at a time, newest first, with all data needed to learn from them.

    `spread` is the spread of tastes. `on_hold` has the sources that the reader decided on lately, each with
    the direction of the decision (1 up, -1 down, 0 unknown). `deviations` has others' like-rates above or
    below the usual one, by source. `likeness` is the lean towards each item by its vector (`likeness_made`),
    `vectors` are the packed vectors of the items, and `centre` is the mean of the feeds.
    """

    examples: Sequence[Example]
    at: datetime
    spread: float = SPREAD_PRIOR
    on_hold: Mapping[str, int] = field(default_factory=dict)
    deviations: Mapping[str, float] = field(default_factory=dict)
    likeness: Mapping[int, float] = field(default_factory=dict)
    vectors: Mapping[int, bytes] = field(default_factory=dict)
    centre: Floats = field(default_factory=lambda: NO_CENTRE)

    def holding(self, sources: Mapping[str, int]) -> "TasteSignal":
        """Return the signal after a decision on these sources, each with its way: up (1) or down (-1)."""
        return replace(self, on_hold={**self.on_hold, **sources})

    def released(self, sources: Collection[str]) -> "TasteSignal":
        """Return the signal without the decisions on these sources."""
        left = {source: way for source, way in self.on_hold.items() if source not in sources}
        return replace(self, on_hold=left)

    def foretold(self, topics: Mapping[str, Sequence[str]]) -> Foretold:
        """Predict each thumb from the examples of all other days.

        `topics` are the reader's own, each with its other names.
        """
        return foretold(
            self.examples, topics, now=self.at, spread=self.spread, centre=self.centre, on_hold=self.on_hold
        )


def likeness_made(
    examples: Sequence[Example], packed: Sequence[bytes], centre: Floats, now: datetime
) -> Array:
    """Return the lean towards each item with these packed vectors, (items,); 0 for an empty one."""
    columns = columns_of(examples, now)
    vectors = vectors_of([one.meaning for one in examples])
    return likeness_of(vectors_of(packed), vectors, columns.weight, columns.liked, centre)


def factors_of(exponents: NDArray[np.float64], level: TasteLevel) -> Array:
    """Return clip(exp(s x), 1/b, b) for sums x of leans and likeness, with b that of the level."""
    bound = log(BOUNDS[level])
    found: Array = np.exp(np.clip(STRENGTH * exponents, -bound, bound))
    return found

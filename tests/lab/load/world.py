"""A made-up installation as arrays: subscriptions, arrivals and likes. Pure, and seeded.

Items are numbered from 1 in order of time, as in a database. The numbers of items and of readers of a feed
follow a power law each, independently. A reader takes thirty feeds by popularity. Six readers in ten rate, by
a log-normal number of thumbs. A taste is one effect for each feed, and two liked topics.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
DAY_S = 86_400
VOCABULARY, TOPICS, TOPICS_OF_A_FEED = 20_000, 200, 5
SYLLABLES = ["ka", "lo", "mi", "ner", "tas", "ve", "rin", "pol", "su", "dar", "gel", "ho", "wi", "fen", "bru"]
# The loudest of 5,000 feeds brings 1.3 % of everything, the median one 1.3 times less than the mean.
LOUDNESS, POPULARITY = 0.6, 0.6
RATING, THUMBS_MEDIAN, THUMBS_SPREAD = 0.6, 110, 0.9


@dataclass(frozen=True, slots=True)
class Size:
    """How large the installation is; `thumb_days` is how far back thumbs go, `digest_days` digests."""

    items: int = 1_000_000
    readers: int = 10_000
    feeds: int = 5_000
    read: int = 30
    days: int = 100
    thumb_days: int = 60
    digest_days: int = 3
    shown: int = 30


@dataclass(frozen=True, slots=True)
class World:
    """The arrays. `second` counts from the beginning; `carried` holds item ids by feed, in order of time."""

    size: Size
    seed: int
    words: NDArray[np.object_]
    feed: Ints
    second: Floats
    topic: Ints
    carried: Ints
    starts: Ints
    reads: Ints
    thumbs: Ints

    def items_of(self, reader: int) -> Ints:
        """Return the ids of the items in the reader's feeds, ascending, so in order of time."""
        parts = [self.carried[self.starts[f] : self.starts[f + 1]] for f in self.reads[reader]]
        return np.sort(np.concatenate(parts))

    def between(self, ids: Ints, first: float, last: float) -> Ints:
        """Return the ascending `ids` that came between two moments, in seconds from the beginning."""
        low, high = np.searchsorted(self.second[ids - 1], [first, last])
        return ids[low:high]

    def dice(self, *key: int) -> np.random.Generator:
        """Return a random generator for each reader or part of the items, independent of other draws."""
        return np.random.default_rng([self.seed, *key])


def world(size: Size, seed: int) -> World:
    """Draw the installation."""
    dice = np.random.default_rng(seed)
    feed = dice.choice(size.feeds, size.items, p=shares(size.feeds, LOUDNESS))
    topics_of = dice.integers(0, TOPICS, (size.feeds, TOPICS_OF_A_FEED))
    order = np.argsort(feed, kind="stable")
    thumbs = np.exp(dice.normal(np.log(THUMBS_MEDIAN), THUMBS_SPREAD, size.readers)).astype(np.int64)
    return World(
        size=size,
        seed=seed,
        words=vocabulary(dice),
        feed=feed,
        second=np.sort(dice.uniform(0, size.days * DAY_S, size.items)),
        topic=topics_of[feed, dice.integers(0, TOPICS_OF_A_FEED, size.items)],
        carried=order + 1,
        starts=np.concatenate([[0], np.cumsum(np.bincount(feed, minlength=size.feeds))]),
        reads=read_by(dice, size),
        thumbs=np.where(dice.random(size.readers) < RATING, thumbs, 0),
    )


def shares(count: int, power: float) -> Floats:
    """1, 2^-power, 3^-power … as shares of their sum."""
    weights = np.arange(1, count + 1) ** -power
    return np.asarray(weights / weights.sum())


def vocabulary(dice: np.random.Generator) -> NDArray[np.object_]:
    """Return made-up words, all different. The first ones belong to the topics."""
    made: dict[str, None] = {}
    while len(made) < VOCABULARY + TOPICS:
        picks = dice.integers(0, len(SYLLABLES), dice.integers(2, 5))
        made["".join(SYLLABLES[n] for n in picks)] = None
    return np.array(list(made), dtype=object)


def read_by(dice: np.random.Generator, size: Size) -> Ints:
    """Return the feeds of each reader, by popularity and without repeats (the exponential races of
    Efraimidis)."""
    popular = shares(size.feeds, POPULARITY)[dice.permutation(size.feeds)]
    rows = []
    for _ in range(size.readers):
        races = dice.exponential(size=size.feeds) / popular
        rows.append(np.sort(np.argpartition(races, size.read)[: size.read]))
    return np.array(rows)

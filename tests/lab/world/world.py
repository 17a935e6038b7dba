"""One simulated world, the same for all its readers: sources, topics, a stream of items, held-out pools.

Protocol: twelve sources, twenty topics, sixty items a day, one or two topics an item, ages of 0 to 48 hours
when they are read. Titles hold the topics' words among filler words, so that topics have to be found.
Pure.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ranking.common.text import fold, term_matches
from ranking.meaning.table import Vectors, meaning_vectors
from tests.lab.world.laws import LAWS, PLAIN, Law
from tests.lab.world.words import FILLER, SOURCES, SPAM_TITLES, TOPICS

POOL = 60
AGE_HOURS_MAX = 48
SECOND_TOPIC = 0.4
# Half of an item's pull is shared by all readers (so that popularity has something to find), half is between
# the item and one reader; together they have the standard deviation 0.8 of the protocol.
QUALITY_SD = 0.8 * 0.5**0.5
FILLERS_A_TITLE = 4
HELD_POOLS = 40
# How much less readers like the spammer's items.
SPAM_QUALITY = -1.5
STREAM, SCORING, CHOOSING, SHARES = range(4)

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]


@dataclass(frozen=True)
class Batch:
    """Items as columns. `topics` are the true subjects of an item, `titles` the ones its title claims.

    `age_s` counts in seconds at the moment the item is first read; `day` is the day of that moment.
    """

    source: Ints
    topics: Bools
    age_s: Ints
    quality: Floats
    day: Ints
    titles: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.titles)

    @cached_property
    def folded(self) -> tuple[str, ...]:
        """Return the titles in the form that matching reads."""
        return tuple(fold(title) for title in self.titles)

    @cached_property
    def _held(self) -> dict[str, Bools]:
        return {}

    def holds(self, topic: str) -> Bools:
        """Which items' titles hold `topic` as whole words; remembered per topic."""
        key = fold(topic)
        if key not in self._held:
            self._held[key] = np.array([term_matches(key, title) for title in self.folded], dtype=bool)
        return self._held[key]

    @cached_property
    def vectors(self) -> Vectors:
        """Return the vector of meaning of each title."""
        return meaning_vectors(self.titles, [""] * len(self))

    @cached_property
    def recency(self) -> Floats:
        """0.5 per day of age, with the default half-life of 24 hours."""
        result: Floats = 0.5 ** (self.age_s / 86_400)
        return result


@dataclass(frozen=True)
class World:
    """A stream of `days` x 60 items, and pools that nobody ever reads.

    `scoring` pools measure a config. The oracle chooses on the `choosing` pools, so it is never scored on the
    data of its choice.
    """

    seed: int
    days: int
    stream: Batch
    scoring: Batch
    choosing: Batch
    law: Law = LAWS[PLAIN]


def world_make(
    seed: int, days: int, *, spam: bool = False, plain_titles: bool = False, law: str = PLAIN
) -> World:
    """Return the world of `seed` under the named law (`LAWS`). The same call gives the same world.

    With `spam`, source 0 writes for machines, and readers like it less. With `plain_titles` it is liked as
    little, but its titles are neutral, so suggestions about it do not come from its titles.
    """
    rng = np.random.default_rng([seed, SHARES])
    share_sources = rng.dirichlet(np.full(len(SOURCES), 2.0))
    own = LAWS[law]
    share_topics = _zipf(rng, own.tail) if own.tail else rng.dirichlet(np.full(len(TOPICS), 2.0))
    spammer = 0 if spam else -1
    batches = [
        _batch(
            np.random.default_rng([seed, kind]),
            pools,
            share_sources,
            share_topics,
            spammer,
            plain_titles,
            own.shared,
        )
        for kind, pools in ((STREAM, days), (SCORING, HELD_POOLS), (CHOOSING, HELD_POOLS))
    ]
    return World(seed, days, batches[0], batches[1], batches[2], own)


def _zipf(rng: np.random.Generator, exponent: float) -> Floats:
    shares = np.arange(1.0, len(TOPICS) + 1) ** -exponent
    dealt: Floats = rng.permutation(shares / shares.sum())
    return dealt


def _batch(
    rng: np.random.Generator,
    pools: int,
    share_sources: Floats,
    share_topics: Floats,
    spammer: int,
    plain_titles: bool,
    shared: float,
) -> Batch:
    n = pools * POOL
    source = rng.choice(len(SOURCES), n, p=share_sources)
    topics = np.zeros((n, len(TOPICS)), dtype=bool)
    topics[np.arange(n), rng.choice(len(TOPICS), n, p=share_topics)] = True
    second = rng.choice(len(TOPICS), n, p=share_topics)
    topics[np.arange(n), second] |= rng.random(n) < SECOND_TOPIC
    age = (rng.random(n) * AGE_HOURS_MAX * 3600).astype(np.int64)
    quality = rng.normal(0, QUALITY_SD * shared, n)
    titles = [_title(rng, np.flatnonzero(row)) for row in topics]
    for i in np.flatnonzero(source == spammer):
        written = _spam_title(rng, SOURCES[spammer])
        titles[i] = _title(np.random.default_rng(i), ()) if plain_titles else written
        topics[i], quality[i] = False, quality[i] + SPAM_QUALITY
    return Batch(source, topics, age, quality, np.repeat(np.arange(pools), POOL), tuple(titles))


_FILLER_SHARES = 1 / (np.arange(len(FILLER)) + 20.0)
_FILLER_SHARES /= _FILLER_SHARES.sum()


def _title(rng: np.random.Generator, topics: Sequence[int] | Ints) -> str:
    words = [FILLER[i] for i in rng.choice(len(FILLER), FILLERS_A_TITLE, p=_FILLER_SHARES)]
    for topic in topics:
        words.insert(int(rng.integers(0, len(words) + 1)), TOPICS[topic])
    return " ".join(words)


def _spam_title(rng: np.random.Generator, source: str) -> str:
    picked = " ".join(TOPICS[i] for i in rng.choice(len(TOPICS), 3, replace=False))
    template = SPAM_TITLES[int(rng.integers(0, len(SPAM_TITLES)))]
    return template.format(source=source, topics=f"{picked} {FILLER[int(rng.integers(0, len(FILLER)))]}")

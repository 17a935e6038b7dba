"""Simulated readers: hidden tastes, likes, thumbs with reasons, and decisions on suggestions.

All actions of a reader on an item are drawn beforehand from (seed, reader), so that two ways of running the
same reader over the same digests see the same thumbs. Pure.
"""

from dataclasses import dataclass, replace

import numpy as np
from scipy.special import expit

from tests.lab.world.words import SOURCES, TOPICS
from tests.lab.world.world import QUALITY_SD, Batch, Floats, World

TOP_K = 10
NULL_EVERY = 6
START_TOPICS = 4
SOURCE_SD, TOPIC_SD, TOPIC_SHARE = 0.7, 0.9, 0.4
BASE_MEAN, BASE_SD = -0.8, 0.4
# The chance of a thumb at rank r is VOICE x r^-0.4; a dislike is voiced 0.6 times as often as a like.
VOICE, POSITION_POWER, DISLIKE_VOICED = 0.37, 0.4, 0.6
# Two thumbs of three come with a reason, and one reason of five says nothing about the cause.
REASON_SHARE, REASON_NOISE = 0.65, 0.2
ACCEPTS_HELPFUL, ACCEPTS_OTHER = 0.8, 0.5
# The chance that a seen item is opened, if the reader would like it and if not, and that an opened one is
# read to the end. Assumed, because no open history records it.
OPENS, FINISHES = {True: 0.5, False: 0.2}, {True: 0.6, False: 0.2}
LOOKS = 3
REASONS = {
    True: {"topic": ("on-topic",), "source": ("depth", "original"), "item": ("clarity", "surprising")},
    False: {"topic": ("off-topic",), "source": ("hype", "paywall"), "item": ("shallow", "known")},
}
# Degrees of freedom of tastes that are sometimes extreme.
TAIL_FREEDOM = 3.0
TASTES, STREAM, SCORING, CHOOSING, DECISIONS, SHUFFLE, VOTES, LAWFUL = range(100, 108)


@dataclass(frozen=True)
class Taste:
    """A reader's taste, in log-odds: towards each source and topic, and in general.

    `pairs` has a row per source and a column per topic: the extra pull of a topic in that source alone.
    """

    sources: Floats
    topics: Floats
    base: float
    pairs: Floats | None = None

    def flipped(self) -> "Taste":
        """Return the opposite preferences."""
        pairs = None if self.pairs is None else -self.pairs
        return replace(self, sources=-self.sources, topics=-self.topics, pairs=pairs)

    def log_odds(self, batch: Batch, own: Floats) -> Floats:
        """Return the log-odds of liking each item. `own` is the pull between the item and this reader
        alone."""
        pull: Floats = (
            self.base + self.sources[batch.source] + batch.topics @ self.topics + batch.quality + own
        )
        if self.pairs is not None:
            pull = pull + (self.pairs[batch.source] * batch.topics).sum(axis=1)
        return pull


@dataclass(frozen=True)
class Person:
    """One simulated reader and everything random about them."""

    number: int
    seed: int
    null: bool
    taste: Taste
    start_topics: tuple[str, ...]
    own: Floats
    like_at: Floats
    voice_at: Floats
    reason_at: Floats
    open_at: Floats
    later: Taste | None = None
    own_sd: float = QUALITY_SD
    position_power: float = POSITION_POWER

    @property
    def name(self) -> str:
        """Return the username in a driven database."""
        return f"simulated-{self.number}"

    def own_pull(self, batch: Batch, kind: int) -> Floats:
        """Return the pull between this reader and each item of a held-out batch."""
        rng = np.random.default_rng([self.seed, self.number, kind])
        return rng.normal(0, self.own_sd, len(batch))

    def likes(self, batch: Batch, *, flipped: bool = False) -> Floats:
        """Return the true probability that the reader likes each item of the stream."""
        result: Floats = expit(self.feels(flipped).log_odds(batch, self.own))
        return result

    def feels(self, flipped: bool) -> Taste:
        """Return the reader's taste, or the later one: the opposite, if no law of the world drew another."""
        if not flipped:
            return self.taste
        return self.later or self.taste.flipped()

    def shuffled(self) -> "Person":
        """This reader without preferences: their thumbs are `dealt_anew`, their reasons about items alone."""
        nothing = Taste(self.taste.sources * 0, self.taste.topics * 0, self.taste.base)
        return replace(self, null=True, taste=nothing, later=None)

    def dealt_anew(self, p: Floats) -> Floats:
        """Return the same probabilities on other items: as much is liked, and nothing explains it."""
        return np.random.default_rng([self.seed, self.number, SHUFFLE]).permutation(p)

    def thumb(self, item: int, rank: int, look: int, p: float) -> bool | None:
        """Return the thumb on an item met at `rank` (from 1) for the `look`-th time; `None`: says nothing."""
        liked = bool(self.like_at[item] < p)
        chance = VOICE * rank**-self.position_power * (1.0 if liked else DISLIKE_VOICED)
        return liked if self.voice_at[item, min(look, LOOKS - 1)] < chance else None

    def opening(self, item: int, rank: int, p: float) -> tuple[bool, bool]:
        """Return whether an item met at `rank` (from 1) is opened, and then whether it is read to its end."""
        liked = bool(self.like_at[item] < p)
        opened, finished = self.open_at[item]
        chance = OPENS[liked] * rank**-self.position_power
        return bool(opened < chance), bool(opened < chance and finished < FINISHES[liked])

    def reason(self, batch: Batch, item: int, liked: bool, taste: Taste) -> str | None:
        """Return the slug of the reason for a thumb: the strongest pull its way, or sometimes any."""
        given, noise, which = self.reason_at[item]
        if given >= REASON_SHARE:
            return None
        sign = 1.0 if liked else -1.0
        pulls = {
            "topic": sign * float(batch.topics[item] @ taste.topics),
            "source": sign * float(taste.sources[batch.source[item]]),
            "item": sign * float(batch.quality[item] + self.own[item]),
        }
        cause = max(pulls, key=lambda name: pulls[name])
        slugs = REASONS[liked][cause]
        if noise < REASON_NOISE or pulls[cause] <= 0:
            slugs = tuple(slug for group in REASONS[liked].values() for slug in group)
        return slugs[int(which * len(slugs))]

    def accepts(self, week: int, target: str, helps: bool) -> bool:
        """Return whether the reader takes a suggestion about `target`: 80 % of helpful ones, 50 % of
        others."""
        key = [self.seed, self.number, DECISIONS, week, *target.encode()]
        chance = ACCEPTS_HELPFUL if helps else ACCEPTS_OTHER
        return bool(np.random.default_rng(key).random() < chance)


def person_make(world: World, number: int) -> Person:
    """Reader `number` of the world; every sixth has no preferences at all."""
    rng = np.random.default_rng([world.seed, number, TASTES])
    null = number % NULL_EVERY == NULL_EVERY - 1
    scale = 0.0 if null else 1.0
    sources = rng.normal(0, SOURCE_SD, len(SOURCES)) * scale
    topics = rng.normal(0, TOPIC_SD, len(TOPICS)) * (rng.random(len(TOPICS)) < TOPIC_SHARE) * scale
    base = float(rng.normal(BASE_MEAN, BASE_SD))
    taste, later, power = _lawful(world, number, Taste(sources, topics, base), scale)
    start = tuple(TOPICS[i] for i in sorted(rng.choice(len(TOPICS), START_TOPICS, replace=False)))
    draws = np.random.default_rng([world.seed, number, STREAM])
    n = len(world.stream)
    return Person(
        number=number,
        seed=world.seed,
        null=null,
        taste=taste,
        start_topics=start,
        own=draws.normal(0, QUALITY_SD * world.law.own, n),
        like_at=draws.random(n),
        voice_at=draws.random((n, LOOKS)),
        reason_at=draws.random((n, 3)),
        open_at=draws.random((n, 2)),
        later=later,
        own_sd=QUALITY_SD * world.law.own,
        position_power=power,
    )


def _lawful(world: World, number: int, taste: Taste, scale: float) -> tuple[Taste, Taste | None, float]:
    """Return the taste as the world's law has it, the one of later weeks, and how a voice fades with the
    rank.

    Drawn apart from everything else, so that the plain world's readers are those they always were.
    """
    law, rng = world.law, np.random.default_rng([world.seed, number, LAWFUL])
    sources, topics = taste.sources * law.main, taste.topics * law.main
    pairs = rng.normal(0, law.pair_sd, (len(SOURCES), len(TOPICS))) * scale if law.pair_sd else None
    if law.tail:
        topics = TOPIC_SD * rng.standard_t(TAIL_FREEDOM, len(TOPICS)) * (topics != 0)
    own = Taste(sources, topics, taste.base, pairs)
    later = None
    if law.redrawn:
        fresh_sources = rng.normal(0, SOURCE_SD, len(SOURCES)) * scale
        fresh_topics = rng.normal(0, TOPIC_SD, len(TOPICS)) * (rng.random(len(TOPICS)) < TOPIC_SHARE) * scale
        later = replace(
            own,
            sources=np.where(rng.random(len(SOURCES)) < law.redrawn, fresh_sources, sources),
            topics=np.where(rng.random(len(TOPICS)) < law.redrawn, fresh_topics, topics),
        )
    power = float(rng.uniform(*law.position)) if law.position else POSITION_POWER
    return own, later, power

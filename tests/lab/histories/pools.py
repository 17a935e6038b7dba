"""Real readers' histories as an experiment: the first thumbs choose a change, much later ones measure it.

Each reader's later items are dealt into pools of 30, each item with an age of 0 to 48 hours, as in a digest.
Gains are the thumbs themselves. The honest oracle chooses on one half of the later items and is scored on the
other. Pure.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from ranking.common.categories import category_keys, topic_matches
from ranking.common.text import fold, fold_lightly, topic_key
from ranking.entities import Config, EffectiveConfig
from ranking.other_names import topic_names
from tests.lab.advisor.rules import RULES, Change, Tallies, Targets, capped, changes_all
from tests.lab.world.entities import Asked, Course
from tests.lab.world.people import TOP_K
from tests.lab.world.truth import DISCOUNT
from tests.lab.world.world import Bools, Floats

POOLS, POOL, AGE_DAYS_MAX = 160, 30, 2.0
# The least number of held-out items after a reader's first thumbs.
HELD_MIN = 60
START_TOPICS = 4
# Ways to deal later items into two halves.
SPLITS = 4
# A change that costs more than this is harmful: thumbs carry label noise that probabilities do not.
HARMFUL_THUMBS = -0.005


@dataclass(frozen=True, slots=True)
class Rated:
    """One thumb of a history, with its item's text: `topics` are words in its title.

    `at` is its time in ISO 8601, or "" if it is unknown. `reasons` are what the reader wrote beside it.
    """

    url: str
    title: str
    source: str
    topics: tuple[str, ...]
    liked: bool
    categories: tuple[str, ...] = ()
    text: str = ""
    at: str = ""
    reasons: tuple[str, ...] = ()

    @property
    def named(self) -> tuple[str, ...]:
        """Return all it is about, once each."""
        return tuple(dict.fromkeys((*self.topics, *self.categories)))


# Return which of some items are about a topic by meaning.
About = Callable[[str, Sequence[Rated]], Floats]


@dataclass(frozen=True, slots=True)
class History:
    """One reader's thumbs in the order they were given."""

    reader: str
    rated: tuple[Rated, ...]

    def shuffled(self, seed: int) -> "History":
        """Return the same items with the reader's thumbs shuffled, so that nothing is left to find."""
        order = np.random.default_rng(seed).permutation(len(self.rated))
        mixed = (replace(r, liked=self.rated[i].liked) for r, i in zip(self.rated, order, strict=True))
        return replace(self, rated=tuple(mixed))


class Pools:
    """Later items dealt into pools; `value` is the mean nDCG@10 of a config on them.

    A topic is found in title, text and categories, as ranking finds it, and by meaning if `about` is given.
    """

    def __init__(self, items: Sequence[Rated], seed: Sequence[int], about: About | None = None) -> None:
        rng = np.random.default_rng(list(seed))
        size = min(POOL, len(items))
        self.picks = np.array([rng.choice(len(items), size, replace=False) for _ in range(POOLS)])
        self.recency: Floats = 0.5 ** (AGE_DAYS_MAX * rng.random(self.picks.shape))
        self.liked: Floats = np.array([r.liked for r in items], dtype=np.float64)[self.picks]
        self.sources = [r.source for r in items]
        self.said = [
            (fold_lightly(f"{r.title}\n{r.text}" if r.text else r.title), category_keys(r.categories))
            for r in items
        ]
        self._items, self._find_about = items, about
        self._held: dict[str, Bools] = {}
        self._about: dict[str, Floats] = {}

    def value(self, effective: EffectiveConfig, factors: Floats | float = 1.0) -> float:
        """nDCG@10 over the pools in which something was liked; `factors` (items,) multiply the scores."""
        weights = np.array([effective.weight(source) for source in self.sources])
        held = [self._worth(topic, names) for topic, names in topic_names(effective.config).items()]
        worth = (weights * (1.0 + np.sum(held, axis=0)) * factors)[self.picks] * self.recency
        shown = np.argsort(-worth, axis=1, kind="stable")[:, :TOP_K]
        dcg = (np.take_along_axis(self.liked, shown, axis=1) * DISCOUNT).sum(axis=1)
        ideal = (-np.sort(-self.liked, axis=1)[:, :TOP_K] * DISCOUNT).sum(axis=1)
        some = ideal > 0
        return float((dcg[some] / ideal[some]).mean()) if some.any() else 0.0

    def gain(self, before: EffectiveConfig, after: EffectiveConfig) -> float:
        """Return the gain of a change."""
        return self.value(after) - self.value(before)

    def _worth(self, topic: str, names: Sequence[str]) -> Floats:
        """Return what a topic adds to the interest of each item: 1 if it says it, less if it is about it."""
        says: Floats = self._holds(topic, *names).astype(np.float64)
        if self._find_about is None:
            return says
        key = topic_key(topic)
        if key not in self._about:
            self._about[key] = self._find_about(topic, self._items)
        return np.maximum(says, self._about[key])

    def _holds(self, topic: str, *names: str) -> Bools:
        """Return which items have a topic, by itself or by another name of it."""
        if names:
            return np.any([self._holds(one) for one in (topic, *names)], axis=0)
        key = fold(topic)
        if key not in self._held:
            self._held[key] = np.array([topic_matches(key, *said) for said in self.said], dtype=bool)
        return self._held[key]


class Halves:
    """The same later items dealt into two halves, several times, to tell worth from noise."""

    def __init__(self, items: Sequence[Rated], number: int, about: About | None = None) -> None:
        self._pairs: list[tuple[Pools, Pools]] = []
        for split in range(SPLITS):
            first = np.random.default_rng([number, 5, split]).random(len(items)) < 0.5
            dealt = list(zip(items, first.tolist(), strict=True))
            parts = ([r for r, here in dealt if here is half] for half in (True, False))
            a, b = (Pools(part, [number, 6, split, n], about) for n, part in enumerate(parts))
            self._pairs.append((a, b))

    def gains(self, before: EffectiveConfig, after: EffectiveConfig) -> tuple[tuple[float, float], ...]:
        """Return the gain of a change on each half, for each way to deal them."""
        return tuple((a.gain(before, after), b.gain(before, after)) for a, b in self._pairs)


def start_config(targets: Targets) -> EffectiveConfig:
    """Return every reader's first config: the four most common topics (`targets` has them in that order)."""
    return EffectiveConfig(Config(version=1, topics=targets.topics[:START_TOPICS]))


def targets_of(histories: Sequence[History]) -> Targets:
    """Return all sources, and all topics with the most common first."""
    rated = [r for h in histories for r in h.rated]
    counts: dict[str, int] = {}
    for topic in (t for r in rated for t in r.named):
        counts[topic] = counts.get(topic, 0) + 1
    topics = tuple(sorted(counts, key=lambda t: (-counts[t], t)))
    return Targets(tuple(sorted({r.source for r in rated})), topics)


def tallies_of(rated: Sequence[Rated], targets: Targets) -> Tallies:
    """Thumbs and likes per source and topic, undecayed."""
    number = {name: i for i, name in enumerate((*targets.sources, *targets.topics))}
    n, likes = np.zeros(len(targets)), np.zeros(len(targets))
    for one in rated:
        touched = [number[name] for name in (one.source, *one.named)]
        n[touched] += 1
        likes[touched] += one.liked
    return Tallies(n, likes, targets)


def oneshot(history: History, number: int, row: str, *, thumbs: int, targets: Targets) -> Course:
    """Run one reader under one array rule: three suggestions after `thumbs` thumbs, all of them
    accepted."""
    first = start_config(targets)
    held = history.rated[thumbs:]
    if row == "oracle":
        half = np.random.default_rng([number, 1]).random(len(held)) < 0.5
        chooser = Pools([r for r, h in zip(held, half, strict=True) if h], [number, 2])
        judge = Pools([r for r, h in zip(held, half, strict=True) if not h], [number, 3])
        worth = [(chooser.gain(first, c.applied(first)), c) for c in changes_all(first, targets)]
        chosen = capped([c for gain, c in sorted(worth, key=lambda pair: -pair[0]) if gain > 0])
    else:
        judge = Pools(held, [number, 0])
        tallies = tallies_of(history.rated[:thumbs], targets)
        chosen = RULES[row](tallies, first, lambda target: True, np.random.default_rng([number, 4]))
    return followed(number, judge, first, chosen, thumbs=thumbs, halves=Halves(held, number))


def followed(
    number: int,
    judge: Pools,
    first: EffectiveConfig,
    chosen: Sequence[Change],
    *,
    thumbs: int,
    halves: Halves | None = None,
) -> Course:
    """Return the course of a reader who accepts everything in `chosen`, each measured against the first
    config."""
    effective, asked = first, []
    for change in chosen:
        alone = change.applied(first)
        twice = halves.gains(first, alone) if halves else ()
        asked.append(Asked(1, change.kind, change.key, judge.gain(first, alone), True, halves=twice))
        effective = change.applied(effective)
    start = judge.value(first)
    return Course(number, False, start, (0.0, judge.value(effective) - start), (thumbs,), tuple(asked))

"""Implicit feedback: what opening, reading to the end, saving and passing over say of sources and categories.

It is weak evidence, in fractions of a thumb:

1. An open counts OPENED, read to the end FINISHED, saved SAVED, times min(3, rank^0.5), the inverse
   propensity of its place being looked at, clipped; an item never counts more than ITEM_MAX. The form
   1 / rank^eta is that of Joachims, Swaminathan and Schnabel (2017); eta = 0.5 is at the careful end.
2. Passed over counts what was shown above an opened item on the same page, and nothing else: what lies below
   may not have been seen ("skip above", Joachims et al. 2005 and 2007).
3. A thumb on an item takes away what its events say against the thumb.
4. Per source and per category the rate of opening is compared with the reader's own, as thumbs are
   (`ranking.learning.posterior`), with at most TARGET_MAX thumbs of evidence; events halve in 60 days.
5. The reader's weight, 0 to 1, is the slope by which these log-odds foretell the reader's thumbs: one step of
   Newton's on the logistic likelihood from a prior of WEIGHT_PRIOR, over items that gave no evidence
   themselves.

At most IMPLICIT_MAX is added to or taken from interest. Where thumbs on a source or category lean one way,
reading never leans the other: a thumb always outweighs it. Pure.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from ranking.learning import BASE_MAX, BASE_MIN, FEEDBACK_HALF_LIFE_DAYS, base_rate, posterior

OPENED, FINISHED, SAVED, SKIPPED = 0.1, 0.15, 0.2, 0.05
ITEM_MAX, TARGET_MAX = 0.25, 2.0
ETA, CORRECTION_MAX = 0.5, 3.0
# A tenth of a topic: less than the smallest step of a weight moves the score (ranking.learning.STEP_MAX).
IMPLICIT_MAX = 0.1
# Of 0 to 1, before thumbs tell: small, as opens foretold no choice in open histories (docs/ranking.md).
WEIGHT_PRIOR = 0.25
# The precision of that prior: what 64 thumbs on items with log-odds of 0.5 tell.
PRIOR_PRECISION = 4.0
CATEGORIES_MAX = 50


@dataclass(frozen=True, slots=True)
class ReadingEvent:
    """What became of one article that a reader was shown or opened.

    `rank` is its place where places say who looked, else 1. `useful` is the reader's thumb on it, `age_days`
    the time since. What was neither opened nor saved was passed over.
    """

    source: str
    categories: frozenset[str] = frozenset()
    rank: int = 1
    opened: bool = False
    finished: bool = False
    saved: bool = False
    useful: bool | None = None
    age_days: float = 0.0

    @property
    def wanted(self) -> bool:
        """Return whether the event speaks for the item."""
        return self.opened or self.finished or self.saved

    @property
    def mass(self) -> float:
        """Return how much of a thumb it counts."""
        fresh = 0.5 ** (max(0.0, self.age_days) / FEEDBACK_HALF_LIFE_DAYS)
        if not self.wanted:
            return float(SKIPPED * fresh)
        worth = SAVED if self.saved else FINISHED if self.finished else OPENED
        return float(min(ITEM_MAX, worth * position_correction(self.rank)) * fresh)


@dataclass(frozen=True, slots=True)
class Thumb:
    """A reader's thumb as far as reading is compared with it. `weight` is 2^(-age / 60 days)."""

    source: str
    categories: frozenset[str]
    useful: bool
    weight: float = 1.0


@dataclass(frozen=True, slots=True)
class Lean:
    """What reading says of one source or category: log-odds of -1 to 1, and the counts behind them.

    `shown` counts the opened and the passed over.
    """

    log_odds: float
    opened: int
    shown: int


UNKNOWN = Lean(0.0, 0, 0)


@dataclass(frozen=True, slots=True)
class ImplicitLeans:
    """What a reader's reading says of sources and categories, and how much that counts (`weight`, 0 to 1).

    `thumbs` has 1 or -1 for a source, and for a category, on which thumbs lean up or down.
    """

    weight: float = 0.0
    sources: Mapping[str, Lean] = field(default_factory=dict)
    categories: Mapping[str, Lean] = field(default_factory=dict)
    source_thumbs: Mapping[str, int] = field(default_factory=dict)
    category_thumbs: Mapping[str, int] = field(default_factory=dict)

    def added(self, source: str, categories: Iterable[str] = ()) -> float:
        """Return what an item of `source` with these category keys gets added to its interest."""
        known = [self.category(key) for key in categories if key in self.categories]
        whole = self.source(source) + (sum(known) / len(known) if known else 0.0)
        return IMPLICIT_MAX * self.weight * _clipped(_allowed(whole, self.source_thumbs.get(source, 0)))

    def source(self, key: str) -> float:
        """Return the log-odds of a source as far as thumbs allow them; 0 where nothing is known."""
        return _allowed(self.sources.get(key, UNKNOWN).log_odds, self.source_thumbs.get(key, 0))

    def category(self, key: str) -> float:
        """Return the log-odds of a category as far as thumbs allow them."""
        return _allowed(self.categories[key].log_odds, self.category_thumbs.get(key, 0))

    def with_thumbs(self, thumbs: Iterable[Thumb]) -> "ImplicitLeans":
        """Return it as it is after these newer thumbs: the last one on a source or category leads there."""
        sources, categories = dict(self.source_thumbs), dict(self.category_thumbs)
        for thumb in thumbs:
            sign = 1 if thumb.useful else -1
            sources[thumb.source] = sign
            categories |= dict.fromkeys(thumb.categories, sign)
        return replace(self, source_thumbs=sources, category_thumbs=categories)


NO_LEANS = ImplicitLeans()


def position_correction(rank: int) -> float:
    """Return the inverse propensity of the place `rank` (from 1) being looked at, at most 3."""
    return float(min(CORRECTION_MAX, max(1, rank) ** ETA))


def passed_over(ranks: Mapping[int, int], opened: Iterable[int]) -> set[int]:
    """Return the articles of one page, by `ranks`, that lie above one of `opened` and are none of them."""
    wanted = {*opened}
    deepest = max((rank for article, rank in ranks.items() if article in wanted), default=0)
    return {article for article, rank in ranks.items() if rank < deepest and article not in wanted}


def implicit_leans(events: Sequence[ReadingEvent], thumbs: Sequence[Thumb]) -> ImplicitLeans:
    """Return what `events` say, weighed by how well they foretell `thumbs`."""
    agreeing = [event for event in events if event.useful is None or event.useful is event.wanted]
    base = base_rate(sum(t.weight for t in thumbs if t.useful), sum(t.weight for t in thumbs))
    apart = _leans([event for event in events if event.useful is None])
    found = _leans(agreeing)
    named = sorted(found[1], key=lambda key: (-found[1][key].shown, key))[:CATEGORIES_MAX]
    directions = (
        _directions(((t.source, t) for t in thumbs), base),
        _directions(((key, t) for t in thumbs for key in t.categories), base),
    )
    return ImplicitLeans(
        _weight(ImplicitLeans(1.0, *apart), thumbs, base),
        found[0],
        {key: found[1][key] for key in named},
        {key: sign for key, sign in directions[0].items() if sign},
        {key: sign for key, sign in directions[1].items() if sign and key in named},
    )


def _weight(apart: ImplicitLeans, thumbs: Sequence[Thumb], base: float) -> float:
    """Return the slope of the thumbs' log-odds on the leans of unrated items, shrunk to the prior, 0 to 1."""
    surplus, precision = WEIGHT_PRIOR * PRIOR_PRECISION, PRIOR_PRECISION
    for thumb in thumbs:
        lean = apart.added(thumb.source, thumb.categories) / IMPLICIT_MAX
        surplus += thumb.weight * lean * (thumb.useful - base)
        precision += thumb.weight * lean * lean * base * (1 - base)
    return min(1.0, max(0.0, surplus / precision))


def _leans(events: Sequence[ReadingEvent]) -> tuple[dict[str, Lean], dict[str, Lean]]:
    """Return the leans by source and by category, against the rate of opening over all of `events`."""
    whole = sum(event.mass for event in events)
    opened = sum(event.mass for event in events if event.wanted)
    base = min(BASE_MAX, max(BASE_MIN, opened / whole)) if whole else 0.5
    by_source: defaultdict[str, list[ReadingEvent]] = defaultdict(list)
    by_category: defaultdict[str, list[ReadingEvent]] = defaultdict(list)
    for event in events:
        by_source[event.source].append(event)
        for key in event.categories:
            by_category[key].append(event)
    sources = {key: _lean(some, base) for key, some in by_source.items()}
    return sources, {key: _lean(some, base) for key, some in by_category.items()}


def _lean(events: Sequence[ReadingEvent], base: float) -> Lean:
    wanted = [event for event in events if event.wanted]
    n, k = sum(event.mass for event in events), sum(event.mass for event in wanted)
    scale = min(1.0, TARGET_MAX / n) if n else 0.0
    log_odds = _clipped(posterior(k * scale, n * scale, base).log_odds)
    return Lean(round(log_odds, 4), len(wanted), len(events))


def _directions(pairs: Iterable[tuple[str, Thumb]], base: float) -> dict[str, int]:
    """Return by key which way its thumbs lean against `base`: 1, -1, or 0."""
    surplus: defaultdict[str, float] = defaultdict(float)
    for key, thumb in pairs:
        surplus[key] += thumb.weight * (thumb.useful - base)
    return {key: (value > 0) - (value < 0) for key, value in surplus.items()}


def _allowed(log_odds: float, thumbs: int) -> float:
    """Return `log_odds`, or 0 where thumbs lean the other way."""
    return 0.0 if log_odds * thumbs < 0 else log_odds


def _clipped(value: float) -> float:
    return min(1.0, max(-1.0, value))

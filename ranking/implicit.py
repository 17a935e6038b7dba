"""Learn from implicit feedback: opening, finishing, saving and skipping items, by source and category.

Implicit feedback is weak evidence, counted in fractions of a thumb:

1. An open counts OPENED, an item read to the end FINISHED, a saved one SAVED. Each is multiplied by min(3,
   rank^0.5), because people look at lower places less often (clipped inverse propensity). An item never
   counts more than ITEM_MAX. The form 1 / rank^eta is that of Joachims, Swaminathan and Schnabel (2017); eta
   = 0.5 is a cautious value.
2. An item is skipped if it was shown above an opened item on the same page. Items below may not have been
   seen ("skip above", Joachims et al. 2005 and 2007).
3. If an item has a thumb, events that contradict the thumb do not count.
4. The rate of opening of a source or category is compared with the reader's own, as thumbs are
   (`ranking.learning.posterior`), with at most TARGET_MAX thumbs of evidence. Events halve in 60 days.
5. The reader's weight (0 to 1) is the slope by which these log-odds predict the reader's thumbs: one Newton
   step on the logistic likelihood from a prior of WEIGHT_PRIOR. Items that gave evidence themselves are left
   out.

Interest changes by at most IMPLICIT_MAX up or down. If thumbs on a source or category point one way, implicit
feedback never points the other way. Pure.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from ranking.learning import BASE_MAX, BASE_MIN, FEEDBACK_HALF_LIFE_DAYS, base_rate, posterior

OPENED, FINISHED, SAVED, SKIPPED = 0.1, 0.15, 0.2, 0.05
ITEM_MAX, TARGET_MAX = 0.25, 2.0
ETA, CORRECTION_MAX = 0.5, 3.0
# A tenth of a topic. It moves a score less than one learning step of a weight (ranking.learning.STEP_MAX).
IMPLICIT_MAX = 0.1
# The weight (0 to 1) before any thumbs. Small, as opens predicted no choice in open data sets
# (docs/ranking.md).
WEIGHT_PRIOR = 0.25
# The precision of that prior. It equals 64 thumbs on items with log-odds of 0.5.
PRIOR_PRECISION = 4.0
CATEGORIES_MAX = 50


@dataclass(frozen=True, slots=True)
class ReadingEvent:
    """A reader's reaction to one article that was shown or opened.

    `rank` is its place on a page (from 1), or 1 if the place says nothing. `useful` is the reader's thumb on
    it, or `None`. `age_days` is the age of the reaction. An article that was neither opened nor saved was
    skipped.
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
        """Return whether the event is evidence for the item (opened, finished or saved)."""
        return self.opened or self.finished or self.saved

    @property
    def mass(self) -> float:
        """Return the evidence in thumbs, decayed by age."""
        fresh = 0.5 ** (max(0.0, self.age_days) / FEEDBACK_HALF_LIFE_DAYS)
        if not self.wanted:
            return float(SKIPPED * fresh)
        worth = SAVED if self.saved else FINISHED if self.finished else OPENED
        return float(min(ITEM_MAX, worth * position_correction(self.rank)) * fresh)


@dataclass(frozen=True, slots=True)
class Thumb:
    """A reader's thumb, to compare implicit feedback with. `weight` is 2^(-age / 60 days)."""

    source: str
    categories: frozenset[str]
    useful: bool
    weight: float = 1.0


@dataclass(frozen=True, slots=True)
class Lean:
    """The implicit preference for one source or category: log-odds from -1 to 1, and the counts behind them.

    `shown` counts opened and skipped items.
    """

    log_odds: float
    opened: int
    shown: int


UNKNOWN = Lean(0.0, 0, 0)


@dataclass(frozen=True, slots=True)
class ImplicitLeans:
    """A reader's implicit preferences for sources and categories, and how much they count (`weight`, 0 to 1).

    `source_thumbs` and `category_thumbs` say whether the thumbs on a key are up (1) or down (-1) on balance.
    """

    weight: float = 0.0
    sources: Mapping[str, Lean] = field(default_factory=dict)
    categories: Mapping[str, Lean] = field(default_factory=dict)
    source_thumbs: Mapping[str, int] = field(default_factory=dict)
    category_thumbs: Mapping[str, int] = field(default_factory=dict)

    def added(self, source: str, categories: Iterable[str] = ()) -> float:
        """Return the change of interest for an item of `source` with these category keys."""
        known = [self.category(key) for key in categories if key in self.categories]
        whole = self.source(source) + (sum(known) / len(known) if known else 0.0)
        return (
            IMPLICIT_MAX * self.weight * _clip(_drop_contradiction(whole, self.source_thumbs.get(source, 0)))
        )

    def source(self, key: str) -> float:
        """Return the log-odds of a source, or 0 if they are unknown or contradict its thumbs."""
        return _drop_contradiction(self.sources.get(key, UNKNOWN).log_odds, self.source_thumbs.get(key, 0))

    def category(self, key: str) -> float:
        """Return the log-odds of a known category, or 0 if they contradict its thumbs."""
        return _drop_contradiction(self.categories[key].log_odds, self.category_thumbs.get(key, 0))

    def with_thumbs(self, thumbs: Iterable[Thumb]) -> "ImplicitLeans":
        """Return the preferences after newer thumbs. The last thumb on a source or category counts."""
        sources, categories = dict(self.source_thumbs), dict(self.category_thumbs)
        for thumb in thumbs:
            sign = 1 if thumb.useful else -1
            sources[thumb.source] = sign
            categories |= dict.fromkeys(thumb.categories, sign)
        return replace(self, source_thumbs=sources, category_thumbs=categories)


NO_LEANS = ImplicitLeans()


def position_correction(rank: int) -> float:
    """Return the inverse probability that a reader looks at place `rank` (from 1), at most 3."""
    return float(min(CORRECTION_MAX, max(1, rank) ** ETA))


def articles_skipped(ranks: Mapping[int, int], opened: Iterable[int]) -> set[int]:
    """Return the articles of one page that were skipped: unopened and above an opened one.

    `ranks` has the place of each article on the page.
    """
    wanted = {*opened}
    deepest = max((rank for article, rank in ranks.items() if article in wanted), default=0)
    return {article for article, rank in ranks.items() if rank < deepest and article not in wanted}


def implicit_leans(events: Sequence[ReadingEvent], thumbs: Sequence[Thumb]) -> ImplicitLeans:
    """Return a reader's implicit preferences from `events`, weighed by how well they predict `thumbs`."""
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
    """Return the slope (0 to 1) of thumbs' log-odds on the leans of unrated items, shrunk to the prior."""
    surplus, precision = WEIGHT_PRIOR * PRIOR_PRECISION, PRIOR_PRECISION
    for thumb in thumbs:
        lean = apart.added(thumb.source, thumb.categories) / IMPLICIT_MAX
        surplus += thumb.weight * lean * (thumb.useful - base)
        precision += thumb.weight * lean * lean * base * (1 - base)
    return min(1.0, max(0.0, surplus / precision))


def _leans(events: Sequence[ReadingEvent]) -> tuple[dict[str, Lean], dict[str, Lean]]:
    """Return leans by source and by category, relative to the rate of opening over all `events`."""
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
    log_odds = _clip(posterior(k * scale, n * scale, base).log_odds)
    return Lean(round(log_odds, 4), len(wanted), len(events))


def _directions(pairs: Iterable[tuple[str, Thumb]], base: float) -> dict[str, int]:
    """Return for each key whether its thumbs are above `base` (1), below (-1), or equal (0)."""
    surplus: defaultdict[str, float] = defaultdict(float)
    for key, thumb in pairs:
        surplus[key] += thumb.weight * (thumb.useful - base)
    return {key: (value > 0) - (value < 0) for key, value in surplus.items()}


def _drop_contradiction(log_odds: float, thumbs: int) -> float:
    """Return `log_odds`, or 0 if `thumbs` has the opposite sign."""
    return 0.0 if log_odds * thumbs < 0 else log_odds


def _clip(value: float) -> float:
    return min(1.0, max(-1.0, value))

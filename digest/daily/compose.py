"""Compose a digest from a ranked list: each story once, a share per source, every tenth place novelty.

This module chooses the items to show. Items placed by score keep the order of their scores, except that
sources alternate in the first ten places, and that items of earlier pages stand below the others. Pure.
"""

import hashlib
from collections import Counter
from collections.abc import Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, TypeVar

import numpy as np

from digest.daily.diversity import (
    AGAIN,
    RANKED,
    RATED,
    RESERVED,
    SPREAD_MAX,
    Choice,
    ExclusionReason,
    alternate,
    exclusion_reasons,
    order_by_share,
    source_cap,
    within_limits,
)
from digest.entities import DIGEST_SIZE
from ranking.entities import EffectiveConfig
from ranking.pool import Ids, Pool

T = TypeVar("T", bound=Hashable)

NOVELTY: Final = "novelty"
# Each tenth place is drawn from sources that the reader hardly knows: one in ten for exploration.
NOVELTY_EVERY = 10
# Nothing is drawn from a source below this effective weight: a reader who wants half of it wants no more of
# it to try. Items placed by score are not affected.
NOVELTY_WEIGHT_MIN = 0.5
# Older posts of a quiet new source may compete by score, but the draw shows none older than this.
NOVELTY_DAYS_MAX = 30
# Places a day for items of never-missed sources. Their ranks also fit into a mail, and novelty is not drawn
# for them.
RESERVED_MAX = 5
RESERVED_LAST = 9


@dataclass(frozen=True, slots=True)
class PlacedItem:
    """An item that this day's digest showed before.

    Rated items stay; drawn ones stay while they may be drawn.
    """

    item_id: int
    source: str
    story: int | None = None
    propensity: float = 1.0


@dataclass(frozen=True, slots=True)
class NoveltyDraw:
    """The parameters of the novelty draw: a seed, and the sources and items that are never drawn."""

    seed: str = ""
    closed: Collection[str] = ()
    never: Collection[int] = ()


@dataclass(frozen=True, slots=True)
class Rules:
    """The rules of composition: size, stories once, a cap per source, drawn and kept places, alternation, and
    items of earlier pages below the others."""

    size: int = DIGEST_SIZE
    stories: bool = True
    cap: bool = True
    novelty: bool = True
    alternate: bool = True
    reserve: bool = True
    again: bool = True

    @classmethod
    def score_only(cls, size: int) -> "Rules":
        """Return the rules for the best items by score and nothing else."""
        return cls(size, stories=False, cap=False, novelty=False, alternate=False, reserve=False, again=False)


@dataclass(frozen=True, slots=True)
class Place:
    """One place of a digest, in order of rank."""

    item_id: int
    slot: str
    propensity: float = 1.0


@dataclass(frozen=True, slots=True)
class Composition:
    """A composed digest: its places, and the reason why each other candidate is left out."""

    places: tuple[Place, ...]
    left_out: Mapping[int, ExclusionReason] = field(default_factory=dict)

    def counts(self) -> dict[str, int]:
        """Return how many candidates were left out per reason."""
        return dict(sorted(Counter(reason.value for reason in self.left_out.values()).items()))


def muted_items(pool: Pool, effective: EffectiveConfig, rows: Ids | None = None) -> set[int]:
    """Return the items of `pool` (at `rows`) whose keyword boosts add up to less than 0."""
    boosts, wide = effective.config.keyword_boosts, effective.config.boosts_wide
    if not any(boost < 0 for boost in boosts.values()):
        return set()
    at = np.arange(len(pool)) if rows is None else rows
    total = np.zeros(len(at))
    for word, boost in boosts.items():
        total += boost * pool.boost_worth(word, wide=word in wide)[at]
    return set(pool.ids[at[total < 0]].tolist())


def novelty_draw(
    seed: str, known: Collection[str], effective: EffectiveConfig, never: Collection[int] = ()
) -> NoveltyDraw:
    """Return a draw without `known` and avoided sources, weights below 0.5, and the items in `never`."""
    low = {source for source, weight in effective.weights().items() if weight < NOVELTY_WEIGHT_MIN}
    return NoveltyDraw(seed, frozenset({*known, *effective.config.avoided, *low}), frozenset(never))


def compose(
    ranked: Sequence[Choice],
    rules: Rules,
    draw: NoveltyDraw,
    *,
    rated: Mapping[int, PlacedItem] | None = None,
    drawn: Mapping[int, PlacedItem] | None = None,
    placed: Collection[int] = (),
) -> Composition:
    """Return a digest with `rules.size` places from `ranked`, which is sorted best first.

    Items in `rated` (rank from 1 -> item) keep their rank with any score. Items in `drawn` are novelty items
    of an earlier build of the same day. They keep their rank while they may be drawn at all. `placed` are all
    items of that build. The same input always gives the same digest.
    """
    rated, drawn = rated or {}, drawn or {}
    fixed_ids = {item.item_id for item in rated.values()}
    fixed_sources = [item.source for item in rated.values()]
    choices = [choice for choice in ranked if choice.item_id not in fixed_ids]
    shown_of = {item.story: item.item_id for item in rated.values() if item.story is not None}
    if rules.stories:  # The best item of each story, unless the reader has rated another item of it.
        choices = [
            c for c in choices if c.story is None or shown_of.setdefault(c.story, c.item_id) == c.item_id
        ]
    late = sum(choice.late and choice.item_id in fixed_ids for choice in ranked)
    choices = within_limits(choices, fixed_sources, placed, late)
    reserved = _reserve(choices, rules, rated, placed)
    cap = source_cap(ranked, fixed_sources, rules.size)
    order = order_by_share(choices, fixed_sources, rules.size, cap).order if rules.cap else choices
    order = [*reserved, *(choice for choice in order if choice not in reserved)]
    picked, novel = _pick(order, choices, rules, draw, rated, drawn)
    at = {rank: item.item_id for rank, item in rated.items()}
    at |= {rank: place.item_id for rank, place in novel.items()}
    best = [choice for choice in choices if choice.item_id in picked]
    at |= _ranks_reserved(best, reserved, at)
    merged = merge_at_ranks(_alternate_order(best, at, choices, rated, rules), at, rules.size)
    slots = {choice.item_id: Place(choice.item_id, RESERVED) for choice in reserved}
    slots |= {place.item_id: place for place in novel.values()}
    slots |= {i.item_id: Place(i.item_id, RATED, i.propensity) for i in rated.values()}
    again = {choice.item_id for choice in best if choice.again and rules.again}
    places = tuple(slots.get(item, Place(item, AGAIN if item in again else RANKED)) for item in merged)
    slot_of = {place.item_id: place.slot for place in places}
    stories = {story: item for story, item in shown_of.items() if rules.stories and item in slot_of}
    return Composition(
        places, exclusion_reasons(ranked, slot_of, stories, fixed=fixed_sources, cap=rules.cap)
    )


def _reserve(
    choices: Sequence[Choice], rules: Rules, rated: Mapping[int, PlacedItem], placed: Collection[int]
) -> list[Choice]:
    """Return at most five of `choices` that have a place of their own: those placed before, then the oldest.

    Ids grow with time, so the oldest has waited longest.
    """
    waiting = [choice for choice in choices if choice.reserved] if rules.reserve else []
    first = sorted(waiting, key=lambda one: (one.item_id not in placed, one.item_id))
    return first[: max(0, min(RESERVED_MAX, rules.size - len(rated)))]


def _ranks_reserved(
    best: Sequence[Choice], reserved: Sequence[Choice], at: Mapping[int, int]
) -> dict[int, int]:
    """Return ranks up to the ninth for those of `reserved` that stand lower by score among `best`.

    The others keep the place that their score gives them.
    """
    high = {choice.item_id for choice in best[: RESERVED_LAST - len(reserved)]}
    free = [rank for rank in range(RESERVED_LAST, 0, -1) if rank not in at]
    low = [choice.item_id for choice in best if choice in reserved and choice.item_id not in high]
    return dict(zip(free, reversed(low), strict=False))


def _alternate_order(
    best: Sequence[Choice],
    at: Mapping[int, int],
    choices: Sequence[Choice],
    rated: Mapping[int, PlacedItem],
    rules: Rules,
) -> list[int]:
    """Return the items placed by score, in their order around the items fixed in `at`.

    Items that the reader passed by on an earlier page come after the others.
    """
    free = [choice for choice in best if choice.item_id not in at.values()]
    if rules.again:
        free.sort(key=lambda choice: choice.again and not choice.reserved)
    ids = [choice.item_id for choice in free]
    if not rules.alternate:
        return ids
    sources = {choice.item_id: choice.source for choice in choices}
    sources |= {item.item_id: item.source for item in rated.values()}
    unwanted = {choice.item_id for choice in best if choice.unwanted or (choice.again and rules.again)}
    most = {one.source: one.places_of(SPREAD_MAX) for one in best if one.share > 1}
    return alternate(ids[: max(0, rules.size - len(at))], at, sources, unwanted, most)


def merge_at_ranks(ranked: Sequence[T], fixed: Mapping[int, T], size: int) -> list[T]:
    """Return the first `size` of `ranked`, with each item of `fixed` (rank from 1 -> item) at its rank.

    A fixed item is never lost. If the list ends before its rank, it moves up to the end.
    """
    items = set(fixed.values())
    rest = iter([item for item in ranked if item not in items][: max(0, size - len(items))])
    placed: list[T] = []
    for rank in sorted(fixed):
        while len(placed) < rank - 1 and (item := next(rest, None)) is not None:
            placed.append(item)
        placed.append(fixed[rank])
    return [*placed, *rest]


def _pick(
    order: Sequence[Choice],
    choices: Sequence[Choice],
    rules: Rules,
    draw: NoveltyDraw,
    rated: Mapping[int, PlacedItem],
    drawn: Mapping[int, PlacedItem],
) -> tuple[set[int], dict[int, Place]]:
    """Return the items that get a place by score, and the drawn ones by rank."""
    places = max(0, rules.size - len(rated))
    ranks = [rank for rank in range(NOVELTY_EVERY, rules.size + 1, NOVELTY_EVERY) if rank not in rated]
    spent = sum(item.propensity < 1 for item in rated.values())
    most = min(len(ranks), rules.size // NOVELTY_EVERY - spent, places)
    if not rules.novelty or len(order) <= places:
        most = 0
    # If fewer sources can be drawn, fewer slots are used, and the rest goes to items by score.
    for count in range(most, 0, -1):
        best = order[: places - count]
        closed = {c.source for c in best} | {item.source for item in rated.values()} | {*draw.closed}
        open_ = [c for c in choices if not (c.source in closed or c.muted or c.item_id in draw.never)]
        if len({choice.source for choice in open_}) >= count:
            return {choice.item_id for choice in best}, _draw(open_, ranks, count, draw.seed, drawn)
    return {choice.item_id for choice in order[:places]}, {}


def _draw(
    choices: Sequence[Choice], ranks: Sequence[int], count: int, seed: str, drawn: Mapping[int, PlacedItem]
) -> dict[int, Place]:
    """Draw `count` sources of `choices`, all equally likely, and return the best item of each, by rank.

    So a quiet source has the same chance as a loud one: count / sources. Sources are sorted by a hash of the
    seed and their name, so an additional source does not change the order of the others. Items drawn earlier
    that day keep their rank and the probability of their own draw.
    """
    best: dict[str, Choice] = {}
    for choice in choices:
        best.setdefault(choice.source, choice)
    source_of = {choice.item_id: choice.source for choice in choices}
    again = [(rank, i) for rank, i in sorted(drawn.items()) if rank in ranks and i.item_id in source_of]
    novel = {rank: Place(i.item_id, NOVELTY, i.propensity) for rank, i in again[:count]}
    taken = {source_of[place.item_id] for place in novel.values()}
    lots = sorted(
        best.keys() - taken, key=lambda source: hashlib.sha256(f"{seed}|{source}".encode()).digest()
    )
    free = [rank for rank in ranks if rank not in novel]
    for rank, source in zip(free, lots[: count - len(novel)], strict=False):
        novel[rank] = Place(best[source].item_id, NOVELTY, count / len(best))
    return novel

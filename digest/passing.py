"""Why a digest does not show a candidate, by what would have to be otherwise for it to be shown. Pure."""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from enum import StrEnum
from typing import Final

import numpy as np
from numpy.typing import NDArray

from digest.shares import Choice, Shared, by_share, cap_of, less

Ids = NDArray[np.int64]
RANKED: Final = "ranked"
KEPT: Final = "kept"


class Reason(StrEnum):
    """Why a candidate is not in the digest; the first that applies.

    `low_weight`: with its source at weight 1 it would be shown. `keyword`: without the boosts below 0 it
    would be. `source_cap`: the score alone would show it.
    """

    SAME_STORY = "same_story"
    LOW_WEIGHT = "low_weight"
    KEYWORD = "keyword"
    SOURCE_CAP = "source_cap"
    BELOW = "below"


def left_out(
    ranked: Sequence[Choice],
    shown: Mapping[int, str],
    tellers: Mapping[int, int],
    *,
    kept: Collection[str] = (),
    cap: bool = True,
) -> dict[int, Reason]:
    """Each of `ranked` that is not `shown` (item -> slot), with the reason, best first.

    `tellers` names the item shown for a story, `kept` the source of each item kept in place; `cap`: sources
    have shares.
    """
    again = {
        c.item_id for c in ranked if c.story is not None and tellers.get(c.story, c.item_id) != c.item_id
    }
    told = [c for c in ranked if c.item_id not in again and shown.get(c.item_id) != KEPT]
    places = sum(slot == RANKED for slot in shown.values())
    wished = _wished(told, shown, kept, places, cap)
    by_score = {choice.item_id for choice in told[:places]}
    reasons: dict[int, Reason] = {}
    for item_id in (choice.item_id for choice in ranked if choice.item_id not in shown):
        if item_id in again:
            reasons[item_id] = Reason.SAME_STORY
        else:
            reasons[item_id] = wished.get(item_id) or (
                Reason.SOURCE_CAP if item_id in by_score else Reason.BELOW
            )
    return reasons


def lowered(ranked: Sequence[Choice], shown: Mapping[int, str]) -> dict[int, int]:
    """The items placed by their score that would stand higher with their source at weight 1: by how many.

    A source's own items rise together, so only those of other sources are passed.
    """
    rows = [choice for choice in ranked if shown.get(choice.item_id) == RANKED]
    turned = [choice for choice in rows if choice.low]
    now = _above(rows, turned, [choice.score for choice in turned])
    then = _above(rows, turned, [choice.at_par for choice in turned])
    return {c.item_id: int(n) for c, n in zip(turned, now - then, strict=True) if n > 0}


def _wished(
    told: Sequence[Choice], shown: Mapping[int, str], kept: Collection[str], places: int, cap: bool
) -> dict[int, Reason]:
    """The items that only the reader's own wish keeps out: the weight of the source, else keywords."""
    out = [c for c in told if c.item_id not in shown and max(c.at_par, c.unmuted) > c.score]
    if not out:
        return {}
    field = _Field(told, kept, len(shown), cap)
    words = field.places_without_words(out)
    weights = field.places_at_par(out)
    found = {c.item_id: Reason.KEYWORD for c, place in zip(out, words, strict=True) if place < places}
    for choice, place in zip(out, weights, strict=True):
        if choice.low and place < places:
            found[choice.item_id] = Reason.LOW_WEIGHT
    return found


class _Field:
    """Whom an item would stand behind if its score were another: places count from 0, by columns."""

    def __init__(self, told: Sequence[Choice], kept: Collection[str], size: int, cap: bool) -> None:
        self._told = told
        shared = by_share(told, kept, size) if cap else Shared([*told], [*told], [])
        self._within, self._merely = shared.within, shared.merely
        # Below this score nothing that is wanted waits within its share.
        self._wanted = min((c.score for c in self._within if not (cap and less(c))), default=np.inf)
        self._size = size - len(kept)
        stood = Counter(kept)
        most = cap_of(told, kept, size) if cap else len(told)
        self._free = {c.source: max(0, most - stood[c.source] * cap) for c in told}

    def places_at_par(self, out: Sequence[Choice]) -> Ids:
        """The place of each of `out` with all of its source at weight 1: their order among them stays."""
        seen: Counter[str] = Counter()
        rank_of: dict[int, int] = {}
        for choice in self._told:
            rank_of[choice.item_id] = seen[choice.source]
            seen[choice.source] += 1
        rank = np.array([rank_of[choice.item_id] for choice in out], dtype=np.int64)
        scores = [choice.at_par for choice in out]
        over = np.array([c.muted for c in out])
        return self._places(out, scores, rank, over)

    def places_without_words(self, out: Sequence[Choice]) -> Ids:
        """The place of each of `out` without the boosts against it alone."""
        scores = [choice.unmuted for choice in out]
        rank = _above(self._told, out, scores, own=True)
        never = np.array([c.low or c.unmuted <= c.score for c in out])
        places = self._places(out, scores, rank, never)
        return np.where([c.unmuted > c.score for c in out], places, len(self._told) + 1)

    def _places(
        self, out: Sequence[Choice], scores: Sequence[float], rank: Ids, unwanted: NDArray[np.bool_]
    ) -> Ids:
        """The places at `scores` with `rank` others of its source ahead; never better than they would be.

        What is still `unwanted` has a place within its share only where the score alone gives it one or
        something wanted comes after it.
        """
        free = np.array([self._free[choice.source] for choice in out], dtype=np.int64)
        inside = _above(self._within, out, scores) + rank
        outside = len(self._within) + _above(self._merely, out, scores) + rank - free
        by_score = _above(self._told, out, scores) + rank < self._size
        served = by_score | (np.array(scores) > self._wanted)
        may = np.where(rank < free, served, False) | ~unwanted
        return np.where(may, np.where(rank < free, inside, outside), len(self._told) + 1)


def _above(rows: Sequence[Choice], out: Sequence[Choice], scores: Sequence[float], own: bool = False) -> Ids:
    """How many of `rows`, of other sources or of its `own`, score above each of `scores`, those of `out`."""
    by_source: dict[str, list[float]] = {}
    for choice in rows:
        by_source.setdefault(choice.source, []).append(-choice.score)
    wanted = -np.array(scores, dtype=np.float64)
    every = np.sort(np.array([-choice.score for choice in rows], dtype=np.float64))
    mine = np.zeros(len(out), dtype=np.int64)
    places: dict[str, list[int]] = {}
    for n, choice in enumerate(out):
        places.setdefault(choice.source, []).append(n)
    for source, at in places.items():
        held = np.sort(np.array(by_source.get(source, ()), dtype=np.float64))
        mine[at] = np.searchsorted(held, wanted[at])
    return mine if own else np.searchsorted(every, wanted) - mine

"""Exclusion: why a digest does not show a candidate, by what would have to differ to show it. Pure."""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

import numpy as np
from numpy.typing import NDArray

from digest.build.shares import Choice, ShareOrder, order_by_share, source_cap
from ranking.language import figure, gettext_noop
from ranking.language import gettext as _
from ranking.scoring import Ids

# Slots of places: by score, and rated, so fixed.
RANKED: Final = "ranked"
RATED: Final = "kept"


class ExclusionReason(StrEnum):
    """Why a candidate is not in the digest; the first that applies.

    `low_weight`: with its source at weight 1 it would be shown. `keyword`: without the boosts below 0 it
    would be. `source_cap`: the score alone would show it.
    """

    SAME_STORY = "same_story"
    LOW_WEIGHT = "low_weight"
    KEYWORD = "keyword"
    SOURCE_CAP = "source_cap"
    BELOW = "below"


NAMES: Mapping[ExclusionReason, str] = {
    ExclusionReason.SAME_STORY: gettext_noop("The same story"),
    ExclusionReason.SOURCE_CAP: gettext_noop("Enough of one source"),
    ExclusionReason.LOW_WEIGHT: gettext_noop("Less of a source"),
    ExclusionReason.KEYWORD: gettext_noop("Less of a word"),
    ExclusionReason.BELOW: gettext_noop("No place left"),
}
DESCRIPTIONS: Mapping[ExclusionReason, str] = {
    ExclusionReason.SAME_STORY: gettext_noop(
        "Your digest has this story already, from the source that scored best."
    ),
    ExclusionReason.SOURCE_CAP: gettext_noop(
        "Their source had its share of the places, and other sources had something "
        "too. The more sources you have, the smaller the share."
    ),
    ExclusionReason.LOW_WEIGHT: gettext_noop(
        "Your settings, or your thumbs, turned their source down. At weight 1 they would be in the digest."
    ),
    ExclusionReason.KEYWORD: gettext_noop(
        "Words in your settings count against them. Without those they would be in the digest."
    ),
    ExclusionReason.BELOW: gettext_noop("Other items scored higher."),
}


@dataclass(frozen=True, slots=True)
class ReasonCount:
    """One reason for exclusion: its code, name and description, and how many items it left out."""

    code: str
    name: str
    description: str
    count: int


def reasons_describe(counts: Mapping[ExclusionReason, int]) -> list[ReasonCount]:
    """Return the reasons that apply, each with its count."""
    return [
        ReasonCount(r.value, _(NAMES[r]), _(DESCRIPTIONS[r]), counts[r])
        for r in ExclusionReason
        if counts.get(r)
    ]


def exclusion_explain(reason: ExclusionReason, source: str, shown_source: str, weight: float) -> str:
    """Return why one item of `source`, of effective `weight`, is not in the digest, in a sentence.

    `shown_source` is the source whose item of the same story is shown there, "" for none.
    """
    if reason is ExclusionReason.SAME_STORY:
        if not shown_source:
            return _(NAMES[reason])
        return _("The same story as reported by {source}.").format(source=shown_source)
    if reason is ExclusionReason.SOURCE_CAP:
        return _("{source} had its share of the places.").format(source=source)
    if reason is ExclusionReason.LOW_WEIGHT:
        words = _("{source} has weight {weight}; at 1 this would be in the digest.")
        return words.format(source=source, weight=figure(weight))
    if reason is ExclusionReason.KEYWORD:
        return _("A word counts against it; without that this would be in the digest.")
    return _(DESCRIPTIONS[reason])


def exclusion_reasons(
    ranked: Sequence[Choice],
    shown: Mapping[int, str],
    stories: Mapping[int, int],
    *,
    fixed: Collection[str] = (),
    cap: bool = True,
) -> dict[int, ExclusionReason]:
    """Return the reason for each of `ranked` that is not `shown` (item -> slot), best first.

    `stories` has the item shown for each story, `fixed` the source of each item with a fixed place; `cap`:
    sources have shares.
    """
    again = {
        c.item_id for c in ranked if c.story is not None and stories.get(c.story, c.item_id) != c.item_id
    }
    field = [c for c in ranked if c.item_id not in again and shown.get(c.item_id) != RATED]
    places = sum(slot == RANKED for slot in shown.values())
    share = source_cap(ranked, fixed, len(shown)) if cap else None
    unwanted = _reasons_of_settings(field, shown, fixed, places, share)
    by_score = {choice.item_id for choice in field[:places]}
    reasons: dict[int, ExclusionReason] = {}
    for item_id in (choice.item_id for choice in ranked if choice.item_id not in shown):
        if item_id in again:
            reasons[item_id] = ExclusionReason.SAME_STORY
        else:
            other = ExclusionReason.SOURCE_CAP if item_id in by_score else ExclusionReason.BELOW
            reasons[item_id] = unwanted.get(item_id, other)
    return reasons


def places_lost(ranked: Sequence[Choice], shown: Mapping[int, str]) -> dict[int, int]:
    """Return how many places higher an item placed by score would be with its source at weight 1, if any.

    A source's own items rise together, so only those of other sources count.
    """
    rows = [choice for choice in ranked if shown.get(choice.item_id) == RANKED]
    low = [choice for choice in rows if choice.low]
    now = _count_above(rows, low, [choice.score for choice in low])
    then = _count_above(rows, low, [choice.at_par for choice in low])
    return {c.item_id: int(n) for c, n in zip(low, now - then, strict=True) if n > 0}


def _reasons_of_settings(
    field: Sequence[Choice], shown: Mapping[int, str], fixed: Collection[str], places: int, share: int | None
) -> dict[int, ExclusionReason]:
    """Return the items that only settings leave out: by the source's weight, else by keywords."""
    out = [c for c in field if c.item_id not in shown and max(c.at_par, c.unmuted) > c.score]
    if not out:
        return {}
    positions = _Positions(field, fixed, len(shown), share)
    unmuted, at_par = positions.unmuted(out), positions.at_par(out)
    found = {
        c.item_id: ExclusionReason.KEYWORD for c, place in zip(out, unmuted, strict=True) if place < places
    }
    for choice, place in zip(out, at_par, strict=True):
        if choice.low and place < places:
            found[choice.item_id] = ExclusionReason.LOW_WEIGHT
    return found


class _Positions:
    """Where items would be if their scores were others; positions count from 0, by columns.

    `share` is how many places a source may have, `None` if there is no limit.
    """

    def __init__(self, field: Sequence[Choice], fixed: Collection[str], size: int, share: int | None) -> None:
        self._field, cap = field, share is not None
        shares = order_by_share(field, fixed, size, share) if cap else ShareOrder([*field], [*field], [])
        self._within, self._beyond = shares.within, shares.beyond
        # Below this score nothing that is wanted waits within its share.
        self._wanted = min((c.score for c in self._within if not (cap and c.unwanted)), default=np.inf)
        self._size = size - len(fixed)
        taken = Counter(fixed)
        most = len(field) if share is None else share
        self._free = {c.source: max(0, most - taken[c.source] * cap) for c in field}

    def at_par(self, out: Sequence[Choice]) -> Ids:
        """Return the position of each of `out` with all of its source at weight 1."""
        seen: Counter[str] = Counter()
        rank_of: dict[int, int] = {}
        for choice in self._field:
            rank_of[choice.item_id] = seen[choice.source]
            seen[choice.source] += 1
        rank = np.array([rank_of[choice.item_id] for choice in out], dtype=np.int64)
        scores = [choice.at_par for choice in out]
        return self._positions(out, scores, rank, np.array([c.muted for c in out]))

    def unmuted(self, out: Sequence[Choice]) -> Ids:
        """Return the position of each of `out` without the boosts against it alone."""
        scores = [choice.unmuted for choice in out]
        rank = _count_above(self._field, out, scores, own=True)
        unwanted = np.array([c.low or c.unmuted <= c.score for c in out])
        positions = self._positions(out, scores, rank, unwanted)
        return np.where([c.unmuted > c.score for c in out], positions, len(self._field) + 1)

    def _positions(
        self, out: Sequence[Choice], scores: Sequence[float], rank: Ids, unwanted: NDArray[np.bool_]
    ) -> Ids:
        """Return the positions at `scores` with `rank` others of its source ahead; never too good ones.

        What is still `unwanted` has a place within its share only where the score alone gives it one or
        something wanted comes after it.
        """
        free = np.array([self._free[choice.source] for choice in out], dtype=np.int64)
        inside = _count_above(self._within, out, scores) + rank
        outside = len(self._within) + _count_above(self._beyond, out, scores) + rank - free
        by_score = _count_above(self._field, out, scores) + rank < self._size
        served = by_score | (np.array(scores) > self._wanted)
        may = np.where(rank < free, served, False) | ~unwanted
        return np.where(may, np.where(rank < free, inside, outside), len(self._field) + 1)


def _count_above(
    rows: Sequence[Choice], out: Sequence[Choice], scores: Sequence[float], own: bool = False
) -> Ids:
    """Count the `rows`, of other sources or of its `own`, that score above each of `scores`."""
    by_source: dict[str, list[float]] = {}
    for choice in rows:
        by_source.setdefault(choice.source, []).append(-choice.score)
    wanted = -np.array(scores, dtype=np.float64)
    every = np.sort(np.array([-choice.score for choice in rows], dtype=np.float64))
    mine = np.zeros(len(out), dtype=np.int64)
    positions: dict[str, list[int]] = {}
    for n, choice in enumerate(out):
        positions.setdefault(choice.source, []).append(n)
    for source, at in positions.items():
        of_source = np.sort(np.array(by_source.get(source, ()), dtype=np.float64))
        mine[at] = np.searchsorted(of_source, wanted[at])
    return mine if own else np.searchsorted(every, wanted) - mine

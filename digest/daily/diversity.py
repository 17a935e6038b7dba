"""Shares of sources in a digest, alternation, and the reason why each other candidate is left out.

A reason names the difference that would bring the item in. Pure.
"""

import math
from bisect import bisect_left
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ranking.entities import WEIGHT_DEFAULT
from ranking.language import gettext as _
from ranking.language import gettext_noop
from ranking.pool import Ids

# A source gets at most a third of the places, or an equal part if there are fewer than three sources.
SOURCE_PARTS = 3
# With many sources it gets twice an equal part, but at least two places.
SOURCE_TIMES_EQUAL = 2
SOURCE_PLACES_MIN = 2
# The first page on a screen or in a mail. Here no source comes twice in a row while others wait.
ALTERNATE_FIRST = 10
# The first two screens. With many sources, one source has at most two of these places while others wait. Only
# sources with new items count: readers of fifty feeds have that many on any day.
SPREAD_FIRST, SPREAD_MAX, SPREAD_SOURCES = 15, 2, 20
# From this effective weight on, which the smallest step of a suggestion reaches, the reader wants more of a
# source, and its places grow with its weight. Else "more" would change nothing once it has its places.
WEIGHT_WANTED = 1.1
# Old posts that came late, on a day's page and its further pages together: as many as one document may bring
# (`digest.feeds.arrival`). Without this limit 250 feeds took 21 of 30 places for posts of years ago.
LATE_PLACES_MAX = 5
# Slots: placed by score, and rated (so the place is fixed).
RANKED: Final = "ranked"
RATED: Final = "kept"
# Slot: placed because its source is never missed.
RESERVED: Final = "reserved"
# Slot: placed by score, below what is new to the reader, who passed it by on an earlier page.
AGAIN: Final = "again"


class Choice(NamedTuple):
    """One candidate for composition, with its source and story (`None`: no other report).

    `low`: its source's effective weight is below 1. `muted`: its keyword boosts add up to less than 0.
    `disliked`: the reader's taste counts against it. `share`: how many times the places of another source its
    source may have.
    `score` is its real score. `at_par` is its score if its source had weight 1, and `unmuted` its score
    without negative boosts. Both equal `score` if nothing counts against it. `most` is the daily limit of its
    source (`None`: no limit). `reserved`: its source is never missed, and no earlier digest has shown it.
    `late`: it came with an old date, and is not reserved. `again`: the reader passed it by on another day.
    """

    item_id: int
    source: str
    story: int | None = None
    low: bool = False
    muted: bool = False
    score: float = 0.0
    at_par: float = 0.0
    unmuted: float = 0.0
    most: int | None = None
    reserved: bool = False
    late: bool = False
    disliked: bool = False
    share: float = 1.0
    again: bool = False

    @property
    def unwanted(self) -> bool:
        """Return whether the reader wants fewer such items, by its source's weight, keywords or taste."""
        return self.low or self.muted or self.disliked

    def places_of(self, usual: int) -> int:
        """Return how many places its source may have where a source has the `usual` ones."""
        return math.ceil(usual * self.share)


class ShareOrder(NamedTuple):
    """Candidates split by share. `order` is the order in which they get a place.

    `within` fit into their source's share. `beyond` exceed it and have nothing else against them. Each list
    is sorted best first.
    """

    order: list[Choice]
    within: list[Choice]
    beyond: list[Choice]


@dataclass(frozen=True, slots=True)
class Exceptions:
    """The items that something other than their score counts for or against, and daily limits by source.

    Keywords count against `muted` items, and the reader's taste against `disliked` ones. `reserved` ones wait
    for a place of theirs, `late` ones came with an old date, and `again` ones were passed by on an earlier
    page.
    """

    muted: Collection[int] = ()
    disliked: Collection[int] = ()
    limits: Mapping[str, int] = field(default_factory=dict)
    reserved: Collection[int] = ()
    late: Collection[int] = ()
    again: Collection[int] = ()


NO_EXCEPTIONS = Exceptions()


def choices_make(
    ids: Sequence[int],
    totals: Sequence[float],
    unmuted: Sequence[float],
    *,
    origins: Mapping[int, tuple[str, int]],
    stories: Mapping[int, int],
    weights: Mapping[str, float],
    exceptions: Exceptions = NO_EXCEPTIONS,
) -> list[Choice]:
    """Return the choices for `ids`, which are sorted by their scores `totals`, best first.

    `origins` maps an item to (source, article), `stories` an article to its story, and `weights` a source to
    its effective weight, if it has one of its own. `unmuted` are the scores without negative boosts.
    """
    found, reserved, late = [], exceptions.reserved, exceptions.late
    for item_id, total, free in zip(ids, totals, unmuted, strict=True):
        source, article = origins[item_id]
        weight = weights.get(source, WEIGHT_DEFAULT)
        low = weight < WEIGHT_DEFAULT
        par = total * WEIGHT_DEFAULT / weight if low else total
        found.append(
            Choice(
                item_id,
                source,
                story=stories.get(article, article),
                low=low,
                muted=item_id in exceptions.muted,
                disliked=item_id in exceptions.disliked,
                share=weight if weight >= WEIGHT_WANTED else 1.0,
                score=total,
                at_par=par,
                unmuted=free,
                most=exceptions.limits.get(source),
                reserved=item_id in reserved,
                late=item_id in late and item_id not in reserved,
                again=item_id in exceptions.again,
            )
        )
    return found


def within_limits(
    choices: Sequence[Choice], taken: Collection[str] = (), placed: Collection[int] = (), late: int = 0
) -> list[Choice]:
    """Return `choices` (best first) without those beyond their source's daily limit, or that of late items.

    `taken` has the source of each item that the day shows anyway; `late` of them came late. Items `placed` by
    an earlier build of the day come first, so that shown items are not exchanged for others.
    """
    if all(choice.most is None and not choice.late for choice in choices):
        return [*choices]
    count, beyond = Counter(taken), set[int]()
    for choice in sorted(choices, key=lambda one: one.item_id not in placed):
        is_limited = choice.most is not None and count[choice.source] >= choice.most
        if is_limited or (choice.late and late >= LATE_PLACES_MAX):
            beyond.add(choice.item_id)
        else:
            late += choice.late
        count[choice.source] += 1
    return [choice for choice in choices if choice.item_id not in beyond]


def source_cap(choices: Sequence[Choice], fixed: Collection[str], size: int) -> int:
    """Return how many of `size` places one source may take while others have items.

    `choices` are all candidates; `fixed` are the sources of items with a fixed place. Up to 6 sources it is a
    third of the places (an equal part below 3). With more, it is twice an equal part, but at least two
    places. Of thirty places: 10 for 3 to 6 sources, 6 for 10, 3 for 20, 2 from 30 on.
    """
    sources = max(1, len({choice.source for choice in choices} | {*fixed}))
    most = math.ceil(size / min(SOURCE_PARTS, sources))
    return min(most, max(SOURCE_PLACES_MIN, math.ceil(SOURCE_TIMES_EQUAL * size / sources)))


def order_by_share(
    choices: Sequence[Choice], fixed: Collection[str], size: int, cap: int | None = None
) -> ShareOrder:
    """Sort `choices` (best first) by the shares of sources in a digest of `size` places.

    `fixed` are the sources of items that have a place already, one entry per item. `cap` is a source's share
    (`source_cap`); `None` computes it from `choices`. Sources that the reader wants more of have a larger
    one.

    Within the shares only the score decides; weights and boosts are part of it already. Places may be left
    over when no wanted item within its share remains. Only then do items beyond their share come before
    unwanted items, unless the score alone would show these. So every item that goes first also scores higher.
    """
    cap, taken = source_cap(choices, fixed, size) if cap is None else cap, Counter(fixed)
    within: list[Choice] = []
    over: list[Choice] = []
    for choice in choices:
        most = cap if choice.share == 1 else choice.places_of(cap)
        (within if taken[choice.source] < most else over).append(choice)
        taken[choice.source] += 1
    by_score = {choice.item_id for choice in choices[: max(0, size - len(fixed))]}
    turns = [n for n, c in enumerate(within, 1) if not c.unwanted or c.item_id in by_score]
    first = within[: turns[-1] if turns else 0]
    beyond = [choice for choice in over if not choice.unwanted]
    served = {choice.item_id for choice in (*first, *beyond)}
    rest = [choice for choice in choices if choice.item_id not in served]
    return ShareOrder([*first, *beyond, *rest], within, beyond)


def alternate(
    ranked: Sequence[int],
    fixed: Mapping[int, int],
    sources: Mapping[int, str],
    unwanted: Collection[int] = (),
    most: Mapping[str, int] | None = None,
) -> list[int]:
    """Return `ranked` (best first) reordered so that sources alternate in the first ten places.

    `fixed` maps a rank (from 1) to the item that keeps it; `sources` maps every candidate to its source. If
    the best item would follow one of its own source, or come right before a fixed one of it, the best item of
    another source takes the place. With twenty sources or more, a source that has two of the first fifteen
    places (or those that `most` gives it) waits in the same way. Nothing else moves. Items in `unwanted` are
    never lifted. Each source's items keep their order, and so does everything beyond these places.
    """
    waiting, order, before, more = list(ranked), list[int](), "", most or {}
    spread = len({*sources.values()}) >= SPREAD_SOURCES
    taken = Counter(sources[item] for rank, item in fixed.items() if rank <= SPREAD_FIRST)
    for rank in range(1, (SPREAD_FIRST if spread else ALTERNATE_FIRST) + 1):
        if rank in fixed:
            before = sources[fixed[rank]]
            continue
        if not waiting:
            break
        full = {one for one, n in taken.items() if n >= more.get(one, SPREAD_MAX)} if spread else set()
        beside: tuple[set[str], set[str]] = set(), set()
        if rank <= ALTERNATE_FIRST:
            beside = {before, _source_at(rank + 1, fixed, sources)}, {before}
        closed = [beside[0] | full, beside[1] | full, beside[1]]
        at = _place_of_next(waiting, sources, unwanted, closed)
        order.append(waiting.pop(at))
        before = sources[order[-1]]
        taken[before] += 1
    return [*order, *waiting]


def _source_at(rank: int, fixed: Mapping[int, int], sources: Mapping[int, str]) -> str:
    """Return the source of the item fixed at `rank` of the first ten, or ""."""
    return sources[fixed[rank]] if rank <= ALTERNATE_FIRST and rank in fixed else ""


def _place_of_next(
    waiting: Sequence[int], sources: Mapping[int, str], unwanted: Collection[int], closed: Sequence[set[str]]
) -> int:
    """Return the index in `waiting` of the next item: the best whose source is not in `closed`.

    If all are, the next set of `closed` is tried, and at last the best item is taken.
    """
    for around in closed:
        passed = {*around}
        for at, item in enumerate(waiting):
            if sources[item] not in passed and (at == 0 or item not in unwanted):
                return at
            passed.add(sources[item])
    return 0


def places_moved(shown: Sequence[tuple[int, float]]) -> dict[int, int]:
    """Return {item: how many places lower than by score it stands} (below 0: higher), without unmoved items.

    `shown` are the (item, score) placed by score, in the order of their places.
    """
    by_score = sorted(shown, key=lambda row: -row[1])
    at = {item: place for place, (item, _) in enumerate(by_score)}
    moved = {item: place - at[item] for place, (item, _) in enumerate(shown)}
    return {item: places for item, places in moved.items() if places}


class ExclusionReason(StrEnum):
    """Why a candidate is not in the digest. The first reason that applies is given.

    `daily_limit`: its source has its places of the day. `late`: old items that came late have theirs.
    `low_weight`: it would be shown if its source had weight 1. `keyword`: it would be shown without negative
    boosts. `source_cap`: by score alone it would be.
    """

    SAME_STORY = "same_story"
    DAILY_LIMIT = "daily_limit"
    LATE = "late"
    LOW_WEIGHT = "low_weight"
    KEYWORD = "keyword"
    SOURCE_CAP = "source_cap"
    BELOW = "below"


NAMES: Mapping[ExclusionReason, str] = {
    ExclusionReason.SAME_STORY: gettext_noop("The same story"),
    ExclusionReason.DAILY_LIMIT: gettext_noop("Enough for a day"),
    ExclusionReason.LATE: gettext_noop("Old articles"),
    ExclusionReason.SOURCE_CAP: gettext_noop("Enough of one source"),
    ExclusionReason.LOW_WEIGHT: gettext_noop("Less of a source"),
    ExclusionReason.KEYWORD: gettext_noop("Less of a word"),
    ExclusionReason.BELOW: gettext_noop("No place left"),
}
DESCRIPTIONS: Mapping[ExclusionReason, str] = {
    ExclusionReason.SAME_STORY: gettext_noop(
        "Your digest has this story already, from the source that scored best."
    ),
    ExclusionReason.DAILY_LIMIT: gettext_noop("You set a daily limit for their source."),
    ExclusionReason.LATE: gettext_noop("They came with an old date, and a day has places for five of these."),
    ExclusionReason.SOURCE_CAP: gettext_noop(
        "Their source had its share of the places, and other sources had something "
        "too. The more sources you have, the smaller the share. A source you want more of has a larger "
        "one."
    ),
    ExclusionReason.LOW_WEIGHT: gettext_noop(
        "Your settings, or your ratings, show less of their source. With “usual” they would be in the digest."
    ),
    ExclusionReason.KEYWORD: gettext_noop(
        "Words in your settings count against them. Without those they would be in the digest."
    ),
    ExclusionReason.BELOW: gettext_noop("Other items scored higher."),
}


@dataclass(frozen=True, slots=True)
class ReasonCount:
    """One exclusion reason: its code, name, description, and the number of items it left out."""

    code: str
    name: str
    description: str
    count: int


def reasons_describe(counts: Mapping[ExclusionReason, int]) -> list[ReasonCount]:
    """Return the reasons that left something out, each with its count."""
    return [
        ReasonCount(r.value, _(NAMES[r]), _(DESCRIPTIONS[r]), counts[r])
        for r in ExclusionReason
        if counts.get(r)
    ]


def exclusion_explain(reason: ExclusionReason, source: str, shown_source: str) -> str:
    """Return in one sentence why an item of `source` is not in the digest.

    `shown_source` is the source whose item of the same story is shown; "" if there is none.
    """
    if reason is ExclusionReason.SAME_STORY:
        if not shown_source:
            return _(NAMES[reason])
        return _("The same story as reported by {source}.").format(source=shown_source)
    if reason is ExclusionReason.DAILY_LIMIT:
        return _("You set a daily limit for {source}.").format(source=source)
    if reason is ExclusionReason.SOURCE_CAP:
        return _("{source} had its share of the places.").format(source=source)
    if reason is ExclusionReason.LOW_WEIGHT:
        words = _("You get less from {source}; with “usual” this would be in the digest.")
        return words.format(source=source)
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
    """Return the reason for each of `ranked` that is not in `shown` (item -> slot), best first.

    `stories` maps a story to its shown item. `fixed` are the sources of items with a fixed place. `cap`:
    sources have shares.
    """
    again = {
        c.item_id for c in ranked if c.story is not None and stories.get(c.story, c.item_id) != c.item_id
    }
    taken = Counter([*fixed, *(c.source for c in ranked if shown.get(c.item_id, RATED) != RATED)])
    limited = {
        c.item_id
        for c in ranked
        if c.item_id not in shown and c.most is not None and taken[c.source] >= c.most
    } - again
    old = {c.item_id for c in ranked if c.late and c.item_id not in shown} - again - limited
    if sum(c.late and c.item_id in shown for c in ranked) < LATE_PLACES_MAX:
        old = set()
    out = again | limited | old
    field = [c for c in ranked if c.item_id not in out and shown.get(c.item_id) not in (RATED, RESERVED)]
    places = sum(slot in (RANKED, AGAIN) for slot in shown.values())
    share = source_cap(ranked, fixed, len(shown)) if cap else None
    unwanted = _reasons_of_settings(field, shown, fixed, places, share)
    by_score = {choice.item_id for choice in field[:places]}
    reasons: dict[int, ExclusionReason] = {}
    for item_id in (choice.item_id for choice in ranked if choice.item_id not in shown):
        if item_id in again:
            reasons[item_id] = ExclusionReason.SAME_STORY
        elif item_id in limited:
            reasons[item_id] = ExclusionReason.DAILY_LIMIT
        elif item_id in old:
            reasons[item_id] = ExclusionReason.LATE
        else:
            other = ExclusionReason.SOURCE_CAP if item_id in by_score else ExclusionReason.BELOW
            reasons[item_id] = unwanted.get(item_id, other)
    return reasons


def places_lost(ranked: Sequence[Choice], shown: Mapping[int, str]) -> dict[int, int]:
    """Return {item: how many places higher it would stand if its source had weight 1}.

    Only items placed by score that would rise are included. Items of the same source rise together, so only
    those of other sources count.
    """
    rows = [choice for choice in ranked if shown.get(choice.item_id) == RANKED]
    low = [choice for choice in rows if choice.low]
    scores = _Scores(rows)
    now = scores.above(low, [choice.score for choice in low])
    then = scores.above(low, [choice.at_par for choice in low])
    return {c.item_id: int(n) for c, n in zip(low, now - then, strict=True) if n > 0}


def _reasons_of_settings(
    field: Sequence[Choice], shown: Mapping[int, str], fixed: Collection[str], places: int, share: int | None
) -> dict[int, ExclusionReason]:
    """Return the items that only settings keep out: by the source's weight, else by keywords."""
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
    """Computes the positions (from 0) that items would have with other scores, for many items at once.

    `share` is how many places a source may have; `None` means no limit.
    """

    def __init__(self, field: Sequence[Choice], fixed: Collection[str], size: int, share: int | None) -> None:
        self._field, cap = field, share is not None
        shares = order_by_share(field, fixed, size, share) if cap else ShareOrder([*field], [*field], [])
        self._every, self._within, self._beyond = map(_Scores, (field, shares.within, shares.beyond))
        # Below this score no wanted item waits within its share.
        self._wanted = min((c.score for c in shares.within if not (cap and c.unwanted)), default=np.inf)
        self._size = size - len(fixed)
        taken = Counter(fixed)
        most = len(field) if share is None else share
        self._free = {c.source: max(0, most - taken[c.source] * cap) for c in field}

    def at_par(self, out: Sequence[Choice]) -> Ids:
        """Return the position of each of `out` if its whole source had weight 1."""
        seen: Counter[str] = Counter()
        rank_of: dict[int, int] = {}
        for choice in self._field:
            rank_of[choice.item_id] = seen[choice.source]
            seen[choice.source] += 1
        rank = np.array([rank_of[choice.item_id] for choice in out], dtype=np.int64)
        scores = [choice.at_par for choice in out]
        return self._positions(out, scores, rank, np.array([c.muted for c in out]))

    def unmuted(self, out: Sequence[Choice]) -> Ids:
        """Return the position of each of `out` without the negative boosts on it alone."""
        scores = [choice.unmuted for choice in out]
        rank = self._every.above(out, scores, own=True)
        unwanted = np.array([c.low or c.unmuted <= c.score for c in out])
        positions = self._positions(out, scores, rank, unwanted)
        return np.where([c.unmuted > c.score for c in out], positions, len(self._field) + 1)

    def _positions(
        self, out: Sequence[Choice], scores: Sequence[float], rank: Ids, unwanted: NDArray[np.bool_]
    ) -> Ids:
        """Return the positions at `scores`, with `rank` items of the same source ahead. Never too good.

        An item that stays `unwanted` gets a place within its share only if the score alone gives it one, or
        if a wanted item comes after it.
        """
        free = np.array([self._free[choice.source] for choice in out], dtype=np.int64)
        inside = self._within.above(out, scores) + rank
        outside = len(self._within) + self._beyond.above(out, scores) + rank - free
        by_score = self._every.above(out, scores) + rank < self._size
        served = by_score | (np.array(scores) > self._wanted)
        may = np.where(rank < free, served, False) | ~unwanted
        return np.where(may, np.where(rank < free, inside, outside), len(self._field) + 1)


class _Scores:
    """The scores of some choices, sorted: all together, and per source."""

    def __init__(self, rows: Sequence[Choice]) -> None:
        by_source: dict[str, list[float]] = {}
        for choice in rows:
            by_source.setdefault(choice.source, []).append(-choice.score)
        self._all = np.sort(np.array([-choice.score for choice in rows], dtype=np.float64))
        self._by_source = {source: sorted(scores) for source, scores in by_source.items()}

    def __len__(self) -> int:
        return len(self._all)

    def above(self, out: Sequence[Choice], scores: Sequence[float], own: bool = False) -> Ids:
        """Count the items that score above each of `out` at `scores`: of other sources, or of its `own`."""
        none: list[float] = []
        mine = np.array(
            [
                bisect_left(self._by_source.get(choice.source, none), -score)
                for choice, score in zip(out, scores, strict=True)
            ],
            dtype=np.int64,
        )
        if own:
            return mine
        return np.searchsorted(self._all, -np.array(scores, dtype=np.float64)) - mine

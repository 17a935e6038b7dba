"""Shares of sources in a digest, the order in which candidates get a place, and alternation. Pure."""

import math
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

from ranking.entities import WEIGHT_DEFAULT

# A source gets at most a third of the places, or an equal part where there are fewer than three sources.
SOURCE_PARTS = 3
# Where there are many sources, it gets this many times an equal part, but at least so many places.
SOURCE_TIMES_EQUAL = 2
SOURCE_PLACES_MIN = 2
# A first page on a screen or in a mail: no source comes twice in a row there where others wait.
ALTERNATE_FIRST = 10


class Choice(NamedTuple):
    """One candidate as it is chosen from: its source and story (`None`: nobody else reports it).

    `low`: its source's effective weight is below 1. `muted`: its keyword boosts add up to less than 0.
    `score` is what it has, `at_par` what it would have at weight 1 and `unmuted` without the boosts below 0;
    both are `score` where nothing counts against it.
    """

    item_id: int
    source: str
    story: int | None = None
    low: bool = False
    muted: bool = False
    score: float = 0.0
    at_par: float = 0.0
    unmuted: float = 0.0

    @property
    def unwanted(self) -> bool:
        """Return whether the reader wants less of it, by its source's weight or by keywords."""
        return self.low or self.muted


class ShareOrder(NamedTuple):
    """Candidates by share, each list best first; `order` is that in which they get a place.

    `within` their source's share; `beyond` it, with nothing else against them.
    """

    order: list[Choice]
    within: list[Choice]
    beyond: list[Choice]


def choices_make(
    ids: Sequence[int],
    origins: Mapping[int, tuple[str, int]],
    stories: Mapping[int, int],
    weights: Mapping[str, float],
    totals: Sequence[float],
    unmuted: Sequence[float],
    muted: Collection[int] = (),
) -> list[Choice]:
    """Return the choices of `ids`, in their order, which is that of their scores `totals`.

    `origins` has source and article of each item, `stories` the story of each article that has one, `weights`
    the effective weight of each source that has one of its own; `unmuted` are the scores without boosts below
    0, `muted` the items that keywords count against.
    """
    found = []
    for item_id, total, free in zip(ids, totals, unmuted, strict=True):
        source, article = origins[item_id]
        weight = weights.get(source, WEIGHT_DEFAULT)
        low = weight < WEIGHT_DEFAULT
        par = total * WEIGHT_DEFAULT / weight if low else total
        found.append(
            Choice(item_id, source, stories.get(article, article), low, item_id in muted, total, par, free)
        )
    return found


def source_cap(choices: Sequence[Choice], fixed: Collection[str], size: int) -> int:
    """Return how many of `size` places one source may take while the others have anything.

    `choices` are all candidates, `fixed` the sources of the items that have a fixed place. With n sources it
    is a third of the places for n up to 6 (an equal part for n below 3), then twice an equal part, at least
    two places: of thirty places 10 for 3 to 6 sources, 6 for 10, 3 for 20, 2 from 30 on.
    """
    sources = max(1, len({choice.source for choice in choices} | {*fixed}))
    most = math.ceil(size / min(SOURCE_PARTS, sources))
    return min(most, max(SOURCE_PLACES_MIN, math.ceil(SOURCE_TIMES_EQUAL * size / sources)))


def order_by_share(
    choices: Sequence[Choice], fixed: Collection[str], size: int, cap: int | None = None
) -> ShareOrder:
    """Order `choices`, best first, by the shares of a digest of `size` places.

    `fixed` are the sources of the items that have a place already, one for each; `cap` is a source's share
    (`source_cap`), that among `choices` if `None`. Within the shares the score alone decides: a weight or a
    boost is in it and does no more. Only for places that the shares leave over, with nothing wanted within
    its share to take them, does what is beyond its share come before what the reader wants less of and the
    score alone would not show. What then goes first scores higher as well.
    """
    cap, taken = source_cap(choices, fixed, size) if cap is None else cap, Counter(fixed)
    within: list[Choice] = []
    over: list[Choice] = []
    for choice in choices:
        (within if taken[choice.source] < cap else over).append(choice)
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
) -> list[int]:
    """Return the items `ranked`, best first, so ordered that sources alternate in the first ten places.

    `fixed` has the items with a place of their own, by rank from 1; `sources` the source of each item. Where
    the best would follow an item of its own source, or come right before a fixed one of it, the best of
    another source takes the place, and nothing else moves. What the reader wants less of (`unwanted`) is
    lifted past nothing. Each source's items stay in their order, and so does all beyond the tenth place.
    """
    waiting, order, before = list(ranked), list[int](), ""
    for rank in range(1, ALTERNATE_FIRST + 1):
        if rank in fixed:
            before = sources[fixed[rank]]
            continue
        if not waiting:
            break
        after = sources[fixed[rank + 1]] if rank < ALTERNATE_FIRST and rank + 1 in fixed else ""
        at = _place_of_next(waiting, sources, unwanted, before, after)
        order.append(waiting.pop(at))
        before = sources[order[-1]]
    return [*order, *waiting]


def _place_of_next(
    waiting: Sequence[int], sources: Mapping[int, str], unwanted: Collection[int], before: str, after: str
) -> int:
    """Return the place in `waiting` of what comes next: the best that is of neither source around it."""
    for around in ({before, after}, {before}):
        passed = {*around}
        for at, item in enumerate(waiting):
            if sources[item] not in passed and (at == 0 or item not in unwanted):
                return at
            passed.add(sources[item])
    return 0


def places_moved(shown: Sequence[tuple[int, float]]) -> dict[int, int]:
    """Return how many places lower (below 0: higher) than by score items stand, without those at it.

    `shown` are the items placed by score, with their scores, in the order of their places.
    """
    by_score = sorted(shown, key=lambda row: -row[1])
    at = {item: place for place, (item, _) in enumerate(by_score)}
    moved = {item: place - at[item] for place, (item, _) in enumerate(shown)}
    return {item: places for item, places in moved.items() if places}

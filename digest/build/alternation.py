"""Alternation: in the first places of a digest no source comes twice in a row where another waits. Pure."""

from collections.abc import Collection, Mapping, Sequence
from typing import Final

# A first page on a screen or in a mail.
ALTERNATE_FIRST: Final = 10


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

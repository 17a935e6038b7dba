"""What a digest is chosen from, and in which order candidates get a place: by score, within shares. Pure."""

import math
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import NamedTuple

from ranking.entities import WEIGHT_DEFAULT

# A source gets a third of the places, or an equal part where there are fewer than three sources.
SOURCE_PARTS = 3


class Choice(NamedTuple):
    """One candidate as it is chosen from: its source and story (`None`: nobody else tells it).

    `low`: its source's effective weight is below 1. `muted`: keywords count against it in sum. `score` is
    what it has, `at_par` what it would have at weight 1 and `unmuted` without the boosts below 0; both are
    `score` where nothing counts against it.
    """

    item_id: int
    source: str
    story: int | None = None
    low: bool = False
    muted: bool = False
    score: float = 0.0
    at_par: float = 0.0
    unmuted: float = 0.0


def source_cap(size: int, sources: int) -> int:
    """How many of `size` places one of a reader's `sources` may take while the others have anything."""
    return math.ceil(size / max(1, min(SOURCE_PARTS, sources)))


def choices_of(
    ids: Sequence[int],
    about: Mapping[int, tuple[str, int | None]],
    weights: Mapping[str, float],
    totals: Sequence[float],
    unmuted: Sequence[float],
    muted: Collection[int] = (),
) -> list[Choice]:
    """The choices of `ids`, in their order, which is that of `totals`, their scores.

    `about` tells source and story of each item, `weights` the effective weight of each source that has one of
    its own; `unmuted` are the scores without boosts below 0, `muted` those that keywords count against.
    """
    found = []
    for item_id, total, free in zip(ids, totals, unmuted, strict=True):
        source, story = about[item_id]
        weight = weights.get(source, WEIGHT_DEFAULT)
        low = weight < WEIGHT_DEFAULT
        par = total * WEIGHT_DEFAULT / weight if low else total
        found.append(Choice(item_id, source, story, low, item_id in muted, total, par, free))
    return found


def cap_of(choices: Iterable[Choice], kept: Collection[str], size: int) -> int:
    """The share of a source among `choices` and the sources of the items `kept` in place."""
    return source_cap(size, len({choice.source for choice in choices} | {*kept}))


class Shared(NamedTuple):
    """Candidates by what the shares say of them, each best first; `order` is that in which they get a place.

    `within` their source's share; `merely` beyond it, with nothing else against them.
    """

    order: list[Choice]
    within: list[Choice]
    merely: list[Choice]


def by_share(choices: Sequence[Choice], kept: Collection[str], size: int) -> Shared:
    """`choices`, best first, by the shares of a digest of `size` places.

    `kept` are the sources of the items that stand already, one for each. Within the shares the score alone
    decides: a weight or a boost is in it and does no more. Only for places that the shares leave over, with
    nothing wanted within its share to take them, does what is merely beyond its share come before what the
    reader wants less of and the score alone would not show. What then goes first scores higher as well.
    """
    cap, taken = cap_of(choices, kept, size), Counter(kept)
    within: list[Choice] = []
    beyond: list[Choice] = []
    for choice in choices:
        (within if taken[choice.source] < cap else beyond).append(choice)
        taken[choice.source] += 1
    by_score = {choice.item_id for choice in choices[: max(0, size - len(kept))]}
    turns = [n for n, c in enumerate(within, 1) if not less(c) or c.item_id in by_score]
    first = within[: turns[-1] if turns else 0]
    merely = [choice for choice in beyond if not less(choice)]
    served = {choice.item_id for choice in (*first, *merely)}
    rest = [choice for choice in choices if choice.item_id not in served]
    return Shared([*first, *merely, *rest], within, merely)


def less(choice: Choice) -> bool:
    """Whether the reader wants less of it, by its source's weight or by words."""
    return choice.low or choice.muted

"""Spread the items of an absence over its days. Pure."""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date

# Stories that several sources report have at most a third of the places, above the days.
REPORTED_PART = 3


@dataclass(frozen=True, slots=True)
class AbsenceItem:
    """One item of an absence: its source, its day in the reader's zone, and how many sources report it."""

    item_id: int
    source: str
    day: date
    reported_by: int = 1


@dataclass(frozen=True, slots=True)
class Section:
    """Items of one day, best first; `day` is `None` for the stories that several sources report."""

    day: date | None
    items: Sequence[int]


def absence_spread(ranked: Sequence[AbsenceItem], size: int, cap: int) -> list[Section]:
    """Return at most `size` of `ranked` (best first): stories of several sources, then days, the last first.

    Days take turns, so that each has its best as long as it has any, and within a day its sources take turns.
    No source has more than `cap` places while others have something.
    """
    reported = sorted((one for one in ranked if one.reported_by > 1), key=lambda one: -one.reported_by)[
        : size // REPORTED_PART
    ]
    taken = Counter(one.source for one in reported)
    placed = {one.item_id for one in reported}
    waiting: defaultdict[date, list[AbsenceItem]] = defaultdict(list)
    for one in ranked:
        if one.item_id not in placed:
            waiting[one.day].append(one)
    chosen: defaultdict[date, list[AbsenceItem]] = defaultdict(list)
    for most in (cap, len(ranked)):  # A second pass fills the places that the shares leave.
        _take_turns(waiting, chosen, taken, size - len(reported), most)
    days = [Section(day, [one.item_id for one in chosen[day]]) for day in sorted(chosen, reverse=True)]
    return ([Section(None, [one.item_id for one in reported])] if reported else []) + days


def _take_turns(
    waiting: Mapping[date, list[AbsenceItem]],
    chosen: Mapping[date, list[AbsenceItem]],
    taken: Counter[str],
    places: int,
    most: int,
) -> None:
    """Move items from `waiting` to `chosen`, one of each day in turn, until `places` are filled.

    Of a day it is the best item of a source that has the fewest there.
    """
    open_ = sorted(waiting, reverse=True)
    while open_ and sum(map(len, chosen.values())) < places:
        for day in list(open_):
            if sum(map(len, chosen.values())) >= places:
                return
            shown = Counter(one.source for one in chosen[day])
            open_to = (one for one in waiting[day] if taken[one.source] < most)
            found = min(open_to, key=lambda one: shown[one.source], default=None)
            if found is None:
                open_.remove(day)
                continue
            waiting[day].remove(found)
            chosen[day].append(found)
            taken[found.source] += 1

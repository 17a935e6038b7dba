"""The sample of a reader's ratings for a model: stratified, chosen by plain rules.

The quotas are the original program's: of 50 items 60 % liked and 70 % recent, no source with more than
ten. What one stratum cannot fill goes to the others, so that a short history is shown whole. Pure."""

from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import datetime

from digest.entities import RatedItem

PER_SOURCE_MAX = 10
TITLE_CHARS_MAX = 100
# (liked, recent) -> how many of 50, in the order in which strata are served.
QUOTAS = {(True, True): 21, (False, True): 14, (True, False): 9, (False, False): 6}

Stratum = tuple[bool, bool]


def curate(rated: Iterable[RatedItem], recent_since: datetime) -> list[RatedItem]:
    """Return at most 50 of `rated`: no item twice, at most ten of a source, strata by `QUOTAS`.

    Within a stratum ratings with a reason come before others, then the newest. Free places go first to the
    same rating at the other age, then to whatever is left. The result alternates between the strata in
    proportion to their shares, so that any prefix of it is balanced too.
    """
    strata: dict[Stratum, list[RatedItem]] = {key: [] for key in QUOTAS}
    for item in {item.item_id: item for item in rated}.values():
        strata[item.useful, item.at >= recent_since].append(item)
    picked: dict[Stratum, list[RatedItem]] = {key: [] for key in QUOTAS}
    used: Counter[str] = Counter()
    for stratum, rows in strata.items():
        rows.sort(key=_priority)
        _take(rows, picked[stratum], QUOTAS[stratum], used)
    for keys in (((True, True), (True, False)), ((False, True), (False, False)), tuple(QUOTAS)):
        for stratum in keys:
            free = sum(QUOTAS[key] - len(picked[key]) for key in keys)
            _take(strata[stratum], picked[stratum], free, used)
    return _alternated(list(picked.values()))


def cut_title(title: str) -> str:
    """Return `title` in at most 100 characters."""
    return title if len(title) <= TITLE_CHARS_MAX else f"{title[: TITLE_CHARS_MAX - 1]}…"


def _priority(item: RatedItem) -> tuple[bool, float, int]:
    return not (item.tags or item.other_reasons), -item.at.timestamp(), -item.item_id


def _take(rows: list[RatedItem], into: list[RatedItem], places: int, used: Counter[str]) -> None:
    """Move up to `places` of `rows` over, in order, leaving behind what would exceed a source's share."""
    left: list[RatedItem] = []
    for item in rows:
        if places > 0 and used[item.source] < PER_SOURCE_MAX:
            into.append(item)
            used[item.source] += 1
            places -= 1
        else:
            left.append(item)
    rows[:] = left


def _alternated(strata: Sequence[Sequence[RatedItem]]) -> list[RatedItem]:
    """Return the rows of all strata merged so that each is spread evenly over the whole."""
    placed = [
        ((n + 0.5) / len(rows), order, item)
        for order, rows in enumerate(strata)
        for n, item in enumerate(rows)
    ]
    return [item for _, _, item in sorted(placed, key=lambda row: row[:2])]

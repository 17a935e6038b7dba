"""What the page of left-out items shows, put together."""

from dataclasses import dataclass
from datetime import date as Date
from datetime import datetime
from typing import Any

from digest.left_out import kinds_of, why_left_out
from digest.models import Item, Reader
from digest.passing import Reason
from digest.presenters import FOUND
from digest.selectors.items import CANDIDATES_MAX
from digest.selectors.left_out import LeftOut, LeftOutItem, digest_left_out
from digest.showing import Scored, Shown, items_shown


@dataclass(frozen=True, slots=True)
class Passed:
    """One item that was left out: as pages show items, with the reason in words and who tells its story."""

    shown: Shown
    words: str
    teller: Item | None
    place: int


def left_out_page(reader: Reader, date: Date, reason: str, page: int, now: datetime) -> dict[str, Any]:
    """The items left out of a day's digest, for the reason named (all for any other word).

    As many queries however many items there are.
    """
    wanted = Reason(reason) if reason in set(Reason) else None
    found = digest_left_out(reader=reader, date=date, now=now, reason=wanted, page=page)
    if found is None:
        return {"date": date, "found": None}
    kinds = kinds_of(found.counts)
    return {
        "date": date,
        "found": found,
        "limit": CANDIDATES_MAX,
        "kinds": kinds,
        "kind": next((kind for kind in kinds if wanted and kind.code == wanted.value), None),
        "reason": wanted.value if wanted else "",
        "passed": _passed(reader, found, now),
    }


def _passed(reader: Reader, found: LeftOut, now: datetime) -> list[Passed]:
    scored = [Scored(row.item, row.score.parts.as_dict(), row.score.total, FOUND) for row in found.items]
    shown = items_shown(reader=reader, scored=scored, now=now) if scored else []
    return [_one(row, entry) for row, entry in zip(found.items, shown, strict=True)]


def _one(row: LeftOutItem, entry: Shown) -> Passed:
    teller = str(row.told_by.source) if row.told_by else ""
    weight = row.score.parts.source_weight
    words = why_left_out(row.reason, str(row.item.source), teller, weight)
    return Passed(entry, words, row.told_by, row.place)

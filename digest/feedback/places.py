"""The places of rated items on the pages that showed them."""

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import replace
from datetime import date, datetime, timedelta
from uuid import UUID

from django.db.models import Min

from digest.entities import ITEM_WINDOW_DAYS, RatedItem
from digest.models import Exposure


def feedback_placed(*, reader_id: UUID, rated: Sequence[RatedItem]) -> list[RatedItem]:
    """Return the ratings with the `place` of their items on the last page before; one query, or none.

    A place counts the items of the source that this day's page or mail showed so far, by their first ranks.
    """
    if not rated:
        return []
    oldest, newest = min(item.at for item in rated), max(item.at for item in rated)
    since = oldest - timedelta(days=ITEM_WINDOW_DAYS)
    rows = (
        Exposure.objects.filter(
            reader_id=reader_id, door__in=Exposure.PLACED, shown_at__gt=since, shown_at__lte=newest
        )
        .values_list("date", "door", "item__source_id", "item_id")
        .annotate(first_rank=Min("rank"), first_at=Min("shown_at"))
        .order_by("date", "first_rank")
    )
    counted: Counter[tuple[date, str, str]] = Counter()
    places: defaultdict[int, list[tuple[datetime, int]]] = defaultdict(list)
    for day, door, source, item, _rank, at in rows:
        counted[day, door, source] += 1
        places[item].append((at, counted[day, door, source]))
    return [
        replace(
            item, place=max((one for one in places[item.item_id] if one[0] <= item.at), default=(0, 0))[1]
        )
        for item in rated
    ]

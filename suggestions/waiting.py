"""Until when a suggestion waits: 14 days from its reader's next visit, and 90 days at most.

A week or more without a visit stops the clock, and the next visit starts it again. A visit is a page of a
digest that was shown; reader apps and mails fetch by themselves and count for nothing.
"""

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Sequence
from datetime import datetime, timedelta
from itertools import pairwise
from typing import NamedTuple
from uuid import UUID

from django.db.models import QuerySet
from django.db.models.functions import Coalesce

from digest.models import Exposure
from suggestions.models import Suggestion
from suggestions.proposals import AWAY_DAYS, EXPIRE_DAYS, WAIT_DAYS_MAX

_TWO_WEEKS, _AWAY, _MAX = (timedelta(days=days) for days in (EXPIRE_DAYS, AWAY_DAYS, WAIT_DAYS_MAX))


class Visits(NamedTuple):
    """When a suggestion began to wait, its reader's latest return since then, and their last visit at all.

    A return is a visit with no other since the suggestion began and within the week before it, so the first
    visit since then is one.
    """

    began: datetime
    returned: datetime | None
    seen: datetime | None


def waits_until(visits: Visits, *, now: datetime) -> datetime:
    """Return when the suggestion expires; of a reader who is away, as if they visited `now`.

    If the reader never saw a page, silence says nothing about absence: the 14 days count from the beginning.
    """
    began, returned, seen = visits
    if seen is None:
        return began + _TWO_WEEKS
    is_away = returned is None or (seen - returned <= _AWAY and now - seen >= _AWAY)
    return min(began + _MAX, (now if returned is None or is_away else returned) + _TWO_WEEKS)


def suggestions_wait_until(*, rows: QuerySet[Suggestion], now: datetime) -> dict[int, datetime]:
    """Return when each of `rows` expires if it gets no answer, by its id.

    Two queries for all readers, and one more if one of them has not been here since. Each showing is read
    once, however many suggestions wait: a query for each of a hundred took ten seconds for a reader of 400
    articles a day.
    """
    found = list(rows.order_by().values_list("pk", "reader_id", Coalesce("snoozed_until", "created_at")))
    if not found:
        return {}
    pages = Exposure.objects.filter(door=Exposure.Door.PAGE)
    first = min(began for *_row, began in found)
    since = pages.filter(shown_at__gte=first, reader__in=rows.order_by().values("reader"))
    visits: defaultdict[UUID, list[datetime]] = defaultdict(list)
    for reader_id, at in since.order_by("shown_at").values_list("reader_id", "shown_at").distinct():
        visits[reader_id].append(at)
    returns = {reader_id: _returns(times) for reader_id, times in visits.items()}
    away = {reader_id for _pk, reader_id, _began in found} - visits.keys()
    earlier = pages.filter(reader__in=away) if away else pages.none()
    here = visits.keys() | set(earlier.order_by().values_list("reader_id", flat=True).distinct())
    return {
        pk: waits_until(
            _visits(began, visits[reader_id], returns.get(reader_id, ()), was_here=reader_id in here), now=now
        )
        for pk, reader_id, began in found
    }


def _returns(times: Sequence[datetime]) -> list[datetime]:
    """Return the visits, of those in `times`, with none in the week before."""
    return [at for before, at in pairwise(times) if at - before >= _AWAY]


def _visits(
    began: datetime, times: Sequence[datetime], returns: Sequence[datetime], *, was_here: bool
) -> Visits:
    """Return a reader's visits since a suggestion `began`, of those at `times` and the `returns` of these."""
    first = bisect_left(times, began)
    if first == len(times):
        return Visits(began, None, began if was_here else None)
    returned = max(times[first], returns[-1]) if returns else times[first]
    return Visits(began, returned, times[-1])

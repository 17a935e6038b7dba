"""Until when a suggestion waits: 14 days from its reader's next visit, and 90 days at most.

A week or more without a visit stops the clock, and the next visit starts it again. A visit is a page of a
digest that was shown; reader apps and mails fetch by themselves and count for nothing.
"""

from datetime import datetime, timedelta
from typing import NamedTuple

from django.db.models import Exists, F, OuterRef, QuerySet, Subquery
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
    """Return when each of `rows` expires if it gets no answer, by its id; one query for all readers."""
    pages = Exposure.objects.filter(reader=OuterRef("reader"), door=Exposure.Door.PAGE)
    earlier = pages.filter(
        shown_at__lt=OuterRef("shown_at"),
        shown_at__gt=OuterRef("week_before"),
        shown_at__gte=OuterRef(OuterRef("began")),
    )
    since = pages.annotate(week_before=F("shown_at") - _AWAY).filter(shown_at__gte=OuterRef("began"))
    newest = [
        part.order_by("-shown_at").values("shown_at")[:1] for part in (since.exclude(Exists(earlier)), pages)
    ]
    found = rows.annotate(began=Coalesce("snoozed_until", "created_at")).annotate(
        returned=Subquery(newest[0]), seen=Subquery(newest[1])
    )
    columns = found.order_by().values_list("pk", "began", "returned", "seen")
    return {pk: waits_until(Visits(*visits), now=now) for pk, *visits in columns}

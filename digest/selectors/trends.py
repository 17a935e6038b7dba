"""How a reader's thumbs went, week by week."""

from collections.abc import Sequence
from datetime import UTC, date, datetime, time
from uuid import UUID

from django.db.models import Count, F, IntegerField, Q, Value
from django.db.models.functions import Cast

from digest.days import utc_day
from digest.models import Feedback
from digest.trends import WeekTally


def feedback_weeks(*, reader_id: UUID, starts: Sequence[date]) -> list[WeekTally]:
    """The reader's thumbs by source and week since the first of `starts` (Mondays in a row); one query.

    Thumbs count by UTC day, as everywhere in the statistics.
    """
    first = utc_day(datetime.combine(starts[0], time.min, UTC))
    week = Cast((F("day") - Value(first)) / Value(7), IntegerField())
    rows = (
        Feedback.objects.filter(reader_id=reader_id, day__gte=first, day__lt=first + 7 * len(starts))
        .values_list("item__source_id", week)
        .annotate(n=Count("pk"), likes=Count("pk", filter=Q(useful=True)))
        .order_by("item__source_id")
    )
    return [WeekTally(source, int(at), n, likes) for source, at, n, likes in rows]

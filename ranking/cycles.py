"""When the learning loop last looked at whom."""

from datetime import date
from uuid import UUID

from ranking.models import WeightSnapshot


def readers_learned(*, since: date) -> set[UUID]:
    """The readers with a learning cycle on `since` (a UTC day) or later; one query."""
    rows = WeightSnapshot.objects.filter(cycle__gte=since).order_by("reader_id")
    return set(rows.values_list("reader_id", flat=True).distinct())

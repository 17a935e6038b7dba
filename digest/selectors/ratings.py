"""How a reader rated what each source brought."""

from dataclasses import dataclass
from uuid import UUID

from django.db.models import Count, Q

from digest.models import Feedback


@dataclass(frozen=True, slots=True)
class Tally:
    """A reader's thumbs on one source's items: how many, and how many up."""

    n: int
    likes: int


def ratings_by_source(*, reader_id: UUID) -> dict[str, Tally]:
    """The reader's thumbs by source key; sources never rated are left out; one query."""
    rows = (
        Feedback.objects.filter(reader_id=reader_id)
        .values_list("item__source_id")
        .annotate(n=Count("pk"), likes=Count("pk", filter=Q(useful=True)))
        .order_by()
    )
    return {source: Tally(n, likes) for source, n, likes in rows}

"""Storing and deleting what a reader's opens say. It is worked out from their rows, so no version is kept."""

from datetime import datetime
from uuid import UUID

from ranking.implicit import ImplicitLeans
from ranking.models import ImplicitPreference


def implicit_store(*, reader_id: UUID, leans: ImplicitLeans, now: datetime) -> None:
    """Store what the reader's opens say, in place of what they said before."""
    columns = {
        "weight": leans.weight,
        "sources": {key: [one.log_odds, one.opened, one.shown] for key, one in leans.sources.items()},
        "categories": {key: [one.log_odds, one.opened, one.shown] for key, one in leans.categories.items()},
        "source_thumbs": dict(leans.source_thumbs),
        "category_thumbs": dict(leans.category_thumbs),
    }
    ImplicitPreference.objects.update_or_create(reader_id=reader_id, defaults=columns | {"updated_at": now})


def implicit_delete(*, reader_id: UUID) -> None:
    """Delete what the reader's opens say, where something is stored."""
    ImplicitPreference.objects.filter(reader_id=reader_id).delete()

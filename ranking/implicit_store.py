"""Store and delete implicit preferences. They can be computed again from events, so no versions are kept."""

from collections.abc import Collection, Mapping
from datetime import datetime
from uuid import UUID

from ranking.implicit import ImplicitLeans
from ranking.models import ImplicitPreference

FIELDS = ("weight", "sources", "categories", "source_thumbs", "category_thumbs", "updated_at")


def implicit_store(*, leans: Mapping[UUID, ImplicitLeans], now: datetime) -> None:
    """Store the implicit preferences of several readers, replacing older ones. One query."""
    ImplicitPreference.objects.bulk_create(
        (_row(reader_id, leans[reader_id], now) for reader_id in sorted(leans)),
        update_conflicts=True,
        unique_fields=["reader"],
        update_fields=FIELDS,
    )


def _row(reader_id: UUID, leans: ImplicitLeans, now: datetime) -> ImplicitPreference:
    return ImplicitPreference(
        reader_id=reader_id,
        weight=leans.weight,
        sources={key: [one.log_odds, one.opened, one.shown] for key, one in leans.sources.items()},
        categories={key: [one.log_odds, one.opened, one.shown] for key, one in leans.categories.items()},
        source_thumbs=dict(leans.source_thumbs),
        category_thumbs=dict(leans.category_thumbs),
        updated_at=now,
    )


def implicit_delete(*, reader_ids: Collection[UUID]) -> None:
    """Delete the implicit preferences of these readers. One query."""
    ImplicitPreference.objects.filter(reader_id__in=reader_ids).delete()

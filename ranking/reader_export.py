"""What ranking keeps of one reader."""

from collections.abc import Iterator
from uuid import UUID

from ranking.export_rows import export_rows
from ranking.models import ConfigVersion, LearnedWeight, RankConfig, WeightSnapshot


def reader_export_ranking(*, reader_id: UUID) -> Iterator[tuple[str, object]]:
    """(name, rows) of the reader's config, every version it had, and what the learning loop did beside it."""
    yield "config", export_rows(RankConfig.objects.filter(reader_id=reader_id))
    yield "config_versions", export_rows(ConfigVersion.objects.filter(reader_id=reader_id))
    yield "learned_weights", export_rows(LearnedWeight.objects.filter(reader_id=reader_id))
    yield "weight_snapshots", export_rows(WeightSnapshot.objects.filter(reader_id=reader_id))

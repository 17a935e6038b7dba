"""The one read path of ranking settings: whoever ranks, explains or compares asks here."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from ranking.entities import Config, EffectiveConfig
from ranking.models import ConfigVersion, LearnedWeight, RankConfig, WeightSnapshot


@dataclass(frozen=True, slots=True)
class VersionRow:
    """One line of a config's history."""

    version: int
    cause: str
    cause_ref: str
    body: dict[str, Any]
    changes: list[dict[str, Any]]
    created_at: datetime


@dataclass(frozen=True, slots=True)
class SnapshotRow:
    """One learning step, as shown to the reader."""

    source: str
    cycle: str
    before: float
    after: float
    reason: str


def config_effective(*, reader_id: UUID) -> EffectiveConfig:
    """The settings that rank for this reader now: config and learned deltas, in two queries."""
    row = RankConfig.objects.filter(reader_id=reader_id).first()
    deltas = LearnedWeight.objects.filter(reader_id=reader_id).exclude(delta=0.0)
    return EffectiveConfig(config_of_row(row), dict(deltas.values_list("source_key", "delta")))


def config_effective_many(*, reader_ids: Sequence[UUID]) -> dict[UUID, EffectiveConfig]:
    """`config_effective` of many readers in two queries."""
    rows = {row.reader_id: row for row in RankConfig.objects.filter(reader_id__in=reader_ids)}
    deltas: dict[UUID, dict[str, float]] = {}
    learned = LearnedWeight.objects.filter(reader_id__in=reader_ids).exclude(delta=0.0)
    for reader_id, source, delta in learned.values_list("reader_id", "source_key", "delta"):
        deltas.setdefault(reader_id, {})[source] = delta
    return {rid: EffectiveConfig(config_of_row(rows.get(rid)), deltas.get(rid, {})) for rid in reader_ids}


def config_of_row(row: RankConfig | None) -> Config:
    """The frozen config of a row; the defaults where a reader has none yet."""
    if row is None:
        return Config()
    return Config(
        version=row.version,
        topics=tuple(row.topics),
        source_weights=dict(row.source_weights),
        keyword_boosts=dict(row.keyword_boosts),
        recency_half_life_hours=row.recency_half_life_hours,
        ai_score_alpha=row.ai_score_alpha,
        locked=tuple(row.locked),
        avoided=tuple(row.avoided),
    )


def config_exists(*, reader_id: UUID) -> bool:
    """Whether the reader ever changed anything (the learning loop alone makes no version)."""
    return RankConfig.objects.filter(reader_id=reader_id, version__gt=0).exists()


def config_versions(*, reader_id: UUID, limit: int = 50) -> list[VersionRow]:
    """The newest versions first."""
    rows = ConfigVersion.objects.filter(reader_id=reader_id)[:limit]
    return [VersionRow(r.version, r.cause, r.cause_ref, r.body, r.changes, r.created_at) for r in rows]


def config_bodies(*, reader_id: UUID, versions: Sequence[int]) -> dict[int, dict[str, Any]]:
    """The bodies of those of the reader's `versions` that exist, by number; one query."""
    rows = ConfigVersion.objects.filter(reader_id=reader_id, version__in=versions)
    return dict(rows.values_list("version", "body"))


def config_changed_since(*, reader_id: UUID, version: int, causes: Sequence[str]) -> set[tuple[str, str]]:
    """The (field, target) pairs that writes of these causes changed after `version`."""
    rows = ConfigVersion.objects.filter(reader_id=reader_id, version__gt=version, cause__in=causes)
    return {(c["field"], c["target"]) for changes in rows.values_list("changes", flat=True) for c in changes}


def weights_last_learned(*, reader_id: UUID) -> datetime | None:
    """When the learning loop last looked at this reader; rows without thumbs are not the loop's."""
    rows = LearnedWeight.objects.filter(reader_id=reader_id, n__gt=0).order_by("-updated_at")
    return rows.values_list("updated_at", flat=True).first()


def weights_held(*, reader_id: UUID, now: datetime) -> set[str]:
    """The sources a person has decided on so recently that the loop must leave them alone."""
    rows = LearnedWeight.objects.filter(reader_id=reader_id, held_until__gt=now)
    return set(rows.values_list("source_key", flat=True))


def weight_snapshots(*, reader_id: UUID, limit: int = 60) -> list[SnapshotRow]:
    """The newest learning steps that moved something."""
    rows = WeightSnapshot.objects.filter(reader_id=reader_id, reason__startswith="liked_")[:limit]
    return [SnapshotRow(r.source_key, r.cycle.isoformat(), r.before, r.after, r.reason) for r in rows]

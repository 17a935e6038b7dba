"""The read path of ranking settings; within a request each is read once."""

from collections import defaultdict
from collections.abc import Callable, Collection, Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, time
from typing import Any, TypeVar
from uuid import UUID

from django.db.models import F, QuerySet

from ranking.common.rows import export_rows
from ranking.common.start import reader_sources_registered
from ranking.config_body import ConfigEdit, body_edit, body_effective, body_validate, effective_body
from ranking.entities import Config, EffectiveConfig, Mute, WeightPoint
from ranking.implicit import ImplicitLeans, Lean
from ranking.models import (
    ConfigVersion,
    ImplicitPreference,
    LearnedWeight,
    RankConfig,
    SourceAlias,
    WeightSnapshot,
)
from ranking.mutes import mutes_read

V = TypeVar("V")
_FOUND: ContextVar[dict[Hashable, Any] | None] = ContextVar("read_once", default=None)


@dataclass(frozen=True, slots=True)
class VersionRow:
    """One line of a config's history."""

    version: int
    cause: str
    cause_ref: str
    body: dict[str, Any]
    changes: list[dict[str, Any]]
    created_at: datetime
    note: str = ""


@dataclass(frozen=True, slots=True)
class SnapshotRow:
    """One learning step, as shown to the reader."""

    source: str
    cycle: date
    before: float
    after: float
    reason: str


@contextmanager
def reading_once() -> Iterator[None]:
    """Have `read_once` remember what it read until the block ends; one inside another shares the outer's."""
    if _FOUND.get() is not None:
        yield
        return
    token = _FOUND.set({})
    try:
        yield
    finally:
        _FOUND.reset(token)


def read_once(key: Hashable, read: Callable[[], V]) -> V:
    """Return what `read` returned for this key in the current `reading_once`; outside of one, read anew."""
    found = _FOUND.get()
    if found is None:
        return read()
    if key not in found:
        found[key] = read()
    value: V = found[key]
    return value


def read_again() -> None:
    """Forget what was read: something of it was written."""
    if found := _FOUND.get():
        found.clear()


def config_effective(*, reader_id: UUID) -> EffectiveConfig:
    """Return the settings that rank for this reader now: config and learned deltas, in two queries."""
    return config_effective_many(reader_ids=[reader_id])[reader_id]


def config_effective_many(*, reader_ids: Sequence[UUID]) -> dict[UUID, EffectiveConfig]:
    """Return `config_effective` of many readers in two queries."""
    rows = {row.reader_id: row for row in RankConfig.objects.filter(reader_id__in=reader_ids)}
    deltas: defaultdict[UUID, dict[str, float]] = defaultdict(dict)
    learned_at: dict[UUID, datetime] = {}
    learned = LearnedWeight.objects.filter(reader_id__in=reader_ids)
    for reader_id, source, delta, n, at in learned.values_list(
        "reader_id", "source_key", "delta", "n", "updated_at"
    ):
        if delta:
            deltas[reader_id][source] = delta
        if n > 0:  # rows without thumbs are not the loop's
            learned_at[reader_id] = max(at, learned_at.get(reader_id, at))
    return {
        rid: EffectiveConfig(config_of_row(rows.get(rid)), deltas.get(rid, {}), learned_at.get(rid))
        for rid in reader_ids
    }


def config_of_row(row: RankConfig | None) -> Config:
    """Return the config of a row; the defaults where a reader has none yet."""
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
        mutes=mutes_read(row.mutes),
    )


def config_mutes(*, reader_id: UUID) -> tuple[Mute, ...]:
    """Return all mutes of the reader's config, those that are over included; one query a request."""

    def read() -> tuple[Mute, ...]:
        row = RankConfig.objects.filter(reader_id=reader_id).values_list("mutes", flat=True).first()
        return mutes_read(row or [])

    return read_once(("mutes", reader_id), read)


def config_mutes_many(*, reader_ids: Sequence[UUID]) -> dict[UUID, tuple[Mute, ...]]:
    """Return `config_mutes` of those of many readers who have any; one query."""
    rows = RankConfig.objects.filter(reader_id__in=reader_ids).exclude(mutes=[])
    return {pk: mutes_read(mutes) for pk, mutes in rows.values_list("reader_id", "mutes")}


def config_edit_current(*, edit: ConfigEdit) -> ConfigEdit:
    """Return `edit` with the current keys of renamed sources."""
    weights = values_by_current_key(values=edit.source_weights or {})
    return replace(edit, source_weights=weights, pins=values_by_current_key(values=edit.pins or {}))


def config_edited(*, reader_id: UUID, edit: ConfigEdit) -> tuple[EffectiveConfig, EffectiveConfig]:
    """Return the reader's settings in force, and as they would be with `edit` saved; writes nothing.

    Raises `InvalidSetting` as `ranking.services.config_edit` does.
    """
    before = config_effective(reader_id=reader_id)
    body = effective_body(before)
    body_edit(body, config_edit_current(edit=edit))
    body_validate(body)
    return before, body_effective(body)


def sources_weighable(*, reader_id: UUID, effective: EffectiveConfig) -> set[str]:
    """Return the keys of the sources whose weight the reader may set: their own, and those that have one."""
    return {*effective.weights()}.union(*(read(reader_id=reader_id) for read in reader_sources_registered()))


def config_exists(*, reader_id: UUID) -> bool:
    """Return whether the reader ever changed anything (the learning loop alone makes no version)."""
    return RankConfig.objects.filter(reader_id=reader_id, version__gt=0).exists()


def config_versions(*, reader_id: UUID, limit: int = 50) -> list[VersionRow]:
    """Return the newest versions first."""
    return [_version_row(row) for row in ConfigVersion.objects.filter(reader_id=reader_id)[:limit]]


def config_versions_all(*, reader_id: UUID) -> QuerySet[ConfigVersion]:
    """Return every version, newest first, without the bodies, as a lazy query."""
    return ConfigVersion.objects.filter(reader_id=reader_id).defer("body")


def config_version(*, reader_id: UUID, version: int) -> VersionRow | None:
    """Return one version of the reader's config; `None` where there is none of that number."""
    row = ConfigVersion.objects.filter(reader_id=reader_id, version=version).first()
    return None if row is None else _version_row(row)


def _version_row(row: ConfigVersion) -> VersionRow:
    return VersionRow(row.version, row.cause, row.cause_ref, row.body, row.changes, row.created_at, row.note)


def weight_history(*, reader_id: UUID, since: datetime) -> list[WeightPoint]:
    """Return every effective weight that a person's write or a learning step set since then, oldest first.

    Two queries, without steps that moved nothing.
    """
    points = [
        WeightPoint(change["target"], row.created_at, change["before"], change["after"], row.cause)
        for row in ConfigVersion.objects.filter(reader_id=reader_id, created_at__gte=since).defer("body")
        for change in row.changes
        if change["field"] == "source_weights"
    ]
    moved = WeightSnapshot.objects.filter(reader_id=reader_id, cycle__gte=since.date())
    points += [
        WeightPoint(
            row.source_key, datetime.combine(row.cycle, time.max, UTC), row.before, row.after, "learned"
        )
        for row in moved.exclude(after=F("before"))
    ]
    return sorted(points, key=lambda point: (point.at, point.source))


def config_bodies(*, reader_id: UUID, versions: Sequence[int]) -> dict[int, dict[str, Any]]:
    """Return the bodies of those of the reader's `versions` that exist, by number; one query."""
    rows = ConfigVersion.objects.filter(reader_id=reader_id, version__in=versions)
    return dict(rows.values_list("version", "body"))


def config_changed_since(*, reader_id: UUID, version: int, causes: Sequence[str]) -> set[tuple[str, str]]:
    """Return the (field, target) pairs that writes of these causes changed after `version`."""
    rows = ConfigVersion.objects.filter(reader_id=reader_id, version__gt=version, cause__in=causes)
    return {(c["field"], c["target"]) for changes in rows.values_list("changes", flat=True) for c in changes}


def config_changed_by(*, reader_id: UUID, ref: str, since: datetime) -> set[tuple[str, str]]:
    """Return the (field, target) pairs that writes whose reference begins so changed; one query."""
    rows = ConfigVersion.objects.filter(reader_id=reader_id, cause_ref__startswith=ref, created_at__gt=since)
    return {(c["field"], c["target"]) for changes in rows.values_list("changes", flat=True) for c in changes}


def changes_since(*, reader_id: UUID, version: int) -> list[dict[str, Any]]:
    """Return every change (a row of `body_changes`) made after `version`, oldest first; one query."""
    rows = ConfigVersion.objects.filter(reader_id=reader_id, version__gt=version).order_by("version")
    return [change for changes in rows.values_list("changes", flat=True) for change in changes]


def weights_on_hold(*, reader_id: UUID, now: datetime) -> set[str]:
    """Return the sources a person decided on so recently that the loop must leave them alone."""
    return weights_on_hold_many(reader_ids=[reader_id], now=now).get(reader_id, set())


def weights_on_hold_many(*, reader_ids: Collection[UUID], now: datetime) -> dict[UUID, set[str]]:
    """Return `weights_on_hold` of those of some readers who decided on any; one query."""
    rows = LearnedWeight.objects.filter(reader_id__in=reader_ids, on_hold_until__gt=now)
    found: defaultdict[UUID, set[str]] = defaultdict(set)
    for reader_id, source in rows.values_list("reader_id", "source_key"):
        found[reader_id].add(source)
    return found


def weight_snapshots(*, reader_id: UUID, limit: int = 60) -> list[SnapshotRow]:
    """Return the newest learning steps that moved something."""
    rows = WeightSnapshot.objects.filter(reader_id=reader_id, reason__startswith="liked_")[:limit]
    return [SnapshotRow(r.source_key, r.cycle, r.before, r.after, r.reason) for r in rows]


def learning_steps(
    *, reader_ids: Collection[UUID], since: date
) -> dict[UUID, tuple[date, dict[str, tuple[float, float]]]]:
    """Return by reader the newest learning cycle since that UTC day, with the weights it moved; one query.

    Weights are effective ones, by source, as (before, after). Who had no weight moved is missing.
    """
    rows = WeightSnapshot.objects.filter(reader_id__in=reader_ids, cycle__gte=since).exclude(
        after=F("before")
    )
    found: dict[UUID, tuple[date, dict[str, tuple[float, float]]]] = {}
    fields = ("reader_id", "cycle", "source_key", "before", "after")
    for reader_id, cycle, source, before, after in rows.order_by("-cycle").values_list(*fields):
        newest, steps = found.setdefault(reader_id, (cycle, {}))
        if newest == cycle:
            steps[source] = (before, after)
    return found


def versions_of_order(*, since: Mapping[UUID, int]) -> dict[UUID, int]:
    """Return by reader their newest version after the given one that may move items; one query.

    Pins, and an operator's renaming of a source, move nothing and do not count.
    """
    if not since:
        return {}
    rows = ConfigVersion.objects.filter(reader_id__in=list(since), version__gt=min(since.values()))
    rows = rows.exclude(cause=ConfigVersion.Cause.PIN).exclude(cause_ref__startswith="source:")
    found: dict[UUID, int] = {}
    for reader_id, version in rows.order_by("version").values_list("reader_id", "version"):
        if version > since[reader_id]:
            found[reader_id] = version
    return found


def implicit_leans_many(*, reader_ids: Collection[UUID]) -> dict[UUID, tuple[ImplicitLeans, datetime]]:
    """Return by reader what their opens say, and as of when; who has nothing stored is missing; one query."""
    return {
        row.reader_id: (
            ImplicitLeans(
                row.weight,
                {key: Lean(*one) for key, one in row.sources.items()},
                {key: Lean(*one) for key, one in row.categories.items()},
                row.source_thumbs,
                row.category_thumbs,
            ),
            row.updated_at,
        )
        for row in ImplicitPreference.objects.filter(reader_id__in=list(reader_ids))
    }


def keys_current(*, keys: Collection[str]) -> dict[str, str]:
    """Return those of `keys` that sources once had, with the current key of each; one query at most."""
    if not keys:
        return {}
    return dict(SourceAlias.objects.filter(key__in=keys).values_list("key", "target"))


def key_current(*, key: str) -> str:
    """Return the current key for `key`: another one where its source was renamed or joined; one query."""
    return keys_current(keys=[key]).get(key, key)


def values_by_current_key(*, values: Mapping[str, V]) -> dict[str, V]:
    """Return `values` by the current keys; a value of a current key counts before that of an old one."""
    renamed = keys_current(keys=values.keys())
    by_old = {new: values[old] for old, new in renamed.items()}
    return by_old | {key: value for key, value in values.items() if key not in renamed}


def readers_learned(*, since: date, among: Collection[UUID] | None = None) -> set[UUID]:
    """Return the readers, or those `among` some, with a learning cycle on `since` (a UTC day) or later."""
    rows = WeightSnapshot.objects.filter(cycle__gte=since).order_by("reader_id")
    if among is not None:
        rows = rows.filter(reader_id__in=among)
    return set(rows.values_list("reader_id", flat=True).distinct())


def reader_export_ranking(*, reader_id: UUID) -> Iterator[tuple[str, object]]:
    """Yield (name, rows) of the reader's config, its versions, and what the learning loop did."""
    yield "config", export_rows(RankConfig.objects.filter(reader_id=reader_id))
    yield "config_versions", export_rows(ConfigVersion.objects.filter(reader_id=reader_id))
    yield "learned_weights", export_rows(LearnedWeight.objects.filter(reader_id=reader_id))
    yield "weight_snapshots", export_rows(WeightSnapshot.objects.filter(reader_id=reader_id))
    yield "implicit_preference", export_rows(ImplicitPreference.objects.filter(reader_id=reader_id))

"""Read ranking settings. Within `reading_once` (a request, for example) each is queried only once."""

from collections import defaultdict
from collections.abc import Callable, Collection, Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, time, timedelta
from itertools import pairwise
from typing import Any, NamedTuple, TypeVar
from uuid import UUID

from django.db.models import F, Max, Q, QuerySet

from ranking.common.rows import export_rows
from ranking.config_body import (
    Body,
    Change,
    ConfigEdit,
    body_before,
    body_default,
    body_edit,
    body_effective,
    body_keys,
    body_keys_current,
    body_validate,
    effective_body,
    effective_without,
    weights_changed,
)
from ranking.entities import SAME_WEIGHT, Config, EffectiveConfig, Mute, WeightPoint
from ranking.implicit import ImplicitLeans, Lean
from ranking.learning import HOLD_DAYS
from ranking.models import (
    ConfigVersion,
    ImplicitPreference,
    LearnedWeight,
    RankConfig,
    SourceAlias,
    WeightSnapshot,
)
from ranking.mutes import mutes_read
from ranking.other_names import OTHER_NAMES, names_read
from ranking.taste.entities import TasteLevel

V = TypeVar("V")
_FOUND: ContextVar[dict[Hashable, Any] | None] = ContextVar("read_once", default=None)


@dataclass(frozen=True, slots=True)
class VersionRow:
    """One version in a config's history."""

    version: int
    cause: str
    cause_ref: str
    body: dict[str, Any]
    changes: list[dict[str, Any]]
    created_at: datetime
    note: str = ""


@dataclass(frozen=True, slots=True)
class SnapshotRow:
    """One learning step that moved a weight, for the reader's page."""

    source: str
    cycle: date
    before: float
    after: float
    reason: str


class Hiding(NamedTuple):
    """Settings that hide items: all mutes, even those that are over, and shelf lives of sources in hours."""

    mutes: tuple[Mute, ...]
    shelf_lives: Mapping[str, int]


@contextmanager
def reading_once() -> Iterator[None]:
    """Make `read_once` remember its results until the block ends. A nested block shares the outer memory."""
    if _FOUND.get() is not None:
        yield
        return
    token = _FOUND.set({})
    try:
        yield
    finally:
        _FOUND.reset(token)


def read_once(key: Hashable, read: Callable[[], V]) -> V:
    """Return the result of `read()` for this key. Inside `reading_once` call it only the first time."""
    found = _FOUND.get()
    if found is None:
        return read()
    if key not in found:
        found[key] = read()
    value: V = found[key]
    return value


def read_again() -> None:
    """Forget all remembered results, because a setting was written."""
    if found := _FOUND.get():
        found.clear()


def config_effective(*, reader_id: UUID) -> EffectiveConfig:
    """Return the reader's effective config (with learned deltas), which all ranking uses. Two queries."""
    return config_effective_many(reader_ids=[reader_id])[reader_id]


def config_effective_many(*, reader_ids: Sequence[UUID]) -> dict[UUID, EffectiveConfig]:
    """Return the effective configs of many readers by reader id. Two queries."""
    rows = {row.reader_id: row for row in RankConfig.objects.filter(reader_id__in=reader_ids)}
    deltas: defaultdict[UUID, dict[str, float]] = defaultdict(dict)
    learned_at: dict[UUID, datetime] = {}
    learned = LearnedWeight.objects.filter(reader_id__in=reader_ids)
    for reader_id, source, delta, n, at in learned.values_list(
        "reader_id", "source_key", "delta", "n", "updated_at"
    ):
        if delta:
            deltas[reader_id][source] = delta
        if n > 0:  # the loop never writes rows without thumbs
            learned_at[reader_id] = max(at, learned_at.get(reader_id, at))
    return {
        rid: EffectiveConfig(config_of_row(rows.get(rid)), deltas.get(rid, {}), learned_at.get(rid))
        for rid in reader_ids
    }


def topics_of_all_readers() -> set[str]:
    """Return every topic of any reader's settings, and every boosted word that matches by meaning, as spelled
    there; one query."""
    rows = RankConfig.objects.exclude(topics=[], by_meaning=[])
    found = set[str]()
    for topics, words in rows.values_list("topics", "by_meaning").iterator():
        found.update(topics, words)
    return found


def config_of_row(row: RankConfig | None) -> Config:
    """Return the config of a row, or the defaults without a row."""
    if row is None:
        return Config()
    return Config(
        version=row.version,
        topics=tuple(row.topics),
        source_weights=dict(row.source_weights),
        keyword_boosts=dict(row.keyword_boosts),
        recency_half_life_hours=row.recency_half_life_hours,
        recency_by_day=row.recency_by_day,
        ai_score_alpha=row.ai_score_alpha,
        locked=tuple(row.locked),
        avoided=tuple(row.avoided),
        literal=tuple(row.literal),
        by_meaning=tuple(row.by_meaning),
        other_names=names_read({OTHER_NAMES: row.other_names}),
        taste=TasteLevel(row.taste),
        shelf_lives=dict(row.shelf_lives),
        daily_limits=dict(row.daily_limits),
        never_missed=tuple(row.never_missed),
        mutes=mutes_read(row.mutes),
    )


def config_hiding(*, reader_id: UUID) -> Hiding:
    """Return the reader's settings that hide items. One query a request."""

    def read() -> Hiding:
        row = RankConfig.objects.filter(reader_id=reader_id).values_list("mutes", "shelf_lives").first()
        mutes, lives = row or ([], {})
        return Hiding(mutes_read(mutes), lives)

    return read_once(("hiding", reader_id), read)


def config_mutes_many(*, reader_ids: Sequence[UUID]) -> dict[UUID, tuple[Mute, ...]]:
    """Return the mutes of many readers by reader id. Readers without mutes are left out. One query."""
    rows = RankConfig.objects.filter(reader_id__in=reader_ids).exclude(mutes=[])
    return {pk: mutes_read(mutes) for pk, mutes in rows.values_list("reader_id", "mutes")}


def config_edit_current(*, edit: ConfigEdit) -> ConfigEdit:
    """Return `edit` with the current keys of renamed sources."""
    weights = values_by_current_key(values=edit.source_weights or {})
    return replace(
        edit,
        source_weights=weights,
        pins=values_by_current_key(values=edit.pins or {}),
        source_rules=values_by_current_key(values=edit.source_rules or {}),
    )


def config_with_edit(*, reader_id: UUID, edit: ConfigEdit) -> tuple[EffectiveConfig, EffectiveConfig]:
    """Return the reader's settings without and with `edit` applied, and store nothing.

    Raises `InvalidSetting` as `ranking.services.config_edit` does.
    """
    before = config_effective(reader_id=reader_id)
    body = effective_body(before)
    body_edit(body, config_edit_current(edit=edit))
    body_validate(body)
    return before, body_effective(body)


def config_exists(*, reader_id: UUID) -> bool:
    """Return whether the reader ever changed a setting. The learning loop makes no version."""
    return RankConfig.objects.filter(reader_id=reader_id, version__gt=0).exists()


def config_versions(*, reader_id: UUID, limit: int = 50) -> list[VersionRow]:
    """Return up to `limit` versions with their bodies, newest first."""
    return [_version_row(row) for row in ConfigVersion.objects.filter(reader_id=reader_id)[:limit]]


def config_versions_all(*, reader_id: UUID) -> QuerySet[ConfigVersion]:
    """Return all versions without their bodies, newest first, as a lazy query."""
    return ConfigVersion.objects.filter(reader_id=reader_id).defer("body")


def config_versions_of_order(*, reader_id: UUID) -> list[tuple[int, datetime]]:
    """Return number and time of the versions that a person or an update made, and no suggestion. One query.

    Pins and renamed sources, which change no order, are left out.
    """
    of_suggestions = Q(cause=ConfigVersion.Cause.ACCEPT, cause_ref__regex=r"^\d+$")
    of_suggestions |= Q(cause_ref__startswith="revert:")
    rows = ConfigVersion.objects.filter(~of_suggestions, reader_id=reader_id)
    rows = rows.exclude(cause=ConfigVersion.Cause.PIN).exclude(cause_ref__startswith="source:")
    return list(rows.values_list("version", "created_at"))


def learning_count(*, reader_id: UUID, since: datetime, until: datetime) -> int:
    """Return on how many days of that time learning changed the reader's order; one query.

    Every version of the settings is somebody's decision, so this is all that changes by itself. A step counts
    by its UTC day.
    """
    first, last = since.astimezone(UTC).date(), until.astimezone(UTC).date()
    steps = WeightSnapshot.objects.filter(reader_id=reader_id, reason__startswith="liked_")
    return steps.filter(cycle__gt=first, cycle__lte=last).order_by().values("cycle").distinct().count()


def config_versions_by_number(*, reader_id: UUID, versions: Sequence[int]) -> dict[int, VersionRow]:
    """Return the reader's `versions` by number. Their changes name sources by current keys. Two queries."""
    rows = ConfigVersion.objects.filter(reader_id=reader_id, version__in=versions)
    found = {row.version: _version_row(row) for row in rows}
    renamed = keys_current(keys={c["target"] for row in found.values() for c in row.changes})
    return {
        number: replace(
            row, changes=[{**c, "target": renamed.get(c["target"], c["target"])} for c in row.changes]
        )
        for number, row in found.items()
    }


def config_bodies_before(*, reader_id: UUID, rows: Mapping[int, VersionRow]) -> dict[int, Body]:
    """Return the body right before each of the reader's versions in `rows`, with current keys of sources.

    Three queries.
    """
    numbers = ConfigVersion.objects.filter(reader_id=reader_id).order_by("version")
    known = list(numbers.values_list("version", flat=True))
    earlier = {now: before for before, now in pairwise(known) if now in rows}
    bodies = config_bodies(reader_id=reader_id, versions=list(earlier.values()))
    renamed = keys_current(keys=set().union(*map(body_keys, bodies.values())))
    found = {number: body_keys_current(bodies[one], renamed) for number, one in earlier.items()}
    return {
        number: body_before(found.get(number) or body_default(), row.changes) for number, row in rows.items()
    }


def config_version(*, reader_id: UUID, version: int) -> VersionRow | None:
    """Return one version of the reader's config, or `None` if the reader never had it."""
    row = ConfigVersion.objects.filter(reader_id=reader_id, version=version).first()
    return None if row is None else _version_row(row)


def _version_row(row: ConfigVersion) -> VersionRow:
    return VersionRow(row.version, row.cause, row.cause_ref, row.body, row.changes, row.created_at, row.note)


def weight_history(*, reader_id: UUID, since: datetime) -> list[WeightPoint]:
    """Return all changes of effective weights since `since`, oldest first: by a person or by a learning step.

    Two queries. Learning steps that moved nothing are left out.
    """
    points = [
        WeightPoint(change["target"], row.created_at, change["before"], change["after"], row.cause)
        for row in ConfigVersion.objects.filter(reader_id=reader_id, created_at__gte=since).defer("body")
        for change in weights_changed(row.changes)
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
    """Return the bodies of the reader's `versions` by number, without those that do not exist. One query."""
    rows = ConfigVersion.objects.filter(reader_id=reader_id, version__in=versions)
    return dict(rows.values_list("version", "body"))


def config_changed_since(*, reader_id: UUID, version: int, causes: Sequence[str]) -> set[tuple[str, str]]:
    """Return the (field, target) pairs changed after `version` by writes with one of these causes."""
    rows = ConfigVersion.objects.filter(reader_id=reader_id, version__gt=version, cause__in=causes)
    return {(c["field"], c["target"]) for changes in rows.values_list("changes", flat=True) for c in changes}


def config_changed_by(*, reader_id: UUID, ref: str, since: datetime) -> dict[tuple[str, str], datetime]:
    """Return when writes with a `cause_ref` beginning with `ref` last changed each (field, target).

    Only writes after `since` count. One query.
    """
    rows = ConfigVersion.objects.filter(reader_id=reader_id, cause_ref__startswith=ref, created_at__gt=since)
    found = rows.order_by("version").values_list("changes", "created_at")
    return {(c["field"], c["target"]): at for changes, at in found for c in changes}


def config_changed_to(
    *, reader_id: UUID, field: str, target: str, after: object, since: datetime
) -> datetime | None:
    """Return when a write after `since` last gave this target of `field` the value `after`. One query."""
    rows = ConfigVersion.objects.filter(reader_id=reader_id, created_at__gt=since).order_by("-version")
    for changes, at in rows.values_list("changes", "created_at"):
        if any((c["field"], c["target"], c["after"]) == (field, target, after) for c in changes):
            return at
    return None


def decisions_in_force(*, reader_id: UUID, weights: Mapping[str, float], since: datetime) -> dict[str, int]:
    """Return the sources that a decision after `since` gave the weight they have in `weights`. One query.

    Each has the way of the newest one: 1 up, -1 down. Undos are no decisions.
    """
    rows = ConfigVersion.objects.filter(reader_id=reader_id, created_at__gt=since)
    rows = rows.exclude(cause=ConfigVersion.Cause.REVERT).order_by("version")
    found: dict[str, int] = {}
    for changes in rows.values_list("changes", flat=True):
        for change in weights_changed(changes):
            weight = weights.get(change["target"])
            if weight is not None and abs(change["after"] - weight) < SAME_WEIGHT:
                found[change["target"]] = 1 if change["after"] > change["before"] else -1
    return found


def changes_since(*, reader_id: UUID, version: int) -> list[dict[str, Any]]:
    """Return all changes (rows of `body_changes`) made after `version`, oldest first. One query."""
    rows = ConfigVersion.objects.filter(reader_id=reader_id, version__gt=version).order_by("version")
    return [change for changes in rows.values_list("changes", flat=True) for change in changes]


def weights_on_hold(*, reader_id: UUID, now: datetime) -> set[str]:
    """Return the sources that the loop must leave alone, because a person recently decided on them."""
    return {*weights_on_hold_many(reader_ids=[reader_id], now=now).get(reader_id, ())}


def weights_on_hold_many(*, reader_ids: Collection[UUID], now: datetime) -> dict[UUID, dict[str, int]]:
    """Return `weights_on_hold` by reader id, each with the way of the decision: 1 up, -1 down, 0 unknown, or
    `TAKEN_BACK`.

    Readers without such sources are left out. One query.
    """
    rows = LearnedWeight.objects.filter(reader_id__in=reader_ids, on_hold_until__gt=now)
    found: defaultdict[UUID, dict[str, int]] = defaultdict(dict)
    for reader_id, source, way in rows.values_list("reader_id", "source_key", "on_hold_way"):
        found[reader_id][source] = way
    return found


def weights_decided_many(*, reader_ids: Collection[UUID]) -> dict[UUID, dict[str, datetime]]:
    """Return when each reader last set the weight of a source themselves, by source. One query.

    Readers without such sources are left out.
    """
    rows = LearnedWeight.objects.filter(reader_id__in=reader_ids, on_hold_until__isnull=False)
    found: defaultdict[UUID, dict[str, datetime]] = defaultdict(dict)
    for reader_id, source, until in rows.values_list("reader_id", "source_key", "on_hold_until"):
        if until:
            found[reader_id][source] = until - timedelta(days=HOLD_DAYS)
    return found


def weight_snapshots(*, reader_id: UUID, limit: int = 60) -> list[SnapshotRow]:
    """Return up to `limit` learning steps that moved a weight, newest first."""
    rows = WeightSnapshot.objects.filter(reader_id=reader_id, reason__startswith="liked_")[:limit]
    return [SnapshotRow(r.source_key, r.cycle, r.before, r.after, r.reason) for r in rows]


def learning_steps(
    *, reader_ids: Collection[UUID], since: date
) -> dict[UUID, tuple[date, dict[str, tuple[float, float]]]]:
    """Return each reader's newest learning cycle since a UTC day, with the weights it moved. One query.

    Weights are effective ones, by source, as (before, after). Readers without a moved weight are left out.
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


def versions_of_order(
    *, since: Mapping[UUID, int], configs: Mapping[UUID, EffectiveConfig]
) -> dict[UUID, tuple[int, EffectiveConfig]]:
    """Return for each reader the newest version after the given one that may change the order, and their
    settings in `configs` without that one change.

    Pins and renamed sources cannot change the order. Readers without such a version are left out. Two
    queries, or one if nothing changed, or none without readers.
    """
    if not since:
        return {}
    rows = ConfigVersion.objects.filter(reader_id__in=list(since), version__gt=min(since.values()))
    rows = rows.exclude(cause=ConfigVersion.Cause.PIN).exclude(cause_ref__startswith="source:")
    found: dict[UUID, tuple[int, list[Change]]] = {}
    for reader_id, version, changes in rows.order_by("version").values_list(
        "reader_id", "version", "changes"
    ):
        if version > since[reader_id]:
            found[reader_id] = version, changes
    if not found:
        return {}
    earlier = ConfigVersion.objects.filter(
        reader_id__in=list(found), version__in={version - 1 for version, _ in found.values()}
    )
    bodies = {(pk, number): body for pk, number, body in earlier.values_list("reader_id", "version", "body")}
    return {
        pk: (
            version,
            effective_without(configs[pk], changes, bodies.get((pk, version - 1)) or body_default()),
        )
        for pk, (version, changes) in found.items()
    }


def implicit_leans_many(*, reader_ids: Collection[UUID]) -> dict[UUID, tuple[ImplicitLeans, datetime]]:
    """Return the stored implicit preferences by reader id, with the time they were computed. One query."""
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
    """Return the current key for each of `keys` that is an old key. Current keys are left out. One query."""
    if not keys:
        return {}
    return dict(SourceAlias.objects.filter(key__in=keys).values_list("key", "target"))


def key_current(*, key: str) -> str:
    """Return the current key for `key`, which differs if the source was renamed or joined. One query."""
    return keys_current(keys=[key]).get(key, key)


def body_current(*, body: Body) -> Body:
    """Return a copy of a version's body with the current keys of sources; one query at most."""
    return body_keys_current(body, keys_current(keys=body_keys(body)))


def values_by_current_key(*, values: Mapping[str, V]) -> dict[str, V]:
    """Return `values` by current keys. The value of a current key wins over that of an old one."""
    renamed = keys_current(keys=values.keys())
    by_old = {new: values[old] for old, new in renamed.items()}
    return by_old | {key: value for key, value in values.items() if key not in renamed}


def readers_learned(*, since: date, among: Collection[UUID] | None = None) -> set[UUID]:
    """Return the ids of readers (only those in `among`, if given) with a learning cycle since a UTC day."""
    rows = WeightSnapshot.objects.filter(cycle__gte=since).order_by("reader_id")
    if among is not None:
        rows = rows.filter(reader_id__in=among)
    return set(rows.values_list("reader_id", flat=True).distinct())


def cycles_last() -> dict[UUID, date]:
    """Return the UTC day of each reader's last learning cycle. One query."""
    rows = WeightSnapshot.objects.order_by().values("reader_id").annotate(last=Max("cycle"))
    return dict(rows.values_list("reader_id", "last"))


def reader_export_ranking(*, reader_id: UUID) -> Iterator[tuple[str, object]]:
    """Yield (name, rows) of each ranking table of the reader, for the export."""
    yield "config", export_rows(RankConfig.objects.filter(reader_id=reader_id))
    yield "config_versions", export_rows(ConfigVersion.objects.filter(reader_id=reader_id))
    yield "learned_weights", export_rows(LearnedWeight.objects.filter(reader_id=reader_id))
    yield "weight_snapshots", export_rows(WeightSnapshot.objects.filter(reader_id=reader_id))
    yield "implicit_preference", export_rows(ImplicitPreference.objects.filter(reader_id=reader_id))

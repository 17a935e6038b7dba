"""Write ranking settings. Each write is one transaction and makes one new `ConfigVersion`."""

from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from uuid import UUID

from django.db import transaction
from django.db.models import Exists, F, OuterRef, Q
from django.utils.translation import gettext

from ranking.common.isolation import READER, isolate
from ranking.common.rows import retention_start, rows_delete
from ranking.common.text import topic_key
from ranking.config_body import (
    Body,
    Change,
    ConfigEdit,
    body_changes,
    body_default,
    body_delta,
    body_edit,
    body_effective,
    body_keys,
    body_keys_current,
    body_of,
    body_pin,
    body_source_copy,
    body_source_rename,
    body_take_back,
    body_validate,
    body_weigh,
    changes_in_force,
    mute_sources,
    weights_changed,
)
from ranking.config_words import REDONE, UNDONE, change_words
from ranking.entities import (
    SAME_WEIGHT,
    WEIGHT_DEFAULT,
    EffectiveConfig,
    Mute,
    StaleVersion,
    TooManyChanges,
    UnknownVersion,
    WeightChange,
)
from ranking.learning import HOLD_DAYS
from ranking.models import ConfigVersion, LearnedWeight, RankConfig, SourceAlias, WeightSnapshot
from ranking.mutes import SOURCE, mute_key, mutes_read
from ranking.selectors import (
    changes_since,
    config_bodies_before,
    config_edit_current,
    config_of_row,
    config_versions_by_number,
    decisions_in_force,
    key_current,
    keys_current,
    read_again,
    values_by_current_key,
)
from ranking.source_rules import NEVER_MISSED, RANGES, SourceRules, rules_set, rules_sources
from ranking.taste.entities import TAKEN_BACK

Cause = ConfigVersion.Cause
# Far above a person's need. A version holds the whole body, so this limits a reader's storage.
CHANGES_PER_DAY = 500
# Versions made by hand are merged at night, once pages can no longer undo them one by one.
BY_HAND = Q(cause__in=[Cause.EDIT, Cause.PIN], cause_ref="", note="")
BY_HAND |= Q(cause=Cause.REVERT, cause_ref__regex=r"^\d+$")
MERGED_WITHIN, MERGED_AFTER, MERGED_DAILY_AFTER = timedelta(seconds=60), timedelta(days=1), timedelta(days=30)
# Prefixes of a version's `cause_ref`. An operator renamed a source: the old key follows.
RENAMED = "source:"
# The reader took a learning cycle back: its UTC day follows.
LEARNED = "learned:"
# Causes that are undos: of a version, of a suggestion, of learning.
UNDOS = (UNDONE, "revert:", LEARNED)


def config_edit(
    *,
    reader_id: UUID,
    edit: ConfigEdit,
    expected_version: int,
    now: datetime,
    note: str = "",
    cause: Cause = Cause.EDIT,
    ref: str = "",
) -> int:
    """Save a person's own change. Return the new version, or the current one if nothing changed.

    `note` is the person's request in their own words, stored with the version. `cause` and `ref` name the
    origin of the change. Raises `StaleVersion` if the config is no longer at `expected_version`, and
    `InvalidSetting` for a value out of range.
    """
    current = config_edit_current(edit=edit)
    return _write(reader_id, lambda body: body_edit(body, current), cause, ref, now, expected_version, note)


def body_change(
    *,
    reader_id: UUID,
    change: Callable[[Body], object],
    cause: Cause,
    ref: str,
    now: datetime,
    expected_version: int | None = None,
    note: str = "",
) -> int:
    """Make a change that a person agreed to, or went back on. Return the version afterwards.

    `change` works on the body in place, under the row lock. If it changes nothing, there is no new version.
    The learning loop leaves alone for 14 days the sources whose weight it changes. `expected_version` and
    `note` are as in `config_edit`. Raises `InvalidSetting` for values out of range.
    """
    return _write(reader_id, change, cause, ref, now, expected_version, note)


def source_weights_set(*, reader_id: UUID, weights: Mapping[str, float | None], now: datetime) -> int:
    """Set a person's own effective weights of some sources. Return the version afterwards.

    The learning loop leaves these sources alone for 14 days. `None` returns a source to the default and to
    the loop at once. Raises `InvalidSetting` for a weight out of range.
    """
    current = values_by_current_key(values=weights)
    return _write(reader_id, lambda body: body_weigh(body, current), Cause.EDIT, "", now)


def source_rules_set(*, reader_id: UUID, source: str, rules: SourceRules, now: datetime) -> int:
    """Set a person's own rules for one source. Return the version afterwards.

    Raises `InvalidSetting` for a number out of range.
    """
    key = key_current(key=source)
    return _write(reader_id, lambda body: rules_set(body, key, rules), Cause.EDIT, "", now)


def topic_set(*, reader_id: UUID, topic: str, wanted: bool, now: datetime) -> bool:
    """Add or remove one topic; return whether that changed anything.

    Raises `InvalidSetting` beyond the most topics.
    """
    changed: list[str] = []

    def change(body: Body) -> None:
        others = [one for one in body["topics"] if topic_key(one) != topic_key(topic)]
        if wanted is (len(others) == len(body["topics"])):
            body["topics"] = [*others, topic] if wanted else others
            changed.append(topic)

    _write(reader_id, change, Cause.EDIT, "", now)
    return bool(changed)


def target_pin(*, reader_id: UUID, target: str, pin: str, ref: str, now: datetime) -> int:
    """Pin a source or topic. Return the version afterwards.

    `pin` is `locked` (the advisor must not change it), `avoided` (never suggest it) or "" to unpin.
    """
    target = key_current(key=target)
    return _write(reader_id, lambda body: body_pin(body, target, pin), Cause.PIN, ref, now)


def mute_set(
    *, reader_id: UUID, mute: Mute, now: datetime, expected_version: int | None = None, note: str = ""
) -> int:
    """Add a mute, or change the last day of an existing one. Return the version afterwards.

    `expected_version` and `note` are as in `config_edit`. Raises `InvalidMute`, or `TooManyMutes` if the
    config has the most allowed.
    """
    if mute.kind == SOURCE:
        mute = replace(mute, value=key_current(key=mute.value))
    elif mute.within:
        mute = replace(mute, within=key_current(key=mute.within))

    def change(body: Body) -> None:
        others = [m for m in mutes_read(body["mutes"]) if mute_key(m) != mute_key(mute)]
        body["mutes"] = [one.as_dict() for one in (*others, mute)]

    return _write(reader_id, change, Cause.EDIT, "", now, expected_version, note)


def mute_remove(*, reader_id: UUID, mute: Mute, now: datetime) -> int:
    """Remove a mute with any last day. Return the version afterwards."""

    def change(body: Body) -> None:
        left = [m for m in mutes_read(body["mutes"]) if mute_key(m) != mute_key(mute)]
        body["mutes"] = [one.as_dict() for one in left]

    return _write(reader_id, change, Cause.EDIT, "", now)


def config_revert(*, reader_id: UUID, version: int, expected_version: int | None, now: datetime) -> int:
    """Restore all settings of an earlier `version` (0: the defaults). Return the new version.

    A source that was renamed since gets the settings of its old key. Raises `UnknownVersion` if this reader
    never had the version, and `StaleVersion` as `config_edit` does.
    """
    row = ConfigVersion.objects.filter(reader_id=reader_id, version=version).first()
    if row is None and version != 0:
        raise UnknownVersion(
            gettext("There is no version {version} of these settings.").format(version=version)
        )
    saved: Body = row.body if row else body_default()
    wanted = body_keys_current(saved, keys_current(keys=body_keys(saved)))

    def change(body: Body) -> None:
        body.update({name: wanted[name] for name in body})

    return _write(reader_id, change, Cause.REVERT, str(version), now, expected_version)


def version_undo(*, reader_id: UUID, version: int, now: datetime, expected_version: int | None = None) -> int:
    """Undo what one version changed, and leave all later changes. Return the version afterwards.

    If the version was itself an undo, that brings back what it took away. Settings that were changed again
    since then stay. Raises `UnknownVersion` if the reader never had it, and `StaleVersion` as `config_edit`
    does.
    """
    versions = config_versions_by_number(reader_id=reader_id, versions=[version])
    if version not in versions:
        raise UnknownVersion(
            gettext("There is no version {version} of these settings.").format(version=version)
        )
    earlier = config_bodies_before(reader_id=reader_id, rows=versions)[version]

    def change(body: Body) -> None:
        body_take_back(body, earlier, changes_in_force(body, earlier, versions[version].changes))

    undone = versions[version]
    was_undo = undone.cause == Cause.REVERT and undone.cause_ref.startswith(UNDOS)
    ref = f"{REDONE if was_undo else UNDONE}{version}"
    return _write(reader_id, change, Cause.REVERT, ref, now, expected_version)


def learning_undo(*, reader_id: UUID, cycle: date, now: datetime) -> int:
    """Undo the learning cycle of a UTC day. Return the version afterwards.

    A source whose weight has changed since keeps it. The loop leaves the restored sources alone for 14 days.
    """
    moved = WeightSnapshot.objects.filter(reader_id=reader_id, cycle=cycle).exclude(after=F("before"))
    steps = {
        key: (before, after) for key, before, after in moved.values_list("source_key", "before", "after")
    }

    def change(body: Body) -> None:
        now_in_force = body_effective(body)
        for source, delta in now_in_force.without_steps(steps).deltas.items():
            if delta != now_in_force.deltas.get(source, 0.0):
                body["learned"][source] = delta
                if abs(delta) < SAME_WEIGHT:
                    del body["learned"][source]

    return _write(reader_id, change, Cause.REVERT, f"{LEARNED}{cycle.isoformat()}", now)


def source_key_rename(*, old: str, new: str, now: datetime) -> int:
    """Rename a source in all readers' settings, learned weights and snapshots. Return the configs written.

    Effective weights stay the same, unless a reader already has a weight or delta for `new`, which then
    counts. Each changed config gets a new version. Old versions keep the old key, which from now on is read
    as `new` everywhere (`selectors.keys_current`).
    """
    with transaction.atomic():
        alias_store(old=old, new=new, now=now)
        learned = LearnedWeight.objects.filter(source_key=new).values("reader_id")
        snapshots = WeightSnapshot.objects.filter(source_key=new).values("reader_id")
        LearnedWeight.objects.filter(source_key=old).exclude(reader_id__in=learned).update(source_key=new)
        WeightSnapshot.objects.filter(source_key=old).exclude(reader_id__in=snapshots).update(source_key=new)
        named = RankConfig.objects.filter(source_weights__has_key=old).values_list("reader_id", flat=True)
        pins = RankConfig.objects.exclude(
            locked=[], avoided=[], mutes=[], shelf_lives={}, daily_limits={}, never_missed=[]
        )
        readers = {*named}
        parts = ("locked", "avoided", "mutes", *RANGES, NEVER_MISSED)
        for reader, *values in pins.values_list("reader_id", *parts):
            body = dict(zip(parts, values, strict=True))
            if old in {*body["locked"], *body["avoided"], *mute_sources(body), *rules_sources(body)}:
                readers.add(reader)
        for reader_id in sorted(readers):
            _write(
                reader_id,
                lambda body: body_source_rename(body, old, new),
                Cause.EDIT,
                f"{RENAMED}{old}"[:64],
                now,
            )
        LearnedWeight.objects.filter(source_key=old).delete()
    return len(readers)


def source_settings_copy(*, reader_id: UUID, source: str, to: str, now: datetime) -> int:
    """Copy this reader's settings and learned delta of `source` to `to`. Return the version afterwards."""
    return _write(reader_id, lambda body: body_source_copy(body, source, to), Cause.EDIT, "", now)


def alias_store(*, old: str, new: str, now: datetime) -> None:
    """Make `old` and all its aliases aliases of `new`. If `new` was an alias, it no longer is."""
    SourceAlias.objects.filter(target=old).update(target=new)
    SourceAlias.objects.filter(key=new).delete()
    SourceAlias.objects.update_or_create(key=old, defaults={"target": new, "renamed_at": now})


def weights_learn(*, changes: Mapping[UUID, Sequence[WeightChange]], now: datetime) -> int:
    """Store one learning cycle of several readers: a snapshot and the delta of each source.

    Return the number of moved sources. A second call for a reader on the same UTC day stores nothing. If a
    person changed a weight after `changes` were computed, the person's weight stays.
    """
    cycle = now.astimezone(UTC).date()
    with transaction.atomic():
        rows = _configs_lock(changes)
        done = set(
            WeightSnapshot.objects.filter(reader_id__in=rows, cycle=cycle).values_list("reader_id", flat=True)
        )
        learned: defaultdict[UUID, dict[str, LearnedWeight]] = defaultdict(dict)
        for weight in LearnedWeight.objects.filter(reader_id__in=rows.keys() - done):
            learned[weight.reader_id][weight.source_key] = weight
        steps = [
            (reader_id, *step)
            for reader_id, row in rows.items()
            if reader_id not in done
            for step in _check_changes(row, learned[reader_id], changes[reader_id], now)
        ]
        WeightSnapshot.objects.bulk_create(_snapshot_row(reader_id, c, cycle) for reader_id, c, _ in steps)
        LearnedWeight.objects.bulk_create(
            [_learned_row(reader_id, c, effective, now) for reader_id, c, effective in steps],
            update_conflicts=True,
            unique_fields=["reader", "source_key"],
            update_fields=["delta", "p_better", "n", "updated_at"],
        )
    return sum(change.moved for _, change, _ in steps)


def _configs_lock(reader_ids: Collection[UUID]) -> dict[UUID, RankConfig]:
    """Lock the readers' config rows, by reader id, and create missing ones. Return them by reader id."""
    ids = sorted(reader_ids)
    locked = RankConfig.objects.select_for_update().filter(reader_id__in=ids).order_by("reader_id")
    rows = {row.reader_id: row for row in locked}
    if missing := [RankConfig(reader_id=pk) for pk in ids if pk not in rows]:
        RankConfig.objects.bulk_create(missing, ignore_conflicts=True)
        rows |= {row.reader_id: row for row in locked.filter(reader_id__in=[r.reader_id for r in missing])}
    return rows


def _check_changes(
    row: RankConfig, learned: Mapping[str, LearnedWeight], changes: Sequence[WeightChange], now: datetime
) -> Iterator[tuple[WeightChange, EffectiveConfig]]:
    """Yield each change, checked again under the lock, with the reader's current settings."""
    effective = EffectiveConfig(config_of_row(row), {key: one.delta for key, one in learned.items()})
    for change in changes:
        current = effective.weight(change.source)
        yield _check_change(change, current, learned.get(change.source), now), effective


def _check_change(
    change: WeightChange, current: float, learned: LearnedWeight | None, now: datetime
) -> WeightChange:
    """Return `change`, or a change that moves nothing if a person set the weight since. Needs the lock."""
    on_hold = learned is not None and learned.on_hold_until is not None and learned.on_hold_until > now
    if change.moved and (on_hold or abs(current - change.before) > 1e-9):
        return replace(change, before=current, after=current, reason="changed_meanwhile")
    return change


def _snapshot_row(reader_id: UUID, change: WeightChange, cycle: date) -> WeightSnapshot:
    return WeightSnapshot(
        reader_id=reader_id,
        source_key=change.source,
        cycle=cycle,
        before=change.before,
        after=change.after,
        p_better=change.p_better,
        n=change.n,
        reason=change.reason,
    )


def _learned_row(
    reader_id: UUID, change: WeightChange, effective: EffectiveConfig, now: datetime
) -> LearnedWeight:
    base = effective.config.source_weights.get(change.source, WEIGHT_DEFAULT)
    return LearnedWeight(
        reader_id=reader_id,
        source_key=change.source,
        delta=change.after - base if change.moved else effective.deltas.get(change.source, 0.0),
        p_better=change.p_better,
        n=change.n,
        updated_at=now,
    )


def _write(
    reader_id: UUID,
    change: Callable[[Body], object],
    cause: Cause,
    ref: str,
    now: datetime,
    expected_version: int | None = None,
    note: str = "",
) -> int:
    """Apply `change` to the config's body under a row lock, and store the result as the next version.

    Return the version afterwards; without a difference it is the old one.
    """
    with transaction.atomic():
        row, _ = RankConfig.objects.select_for_update().get_or_create(reader_id=reader_id)
        if expected_version is not None and expected_version != row.version:
            missed = changes_since(reader_id=reader_id, version=expected_version)
            changed = [change_words(one) for one in missed]
            raise StaleVersion(seen=expected_version, current=row.version, changed=changed)
        if not ref.startswith(RENAMED):  # renaming a source is no reader's change
            _check_changes_left(row, now)
        learned = LearnedWeight.objects.filter(reader_id=reader_id).exclude(delta=0.0)
        before = body_of(config_of_row(row), dict(learned.values_list("source_key", "delta")))
        after = body_of(config_of_row(row), before["learned"])
        change(after)
        body_validate(after)
        if changes := body_changes(before, after):
            row.version += 1
            is_undo = cause == Cause.REVERT and not ref.startswith(LEARNED)
            _version_store(row, before, after, changes, now, cause, is_undo=is_undo)
            ConfigVersion.objects.create(
                reader_id=reader_id,
                version=row.version,
                cause=cause,
                cause_ref=ref,
                body=after,
                changes=changes,
                note=note,
                created_at=now,
            )
    return row.version


def _check_changes_left(row: RankConfig, now: datetime) -> None:
    """Raise `TooManyChanges` after 500 changes in a day, by pages, API and suggestions together.

    A change stores the whole body, of up to some 20 kB. No query for a config with fewer versions.
    """
    if row.version < CHANGES_PER_DAY:
        return
    since = now - timedelta(days=1)
    lately = ConfigVersion.objects.filter(reader_id=row.reader_id, created_at__gt=since)
    if lately.count() >= CHANGES_PER_DAY:
        raise TooManyChanges(
            gettext("You changed your settings {changes} times in a day. Wait until tomorrow.").format(
                changes=CHANGES_PER_DAY
            )
        )


def _version_store(
    row: RankConfig,
    before: Body,
    after: Body,
    changes: list[Change],
    now: datetime,
    cause: Cause,
    *,
    is_undo: bool,
) -> None:
    """Write `after` to the config row, and its deltas to the learned weights of the changed sources.

    The loop leaves changed sources alone for 14 days, those that went back to the usual by a yes or an undo,
    too. A source that its reader set to the usual was returned to the loop, which may change it at once.
    With `is_undo`, the decision that it takes back bars no lean of the reader's taste any more.
    """
    for name, value in after.items():
        if name != "learned":
            setattr(row, name, value)
    row.save()
    read_again()
    sources = {change["target"] for change in weights_changed(changes)}
    hold = now + timedelta(days=HOLD_DAYS)
    touched = sources | {
        s for s in {*before["learned"], *after["learned"]} if body_delta(before, s) != body_delta(after, s)
    }
    ways = body_effective(after).sources_moved(body_effective(before))
    if is_undo and ways:
        ways = _ways_after_undo(row.reader_id, {s: body_effective(after).weight(s) for s in ways}, now)
    LearnedWeight.objects.bulk_create(
        [
            LearnedWeight(
                reader_id=row.reader_id,
                source_key=source,
                delta=body_delta(after, source),
                updated_at=now,
                on_hold_way=ways.get(source, 0),
                on_hold_until=(
                    hold
                    if cause != Cause.EDIT or source in after["source_weights"] or body_delta(after, source)
                    else None
                ),
            )
            for source in touched
        ],
        update_conflicts=True,
        unique_fields=["reader", "source_key"],
        update_fields=["delta", "on_hold_until", "on_hold_way"],
    )


def _ways_after_undo(reader_id: UUID, weights: Mapping[str, float], now: datetime) -> dict[str, int]:
    """Return the way of each source that an undo gave its weight of `weights`.

    It is that of the decision which lately gave it this weight, or `TAKEN_BACK`.
    """
    since = now - timedelta(days=HOLD_DAYS)
    in_force = decisions_in_force(reader_id=reader_id, weights=weights, since=since)
    return {source: in_force.get(source, TAKEN_BACK) for source in weights}


def versions_merge(*, now: datetime) -> int:
    """Merge old manual versions made shortly after one another. Return the number deleted.

    Of versions older than a day and at most 60 s apart, the last stays, with the changes of all. Of versions
    older than 30 days, the last of each day stays. So a page's undo and its history last long enough.
    Versions with a cause that something refers to (suggestions, words, undo, renames) stay.
    """
    deleted = 0
    fresh, lately = now - MERGED_AFTER, now - 2 * MERGED_DAILY_AFTER
    rows = ConfigVersion.objects.filter(BY_HAND, created_at__lt=fresh, created_at__gte=lately)
    readers = rows.order_by().values_list("reader_id", flat=True).distinct()
    for reader_id in sorted(readers):
        with isolate(READER, reader_id, "versions_merge_failed"):
            deleted += _versions_merge(reader_id, now)
    return deleted


def _versions_merge(reader_id: UUID, now: datetime) -> int:
    """Merge one reader's versions, in the order they were made. Two queries, and four for each group."""
    rows = ConfigVersion.objects.filter(reader_id=reader_id, created_at__lt=now - MERGED_AFTER)
    deleted = 0
    group: list[tuple[int, datetime]] = []
    made = set(rows.filter(BY_HAND).values_list("version", flat=True))
    for version, at in [*rows.order_by("version").values_list("version", "created_at"), (0, now)]:
        by_hand = version in made
        if group and not (by_hand and _is_together(group[-1][1], at, now)):
            deleted += _group_merge(reader_id, [one for one, _ in group])
            group = []
        if by_hand:
            group.append((version, at))
    return deleted


def _is_together(earlier: datetime, later: datetime, now: datetime) -> bool:
    is_old = later < now - MERGED_DAILY_AFTER
    return later - earlier <= MERGED_WITHIN or (is_old and earlier.date() == later.date())


def _group_merge(reader_id: UUID, versions: Sequence[int]) -> int:
    """Keep the last of these versions, with the changes since the one before the first."""
    *merged, last = versions
    if not merged:
        return 0
    with transaction.atomic():
        rows = ConfigVersion.objects.filter(reader_id=reader_id)
        before = rows.filter(version__lt=versions[0]).order_by("-version").first()
        latest = rows.get(version=last)
        latest.changes = body_changes(before.body if before else body_default(), latest.body)
        latest.save(update_fields=["changes"])
        return rows.filter(version__in=merged).delete()[0]


def versions_prune(*, now: datetime) -> int:
    """Merge old versions, and delete those made by hand beyond `settings` in KEEP_DAYS; return how many.

    The version in force stays.
    """
    deleted = versions_merge(now=now)
    if since := retention_start("settings", now):
        current = RankConfig.objects.filter(reader=OuterRef("reader"), version=OuterRef("version"))
        rows = ConfigVersion.objects.filter(BY_HAND, ~Exists(current))
        deleted += rows_delete(rows, at="created_at", before=since)
    return deleted


def snapshots_prune(*, now: datetime) -> int:
    """Delete snapshots older than their retention (`snapshots` in KEEP_DAYS). Return the number deleted."""
    since = retention_start("snapshots", now)
    if since is None:
        return 0
    return rows_delete(WeightSnapshot.objects.all(), at="cycle", before=since.date())

"""The one write path of ranking settings. Each write is one transaction and one new `ConfigVersion`."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from math import isfinite
from uuid import UUID

from django.db import transaction

from ranking.body import (
    Body,
    Change,
    body_changes,
    body_default,
    body_delta,
    body_keys,
    body_keys_now,
    body_of,
    body_pin,
    body_source_renamed,
    body_validate,
)
from ranking.entities import EffectiveConfig, WeightChange, clamp_weight
from ranking.errors import StaleVersion, UnknownVersion
from ranking.learned import learned_row, learned_settled
from ranking.learning import HOLD_DAYS
from ranking.matching import topic_key
from ranking.models import ConfigVersion, LearnedWeight, RankConfig, SourceAlias, WeightSnapshot
from ranking.presenters import change_words
from ranking.selectors import changes_since, config_of_row, key_now, keyed_now, keys_now

Cause = ConfigVersion.Cause
RENAMED = "source:"


@dataclass(frozen=True, slots=True)
class ConfigEdit:
    """What a person asks for in one save; `None` leaves a setting as it is.

    `source_weights` holds only the sources whose effective weight changes: the new effective weight, or
    `None` to hand the source back to the default and the learning loop. `pins` holds the targets whose pin
    changes: `locked`, `avoided` or, for none, anything else.
    """

    topics: Sequence[str] | None = None
    source_weights: Mapping[str, float | None] | None = None
    keyword_boosts: Mapping[str, float] | None = None
    recency_half_life_hours: float | None = None
    ai_score_alpha: float | None = None
    pins: Mapping[str, str] | None = None


def config_edit(*, reader_id: UUID, edit: ConfigEdit, expected_version: int, now: datetime) -> int:
    """Save a person's own change; returns the new version (the same one if nothing changed).

    Raises `StaleVersion` when the config is no longer at `expected_version`, `InvalidSetting` for a value
    out of range.
    """
    weights, pins = keyed_now(values=edit.source_weights or {}), keyed_now(values=edit.pins or {})

    def change(body: Body) -> None:
        for name in ("topics", "keyword_boosts", "recency_half_life_hours", "ai_score_alpha"):
            if (value := getattr(edit, name)) is not None:
                body[name] = value
        for source, weight in weights.items():
            body["learned"].pop(source, None)
            body["source_weights"].pop(source, None)
            if weight is not None:
                body["source_weights"][source] = weight
        for target, pin in pins.items():
            body_pin(body, target, pin)

    return _write(reader_id, change, Cause.EDIT, "", now, expected_version)


def source_weight_agree(
    *, reader_id: UUID, source: str, weight: float, ref: str, now: datetime, cause: Cause = Cause.ACCEPT
) -> int:
    """Make `weight` the effective weight of `source`, exactly; returns the new version.

    The config takes the whole weight, the learned delta becomes 0, and the loop leaves the source alone
    for 14 days. Raises `InvalidSetting` for what is no number.
    """
    source = key_now(key=source)

    def change(body: Body) -> None:
        body["source_weights"][source] = clamp_weight(weight) if isfinite(weight) else weight
        body["learned"].pop(source, None)

    return _write(reader_id, change, cause, ref, now)


def source_weight_restore(*, reader_id: UUID, source: str, earlier: Body, ref: str, now: datetime) -> int:
    """Give `source` back what it had in the body `earlier`: the person's weight and the learned delta.

    The effective weight is then what it was, and each part of it says again where it came from.
    """
    source, earlier = key_now(key=source), body_keys_now(earlier, keys_now(keys=body_keys(earlier)))

    def change(body: Body) -> None:
        for part in ("source_weights", "learned"):
            body[part].pop(source, None)
            if source in earlier[part]:
                body[part][source] = earlier[part][source]

    return _write(reader_id, change, Cause.REVERT, ref, now)


def topic_agree(
    *, reader_id: UUID, topic: str, present: bool, ref: str, now: datetime, cause: Cause = Cause.ACCEPT
) -> int:
    """Add `topic` to the reader's interests, or take it out; returns the version in force afterwards.

    A topic already there (or already gone) changes nothing and makes no version.
    """

    def change(body: Body) -> None:
        kept = [t for t in body["topics"] if topic_key(t) != topic_key(topic)]
        if present and len(kept) == len(body["topics"]):
            body["topics"] = [*kept, topic]
        elif not present:
            body["topics"] = kept

    return _write(reader_id, change, cause, ref, now)


def target_pin(*, reader_id: UUID, target: str, pin: str, ref: str, now: datetime) -> int:
    """Pin a source or topic: `locked` (the advisor keeps off), `avoided` (never suggest), or "" to unpin."""
    target = key_now(key=target)
    return _write(reader_id, lambda body: body_pin(body, target, pin), Cause.PIN, ref, now)


def config_revert(*, reader_id: UUID, version: int, expected_version: int | None, now: datetime) -> int:
    """Put everything back as it was saved at `version` (0: the defaults); returns the new version.

    What a version says of a source that was renamed since holds for the source by its key of now. Raises
    `UnknownVersion` if this reader never had it, `StaleVersion` as `config_edit` does.
    """
    row = ConfigVersion.objects.filter(reader_id=reader_id, version=version).first()
    if row is None and version != 0:
        raise UnknownVersion(f"There is no version {version} of these settings.")
    saved: Body = row.body if row else body_default()
    wanted = body_keys_now(saved, keys_now(keys=body_keys(saved)))

    def change(body: Body) -> None:
        body.update({name: wanted[name] for name in body})

    return _write(reader_id, change, Cause.REVERT, str(version), now, expected_version)


def source_key_renamed(*, old: str, new: str, now: datetime) -> int:
    """Let readers' settings, learned weights and cycles of `old` follow to `new`; returns configs written.

    An operator's doing: effective weights stay, but where a reader already has something of `new`, which
    then holds for both. Each config that changes gets a version. Versions of the past keep the old key, which
    is read as `new` from now on, wherever it comes from (`selectors.keys_now`).
    """
    with transaction.atomic():
        alias_keep(old=old, new=new, now=now)
        learned = LearnedWeight.objects.filter(source_key=new).values("reader_id")
        told = WeightSnapshot.objects.filter(source_key=new).values("reader_id")
        LearnedWeight.objects.filter(source_key=old).exclude(reader_id__in=learned).update(source_key=new)
        WeightSnapshot.objects.filter(source_key=old).exclude(reader_id__in=told).update(source_key=new)
        named = RankConfig.objects.filter(source_weights__has_key=old).values_list("reader_id", flat=True)
        pins = RankConfig.objects.exclude(locked=[], avoided=[]).values_list("reader_id", "locked", "avoided")
        readers = {*named, *(reader for reader, locked, avoided in pins if old in (*locked, *avoided))}
        for reader_id in sorted(readers):
            _write(
                reader_id,
                lambda body: body_source_renamed(body, old, new),
                Cause.EDIT,
                f"{RENAMED}{old}"[:64],
                now,
            )
        LearnedWeight.objects.filter(source_key=old).delete()
    return len(readers)


def alias_keep(*, old: str, new: str, now: datetime) -> None:
    """Let `old` lead to `new` from `now` on, with all that led to `old`; `new` leads nowhere any more."""
    SourceAlias.objects.filter(target=old).update(target=new)
    SourceAlias.objects.filter(key=new).delete()
    SourceAlias.objects.update_or_create(key=old, defaults={"target": new, "renamed_at": now})


def weights_learn(*, reader_id: UUID, changes: Sequence[WeightChange], now: datetime) -> int:
    """Store one learning cycle: a snapshot per source with its reason, a delta where the weight moved.

    Runs once per reader and UTC day; a second call that day stores nothing. A source whose weight a person
    changed since `changes` were worked out stays as that person left it. Returns the sources moved.
    """
    cycle = now.astimezone(UTC).date()
    with transaction.atomic():
        row, _ = RankConfig.objects.select_for_update().get_or_create(reader_id=reader_id)
        if WeightSnapshot.objects.filter(reader_id=reader_id, cycle=cycle).exists():
            return 0
        learned = {w.source_key: w for w in LearnedWeight.objects.filter(reader_id=reader_id)}
        effective = EffectiveConfig(config_of_row(row), {key: w.delta for key, w in learned.items()})
        settled = [
            learned_settled(c, effective.weight(c.source), learned.get(c.source), now) for c in changes
        ]
        WeightSnapshot.objects.bulk_create(
            WeightSnapshot(
                reader_id=reader_id,
                source_key=c.source,
                cycle=cycle,
                before=c.before,
                after=c.after,
                p_better=c.p_better,
                n=c.n,
                reason=c.reason,
            )
            for c in settled
        )
        LearnedWeight.objects.bulk_create(
            [learned_row(reader_id, c, effective, now) for c in settled],
            update_conflicts=True,
            unique_fields=["reader", "source_key"],
            update_fields=["delta", "p_better", "n", "updated_at"],
        )
    return sum(change.moved for change in settled)


def _write(
    reader_id: UUID,
    change: Callable[[Body], None],
    cause: Cause,
    ref: str,
    now: datetime,
    expected_version: int | None = None,
) -> int:
    """Apply `change` to the config's body under a row lock and store the result as the next version."""
    with transaction.atomic():
        row, _ = RankConfig.objects.select_for_update().get_or_create(reader_id=reader_id)
        if expected_version is not None and expected_version != row.version:
            missed = changes_since(reader_id=reader_id, version=expected_version)
            changed = [change_words(one) for one in missed]
            raise StaleVersion(seen=expected_version, current=row.version, changed=changed)
        learned = LearnedWeight.objects.filter(reader_id=reader_id).exclude(delta=0.0)
        before = body_of(config_of_row(row), dict(learned.values_list("source_key", "delta")))
        after = body_of(config_of_row(row), before["learned"])
        change(after)
        body_validate(after)
        if changes := body_changes(before, after):
            row.version += 1
            _version_store(row, before, after, changes, now)
            ConfigVersion.objects.create(
                reader_id=reader_id,
                version=row.version,
                cause=cause,
                cause_ref=ref,
                body=after,
                changes=changes,
                created_at=now,
            )
    return row.version


def _version_store(row: RankConfig, before: Body, after: Body, changes: list[Change], now: datetime) -> None:
    """Write `after` to the config row, and the deltas of the sources it decides to the loop's layer."""
    for name, value in after.items():
        if name != "learned":
            setattr(row, name, value)
    row.save()
    _deltas_store(
        row.reader_id, before, after, {c["target"] for c in changes if c["field"] == "source_weights"}, now
    )


def _deltas_store(reader_id: UUID, before: Body, after: Body, sources: set[str], now: datetime) -> None:
    """Give each source a person has just decided on its new delta, and hold the loop off it.

    A source left with neither a weight nor a delta was handed back to the loop, which may go on at once.
    """
    hold = now + timedelta(days=HOLD_DAYS)
    touched = sources | {
        s for s in {*before["learned"], *after["learned"]} if body_delta(before, s) != body_delta(after, s)
    }
    LearnedWeight.objects.bulk_create(
        [
            LearnedWeight(
                reader_id=reader_id,
                source_key=source,
                delta=body_delta(after, source),
                updated_at=now,
                held_until=hold if source in after["source_weights"] or body_delta(after, source) else None,
            )
            for source in touched
        ],
        update_conflicts=True,
        unique_fields=["reader", "source_key"],
        update_fields=["delta", "held_until"],
    )

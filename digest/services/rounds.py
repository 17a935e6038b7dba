"""The scheduled rounds: the same work for every active reader."""

import datetime as dt
from collections.abc import Iterator, Mapping, Sequence
from uuid import UUID

import structlog

from digest.compose import Rules
from digest.days import day_of
from digest.entities import DIGEST_FROZEN
from digest.models import Digest, Reader, Subscription
from digest.selectors.material import Material
from digest.selectors.window import Window, materials_of, window_load
from digest.services.build import digest_build, order_of
from digest.services.learning import weights_update
from digest.services.storing import Order, digests_store
from ranking.entities import EffectiveConfig
from ranking.selectors import config_effective_many

log = structlog.get_logger(__name__)

# Readers whose digests are stored in one transaction.
TOGETHER = 100


def digests_build(*, now: dt.datetime) -> int:
    """Build every active reader's digest of today, in the reader's zone; returns how many were built.

    The items of the week are loaded and matched once for all; readers go a hundred at a time, with as many
    queries for each hundred. A digest that is current (of today's settings and sources, and younger than an
    hour) is left alone: so a round that broke off goes on where it was, and nobody's order changes while
    they read. What goes wrong for one reader is logged and costs the others nothing.
    """
    readers, configs, days = _everybody(now)
    if not days:
        return 0
    window = window_load(now=now)
    settings = [configs[reader_id].config for reader_id in days]
    window.pool.look_for({term for made in settings for term in (*made.topics, *made.keyword_boosts)})
    due = [reader for reader in readers if reader.pk in days]
    return sum(_build(some, days, configs, window, now) for some in _parts(due))


def _everybody(
    now: dt.datetime,
) -> tuple[list[Reader], dict[UUID, EffectiveConfig], dict[UUID, dt.date]]:
    """All active readers, their settings, and the today of those without a current digest of it."""
    readers = list(Reader.objects.filter(is_active=True).order_by("pk"))
    configs: dict[UUID, EffectiveConfig] = {}
    days: dict[UUID, dt.date] = {}
    for some in _parts(readers):
        configs |= config_effective_many(reader_ids=[reader.pk for reader in some])
        days |= _due(_days(some, now), configs, now)
    return readers, configs, days


def weights_update_all(*, now: dt.datetime) -> int:
    """Run one learning cycle for every active reader; returns how many were looked at."""
    done = 0
    for reader in Reader.objects.filter(is_active=True).order_by("pk"):
        try:
            weights_update(reader_id=reader.pk, now=now)
        except Exception:
            log.exception("weights.update_failed", reader_id=str(reader.pk))
        else:
            done += 1
    return done


def _parts(readers: Sequence[Reader]) -> Iterator[Sequence[Reader]]:
    return (readers[start : start + TOGETHER] for start in range(0, len(readers), TOGETHER))


def _days(readers: Sequence[Reader], now: dt.datetime) -> dict[UUID, dt.date]:
    """The today of each reader; one whose time zone is unknown on this machine is logged and missing."""
    days = {}
    for reader in readers:
        try:
            days[reader.pk] = day_of(now, reader.zone)
        except Exception:
            log.exception("digest.build_failed", reader_id=str(reader.pk))
    return days


def _due(
    days: Mapping[UUID, dt.date], configs: Mapping[UUID, EffectiveConfig], now: dt.datetime
) -> dict[UUID, dt.date]:
    """Those of the readers, with their today, who have no current digest of it; two queries."""
    since = now - DIGEST_FROZEN
    fresh = Digest.objects.filter(reader__in=list(days), date__in={*days.values()}, built_at__gt=since)
    built = {
        digest.reader_id: digest.built_at
        for digest in fresh
        if digest.date == days[digest.reader_id]
        and digest.config_version == configs[digest.reader_id].config.version
    }
    joined = Subscription.objects.filter(reader_id__in=list(built), created_at__gt=since)
    changed = {pk for pk, at in joined.values_list("reader_id", "created_at") if at > built[pk]}
    return {pk: day for pk, day in days.items() if pk not in built or pk in changed}


def _build(
    readers: Sequence[Reader],
    days: Mapping[UUID, dt.date],
    configs: Mapping[UUID, EffectiveConfig],
    window: Window,
    now: dt.datetime,
) -> int:
    """Build these readers' digests together; one by one if that fails, so that the fault stays with one."""
    try:
        materials = materials_of(window=window, days={reader.pk: days[reader.pk] for reader in readers})
        orders = list(_orders(readers, days, materials, configs))
        digests_store(orders=orders, rules=Rules(), now=now)
        return len(orders)
    except Exception:
        log.exception("digest.build_together_failed", readers=len(readers))
    return sum(_build_alone(reader, days[reader.pk], now) for reader in readers)


def _orders(
    readers: Sequence[Reader],
    days: Mapping[UUID, dt.date],
    materials: Mapping[UUID, Material],
    configs: Mapping[UUID, EffectiveConfig],
) -> Iterator[Order]:
    for reader in readers:
        try:
            order = order_of(
                reader=reader,
                date=days[reader.pk],
                material=materials[reader.pk],
                effective=configs[reader.pk],
            )
        except Exception:
            log.exception("digest.build_failed", reader_id=str(reader.pk))
        else:
            yield order


def _build_alone(reader: Reader, date: dt.date, now: dt.datetime) -> bool:
    try:
        digest_build(reader=reader, date=date, now=now)
    except Exception:
        log.exception("digest.build_failed", reader_id=str(reader.pk))
        return False
    return True

"""The scheduled rounds: the same work for every active reader."""

import datetime as dt
from collections.abc import Callable, Iterator, Mapping, Sequence
from uuid import UUID

import structlog

from digest.compose import Rules
from digest.days import day_of
from digest.models import Reader
from digest.selectors.current import digests_current
from digest.selectors.material import Material
from digest.selectors.window import Window, materials_of, window_load
from digest.services.build import digest_build, order_of
from digest.services.storing import Order, digests_store
from ranking.entities import EffectiveConfig
from ranking.selectors import config_effective_many

log = structlog.get_logger(__name__)

# Readers whose digests are stored in one transaction.
TOGETHER = 100


def digests_build(*, now: dt.datetime) -> int:
    """Build every active reader's digest of today, in the reader's zone; returns how many were built.

    The items of the week are loaded and matched once for all; readers go a hundred at a time, with as many
    queries for each hundred. A digest that still holds (`digests_current`) is left alone: so a round that
    broke off goes on where it was, and nobody's order changes while they read. What goes wrong for one reader
    is logged and costs the others nothing.
    """
    readers = list(Reader.objects.filter(is_active=True).order_by("pk"))
    configs: dict[UUID, EffectiveConfig] = {}
    days: dict[UUID, dt.date] = {}
    for some in _parts(readers):
        configs |= config_effective_many(reader_ids=[reader.pk for reader in some])
        versions = {reader.pk: configs[reader.pk].config.version for reader in some}
        today = days_of(some, now)
        current = digests_current(days=today, versions=versions, now=now)
        days |= {pk: day for pk, day in today.items() if pk not in current}
    return _round(readers, days, configs, now)


def digests_build_days(
    *,
    readers: Sequence[Reader],
    days: Mapping[UUID, dt.date],
    now: dt.datetime,
    stopping: Callable[[], bool] = lambda: False,
) -> int:
    """Build these readers' digests of these days of theirs, as `digests_build` does; how many were built.

    `stopping` is asked before each hundred: what is left then waits for the next call.
    """
    configs: dict[UUID, EffectiveConfig] = {}
    for some in _parts(readers):
        configs |= config_effective_many(reader_ids=[reader.pk for reader in some])
    return _round(readers, days, configs, now, stopping)


def _round(
    readers: Sequence[Reader],
    days: Mapping[UUID, dt.date],
    configs: Mapping[UUID, EffectiveConfig],
    now: dt.datetime,
    stopping: Callable[[], bool] = lambda: False,
) -> int:
    """Load the week and build the digests of those readers who are in `days`."""
    if not days:
        return 0
    window = window_load(now=now)
    settings = [configs[reader_id].config for reader_id in days]
    window.pool.look_for({term for made in settings for term in (*made.topics, *made.keyword_boosts)})
    due = [reader for reader in readers if reader.pk in days]
    return sum(_build(some, days, configs, window, now) for some in _parts(due) if not stopping())


def _parts(readers: Sequence[Reader]) -> Iterator[Sequence[Reader]]:
    return (readers[start : start + TOGETHER] for start in range(0, len(readers), TOGETHER))


def days_of(readers: Sequence[Reader], now: dt.datetime) -> dict[UUID, dt.date]:
    """The today of each reader; one whose time zone is unknown on this machine is logged and missing."""
    days = {}
    for reader in readers:
        try:
            days[reader.pk] = day_of(now, reader.zone)
        except Exception:
            log.exception("digest.build_failed", reader_id=str(reader.pk))
    return days


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

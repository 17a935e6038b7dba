"""The scheduled rounds: the same work for every active reader, one after the other."""

from collections.abc import Callable
from datetime import datetime

import structlog

from digest.days import day_of
from digest.models import Reader
from digest.services.build import digest_build
from digest.services.learning import weights_update

log = structlog.get_logger(__name__)


def digests_build(*, now: datetime) -> int:
    """Build every active reader's digest of today, in the reader's zone; returns how many were built."""
    return _for_each(
        "digest.build_failed",
        lambda reader: digest_build(reader=reader, date=day_of(now, reader.zone), now=now),
    )


def weights_update_all(*, now: datetime) -> int:
    """Run one learning cycle for every active reader; returns how many were looked at."""
    return _for_each("weights.update_failed", lambda reader: weights_update(reader_id=reader.pk, now=now))


def _for_each(failed: str, work: Callable[[Reader], object]) -> int:
    """What goes wrong for one reader is logged and costs the others nothing; the next round tries again."""
    done = 0
    for reader in Reader.objects.filter(is_active=True).order_by("pk"):
        try:
            work(reader)
        except Exception:
            log.exception(failed, reader_id=str(reader.pk))
        else:
            done += 1
    return done

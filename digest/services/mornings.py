"""Days that begin while the night's work is long over, or far off: each reader's digest is there in time."""

from datetime import datetime, timedelta

import structlog

from digest.days import day_of
from digest.models import Digest, Reader
from digest.services.build import digest_build

log = structlog.get_logger(__name__)


def digests_begin(*, now: datetime) -> int:
    """Build today's digest for every active reader who has none yet, in the reader's zone; how many.

    Two queries where nobody's day has begun. What goes wrong for one reader is logged and costs the others
    nothing; the next round tries again.
    """
    around = [(now + timedelta(days=n)).date() for n in (-1, 0, 1)]
    there = set(Digest.objects.filter(date__in=around).values_list("reader_id", "date"))
    built = 0
    for reader in Reader.objects.filter(is_active=True).order_by("pk"):
        today = day_of(now, reader.zone)
        if (reader.pk, today) in there:
            continue
        try:
            digest_build(reader=reader, date=today, now=now)
        except Exception:
            log.exception("digest.build_failed", reader_id=str(reader.pk))
        else:
            built += 1
    return built

"""Days that begin while the night's work is long over, or far off: each reader's digest is there in time."""

from collections.abc import Callable
from datetime import datetime, timedelta

from digest.models import Digest, Reader
from digest.services.rounds import days_of, digests_build_days


def digests_begin(*, now: datetime, stopping: Callable[[], bool] = lambda: False) -> int:
    """Build today's digest for every active reader who has none yet, in the reader's zone; how many.

    Two queries where nobody's day has begun. Else the week is loaded once and readers go a hundred at a time,
    as in a round of the night; `stopping` is asked before each hundred. What goes wrong for one reader is
    logged and costs the others nothing; the next round tries again.
    """
    around = [(now + timedelta(days=n)).date() for n in (-1, 0, 1)]
    there = set(Digest.objects.filter(date__in=around).values_list("reader_id", "date"))
    everybody = list(Reader.objects.filter(is_active=True).order_by("pk"))
    days = {pk: day for pk, day in days_of(everybody, now).items() if (pk, day) not in there}
    readers = [reader for reader in everybody if reader.pk in days]
    return digests_build_days(readers=readers, days=days, now=now, stopping=stopping)

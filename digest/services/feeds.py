"""What operators do to feeds."""

from collections.abc import Collection
from datetime import datetime

from digest.models import Feed


def feeds_check(*, feed_ids: Collection[int], now: datetime) -> int:
    """Let these feeds be asked at the next round as if nothing had ever been wrong with them; how many.

    A feed that was given up or paused is fetched again. Imported ones have no address to ask.
    """
    rows = Feed.objects.filter(pk__in=feed_ids).exclude(state=Feed.State.IMPORTED)
    return rows.update(
        state=Feed.State.ACTIVE,
        next_check_at=now,
        failures=0,
        missing=0,
        error_code="",
        error_message="",
    )


def feeds_pause(*, feed_ids: Collection[int]) -> int:
    """Stop asking these feeds until somebody says otherwise; how many were being asked."""
    return Feed.objects.filter(pk__in=feed_ids, state=Feed.State.ACTIVE).update(state=Feed.State.PAUSED)

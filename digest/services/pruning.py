"""What nobody needs any longer goes: used links, mails and showings of long ago, sessions that ended."""

from collections.abc import Iterator
from datetime import datetime, timedelta
from importlib import import_module

from django.conf import settings
from django.db.models import Model

from digest.models import Delivery, Exposure, SpendRefusal, UsedLink

# A link ends after 14 days and a mail is retried within ten: a quarter of a year is for questions.
MAIL_KEPT = timedelta(days=90)
# A year and a month, so that a month can be held against the same one of the year before.
SHOWN_KEPT = timedelta(days=400)
TERMS: tuple[tuple[type[Model], str, timedelta], ...] = (
    (UsedLink, "used_at", MAIL_KEPT),
    (Delivery, "claimed_at", MAIL_KEPT),
    (Exposure, "shown_at", SHOWN_KEPT),
    (SpendRefusal, "created_at", SHOWN_KEPT),
)
# Rows of one DELETE: SQLite takes 32,766 parameters, and nobody waits for its lock for long.
BATCH = 2_000


def rows_prune(*, now: datetime) -> int:
    """Delete the rows whose term (`TERMS`) is over, and sessions that ended; how many rows, sessions apart.

    What was cut off goes on the next time. Items, digests, thumbs and evidence are kept.
    """
    import_module(settings.SESSION_ENGINE).SessionStore.clear_expired()
    return sum(count for model, at, kept in TERMS for count in _pruned(model, at, now - kept))


def _pruned(model: type[Model], at: str, before: datetime) -> Iterator[int]:
    """Rows are written in order of time, so the oldest are found by their keys; no table is read through."""
    rows = model._default_manager.order_by("pk").values_list("pk", at)
    while batch := list(rows[:BATCH]):
        old = [pk for pk, moment in batch if moment < before]
        model._default_manager.filter(pk__in=old).delete()
        yield len(old)
        if len(old) < len(batch):
            return

"""The log of what was really put before a reader."""

import datetime as dt

from django.db.models import Exists, OuterRef

from digest.models import Digest, Exposure


def exposures_log(*, digest: Digest, door: str, now: dt.datetime) -> int:
    """Log what `digest` shows as shown through `door` (`Exposure.Door`); how many rows that took.

    Only what this door has not shown at its rank that day is written, so that a second view costs one query
    and writes nothing. The log is append-only: building the digest again takes nothing back.
    """
    logged = Exposure.objects.filter(
        reader_id=digest.reader_id, date=digest.date, door=door, item=OuterRef("item"), rank=OuterRef("rank")
    )
    rows = [
        Exposure(
            reader_id=digest.reader_id,
            item_id=shown.item_id,
            date=digest.date,
            door=door,
            rank=shown.rank,
            slot=shown.slot,
            propensity=shown.propensity,
            score=shown.score,
            config_version=digest.config_version,
            shown_at=now,
        )
        for shown in digest.impressions.filter(~Exists(logged)).defer("parts").order_by("rank")
    ]
    if rows:
        Exposure.objects.bulk_create(rows, ignore_conflicts=True)
    if digest.exposed_at is None:
        unseen = Digest.objects.filter(pk=digest.pk, exposed_at=None, built_at=digest.built_at)
        if unseen.update(exposed_at=now):
            digest.exposed_at = now
    return len(rows)

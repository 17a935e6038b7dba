"""The digest door of the API: what a day's digest shows, why, and what it left out."""

from datetime import date as Date
from datetime import datetime
from typing import Any

from django.http import HttpRequest
from django.utils import timezone
from ninja import Router, Schema

from digest.days import day_of
from digest.errors import DigestMissing, FutureDate
from digest.models import Digest, Exposure, Impression, Reader
from digest.presenters import why_of
from digest.readers import reader_of
from digest.selectors import digest_impressions
from digest.selectors.clusters import Mate, cluster_mates
from digest.services.build import digest_current
from digest.services.exposures import exposures_log

router = Router(tags=["digests"])


class MateOut(Schema):
    """The same story in another of the reader's sources."""

    item_id: int
    title: str
    source: str
    url: str


class EntryOut(Schema):
    """One item of a digest. `parts` multiply to the score; `reasons` say the same in a few words.

    `slot` is `ranked`, `novelty` (drawn, with the probability `propensity`) or `kept` (rated, so in place).
    """

    rank: int
    item_id: int
    url: str
    title: str
    source: str
    dated_at: datetime
    score: float
    parts: dict[str, Any]
    slot: str
    propensity: float
    reasons: list[str]
    useful: bool | None
    also: list[MateOut]


class DigestOut(Schema):
    """A day's digest. `left_out` counts the candidates it passed over, by reason."""

    date: Date
    config_version: int
    built_at: datetime
    left_out: dict[str, int]
    entries: list[EntryOut]


@router.get("/digests/{date}", response=DigestOut)
def digest_get(request: HttpRequest, date: Date) -> DigestOut:
    """The reader's digest of a day in their zone. Today's is made anew where it is due, as for the page."""
    reader, now = reader_of(request), timezone.now()
    digest = _digest(reader, date, now)
    shown = digest_impressions(digest=digest)
    exposures_log(digest=digest, door=Exposure.Door.API, now=now)
    mates = cluster_mates(reader_id=reader.pk, item_ids=[row.item_id for row in shown])
    return DigestOut(
        date=digest.date,
        config_version=digest.config_version,
        built_at=digest.built_at,
        left_out=digest.left_out,
        entries=[_entry(row, mates.get(row.item_id, [])) for row in shown],
    )


def _digest(reader: Reader, date: Date, now: datetime) -> Digest:
    """Raises `FutureDate`, and `DigestMissing` for a day that ended without one."""
    if (digest := digest_current(reader=reader, date=date, now=now)) is not None:
        return digest
    if date > day_of(now, reader.zone):
        raise FutureDate(f"{date} has not begun yet in {reader.time_zone}. Ask for a day up to today.")
    raise DigestMissing(f"No digest was made on {date}. A digest is made on the day itself.")


def _entry(row: Impression, mates: list[Mate]) -> EntryOut:
    return EntryOut(
        rank=row.rank,
        item_id=row.item_id,
        url=row.item.url,
        title=row.item.title,
        source=row.item.source_id,
        dated_at=row.item.dated_at,
        score=row.score,
        parts=row.parts,
        slot=row.slot,
        propensity=row.propensity,
        reasons=list(why_of(row.parts, row.score, str(row.item.source), row.slot).chips),
        useful=row.thumb.useful if row.thumb else None,
        also=[MateOut(item_id=m.item_id, title=m.title, source=m.source, url=m.url) for m in mates],
    )

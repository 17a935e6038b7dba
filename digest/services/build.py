"""Building a digest: the best of the last seven days for one reader and one day of theirs."""

import datetime as dt

from django.db import transaction

from digest.days import day_end, day_of
from digest.entities import DIGEST_SIZE
from digest.errors import FutureDate
from digest.models import Digest, Feedback, Impression, Reader
from digest.placement import place
from digest.selectors import items_candidates
from ranking import scoring
from ranking.entities import EffectiveConfig, Score
from ranking.selectors import config_effective


def digest_build(*, reader: Reader, date: dt.date, now: dt.datetime, limit: int = DIGEST_SIZE) -> Digest:
    """Build, or build again, the reader's digest of `date` (a day in the reader's zone).

    1. Rank the items of the seven days up to `now`, or up to the end of a day that is over.
    2. Under the digest's row lock, put those the reader has rated back where they stood; their rows stay
       as they were shown.
    3. Store the rest round them, each with its rank, score and parts; nothing is written if nothing changed.

    A build that started under an older config never replaces a newer one's digest. Raises `FutureDate`.
    """
    effective = config_effective(reader_id=reader.pk)
    ranked = digest_rank(reader=reader, date=date, now=now, effective=effective)
    version = effective.config.version
    with transaction.atomic():
        digest, created = Digest.objects.select_for_update().get_or_create(
            reader=reader, date=date, defaults={"config_version": version, "built_at": now}
        )
        if digest.config_version <= version:
            shown = [] if created else list(digest.impressions.all())
            wanted = _impressions(digest, ranked, _rated(digest, shown), limit)
            if created or digest.config_version < version or _rows(shown) != _rows(wanted):
                _store(digest, wanted, version, now)
    return digest


def digest_rank(
    *, reader: Reader, date: dt.date, now: dt.datetime, effective: EffectiveConfig
) -> list[Score]:
    """All candidates of the reader's `date` by score alone, best first. Raises `FutureDate`."""
    if date > day_of(now, reader.zone):
        raise FutureDate(f"{date} has not begun yet in {reader.time_zone}. Ask for a day up to today.")
    as_of = min(now, day_end(date, reader.zone))
    return scoring.rank(items_candidates(reader_id=reader.pk, now=as_of), effective, as_of)


def _rated(digest: Digest, shown: list[Impression]) -> dict[int, Impression]:
    """The impressions whose item the reader has rated, by rank."""
    thumbs = Feedback.objects.filter(
        reader_id=digest.reader_id, item_id__in=[impression.item_id for impression in shown]
    )
    rated = set(thumbs.values_list("item_id", flat=True))
    return {impression.rank: impression for impression in shown if impression.item_id in rated}


def _impressions(
    digest: Digest, ranked: list[Score], rated: dict[int, Impression], limit: int
) -> list[Impression]:
    """The digest's impressions by rank, fresh and unsaved."""
    scores = {score.candidate.item_id: score for score in ranked}
    stood = {impression.item_id: impression for impression in rated.values()}
    kept = {rank: impression.item_id for rank, impression in rated.items()}
    return [
        _again(stood[item_id], rank) if item_id in stood else _fresh(digest, scores[item_id], rank)
        for rank, item_id in enumerate(place(list(scores), kept, limit), start=1)
    ]


def _fresh(digest: Digest, score: Score, rank: int) -> Impression:
    return Impression(
        digest=digest,
        item_id=score.candidate.item_id,
        rank=rank,
        score=score.total,
        parts=score.parts.as_dict(),
    )


def _again(stood: Impression, rank: int) -> Impression:
    return Impression(
        digest_id=stood.digest_id,
        item_id=stood.item_id,
        rank=rank,
        score=stood.score,
        parts=stood.parts,
        propensity=stood.propensity,
    )


def _rows(impressions: list[Impression]) -> list[tuple[object, ...]]:
    return [(i.rank, i.item_id, i.score, i.parts, i.propensity) for i in impressions]


def _store(digest: Digest, wanted: list[Impression], version: int, now: dt.datetime) -> None:
    digest.impressions.all().delete()
    Impression.objects.bulk_create(wanted)
    digest.config_version, digest.built_at = version, now
    digest.save(update_fields=["config_version", "built_at"])

"""Building a digest: the best of the last seven days for one reader and one day of theirs."""

import datetime as dt
from collections.abc import Sequence

from digest.compose import Rules
from digest.days import day_of
from digest.entities import DIGEST_SIZE
from digest.models import Digest, Reader
from digest.selectors.current import digests_current
from digest.selectors.digests import digest_for
from digest.selectors.items import items_candidates
from digest.selectors.material import Material, as_of_day, digest_material
from digest.selectors.signals import signals_for
from digest.services.storing import Order, digests_store
from ranking import scoring
from ranking.entities import EffectiveConfig, Score
from ranking.selectors import config_effective


def digest_current(*, reader: Reader, date: dt.date, now: dt.datetime) -> Digest | None:
    """The reader's digest of `date` as every door shows it; `None` for another day without one.

    Today's is built where it does not hold (`digests_current`): there is none, it is empty, an hour old, or
    from before a change of settings or sources. A past day shows what was made that day: today's settings
    would say little of what the reader saw then.
    """
    if date != day_of(now, reader.zone):
        return digest_for(reader_id=reader.pk, date=date)
    version = config_effective(reader_id=reader.pk).config.version
    current = digests_current(days={reader.pk: date}, versions={reader.pk: version}, now=now)
    return current.get(reader.pk) or digest_build(reader=reader, date=date, now=now)


def digest_build(
    *, reader: Reader, date: dt.date, now: dt.datetime, limit: int = DIGEST_SIZE, rules: Rules | None = None
) -> Digest:
    """Build, or build again, the reader's digest of `date` (a day in the reader's zone).

    1. Rank the items of the seven days up to `now`, or up to the end of a day that is over.
    2. Compose a digest of `limit` items from them (`digest.compose`), under the digest's row lock: what the
       reader has rated stays where it stood, as it was shown.
    3. Store each item with its rank, slot, score and parts; nothing is written if nothing changed.

    `rules` in place of `limit` composes in another way. A build that started under an older config never
    replaces a newer one's digest. Raises `FutureDate`.
    """
    effective = config_effective(reader_id=reader.pk)
    material = digest_material(reader=reader, date=date, now=now)
    order = order_of(reader=reader, date=date, material=material, effective=effective)
    return digests_store(orders=[order], rules=rules or Rules(limit), now=now)[0]


def order_of(*, reader: Reader, date: dt.date, material: Material, effective: EffectiveConfig) -> Order:
    """The reader's day ranked, ready to be composed and stored."""
    ranking = material.ranking(effective)
    at = {item_id: n for n, item_id in enumerate(ranking.ids.tolist())}
    return Order(
        reader=reader,
        date=date,
        version=effective.config.version,
        choices=material.choices(ranking, effective),
        chances=material.chances(effective),
        score_of=lambda item_id: ranking[at[item_id]],
    )


def digest_rank(
    *, reader: Reader, date: dt.date, now: dt.datetime, effective: EffectiveConfig
) -> Sequence[Score]:
    """All candidates of the reader's `date` by score alone, best first. Raises `FutureDate`."""
    as_of = as_of_day(reader, date, now)
    candidates = items_candidates(reader_id=reader.pk, now=as_of)
    ids = [candidate.item_id for candidate in candidates]
    return scoring.ranked(
        candidates, effective, as_of, signals_for(reader_id=reader.pk, item_ids=ids, now=as_of)
    )

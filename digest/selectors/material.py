"""What a reader's digest of a day is made of, their settings apart."""

import datetime as dt
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from uuid import UUID

from django.db.models import Count

from digest.compose import (
    KNOWN_SHOWINGS,
    KNOWN_THUMBS,
    SHOWINGS_DAYS,
    Chances,
    chances_of,
    muted_in,
)
from digest.days import day_end, day_of
from digest.errors import FutureDate
from digest.models import Exposure, Feedback, Reader
from digest.selectors.items import items_window
from digest.selectors.signals import signals_for
from digest.shares import Choice, choices_of
from ranking.entities import EffectiveConfig
from ranking.pool import Ids, Pool
from ranking.scoring import Ranking, Signals, ranked


@dataclass(frozen=True, slots=True)
class Material:
    """The candidates of one reader's day as of a moment, with what composing them needs.

    They are the `rows` of `pool` (all of them if `None`); `about` tells the source and the story of each,
    `known` holds the sources that the reader's thumbs or eyes have settled, `seed` fixes the novelty draw.
    """

    as_of: dt.datetime
    seed: str
    pool: Pool
    about: Mapping[int, tuple[str, int | None]]
    rows: Ids | None = None
    known: frozenset[str] = frozenset()
    signals: Signals = field(default_factory=Signals)

    def ranking(self, effective: EffectiveConfig) -> Ranking:
        """The candidates by score under these settings, explained on demand."""
        return ranked(self.pool, effective, self.as_of, self.signals, self.rows)

    def choices(self, ranking: Ranking, effective: EffectiveConfig) -> list[Choice]:
        """What `digest.compose` chooses from, in the order of `ranking`."""
        muted = muted_in(self.pool, effective, self.rows)
        return choices_of(
            ranking.ids.tolist(),
            self.about,
            effective.weights(),
            ranking.totals.tolist(),
            ranking.undisliked().tolist(),
            muted,
        )

    def chances(self, effective: EffectiveConfig) -> Chances:
        """What the novelty draw of this reader and day needs."""
        return chances_of(self.seed, self.known, effective)


def digest_material(
    *,
    reader: Reader,
    date: dt.date,
    now: dt.datetime,
    seen_by: dt.datetime | None = None,
    said_by: dt.datetime | None = None,
) -> Material:
    """The items of the seven days up to `now`, or up to the end of a day that is over.

    `seen_by` leaves out what was first seen after that moment, whatever date it carries. What others say is
    that of `said_by`, or of the same moment: each process keeps the thumbs of one day, and another one's are
    read anew, for all readers.
    As many queries whatever there is to read. Raises `FutureDate`.
    """
    as_of = as_of_day(reader, date, now)
    candidates, stories = items_window(reader_id=reader.pk, now=as_of, seen_by=seen_by)
    ids = [candidate.item_id for candidate in candidates]
    return Material(
        as_of=as_of,
        seed=seed_of(reader.pk, date),
        pool=Pool(candidates),
        about={c.item_id: (c.source, stories.get(c.item_id)) for c in candidates},
        known=sources_known(reader_ids=[reader.pk], now=as_of).get(reader.pk, frozenset()),
        signals=signals_for(reader_id=reader.pk, item_ids=ids, now=said_by or as_of),
    )


def as_of_day(reader: Reader, date: dt.date, now: dt.datetime) -> dt.datetime:
    """The moment a digest of the reader's `date` looks back from. Raises `FutureDate`."""
    if date > day_of(now, reader.zone):
        raise FutureDate(f"{date} has not begun yet in {reader.time_zone}. Ask for a day up to today.")
    return min(now, day_end(date, reader.zone))


def seed_of(reader_id: UUID, date: dt.date) -> str:
    """What fixes the novelty draw of one reader and day."""
    return f"{reader_id}|{date.isoformat()}"


def sources_known(*, reader_ids: Collection[UUID], now: dt.datetime) -> dict[UUID, frozenset[str]]:
    """The sources each reader has shown themselves to know: by five thumbs at any time, or by ten showings
    in the last 30 days. Two queries, for some hundred readers at a time."""
    known: dict[UUID, set[str]] = {}
    thumbs = Feedback.objects.filter(reader_id__in=reader_ids).values_list("reader_id", "item__source_id")
    since = now - dt.timedelta(days=SHOWINGS_DAYS)
    shown = Exposure.objects.filter(reader_id__in=reader_ids, shown_at__gt=since, shown_at__lte=now)
    shown_by_source = shown.values_list("reader_id", "item__source_id")
    for rows, least in ((thumbs, KNOWN_THUMBS), (shown_by_source, KNOWN_SHOWINGS)):
        counted = rows.annotate(count=Count("item_id", distinct=True)).filter(count__gte=least)
        for reader_id, source, _ in counted.order_by():
            known.setdefault(reader_id, set()).add(source)
    return {reader_id: frozenset(sources) for reader_id, sources in known.items()}

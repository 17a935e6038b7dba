"""Candidates: what the digests of a day are chosen from, for one reader or for a round of many."""

import datetime as dt
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeVar
from uuid import UUID

import numpy as np
from django.db.models import Count

from digest.build.compose import NoveltyDraw, muted_items, novelty_draw
from digest.build.shares import Choice, choices_make
from digest.days import day_end, day_of
from digest.entities import ITEM_WINDOW_DAYS
from digest.errors import FutureDate
from digest.feedback.peers import community_rates_many
from digest.items.selectors import CANDIDATES_MAX, items_window
from digest.items.vectors import taste_unpack
from digest.models import (
    Exposure,
    Feed,
    Feedback,
    FeedEntry,
    Item,
    ItemVector,
    Reader,
    Subscription,
    TasteProfile,
)
from ranking.entities import Candidate, EffectiveConfig
from ranking.scoring import Ids, ItemValues, Pool, Ranking, Signals, ranked
from ranking.similarity import profile_of, similarities, vectors_stack

# Ids in one statement; SQLite takes 32,766.
BATCH = 10_000
# Rows fetched from the database at a time.
ROWS = 2_000
# A source is known from as many ratings on as the learning loop wants before it moves (ranking.learning), or
# after so many exposures in the last 30 days: who passes something by ten times has seen it.
KNOWN_RATINGS = 5
KNOWN_EXPOSURES = 10
EXPOSURES_DAYS = 30
NO_ROWS: Ids = np.empty(0, dtype=np.int64)

Key = TypeVar("Key", int, str)
Origins = Mapping[int, tuple[str, int | None]]


@dataclass(frozen=True, slots=True)
class DayCandidates:
    """The candidates of one reader's day as of a moment, with what composing them needs.

    They are the `rows` of `pool` (all of them if `None`); `origins` has the source and the story of each,
    `known` the sources with enough ratings or exposures, `seed` fixes the novelty draw.
    """

    as_of: dt.datetime
    seed: str
    pool: Pool
    origins: Origins
    rows: Ids | None = None
    known: frozenset[str] = frozenset()
    signals: Signals = field(default_factory=Signals)

    def ranking(self, effective: EffectiveConfig) -> Ranking:
        """Return the candidates by score under these settings, explained on demand."""
        return ranked(self.pool, effective, self.as_of, self.signals, self.rows)

    def choices(self, ranking: Ranking, effective: EffectiveConfig) -> list[Choice]:
        """Return what `digest.build.compose` chooses from, in the order of `ranking`."""
        return choices_make(
            ranking.ids.tolist(),
            self.origins,
            effective.weights(),
            ranking.totals.tolist(),
            ranking.totals_without_penalties().tolist(),
            muted_items(self.pool, effective, self.rows),
        )

    def novelty_draw(self, effective: EffectiveConfig) -> NoveltyDraw:
        """Return what the novelty draw of this reader and day needs."""
        return novelty_draw(self.seed, self.known, effective)


def digest_candidates(
    *,
    reader: Reader,
    date: dt.date,
    now: dt.datetime,
    seen_by: dt.datetime | None = None,
    community_at: dt.datetime | None = None,
) -> DayCandidates:
    """Return the items of the seven days up to `now`, or up to the end of a day that is over.

    `seen_by` leaves out what was first seen after that moment, whatever date it carries. Ratings of other
    readers are those of `community_at`, or of the same moment: each process caches those of one day, and
    another day's are read again for all readers. The number of queries is constant. Raises `FutureDate`.
    """
    as_of = as_of_day(reader, date, now)
    candidates, stories = items_window(reader_id=reader.pk, now=as_of, seen_by=seen_by)
    pool = Pool(candidates)
    origins = {c.item_id: (c.source, stories.get(c.item_id)) for c in candidates}
    made = _candidates_of_readers(
        pool, origins, {reader.pk: None}, {reader.pk: date}, as_of, community_at or as_of
    )
    return made[reader.pk]


def as_of_day(reader: Reader, date: dt.date, now: dt.datetime) -> dt.datetime:
    """Return the moment a digest of the reader's `date` looks back from. Raises `FutureDate`."""
    if date > day_of(now, reader.zone):
        raise FutureDate(f"{date} has not begun yet in {reader.time_zone}. Ask for a day up to today.")
    return min(now, day_end(date, reader.zone))


@dataclass(frozen=True, slots=True)
class Window:
    """The items of the seven days up to `now`, newest first, as columns that all readers share.

    `by_feed` and `by_source` hold the rows (places in `pool`) of each feed and of each source.
    """

    now: dt.datetime
    pool: Pool
    origins: Origins
    by_feed: Mapping[int, Ids]
    by_source: Mapping[str, Ids]

    def rows(self, feeds: Collection[int], sources: Collection[str]) -> Ids:
        """Return the newest 5,000 rows of these feeds and of these whole sources, each once, newest first."""
        parts = [self.by_feed.get(feed, NO_ROWS) for feed in feeds]
        parts += [self.by_source.get(source, NO_ROWS) for source in sources]
        return np.unique(np.concatenate([NO_ROWS, *parts]))[:CANDIDATES_MAX]


def window_load(*, now: dt.datetime) -> Window:
    """Load the items of a week once for all readers, in two queries read in steps of 2,000 rows."""
    since = now - dt.timedelta(days=ITEM_WINDOW_DAYS)
    items = Item.objects.filter(dated_at__gt=since, dated_at__lte=now).order_by("-dated_at", "id")
    fields = ("id", "source_id", "title", "text", "dated_at", "story_id")
    candidates: list[Candidate] = []
    origins: dict[int, tuple[str, int | None]] = {}
    by_source: defaultdict[str, list[int]] = defaultdict(list)
    for pk, source, title, text, at, story in items.values_list(*fields).iterator(chunk_size=ROWS):
        by_source[source].append(len(candidates))
        candidates.append(Candidate(pk, source, title, text, at))
        origins[pk] = (source, story)
    row_of = {candidate.item_id: row for row, candidate in enumerate(candidates)}
    by_feed: defaultdict[int, list[int]] = defaultdict(list)
    entries = FeedEntry.objects.filter(item__dated_at__gt=since, item__dated_at__lte=now)
    for feed, item in entries.values_list("feed_id", "item_id").iterator(chunk_size=ROWS):
        if item in row_of:
            by_feed[feed].append(row_of[item])
    return Window(now, Pool(candidates), origins, _as_arrays(by_feed), _as_arrays(by_source))


def _as_arrays(lists: Mapping[Key, list[int]]) -> dict[Key, Ids]:
    return {key: np.array(rows, dtype=np.int64) for key, rows in lists.items()}


def digest_candidates_many(*, window: Window, days: Mapping[UUID, dt.date]) -> dict[UUID, DayCandidates]:
    """Return what `digest_candidates` gives for each of some readers (a hundred or so).

    `days` is reader -> their today. The number of queries depends neither on readers nor on items.
    """
    feeds: defaultdict[UUID, list[int]] = defaultdict(list)
    sources: defaultdict[UUID, list[str]] = defaultdict(list)
    subscribed = Subscription.objects.filter(reader_id__in=list(days))
    for reader, feed, source, state in subscribed.values_list(
        "reader_id", "feed_id", "feed__source_id", "feed__state"
    ):
        feeds[reader].append(feed)
        if state == Feed.State.IMPORTED:
            sources[reader].append(source)
    rows = {reader: window.rows(feeds[reader], sources[reader]) for reader in days}
    return _candidates_of_readers(window.pool, window.origins, rows, days, window.now, window.now)


def _candidates_of_readers(
    pool: Pool,
    origins: Origins,
    rows: Mapping[UUID, Ids | None],
    days: Mapping[UUID, dt.date],
    as_of: dt.datetime,
    community_at: dt.datetime,
) -> dict[UUID, DayCandidates]:
    known = _sources_known(list(days), as_of)
    parts = [np.arange(len(pool)) if of_one is None else of_one for of_one in rows.values()]
    ids = pool.ids[np.unique(np.concatenate([NO_ROWS, *parts]))].tolist()
    signals = signals_for(reader_ids=list(days), item_ids=ids, now=community_at)
    return {
        reader: DayCandidates(
            as_of=as_of,
            seed=f"{reader}|{date.isoformat()}",
            pool=pool,
            origins=origins,
            rows=rows[reader],
            known=known.get(reader, frozenset()),
            signals=signals[reader],
        )
        for reader, date in days.items()
    }


def _sources_known(reader_ids: Collection[UUID], now: dt.datetime) -> dict[UUID, frozenset[str]]:
    """Return the sources each reader knows: by five ratings at any time, or ten exposures in 30 days."""
    known: dict[UUID, set[str]] = {}
    rated = Feedback.objects.filter(reader_id__in=reader_ids).values_list("reader_id", "item__source_id")
    since = now - dt.timedelta(days=EXPOSURES_DAYS)
    exposed = Exposure.objects.filter(reader_id__in=reader_ids, shown_at__gt=since, shown_at__lte=now)
    exposed_by_source = exposed.values_list("reader_id", "item__source_id")
    for rows, least in ((rated, KNOWN_RATINGS), (exposed_by_source, KNOWN_EXPOSURES)):
        counted = rows.annotate(count=Count("item_id", distinct=True)).filter(count__gte=least)
        for reader_id, source, _ in counted.order_by():
            known.setdefault(reader_id, set()).add(source)
    return {reader_id: frozenset(sources) for reader_id, sources in known.items()}


def signals_for(
    *, reader_ids: Collection[UUID], item_ids: Collection[int], now: dt.datetime
) -> dict[UUID, Signals]:
    """Return by reader the similarity and community figures of the items; empty where nothing is known.

    At most eight queries for up to 10,000 items, however many readers. An item the reader has rated has a
    similarity of 0: what was read once is no reason to show more of the very same. Memory is four bytes for
    each item and reader: ask for some hundred readers at a time.
    """
    ids = sorted(set(item_ids))
    similar = _similarities(reader_ids, ids) if ids else {}
    community = community_rates_many(reader_ids=reader_ids, item_ids=ids, now=now) if ids else {}
    return {reader: Signals(similar.get(reader, {}), community.get(reader, {})) for reader in reader_ids}


def _similarities(reader_ids: Collection[UUID], ids: Sequence[int]) -> dict[UUID, ItemValues]:
    profiles = TasteProfile.objects.filter(reader_id__in=list(reader_ids), likes__gt=0)
    tastes = {p.reader_id: taste_unpack(bytes(p.terms), p.likes, p.dislikes) for p in profiles}
    if not tastes:
        return {}
    rows = list(_vector_rows(ids))
    known = np.array([pk for pk, _ in rows], dtype=np.int64)
    vectors = vectors_stack([terms for _, terms in rows])
    rated: defaultdict[UUID, list[int]] = defaultdict(list)
    ratings = Feedback.objects.filter(reader_id__in=list(tastes), item_id__gte=ids[0], item_id__lte=ids[-1])
    for reader, item in ratings.values_list("reader_id", "item_id"):
        rated[reader].append(item)
    figures = {}
    for reader, taste in tastes.items():
        values = similarities(profile_of(taste), vectors)
        values[np.isin(known, rated[reader])] = 0.0
        figures[reader] = ItemValues(known, values)
    return figures


def _vector_rows(ids: Sequence[int]) -> Iterator[tuple[int, bytes]]:
    for start in range(0, len(ids), BATCH):
        rows = ItemVector.objects.filter(pk__in=ids[start : start + BATCH])
        yield from ((pk, bytes(terms)) for pk, terms in rows.values_list("pk", "terms").iterator())

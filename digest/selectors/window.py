"""A digest's week loaded once for all readers, and what each of them needs besides."""

import datetime as dt
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar
from uuid import UUID

import numpy as np

from digest.entities import ITEM_WINDOW_DAYS
from digest.models import Feed, FeedEntry, Item, Subscription
from digest.selectors.items import CANDIDATES_MAX
from digest.selectors.material import Material, seed_of, sources_known
from digest.selectors.signals import signals_for_many
from ranking.entities import Candidate
from ranking.pool import Ids, Pool

# Rows fetched from the database at a time.
ROWS = 2_000
Key = TypeVar("Key", int, str)
NONE: Ids = np.empty(0, dtype=np.int64)


@dataclass(frozen=True, slots=True)
class Window:
    """The items of the seven days up to `now`, newest first, as columns that all readers share.

    `by_feed` and `by_source` hold the rows (places in `pool`) that a feed carries and that a source has.
    """

    now: dt.datetime
    pool: Pool
    about: Mapping[int, tuple[str, int | None]]
    by_feed: Mapping[int, Ids]
    by_source: Mapping[str, Ids]

    def rows(self, feeds: Collection[int], sources: Collection[str]) -> Ids:
        """The newest 5,000 rows of these feeds and of these whole sources, each once, newest first."""
        parts = [self.by_feed.get(feed, NONE) for feed in feeds]
        parts += [self.by_source.get(source, NONE) for source in sources]
        return np.unique(np.concatenate([NONE, *parts]))[:CANDIDATES_MAX]


def window_load(*, now: dt.datetime) -> Window:
    """Two queries, read in steps of 2,000 rows. Memory: the texts of a week, once."""
    dated = (now - dt.timedelta(days=ITEM_WINDOW_DAYS), now)
    items = Item.objects.filter(dated_at__gt=dated[0], dated_at__lte=dated[1]).order_by("-dated_at", "id")
    fields = ("id", "source_id", "title", "text", "dated_at", "cluster_id")
    candidates: list[Candidate] = []
    about: dict[int, tuple[str, int | None]] = {}
    by_source: defaultdict[str, list[int]] = defaultdict(list)
    for pk, source, title, text, at, story in items.values_list(*fields).iterator(chunk_size=ROWS):
        by_source[source].append(len(candidates))
        candidates.append(Candidate(pk, source, title, text, at))
        about[pk] = (source, story)
    return Window(now, Pool(candidates), about, _by_feed(candidates, *dated), _rows_of(by_source))


def _by_feed(candidates: Sequence[Candidate], since: dt.datetime, until: dt.datetime) -> dict[int, Ids]:
    row_of = {candidate.item_id: row for row, candidate in enumerate(candidates)}
    found: defaultdict[int, list[int]] = defaultdict(list)
    entries = FeedEntry.objects.filter(item__dated_at__gt=since, item__dated_at__lte=until)
    for feed, item in entries.values_list("feed_id", "item_id").iterator(chunk_size=ROWS):
        if item in row_of:
            found[feed].append(row_of[item])
    return _rows_of(found)


def _rows_of(lists: Mapping[Key, list[int]]) -> dict[Key, Ids]:
    return {key: np.array(rows, dtype=np.int64) for key, rows in lists.items()}


def materials_of(*, window: Window, days: Mapping[UUID, dt.date]) -> dict[UUID, Material]:
    """What the digests of some readers (a hundred or so) are made of; `days` is reader -> their today.

    The same as `digest_material` gives for each of them. As many queries however many items there are.
    """
    rows = _readable(window, list(days))
    known = sources_known(reader_ids=list(days), now=window.now)
    every = np.unique(np.concatenate([NONE, *rows.values()]))
    ids = window.pool.ids[every].tolist()
    signals = signals_for_many(reader_ids=list(days), item_ids=ids, now=window.now)
    return {
        reader: Material(
            as_of=window.now,
            seed=seed_of(reader, date),
            pool=window.pool,
            about=window.about,
            rows=rows[reader],
            known=known.get(reader, frozenset()),
            signals=signals[reader],
        )
        for reader, date in days.items()
    }


def _readable(window: Window, reader_ids: Sequence[UUID]) -> dict[UUID, Ids]:
    """The rows each reader may be shown; one query."""
    feeds: defaultdict[UUID, list[int]] = defaultdict(list)
    sources: defaultdict[UUID, list[str]] = defaultdict(list)
    read = Subscription.objects.filter(reader_id__in=reader_ids)
    for reader, feed, source, state in read.values_list(
        "reader_id", "feed_id", "feed__source_id", "feed__state"
    ):
        feeds[reader].append(feed)
        if state == Feed.State.IMPORTED:
            sources[reader].append(source)
    return {reader: window.rows(feeds[reader], sources[reader]) for reader in reader_ids}

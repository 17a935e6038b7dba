"""Candidates: what the digests of a day are chosen from, for one reader or for a round of many."""

import datetime as dt
from collections import Counter, defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import NamedTuple
from uuid import UUID

import numpy as np
from django.db.models import Count
from django.utils.translation import gettext
from numpy.typing import NDArray

from digest.daily.compose import NOVELTY_DAYS_MAX, NoveltyDraw, muted_items, novelty_draw
from digest.daily.shares import Choice, choices_make
from digest.days import day_end, day_of
from digest.entities import ITEM_WINDOW_DAYS
from digest.errors import FutureDate
from digest.feedback.implicit import implicit_leans_current
from digest.feedback.peers import community_rates_many
from digest.items.clustering import StoryTitle, stories_split, story_title
from digest.items.selectors import (
    CANDIDATE_FIELDS,
    CANDIDATES_MAX,
    items_latest,
    items_window,
    subscriptions_new,
)
from digest.items.vectors import taste_unpack
from digest.models import (
    Exposure,
    Feedback,
    Item,
    ItemVector,
    Reader,
    Subscription,
    TasteProfile,
)
from ranking.entities import Candidate, EffectiveConfig, Mute
from ranking.implicit import NO_LEANS
from ranking.mutes import MuteFilter
from ranking.scoring import Ids, ItemValues, Pool, Ranking, Signals, count_sources, ranked
from ranking.selectors import config_mutes_many
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

Origins = Mapping[int, tuple[str, int]]


class Carried(NamedTuple):
    """A reader's rows of the pool (`None`: all), stories by article, how many sources report each item.

    `muted` counts the articles that are not among the rows, by mute.
    """

    rows: Ids | None
    stories: Mapping[int, int]
    reported_by: Mapping[int, float]
    muted: Mapping[Mute, int]


@dataclass(frozen=True, slots=True)
class DayCandidates:
    """The candidates of one reader's day as of a moment, with what composing them needs.

    They are the `rows` of `pool` (all of them if `None`); `origins` has the source and the article of each,
    `stories` the articles that are one for this reader, `known` the sources with enough ratings or exposures,
    `seed` fixes the novelty draw. What the reader has muted is no candidate; `muted` counts it by mute.
    """

    as_of: dt.datetime
    seed: str
    pool: Pool
    origins: Origins
    rows: Ids | None = None
    stories: Mapping[int, int] = field(default_factory=dict)
    known: frozenset[str] = frozenset()
    signals: Signals = field(default_factory=Signals)
    muted: Mapping[Mute, int] = field(default_factory=dict)

    def ranking(self, effective: EffectiveConfig) -> Ranking:
        """Return the candidates by score under these settings, explained on demand."""
        return ranked(self.pool, effective, self.as_of, self.signals, self.rows)

    def choices(self, ranking: Ranking, effective: EffectiveConfig) -> list[Choice]:
        """Return what `digest.daily.compose` chooses from, in the order of `ranking`."""
        return choices_make(
            ranking.ids.tolist(),
            self.origins,
            self.stories,
            effective.weights(),
            ranking.totals.tolist(),
            ranking.totals_without_penalties().tolist(),
            muted_items(self.pool, effective, self.rows),
        )

    def story_of(self, article: int) -> int:
        """Return what a digest shows once: the article's story among the reader's items, else the article."""
        return self.stories.get(article, article)

    def novelty_draw(self, effective: EffectiveConfig) -> NoveltyDraw:
        """Return what the novelty draw of this reader and day needs."""
        since = (self.as_of - dt.timedelta(days=NOVELTY_DAYS_MAX)).timestamp()
        old = self.pool.ids[self.pool.timestamps < since].tolist()
        return novelty_draw(self.seed, self.known, effective, old)


def digest_candidates(
    *,
    reader: Reader,
    date: dt.date,
    now: dt.datetime,
    seen_by: dt.datetime | None = None,
) -> DayCandidates:
    """Return the items of the seven days up to `now`, or up to the end of a day that is over.

    The latest posts of quiet feeds that are new to the reader are among them (`items_latest`).

    `seen_by` leaves out what was first seen after that moment, whatever date it carries. The community's
    figures are those published by then. The number of queries is constant. Raises `FutureDate`.
    """
    as_of = as_of_day(reader, date, now)
    found = items_window(reader_id=reader.pk, now=as_of, seen_by=seen_by, latest=True)
    pool = Pool(found.candidates)
    origins = {c.item_id: (c.source, found.articles[c.item_id]) for c in found.candidates}
    carried = {reader.pk: Carried(None, found.stories, found.reported_by, found.muted)}
    made = _candidates_of_readers(pool, origins, carried, {reader.pk: date}, as_of, {})
    return made[reader.pk]


def as_of_day(reader: Reader, date: dt.date, now: dt.datetime) -> dt.datetime:
    """Return the moment a digest of the reader's `date` looks back from. Raises `FutureDate`."""
    if date > day_of(now, reader.zone):
        raise FutureDate(
            gettext("{date} has not begun yet in {time_zone}. Ask for a day up to today.").format(
                date=date, time_zone=reader.time_zone
            )
        )
    return min(now, day_end(date, reader.zone))


@dataclass(frozen=True, slots=True)
class Window:
    """The items of the seven days up to `now`, newest first, as columns that all readers share.

    `by_feed` holds the rows (places in `pool`) of each feed, `articles` and `own` what tells whose words a
    reader gets (`digest.items.selectors.article_rank`), `titles` what tells a reader's stories, by row of
    those in a story with others. `latest` holds the latest posts of feeds without an item in these days that
    are new to some reader: the last rows of `pool`. `vectors` fills with the packed ones that were compared.
    """

    now: dt.datetime
    pool: Pool
    origins: Origins
    by_feed: Mapping[int, Ids]
    articles: Ids
    own: NDArray[np.bool_]
    titles: Mapping[int, StoryTitle]
    latest: Mapping[int, Ids] = field(default_factory=dict)
    vectors: dict[int, bytes] = field(default_factory=dict)

    def carried(self, feeds: Sequence[int], new: Collection[int], mutes: MuteFilter) -> Carried:
        """Return of the newest 5,000 rows of these feeds those to be shown, newest first, and their stories.

        `feeds` are in the order in which the reader subscribed to them; of those that are `new` to the reader
        the latest posts count too. Of each article one row is shown; stories are by article, among all of the
        rows (`digest.items.clustering.stories_split`), and so is how many sources report an item.
        """
        older = {feed: self.latest[feed] for feed in new if feed in self.latest}
        parts = [older.get(feed, self.by_feed.get(feed, NO_ROWS)) for feed in feeds]
        rows = np.concatenate([NO_ROWS, *parts])
        subscribed = np.repeat(np.arange(len(parts)), [len(part) for part in parts])
        newest = np.argsort(rows)[:CANDIDATES_MAX]
        is_shown, muted = self._mutes_split(rows[newest], mutes)
        rows, subscribed = rows[newest][is_shown], subscribed[newest][is_shown]
        ranked_first = np.lexsort((subscribed, ~self.own[rows]))
        _, first = np.unique(self.articles[rows[ranked_first]], return_index=True)
        stories = stories_split(self.titles[row] for row in rows.tolist() if row in self.titles)
        shown = ranked_first[first]
        joined = np.array(
            [stories.get(article, article) for article in self.articles[rows].tolist()], np.int64
        )
        counts = count_sources(joined, self.pool.source_codes[rows])[shown]
        return Carried(np.sort(rows[shown]), stories, ItemValues(self.pool.ids[rows[shown]], counts), muted)

    def _mutes_split(self, rows: Ids, mutes: MuteFilter) -> tuple[NDArray[np.bool_], dict[Mute, int]]:
        """Return which of `rows` the mutes do not hide, and how many articles each mute leaves none of."""
        if not mutes:
            return np.ones(len(rows), dtype=np.bool_), {}
        hiding = [mutes.finds(self.pool.candidates[row]) for row in rows.tolist()]
        shown = np.array([mute is None for mute in hiding], dtype=np.bool_)
        left = {*self.articles[rows[shown]].tolist()}
        gone = {a: mute for a, mute in zip(self.articles[rows].tolist(), hiding, strict=True) if mute}
        return shown, Counter(mute for article, mute in gone.items() if article not in left)


def window_load(*, now: dt.datetime) -> Window:
    """Load the items of a week once for all readers, in one query read in steps of 2,000 rows.

    A second query gets the latest posts of feeds that are new to somebody.
    """
    since = now - dt.timedelta(days=ITEM_WINDOW_DAYS)
    items = Item.objects.filter(dated_at__gt=since, dated_at__lte=now).order_by("-dated_at", "id")
    older = items_latest(subscriptions=subscriptions_new(now=now), now=now)
    candidates: list[Candidate] = []
    origins: dict[int, tuple[str, int]] = {}
    articles: list[int] = []
    owned: list[bool] = []
    clustered: dict[int, int] = {}
    by_feed: defaultdict[int, list[int]] = defaultdict(list)
    latest: defaultdict[int, list[int]] = defaultdict(list)
    found = (
        some.values_list(*CANDIDATE_FIELDS, "story_id", "article", "own", "feed_id")
        for some in (items, older)
    )
    rows = (some.iterator(chunk_size=ROWS) for some in found)
    for *item, story, article, own, feed in chain.from_iterable(rows):
        candidate = Candidate(*item)
        (by_feed if candidate.dated_at > since else latest)[feed].append(len(candidates))
        candidates.append(candidate)
        origins[candidate.item_id] = (candidate.source, article)
        if story:
            clustered[len(articles)] = story
        articles.append(article)
        owned.append(own)
    columns = np.array(articles, dtype=np.int64), np.array(owned, dtype=np.bool_)
    titles = _titles(candidates, articles, clustered)
    return Window(now, Pool(candidates), origins, _arrays(by_feed), *columns, titles, _arrays(latest))


def _titles(
    candidates: Sequence[Candidate], articles: Sequence[int], clustered: Mapping[int, int]
) -> dict[int, StoryTitle]:
    """Return by row the titles of the rows that share their stored story, of `clustered`, with another."""
    counts = Counter(clustered.values())
    return {
        row: story_title(
            story=story,
            article=articles[row],
            title=candidates[row].title,
            text=candidates[row].text,
        )
        for row, story in clustered.items()
        if counts[story] > 1
    }


def _arrays(rows: Mapping[int, Sequence[int]]) -> dict[int, Ids]:
    return {feed: np.array(some, dtype=np.int64) for feed, some in rows.items()}


def digest_candidates_many(*, window: Window, days: Mapping[UUID, dt.date]) -> dict[UUID, DayCandidates]:
    """Return what `digest_candidates` gives for each of some readers (a hundred or so).

    `days` is reader -> their today. The number of queries depends neither on readers nor on items.
    """
    feeds: defaultdict[UUID, list[int]] = defaultdict(list)
    subscribed = Subscription.objects.filter(reader_id__in=list(days)).order_by("pk")
    for reader, feed in subscribed.values_list("reader_id", "feed_id"):
        feeds[reader].append(feed)
    new: defaultdict[UUID, list[int]] = defaultdict(list)
    joined = subscriptions_new(now=window.now).filter(reader_id__in=list(days))
    quiet = joined.filter(feed_id__in=list(window.latest)).values_list("reader_id", "feed_id")
    for reader, feed in quiet if window.latest else ():
        new[reader].append(feed)
    mutes = config_mutes_many(reader_ids=list(days))
    carried = {
        reader: window.carried(feeds[reader], new[reader], MuteFilter(mutes.get(reader, ()), today))
        for reader, today in days.items()
    }
    return _candidates_of_readers(window.pool, window.origins, carried, days, window.now, window.vectors)


def _candidates_of_readers(
    pool: Pool,
    origins: Origins,
    carried: Mapping[UUID, Carried],
    days: Mapping[UUID, dt.date],
    as_of: dt.datetime,
    vectors: dict[int, bytes],
) -> dict[UUID, DayCandidates]:
    items = {pk: pool.ids if one.rows is None else pool.ids[one.rows] for pk, one in carried.items()}
    ids = np.unique(np.concatenate([NO_ROWS, *items.values()])).tolist()
    known = _sources_known(list(days), {origins[item][0] for item in ids}, as_of)
    signals = _signals(items, as_of, vectors)
    return {
        reader: DayCandidates(
            as_of=as_of,
            seed=f"{reader}|{date.isoformat()}",
            pool=pool,
            origins=origins,
            rows=carried[reader].rows,
            stories=carried[reader].stories,
            known=known.get(reader, frozenset()),
            signals=replace(signals[reader], reported_by=carried[reader].reported_by),
            muted=carried[reader].muted,
        )
        for reader, date in days.items()
    }


def _sources_known(
    reader_ids: Collection[UUID], sources: Collection[str], now: dt.datetime
) -> dict[UUID, frozenset[str]]:
    """Return which of `sources` each reader knows: by five ratings, or ten exposures in 30 days."""
    known: dict[UUID, set[str]] = {}
    rated = Feedback.objects.filter(reader_id__in=reader_ids)
    since = now - dt.timedelta(days=EXPOSURES_DAYS)
    exposed = Exposure.objects.filter(reader_id__in=reader_ids, shown_at__gt=since, shown_at__lte=now)
    # An item is rated once, and shown many times.
    counts = ((rated, Count("pk"), KNOWN_RATINGS), (exposed, Count("item", distinct=True), KNOWN_EXPOSURES))
    for rows, count, least in counts:
        grouped = rows.filter(item__source__in=sources).order_by().values_list("reader_id", "item__source_id")
        for reader_id, source, _ in grouped.annotate(count=count).filter(count__gte=least):
            known.setdefault(reader_id, set()).add(source)
    return {reader_id: frozenset(sources) for reader_id, sources in known.items()}


def signals_for(
    *, reader_ids: Collection[UUID], item_ids: Collection[int], now: dt.datetime
) -> dict[UUID, Signals]:
    """Return by reader the similarity and community figures of the items, and what the reader's opens say.

    Empty where nothing is known. At most ten queries for up to 10,000 items, however many readers. An item
    the reader has rated has a similarity of 0: what was read once is no reason to show more of the very same.
    """
    return _signals(dict.fromkeys(reader_ids, np.array(sorted(set(item_ids)), dtype=np.int64)), now, {})


def _signals(items: Mapping[UUID, Ids], now: dt.datetime, vectors: dict[int, bytes]) -> dict[UUID, Signals]:
    """Return `signals_for` of each reader's own items; packed `vectors` are read where they are missing."""
    ids = np.unique(np.concatenate([NO_ROWS, *items.values()])).tolist()
    similar = _similarities(items, vectors) if ids else {}
    community = community_rates_many(reader_ids=items.keys(), item_ids=ids, now=now) if ids else {}
    leans = implicit_leans_current(reader_ids=items.keys()) if ids else {}
    return {
        reader: Signals(
            similar.get(reader, {}), community.get(reader, {}), implicit=leans.get(reader, NO_LEANS)
        )
        for reader in items
    }


def _similarities(items: Mapping[UUID, Ids], vectors: dict[int, bytes]) -> dict[UUID, ItemValues]:
    profiles = TasteProfile.objects.filter(reader_id__in=list(items), likes__gt=0)
    tastes = {p.reader_id: taste_unpack(bytes(p.terms), p.likes, p.dislikes) for p in profiles}
    if not tastes:
        return {}
    ids = np.unique(np.concatenate([items[reader] for reader in tastes])).tolist()
    _vectors_read(ids, vectors)
    rated: defaultdict[UUID, list[int]] = defaultdict(list)
    ratings = Feedback.objects.filter(reader_id__in=list(tastes), item_id__gte=ids[0], item_id__lte=ids[-1])
    for reader, item in ratings.values_list("reader_id", "item_id"):
        rated[reader].append(item)
    figures = {}
    for reader, taste in tastes.items():
        own = items[reader]
        values = similarities(profile_of(taste), vectors_stack([vectors[pk] for pk in own.tolist()]))
        values[np.isin(own, rated[reader])] = 0.0
        figures[reader] = ItemValues(own, values)
    return figures


def _vectors_read(ids: Sequence[int], vectors: dict[int, bytes]) -> None:
    """Add those of `ids` that are not among the packed `vectors`; an empty one where an item has none."""
    missing = [pk for pk in ids if pk not in vectors]
    for start in range(0, len(missing), BATCH):
        some = missing[start : start + BATCH]
        vectors |= dict.fromkeys(some, b"")
        rows = ItemVector.objects.filter(pk__in=some).values_list("pk", "terms")
        vectors |= {pk: bytes(terms) for pk, terms in rows.iterator()}

"""Candidates for the digests of a day, for one reader or for a round over many."""

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
from digest.daily.dealt import dealt_with
from digest.daily.diversity import Choice, Exceptions, choices_make
from digest.daily.gone import Gone, GoneReason, articles_gone, stories_gone
from digest.daily.tastes import readers_tasting, taste_signals
from digest.days import day_begin, day_end, day_of, moment_in_day
from digest.entities import ITEM_WINDOW_DAYS
from digest.errors import FutureDate
from digest.feedback.implicit import implicit_leans_current
from digest.feedback.peers import community_rates_many
from digest.items.clustering import StoryTitle, stories_split, story_title
from digest.items.meanings import topics_about
from digest.items.selectors import (
    CANDIDATE_FIELDS,
    CANDIDATES_MAX,
    came_late_since,
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
from digest.places import articles_shared, turn_let_pass
from ranking.entities import Candidate, EffectiveConfig, Mute
from ranking.implicit import NO_LEANS
from ranking.mutes import MuteFilter
from ranking.pool import Ids, ItemValues, Pool
from ranking.scoring import Ranking, Signals, count_sources
from ranking.selectors import config_mutes_many
from ranking.similarity import profile_of, similarities, vectors_stack

# Ids per statement. SQLite takes at most 32,766.
BATCH = 10_000
# Rows fetched from the database at a time.
ROWS = 2_000
# A source counts as known after as many ratings as the learning loop needs to move it (ranking.learning), or
# after ten exposures in 30 days: a reader who passed it by ten times has seen it.
KNOWN_RATINGS = 5
KNOWN_EXPOSURES = 10
EXPOSURES_DAYS = 30
NO_ROWS: Ids = np.empty(0, dtype=np.int64)

Origins = Mapping[int, tuple[str, int]]


class ReaderRows(NamedTuple):
    """One reader's candidates: their rows in the pool (`None`: all), stories by article, sources per item.

    `reported_by` maps an item to how many of the reader's sources report it. `muted` counts, per mute, the
    articles it hides. `gone` counts the articles that have left the reader's page, by reason. `shown` are the
    articles that a digest of an earlier day has shown, `passed` those among the first of a page.
    """

    rows: Ids | None
    stories: Mapping[int, int]
    reported_by: Mapping[int, float]
    muted: Mapping[Mute, int]
    gone: Mapping[GoneReason, int] = {}
    shown: Collection[int] = frozenset()
    passed: Collection[int] = frozenset()


@dataclass(frozen=True, slots=True)
class DayCandidates:
    """The candidates of one reader's day at the moment `as_of`, with the data to compose a digest from them.

    `as_of` is in the reader's time zone. The candidates are the `rows` of `pool` (all if `None`). `origins`
    holds the source and article of each item. `stories` maps an article to its story for this reader. `known`
    are the sources with enough ratings or exposures. `seed` fixes the novelty draw. Muted items are no
    candidates; `muted` counts them per mute. Items that have left the reader's page are none either
    (`digest.daily.gone`); `gone` counts them. `shown` are the articles that a digest of an earlier day has
    shown, `passed` those among the first places of an earlier page, and `late` the items that came with an
    old date.
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
    gone: Mapping[GoneReason, int] = field(default_factory=dict)
    shown: Collection[int] = frozenset()
    passed: Collection[int] = frozenset()
    late: Collection[int] = frozenset()

    def deciding(self, sources: Mapping[str, int]) -> "DayCandidates":
        """Return them as they are after a decision on these sources, each with its way (`TasteSignal`)."""
        taste = self.signals.taste
        if taste is None or not sources:
            return self
        return replace(self, signals=replace(self.signals, taste=taste.holding(sources)))

    def undecided(self, sources: Collection[str]) -> "DayCandidates":
        """Return them as they would be without the decisions on these sources."""
        taste = self.signals.taste
        if taste is None or not sources:
            return self
        return replace(self, signals=replace(self.signals, taste=taste.released(sources)))

    def hidden_by(self, mutes: MuteFilter) -> set[int]:
        """Return the candidates that these mutes would hide."""
        found = (self.pool.candidates[row] for row in self._rows().tolist()) if mutes else ()
        return {candidate.item_id for candidate in found if mutes.finds(candidate)}

    def ranking(self, effective: EffectiveConfig) -> Ranking:
        """Return the candidates sorted by score under these settings, without those past their shelf life.

        Explanations are made on demand.
        """
        lives = effective.config.shelf_lives
        rows = self._rows_fresh(lives) if lives else self.rows
        return Ranking(self.pool, effective, self.as_of, self.signals, rows)

    def count_aged(self, effective: EffectiveConfig) -> int:
        """Return how many candidates are past their shelf life, whatever else a ranking leaves out."""
        lives = effective.config.shelf_lives
        return len(self._rows()) - len(self._rows_fresh(lives)) if lives else 0

    def _rows(self) -> Ids:
        return np.arange(len(self.pool)) if self.rows is None else self.rows

    def _rows_fresh(self, lives: Mapping[str, int]) -> Ids:
        """Return the rows of candidates that have not outlived the shelf life of their source."""
        rows = self._rows()
        oldest = np.full(len(self.pool.sources), -np.inf)
        for code, source in enumerate(self.pool.sources):
            if (hours := lives.get(source)) is not None:
                oldest[code] = (self.as_of - dt.timedelta(hours=hours)).timestamp()
        fresh: Ids = rows[self.pool.timestamps[rows] >= oldest[self.pool.source_codes[rows]]]
        return fresh

    def _unseen_of(self, sources: Collection[str]) -> set[int]:
        """Return the candidates of these sources that no digest of an earlier day has shown."""
        if not sources:
            return set()
        rows = range(len(self.pool)) if self.rows is None else self.rows.tolist()
        ids = (self.pool.candidates[row].item_id for row in rows)
        found = {pk: self.origins[pk] for pk in ids}
        return {
            pk for pk, (source, article) in found.items() if source in sources and article not in self.shown
        }

    def choices(
        self, ranking: Ranking, effective: EffectiveConfig, *, limit: int | None = None
    ) -> list[Choice]:
        """Return the choices for `digest.daily.compose`, in the order of `ranking`; all, or `limit`."""
        ids = ranking.ids[:limit].tolist()
        return choices_make(
            ids,
            ranking.totals[:limit].tolist(),
            ranking.totals_without_penalties()[:limit].tolist(),
            origins=self.origins,
            stories=self.stories,
            weights=effective.weights(),
            exceptions=Exceptions(
                muted=muted_items(self.pool, effective, self.rows),
                disliked=ranking.disliked(),
                limits=effective.config.daily_limits,
                reserved=self._unseen_of(effective.config.never_missed),
                late=self.late,
                again={pk for pk in ids if self.origins[pk][1] in self.passed},
            ),
        )

    def story_of(self, article: int) -> int:
        """Return the id under which a digest shows an article only once: its story, or the article itself."""
        return self.stories.get(article, article)

    def novelty_draw(self, effective: EffectiveConfig) -> NoveltyDraw:
        """Return the parameters of the novelty draw for this reader and day.

        It draws nothing old, and nothing that stood on a page of an earlier day.
        """
        since = (self.as_of - dt.timedelta(days=NOVELTY_DAYS_MAX)).timestamp()
        old = self.pool.ids[self.pool.timestamps < since].tolist()
        mine = self.pool.ids[self._rows()].tolist() if self.shown else []
        shown = [pk for pk in mine if self.origins[pk][1] in self.shown]
        return novelty_draw(self.seed, self.known, effective, [*old, *shown])


def digest_candidates(
    *,
    reader: Reader,
    date: dt.date,
    now: dt.datetime,
    seen_by: dt.datetime | None = None,
    effective: EffectiveConfig | None = None,
    keep_seen: bool = False,
) -> DayCandidates:
    """Return a day's candidates: items of the seven days before `now`, or before the end of a past day.

    They include the latest posts of quiet feeds that are new to the reader (`items_latest`). Items first seen
    after `seen_by` are left out, whatever their date. So are items that have left the reader's page; with
    `keep_seen`, only those that were rated or read. Community figures are those published by then. Taste is
    read if it counts in `effective`. The number of queries is constant. Raises `FutureDate`.
    """
    as_of = as_of_day(reader, date, now)
    found = items_window(reader_id=reader.pk, now=as_of, seen_by=seen_by, latest=True)
    turn_let_pass()
    pool = Pool(found.candidates, topics_about, in_steps=articles_shared)
    turn_let_pass()
    origins = {c.item_id: (c.source, found.articles[c.item_id]) for c in found.candidates}
    carried = {reader.pk: ReaderRows(None, found.stories, found.reported_by, found.muted)}
    days = {reader.pk: date}
    moments = {reader.pk: (date, moment_in_day(as_of, date, reader.zone))}
    articles = np.array([found.articles[c.item_id] for c in found.candidates], dtype=np.int64)
    carried = _without_gone([reader], pool, articles, carried, days, as_of, keep_seen=keep_seen)
    tasting = readers_tasting({reader.pk: effective} if effective else {})
    made = _candidates_of_readers(pool, origins, carried, moments, Vectors(), tasting, found.late)
    return made[reader.pk]


def as_of_day(reader: Reader, date: dt.date, now: dt.datetime) -> dt.datetime:
    """Return the moment from which a digest of the reader's `date` looks back. Raises `FutureDate`."""
    if date > day_of(now, reader.zone):
        raise FutureDate(
            gettext("{date} has not begun yet in {time_zone}. Ask for a day up to today.").format(
                date=date, time_zone=reader.time_zone
            )
        )
    return min(now, day_end(date, reader.zone))


@dataclass(frozen=True, slots=True)
class Vectors:
    """Packed vectors of items by id, filled as they are needed: those of terms, and those of meaning."""

    terms: dict[int, bytes] = field(default_factory=dict)
    meanings: dict[int, bytes] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Window:
    """The items of the seven days up to `now`, newest first, as columns that all readers share.

    - `by_feed`: the rows (places in `pool`) of each feed.
    - `articles`, `own`: per row, to choose the item whose words a reader gets
      (`digest.items.selectors.article_rank`).
    - `titles`: per row that shares a story with others, to find each reader's stories.
    - `latest`: the latest posts of feeds that had no item in these days and are new to some reader. They are
      the last rows of `pool`.
    - `late`: the items that came in these days with an older date.
    - `vectors`: filled as they are needed.
    """

    now: dt.datetime
    pool: Pool
    origins: Origins
    by_feed: Mapping[int, Ids]
    articles: Ids
    own: NDArray[np.bool_]
    titles: Mapping[int, StoryTitle]
    latest: Mapping[int, Ids] = field(default_factory=dict)
    late: Collection[int] = frozenset()
    vectors: Vectors = field(default_factory=Vectors)

    def reader_rows(self, feeds: Sequence[int], new: Collection[int], mutes: MuteFilter) -> ReaderRows:
        """Return up to 5,000 of these feeds' newest rows that may be shown, newest first, with stories.

        `feeds` are in the order of the reader's subscriptions. For feeds in `new` the latest posts count,
        too. One row is shown per article. Stories, and the number of sources that report an item, are
        computed over all rows (`digest.items.clustering.stories_split`).
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
        return ReaderRows(
            np.sort(rows[shown]), stories, ItemValues(self.pool.ids[rows[shown]], counts), muted
        )

    def _mutes_split(self, rows: Ids, mutes: MuteFilter) -> tuple[NDArray[np.bool_], dict[Mute, int]]:
        """Return which `rows` stay visible, and how many articles each mute hides completely."""
        if not mutes:
            return np.ones(len(rows), dtype=np.bool_), {}
        hiding = [mutes.finds(self.pool.candidates[row]) for row in rows.tolist()]
        shown = np.array([mute is None for mute in hiding], dtype=np.bool_)
        left = {*self.articles[rows[shown]].tolist()}
        gone = {a: mute for a, mute in zip(self.articles[rows].tolist(), hiding, strict=True) if mute}
        return shown, Counter(mute for article, mute in gone.items() if article not in left)


def window_load(*, now: dt.datetime) -> Window:
    """Load the items of a week once for all readers: one query, fetched in steps of 2,000 rows.

    A second query loads the latest posts of feeds that are new to some reader.
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
    fields = (*CANDIDATE_FIELDS, "story_id", "article", "own", "feed_id", "late")
    late = set[int]()
    found = (some.annotate(late=came_late_since(since)).values_list(*fields) for some in (items, older))
    rows = (some.iterator(chunk_size=ROWS) for some in found)
    for *item, story, article, own, feed, is_late in chain.from_iterable(rows):
        candidate = Candidate(*item)
        (by_feed if candidate.dated_at > since else latest)[feed].append(len(candidates))
        candidates.append(candidate)
        if is_late:
            late.add(candidate.item_id)
        origins[candidate.item_id] = (candidate.source, article)
        if story:
            clustered[len(articles)] = story
        articles.append(article)
        owned.append(own)
    columns = np.array(articles, dtype=np.int64), np.array(owned, dtype=np.bool_)
    titles = _titles(candidates, articles, clustered)
    pool = Pool(candidates, topics_about)
    return Window(now, pool, origins, _arrays(by_feed), *columns, titles, _arrays(latest), late)


def _titles(
    candidates: Sequence[Candidate], articles: Sequence[int], clustered: Mapping[int, int]
) -> dict[int, StoryTitle]:
    """Return {row: title} for rows that share their stored story (in `clustered`) with another row."""
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


def digest_candidates_many(
    *,
    window: Window,
    readers: Collection[Reader],
    days: Mapping[UUID, dt.date],
    configs: Mapping[UUID, EffectiveConfig] | None = None,
) -> dict[UUID, DayCandidates]:
    """Return the candidates of about a hundred readers, each as `digest_candidates` would.

    `days` maps a reader to their today, `configs` to their settings. The number of queries depends neither on
    readers nor on items.
    """
    days = {reader.pk: days[reader.pk] for reader in readers}
    moments = {one.pk: (days[one.pk], moment_in_day(window.now, days[one.pk], one.zone)) for one in readers}
    feeds: defaultdict[UUID, list[int]] = defaultdict(list)
    subscribed = Subscription.objects.filter(reader_id__in=list(days), in_today=True).order_by("pk")
    for reader, feed in subscribed.values_list("reader_id", "feed_id"):
        feeds[reader].append(feed)
    new: defaultdict[UUID, list[int]] = defaultdict(list)
    joined = subscriptions_new(now=window.now).filter(reader_id__in=list(days), in_today=True)
    quiet = joined.filter(feed_id__in=list(window.latest)).values_list("reader_id", "feed_id")
    for reader, feed in quiet if window.latest else ():
        new[reader].append(feed)
    mutes = config_mutes_many(reader_ids=list(days))
    carried = {
        reader: window.reader_rows(feeds[reader], new[reader], MuteFilter(mutes.get(reader, ()), today))
        for reader, today in days.items()
    }
    carried = _without_gone(readers, window.pool, window.articles, carried, days, window.now)
    tasting = readers_tasting({pk: one for pk, one in (configs or {}).items() if pk in days})
    return _candidates_of_readers(
        window.pool, window.origins, carried, moments, window.vectors, tasting, window.late
    )


def _without_gone(
    readers: Collection[Reader],
    pool: Pool,
    articles: Ids,
    carried: Mapping[UUID, ReaderRows],
    days: Mapping[UUID, dt.date],
    as_of: dt.datetime,
    *,
    keep_seen: bool = False,
) -> dict[UUID, ReaderRows]:
    """Return the readers' rows without items that have left their page. `articles` are those of the pool's
    rows."""
    if not len(articles):
        return dict(carried)
    between = int(articles.min()), int(articles.max())
    dealt = dealt_with(readers=readers, days=days, articles=between, as_of=as_of, all_read=keep_seen)
    found = dict(carried)
    for reader in readers:
        if done := dealt.get(reader.pk):
            begin = day_begin(days[reader.pk], reader.zone)
            gone = articles_gone(done.articles, begin, done.on_page)
            if keep_seen:
                gone = {pk: one for pk, one in gone.items() if one.reason is not GoneReason.SEEN}
            left = _rows_left(carried[reader.pk], pool, articles, gone, done.on_page)
            found[reader.pk] = left._replace(shown=done.shown, passed=done.passed)
    return found


def _rows_left(
    one: ReaderRows, pool: Pool, articles: Ids, gone: dict[int, Gone], on_page: Collection[int]
) -> ReaderRows:
    """Return the rows without the articles `gone`, and without older items of their stories."""
    rows = np.arange(len(pool)) if one.rows is None else one.rows
    stories = {story for article, story in one.stories.items() if article in gone}
    mates = [article for article, story in one.stories.items() if story in stories]
    dated = {
        int(articles[row]): pool.candidates[row].dated_at
        for row in rows[np.isin(articles[rows], mates)].tolist()
    }
    gone |= stories_gone(gone, one.stories, dated, on_page)
    is_gone = np.isin(articles[rows], list(gone))
    if not is_gone.any():
        return one
    counts = Counter(gone[article].reason for article in articles[rows[is_gone]].tolist())
    return one._replace(rows=rows[~is_gone], gone=counts)


def _candidates_of_readers(
    pool: Pool,
    origins: Origins,
    carried: Mapping[UUID, ReaderRows],
    moments: Mapping[UUID, tuple[dt.date, dt.datetime]],
    vectors: Vectors,
    tasting: Collection[UUID],
    late: Collection[int],
) -> dict[UUID, DayCandidates]:
    """Return the readers' candidates. `moments` has the day of each, and the moment in it."""
    as_of = max(moment for _date, moment in moments.values())
    items = {pk: pool.ids if one.rows is None else pool.ids[one.rows] for pk, one in carried.items()}
    ids = np.unique(np.concatenate([NO_ROWS, *items.values()])).tolist()
    known = _sources_known(list(moments), {origins[item][0] for item in ids}, as_of)
    signals = _signals(items, as_of, vectors, tasting)
    return {
        reader: DayCandidates(
            as_of=moment,
            seed=f"{reader}|{date.isoformat()}",
            pool=pool,
            origins=origins,
            rows=carried[reader].rows,
            stories=carried[reader].stories,
            known=known.get(reader, frozenset()),
            signals=replace(signals[reader], reported_by=carried[reader].reported_by),
            muted=carried[reader].muted,
            gone=carried[reader].gone,
            shown=carried[reader].shown,
            passed=carried[reader].passed,
            late=late,
        )
        for reader, (date, moment) in moments.items()
    }


def _sources_known(
    reader_ids: Collection[UUID], sources: Collection[str], now: dt.datetime
) -> dict[UUID, frozenset[str]]:
    """Return which of `sources` each reader knows: by five ratings, or by ten exposures in 30 days."""
    known: dict[UUID, set[str]] = {}
    rated = Feedback.objects.filter(reader_id__in=reader_ids)
    since = now - dt.timedelta(days=EXPOSURES_DAYS)
    exposed = Exposure.objects.filter(reader_id__in=reader_ids, shown_at__gt=since, shown_at__lte=now)
    # An item is rated once but may be shown many times, so exposures count distinct items.
    counts = ((rated, Count("pk"), KNOWN_RATINGS), (exposed, Count("item", distinct=True), KNOWN_EXPOSURES))
    for rows, count, least in counts:
        grouped = rows.filter(item__source__in=sources).order_by().values_list("reader_id", "item__source_id")
        for reader_id, source, _ in grouped.annotate(count=count).filter(count__gte=least):
            known.setdefault(reader_id, set()).add(source)
    return {reader_id: frozenset(sources) for reader_id, sources in known.items()}


def signals_for(
    *,
    reader_ids: Collection[UUID],
    item_ids: Collection[int],
    now: dt.datetime,
    configs: Mapping[UUID, EffectiveConfig] | None = None,
) -> dict[UUID, Signals]:
    """Return the scoring signals of each reader: similarity, community figures and implicit feedback.

    Readers whose settings (`configs`) let taste count get it too, for twelve more queries. A reader without
    data gets empty signals. With fewer than five likes every similarity is 0. At most ten queries for up to
    10,000 items and any number of readers. An item that the reader has rated gets similarity 0: a read item
    is no reason to show it again.
    """
    items = dict.fromkeys(reader_ids, np.array(sorted(set(item_ids)), dtype=np.int64))
    return _signals(items, now, Vectors(), readers_tasting(configs or {}))


def _signals(
    items: Mapping[UUID, Ids], now: dt.datetime, vectors: Vectors, tasting: Collection[UUID]
) -> dict[UUID, Signals]:
    """Return the signals of each reader for their own items. Missing entries of `vectors` are loaded."""
    ids = np.unique(np.concatenate([NO_ROWS, *items.values()])).tolist()
    similar = _similarities(items, vectors.terms) if ids else {}
    own = {pk: items[pk] for pk in tasting if len(items[pk])}
    tastes = taste_signals(items=own, now=now, meanings=vectors.meanings, vectors=vectors.terms)
    community = community_rates_many(reader_ids=items.keys(), item_ids=ids, now=now) if ids else {}
    leans = implicit_leans_current(reader_ids=items.keys()) if ids else {}
    return {
        reader: Signals(
            similar.get(reader, {}),
            community.get(reader, {}),
            implicit=leans.get(reader, NO_LEANS),
            taste=tastes.get(reader),
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
    """Load the packed vectors of `ids` that `vectors` lacks; an item without a vector gets b""."""
    missing = [pk for pk in ids if pk not in vectors]
    for start in range(0, len(missing), BATCH):
        some = missing[start : start + BATCH]
        vectors |= dict.fromkeys(some, b"")
        rows = ItemVector.objects.filter(pk__in=some).values_list("pk", "terms")
        vectors |= {pk: bytes(terms) for pk, terms in rows.iterator()}

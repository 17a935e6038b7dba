"""Compute and store implicit feedback: read opens, saves and passed-over items for `ranking.implicit`.

Nothing here runs for a reader who has switched it off. A reader's data never affects another reader.
"""

import datetime as dt
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from uuid import UUID

from django.db import transaction
from django.db.models import Exists, F, OuterRef, Q, Window
from django.db.models.functions import RowNumber

from digest.days import utc_day
from digest.models import Exposure, Feedback, Reader, Reading
from ranking.common.categories import category_keys
from ranking.common.isolation import isolate_batches
from ranking.implicit import ImplicitLeans, ReadingEvent, Thumb, articles_skipped, implicit_leans
from ranking.implicit_store import implicit_delete, implicit_store
from ranking.learning import FEEDBACK_HALF_LIFE_DAYS
from ranking.selectors import implicit_leans_many

# One half-life of thumbs. Older events say less and less about today's taste.
WINDOW = dt.timedelta(days=FEEDBACK_HALF_LIFE_DAYS)
# The newest rows that count: a month of two pages a day, and as many thumbs as the planner reads.
EXPOSURES_MAX, THUMBS_MAX = 2_000, 500
# Readers computed together.
TOGETHER = 100
# An open within this time of a page view counts as an open from that page.
SAME_PAGE = dt.timedelta(days=1)
EXPOSED = (
    "reader_id",
    "item__article",
    "item__source_id",
    "item__categories",
    "door",
    "date",
    "rank",
    "shown_at",
)


@dataclass(frozen=True, slots=True)
class Showing:
    """One article shown at a rank of one page (the page of one door on one day)."""

    article: int
    source: str
    categories: list[str]
    door: str
    date: dt.date
    rank: int
    at: dt.datetime


@dataclass(frozen=True, slots=True)
class Response:
    """A reader's response to one article; `None` means that it did not happen."""

    article: int
    source: str
    categories: list[str]
    opened_at: dt.datetime | None
    finished_at: dt.datetime | None
    saved_at: dt.datetime | None


def implicit_update_all(*, now: dt.datetime) -> int:
    """Recompute implicit feedback for active readers; return for how many it is stored.

    A hundred readers at a time. If a hundred fail, they are tried one by one, so a fault hits one reader.
    """
    marks = Reading.objects.filter(reader=OuterRef("pk")).exclude(opened_at=None, saved_at=None)
    readers = Reader.objects.filter(Exists(marks), is_active=True, learn_from_reading=True)
    ids = list(readers.order_by("pk").values_list("pk", flat=True))

    def update(some: Sequence[UUID]) -> int:
        return len(implicit_update_many(reader_ids=some, now=now))

    return sum(isolate_batches(ids, update, event="implicit_update_failed", size=TOGETHER))


def implicit_update(*, reader_id: UUID, now: dt.datetime) -> bool:
    """Recompute one reader's implicit feedback (`implicit_update_many`); return whether it is stored."""
    return bool(implicit_update_many(reader_ids=[reader_id], now=now))


def implicit_update_many(*, reader_ids: Collection[UUID], now: dt.datetime) -> set[UUID]:
    """Recompute and store some readers' implicit feedback; return the readers for whom it is stored.

    Delete it for readers without any opened or saved article. Runs under the readers' row locks, so a reader
    who switches it off meanwhile keeps it off. At most eight queries.
    """
    thumbs, events = _thumbs(reader_ids, now), _Events(reader_ids, now)
    leans: dict[UUID, ImplicitLeans] = {}
    for pk in reader_ids:
        found = events.of(pk, {article: thumb.useful for article, thumb in thumbs[pk]})
        if any(event.wanted for event in found):
            leans[pk] = implicit_leans(found, [thumb for _, thumb in thumbs[pk]])
    with transaction.atomic():
        rows = Reader.objects.select_for_update().filter(pk__in=list(leans), learn_from_reading=True)
        willing = set(rows.order_by("pk").values_list("pk", flat=True))
        implicit_store(leans={pk: leans[pk] for pk in willing}, now=now)
        implicit_delete(reader_ids=[pk for pk in reader_ids if pk not in willing])
    return willing


def implicit_leans_current(*, reader_ids: Collection[UUID]) -> dict[UUID, ImplicitLeans]:
    """Return {reader: implicit leans}, limited by the thumbs they gave since; at most two queries."""
    stored = implicit_leans_many(reader_ids=reader_ids)
    if not stored:
        return {}
    newer: defaultdict[UUID, list[Thumb]] = defaultdict(list)
    since = min(at for _, at in stored.values())
    rows = Feedback.objects.filter(reader_id__in=list(stored), at__gt=since).order_by("at", "pk")
    columns = ("reader_id", "item__source_id", "item__categories", "useful", "at")
    for reader_id, source, categories, useful, at in rows.values_list(*columns):
        if at > stored[reader_id][1]:
            newer[reader_id].append(Thumb(source, category_keys(categories), useful))
    return {reader: leans.with_thumbs(newer[reader]) for reader, (leans, _) in stored.items()}


def _thumbs(reader_ids: Collection[UUID], now: dt.datetime) -> Mapping[UUID, list[tuple[int, Thumb]]]:
    """Return each reader's newest thumbs with their articles; one query."""
    rows = Feedback.objects.filter(reader_id__in=reader_ids).annotate(n=_newest("at"))
    columns = ("reader_id", "article", "item__source_id", "item__categories", "useful", "day")
    found: defaultdict[UUID, list[tuple[int, Thumb]]] = defaultdict(list)
    for reader_id, article, source, categories, useful, day in (
        rows.filter(n__lte=THUMBS_MAX).order_by("n").values_list(*columns)
    ):
        weight = 0.5 ** (max(0, utc_day(now) - day) / FEEDBACK_HALF_LIFE_DAYS)
        found[reader_id].append((article, Thumb(source, category_keys(categories), useful, weight)))
    return found


def _newest(moment: str) -> Window:
    """Return a window expression that numbers a reader's rows, 1 for the latest `moment`."""
    return Window(RowNumber(), partition_by=F("reader_id"), order_by=[F(moment).desc(), F("pk").desc()])


class _Events:
    """The articles that some readers were shown in the last 60 days, and their responses; two queries."""

    def __init__(self, reader_ids: Collection[UUID], now: dt.datetime) -> None:
        self._now, since = now, now - WINDOW
        marks = Reading.objects.filter(reader=OuterRef("reader"), opened_at__lte=now)
        opened = Exists(marks.filter(article=OuterRef("item__article")))
        rows = Exposure.objects.filter(reader_id__in=reader_ids, shown_at__gt=since, shown_at__lte=now)
        rows = rows.filter(Q(door__in=Exposure.PLACED) | Q(opened)).annotate(n=_newest("shown_at"))
        self._shown: defaultdict[UUID, list[Showing]] = defaultdict(list)
        for reader_id, *row in rows.filter(n__lte=EXPOSURES_MAX).order_by("n").values_list(*EXPOSED):
            self._shown[reader_id].append(Showing(*row))
        done = Reading.objects.filter(
            Q(opened_at__gt=since) | Q(saved_at__gt=since), reader_id__in=reader_ids
        )
        self._responses: defaultdict[UUID, dict[int, Response]] = defaultdict(dict)
        item = ("item__source_id", "item__categories")
        columns = ("reader_id", "article", *item, "opened_at", "finished_at", "saved_at")
        for reader_id, *mark in done.values_list(*columns):
            self._responses[reader_id][mark[0]] = Response(*mark)

    def of(self, reader_id: UUID, ratings: Mapping[int, bool]) -> list[ReadingEvent]:
        """Return one event for each shown article that the reader wanted or passed over.

        An article that was opened without being shown is no event, because we do not know the alternatives. A
        saved one is an event: an imported star is a sign of interest by itself.
        """
        shown, responses = self._shown[reader_id], self._responses[reader_id]
        skipped = _passed_articles(shown, responses)
        first: dict[int, Showing] = {}
        for one in sorted(shown, key=lambda row: (row.door not in Exposure.PLACED, row.rank)):
            first.setdefault(one.article, one)
        events = [
            _event(one, responses.get(article), ratings.get(article), self._now)
            for article, one in first.items()
            if article in responses or article in skipped
        ]
        saved = [one for one in responses.values() if one.saved_at and one.article not in first]
        return events + [_saved_event(one, ratings.get(one.article), self._now) for one in saved]


def _passed_articles(shown: Iterable[Showing], responses: Mapping[int, Response]) -> set[int]:
    """Return the articles that were passed over on some day's page and never opened or saved."""
    pages: defaultdict[dt.date, dict[int, Showing]] = defaultdict(dict)
    for one in shown:
        if one.door == Exposure.Door.PAGE:
            known = pages[one.date].setdefault(one.article, one)
            if one.rank < known.rank:
                pages[one.date][one.article] = one
    found: set[int] = set()
    for page in pages.values():
        opened = [article for article, one in page.items() if _opened_there(one, responses.get(article))]
        found |= articles_skipped({article: one.rank for article, one in page.items()}, opened)
    return found - responses.keys()


def _opened_there(shown: Showing, response: Response | None) -> bool:
    return bool(response and response.opened_at and abs(response.opened_at - shown.at) <= SAME_PAGE)


def _saved_event(response: Response, useful: bool | None, now: dt.datetime) -> ReadingEvent:
    """Return the event of an article that was saved without having been shown; its place says nothing."""
    assert response.saved_at is not None
    age_days = (now - response.saved_at) / dt.timedelta(days=1)
    keys = category_keys(response.categories)
    return ReadingEvent(response.source, keys, saved=True, useful=useful, age_days=age_days)


def _event(shown: Showing, response: Response | None, useful: bool | None, now: dt.datetime) -> ReadingEvent:
    at = (response.opened_at or response.saved_at) if response else None
    return ReadingEvent(
        shown.source,
        category_keys(shown.categories),
        rank=shown.rank if shown.door in Exposure.PLACED else 1,
        opened=bool(response and response.opened_at),
        finished=bool(response and response.finished_at),
        saved=bool(response and response.saved_at),
        useful=useful,
        age_days=(now - (at or shown.at)) / dt.timedelta(days=1),
    )

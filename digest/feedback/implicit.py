"""What readers opened, saved and passed over, read for `ranking.implicit`, and what it says, stored.

Nothing here runs for a reader who has switched it off, and no query crosses readers.
"""

import datetime as dt
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from uuid import UUID

import structlog
from django.db import transaction
from django.db.models import Exists, OuterRef, Q

from digest.days import utc_day
from digest.models import Exposure, Feedback, Reader, Reading
from ranking.common.categories import category_keys
from ranking.implicit import ImplicitLeans, ReadingEvent, Thumb, implicit_leans, passed_over
from ranking.implicit_store import implicit_delete, implicit_store
from ranking.learning import FEEDBACK_HALF_LIFE_DAYS
from ranking.selectors import implicit_leans_many

log = structlog.get_logger(__name__)

# One half-life of thumbs: what came before says less and less of today's taste.
WINDOW = dt.timedelta(days=FEEDBACK_HALF_LIFE_DAYS)
# The newest that count: a month of two pages a day, and as many thumbs as the planner looks at.
EXPOSURES_MAX, THUMBS_MAX = 2_000, 500
# An open so long after the page was shown is still that page's.
SAME_PAGE = dt.timedelta(days=1)
# Where a rank says who looked: a feed's client or a script shows items as it likes.
PLACED = (Exposure.Door.PAGE, Exposure.Door.MAIL)
EXPOSED = ("item__article", "item__source_id", "item__categories", "door", "date", "rank", "shown_at")


@dataclass(frozen=True, slots=True)
class Shown:
    """One article as shown at a rank of one page (a door's of a day)."""

    article: int
    source: str
    categories: list[str]
    door: str
    date: dt.date
    rank: int
    at: dt.datetime


@dataclass(frozen=True, slots=True)
class Response:
    """What a reader did with one article; `None`: not."""

    article: int
    opened_at: dt.datetime | None
    finished_at: dt.datetime | None
    saved_at: dt.datetime | None


def implicit_update_all(*, now: dt.datetime) -> int:
    """Work out anew what the opens of every active reader say; return for how many something is stored."""
    marks = Reading.objects.filter(reader=OuterRef("pk")).exclude(opened_at=None, saved_at=None)
    readers = Reader.objects.filter(Exists(marks), is_active=True, learn_from_reading=True)
    stored = 0
    for reader_id in readers.order_by("pk").values_list("pk", flat=True):
        try:
            stored += implicit_update(reader_id=reader_id, now=now)
        except Exception:
            log.exception("implicit_update_failed", reader_id=str(reader_id))
    return stored


def implicit_update(*, reader_id: UUID, now: dt.datetime) -> bool:
    """Store what the reader's opens say, or delete it where they say nothing; return whether it is stored.

    Under the reader's row lock, so that switching it off meanwhile is not undone.
    """
    thumbs = list(_thumbs(reader_id, now))
    events = _events(reader_id, {article: thumb.useful for article, thumb in thumbs}, now)
    leans = implicit_leans(events, [thumb for _, thumb in thumbs])
    wanted = any(event.wanted for event in events)
    with transaction.atomic():
        rows = Reader.objects.select_for_update().filter(pk=reader_id, learn_from_reading=True)
        if wanted and rows.first():
            implicit_store(reader_id=reader_id, leans=leans, now=now)
            return True
        implicit_delete(reader_id=reader_id)
    return False


def implicit_leans_current(*, reader_ids: Collection[UUID]) -> dict[UUID, ImplicitLeans]:
    """Return by reader what their opens say, as far as thumbs given since allow it; two queries at most."""
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


def _thumbs(reader_id: UUID, now: dt.datetime) -> Iterator[tuple[int, Thumb]]:
    rows = Feedback.objects.filter(reader_id=reader_id).order_by("-at", "-pk")[:THUMBS_MAX]
    columns = ("article", "item__source_id", "item__categories", "useful", "day")
    for article, source, categories, useful, day in rows.values_list(*columns):
        weight = 0.5 ** (max(0, utc_day(now) - day) / FEEDBACK_HALF_LIFE_DAYS)
        yield article, Thumb(source, category_keys(categories), useful, weight)


def _events(reader_id: UUID, ratings: Mapping[int, bool], now: dt.datetime) -> list[ReadingEvent]:
    """Return what became of each article shown in the last 60 days that was wanted or passed over.

    What was opened without having been shown is no event: nobody knows among what it was chosen. Two queries.
    """
    since = now - WINDOW
    marks = Reading.objects.filter(reader_id=reader_id, opened_at__lte=now)
    opened = Exists(marks.filter(article=OuterRef("item__article")))
    rows = Exposure.objects.filter(reader_id=reader_id, shown_at__gt=since, shown_at__lte=now)
    rows = rows.filter(Q(door__in=PLACED) | Q(opened)).order_by("-shown_at", "-pk")[:EXPOSURES_MAX]
    shown = [Shown(*row) for row in rows.values_list(*EXPOSED)]
    done = Reading.objects.filter(Q(opened_at__gt=since) | Q(saved_at__gt=since), reader_id=reader_id)
    columns = ("article", "opened_at", "finished_at", "saved_at")
    responses = {row[0]: Response(*row) for row in done.values_list(*columns)}
    skipped = _skipped(shown, responses)
    first: dict[int, Shown] = {}
    for one in sorted(shown, key=lambda row: (row.door not in PLACED, row.rank)):
        first.setdefault(one.article, one)
    return [
        _event(one, responses.get(article), ratings.get(article), now)
        for article, one in first.items()
        if article in responses or article in skipped
    ]


def _skipped(shown: Iterable[Shown], responses: Mapping[int, Response]) -> set[int]:
    """Return the articles that were passed over on some day's page and never opened or saved."""
    pages: defaultdict[dt.date, dict[int, Shown]] = defaultdict(dict)
    for one in shown:
        if one.door == Exposure.Door.PAGE:
            known = pages[one.date].setdefault(one.article, one)
            if one.rank < known.rank:
                pages[one.date][one.article] = one
    found: set[int] = set()
    for page in pages.values():
        opened = [article for article, one in page.items() if _opened_there(one, responses.get(article))]
        found |= passed_over({article: one.rank for article, one in page.items()}, opened)
    return found - responses.keys()


def _opened_there(shown: Shown, response: Response | None) -> bool:
    return bool(response and response.opened_at and abs(response.opened_at - shown.at) <= SAME_PAGE)


def _event(shown: Shown, response: Response | None, useful: bool | None, now: dt.datetime) -> ReadingEvent:
    at = (response.opened_at or response.saved_at) if response else None
    return ReadingEvent(
        shown.source,
        category_keys(shown.categories),
        rank=shown.rank if shown.door in PLACED else 1,
        opened=bool(response and response.opened_at),
        finished=bool(response and response.finished_at),
        saved=bool(response and response.saved_at),
        useful=useful,
        age_days=(now - (at or shown.at)) / dt.timedelta(days=1),
    )

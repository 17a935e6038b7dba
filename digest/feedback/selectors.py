"""Queries for ratings and their reasons: sums and decay in SQL, or single ratings in few queries."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time
from typing import Any
from uuid import UUID

from django.db.models import Count, F, FloatField, IntegerField, Max, Min, Q, QuerySet, Sum, Value
from django.db.models.functions import Cast, Coalesce, Least, Power

from digest.days import utc_day
from digest.entities import FeedbackCounts, RatedItem, TagCount
from digest.feedback.trends import WeekTally
from digest.feeds.identity import article_hash
from digest.items.selectors import items_hidden, mutes_in_force
from digest.models import Feedback, FeedbackTag, Item, ReasonTag
from ranking.common.text import fold
from ranking.entities import SourceTally
from ranking.learning import FEEDBACK_HALF_LIFE_DAYS


@dataclass(frozen=True, slots=True)
class RatingCounts:
    """How many ratings a reader gave to one source's items, and how many of them are likes."""

    n: int
    likes: int


def feedback_counts(*, reader_id: UUID) -> FeedbackCounts:
    """Return the numbers of a reader's ratings and reasons, and their first and last time; one query."""
    row: dict[str, Any] = Feedback.objects.filter(reader_id=reader_id).aggregate(
        total=Count("pk"),
        tagged=Count("pk", filter=Q(has_reason=True)),
        first_day=Min("day"),
        last_day=Max("day"),
        first_at=Min("at"),
        last_at=Max("at"),
    )
    first_day, last_day = row.pop("first_day"), row.pop("last_day")
    return FeedbackCounts(days=last_day - first_day + 1 if row["total"] else 0, **row)


def feedback_tallies(*, reader_id: UUID, now: datetime, until: datetime | None = None) -> list[SourceTally]:
    """Return the reader's ratings summed by source, each weighted by 2^(-age in days / 60); one query.

    Sorted by source. Ages are whole UTC days up to `now`. Ratings at or after `until` are left out.
    """
    return feedback_tallies_many(reader_ids=[reader_id], now=now, until=until).get(reader_id, [])


def feedback_tallies_many(
    *, reader_ids: Collection[UUID], now: datetime, until: datetime | None = None
) -> dict[UUID, list[SourceTally]]:
    """Return {reader: `feedback_tallies`} for those readers who gave ratings; one query."""
    age = Cast(Least(F("day") - Value(utc_day(now)), Value(0)), FloatField())
    weight = Power(Value(2.0, FloatField()), age / Value(FEEDBACK_HALF_LIFE_DAYS, FloatField()))
    given = Feedback.objects.filter(reader_id__in=reader_ids)
    rows = (
        (given if until is None else given.filter(at__lt=until))
        .values_list("reader_id", "item__source_id")
        .annotate(
            n=Sum(weight),
            likes=Coalesce(Sum(weight, filter=Q(useful=True)), Value(0.0, FloatField())),
            count=Count("pk"),
            latest=Max("at"),
        )
    )
    found: defaultdict[UUID, list[SourceTally]] = defaultdict(list)
    for reader_id, *row in rows.order_by("item__source_id"):
        found[reader_id].append(SourceTally(*row))
    return found


def feedback_recent(
    *,
    reader_id: UUID,
    limit: int | None = 500,
    since: datetime | None = None,
    until: datetime | None = None,
    public: bool = False,
) -> list[RatedItem]:
    """Return the reader's ratings with `since` <= at < `until`, newest first, in two queries.

    With `public`, ratings of items from private feeds are left out.
    """
    rows = _of_reader(reader_id, since, until)
    rows = rows.filter(item__feed__owner=None) if public else rows
    return _rated_items(rows.order_by("-at", "-pk")[:limit])


def feedback_written(*, reader_id: UUID, since: datetime, limit: int) -> list[RatedItem]:
    """Return the newest ratings since then beside which the reader wrote something; one query, or two."""
    rows = _of_reader(reader_id, since).filter(has_reason=True).exclude(other_reasons=[])
    return _rated_items(rows.order_by("-at", "-pk")[:limit])


def feedback_unmuted(*, reader_id: UUID, rated: Iterable[RatedItem], now: datetime) -> list[RatedItem]:
    """Return the ratings in `rated` whose items the reader has not muted. Two or three queries."""
    rated = list(rated)
    mutes = mutes_in_force(reader_id=reader_id, now=now)
    hidden = items_hidden(mutes=mutes, item_ids=[item.item_id for item in rated])
    return [item for item in rated if item.item_id not in hidden]


def feedback_by_urls(*, reader_id: UUID, urls: Collection[str]) -> dict[str, RatedItem]:
    """Return {url: the reader's rating} for the canonical `urls` that have one; two queries."""
    articles = {article_hash(url) for url in urls}
    rated = _rated_items(_of_reader(reader_id).filter(article__in=articles, item__url__in=urls))
    return {item.url: item for item in rated}


def feedback_urls(*, reader_id: UUID, item_ids: Collection[int]) -> dict[int, str]:
    """Return {item id: URL} of the rated items among `item_ids`. One query."""
    rows = _of_reader(reader_id).filter(item_id__in=item_ids)
    return dict(rows.values_list("item_id", "item__url"))


def feedback_by_items(*, reader_id: UUID, items: Collection[Item]) -> dict[int, RatedItem]:
    """Return {item id: rating} of the items whose article the reader has rated. Two queries."""
    rows = _of_reader(reader_id).filter(article__in={item.article for item in items})
    rated = {row.article: row for row in _rated_items(rows)}
    return {item.pk: rated[item.article] for item in items if item.article in rated}


def interview_answers(*, reader_id: UUID) -> list[tuple[int, datetime]]:
    """Return item and time of each rating that an interview asked for, the newest first; one query."""
    rows = Feedback.objects.filter(reader_id=reader_id, origin=Feedback.Origin.INTERVIEW)
    return list(rows.order_by("-at").values_list("item_id", "at"))


def feedback_tag_counts(*, reader_id: UUID) -> list[TagCount]:
    """Return how often the reader gave each reason, most frequent first; one query."""
    rows = FeedbackTag.objects.filter(feedback__reader_id=reader_id).values_list("tag_id", "tag__kind")
    counted = rows.annotate(count=Count("pk")).order_by("-count", "tag_id")
    return [TagCount(*row) for row in counted]


def feedback_source_counts(*, reader_id: UUID, since: datetime | None = None) -> dict[str, tuple[int, int]]:
    """Return {source: (likes, ratings)} without decay; one query."""
    rows = _of_reader(reader_id, since).values_list("item__source_id").order_by("item__source_id")
    counted = rows.annotate(likes=Count("pk", filter=Q(useful=True)), total=Count("pk"))
    return {source: (likes, total) for source, likes, total in counted}


def reason_tags() -> list[ReasonTag]:
    """Return the taxonomy in the order in which pages offer its reasons."""
    return list(ReasonTag.objects.all())


def reason_tag_spellings() -> dict[str, str]:
    """Return {folded spelling: slug} for every slug, label and synonym; one query.

    A slug takes precedence over a label, and a label over a synonym.
    """
    tags = reason_tags()
    spellings: dict[str, str] = {}
    for names_of in ([t.synonyms for t in tags], [[t.label] for t in tags], [[t.slug] for t in tags]):
        for tag, names in zip(tags, names_of, strict=True):
            spellings |= {fold(name): tag.slug for name in names}
    return spellings


def feedback_by_source(*, reader_id: UUID) -> dict[str, RatingCounts]:
    """Return {source: rating counts} for sources that the reader has rated; one query."""
    counts = feedback_source_counts(reader_id=reader_id)
    return {source: RatingCounts(total, likes) for source, (likes, total) in counts.items()}


def feedback_weeks(*, reader_id: UUID, starts: Sequence[date]) -> list[WeekTally]:
    """Return the reader's ratings by source and week from the first of `starts` (Mondays) on; one query.

    Days are UTC days, as in all statistics.
    """
    first = utc_day(datetime.combine(starts[0], time.min, UTC))
    week = Cast((F("day") - Value(first)) / Value(7), IntegerField())
    rows = (
        Feedback.objects.filter(reader_id=reader_id, day__gte=first, day__lt=first + 7 * len(starts))
        .values_list("item__source_id", week)
        .annotate(n=Count("pk"), likes=Count("pk", filter=Q(useful=True)))
        .order_by("item__source_id")
    )
    return [WeekTally(source, int(at), n, likes) for source, at, n, likes in rows]


def _of_reader(
    reader_id: UUID, since: datetime | None = None, until: datetime | None = None
) -> QuerySet[Feedback]:
    rows = Feedback.objects.filter(reader_id=reader_id)
    if since is not None:
        rows = rows.filter(at__gte=since)
    return rows if until is None else rows.filter(at__lt=until)


def _rated_items(rows: QuerySet[Feedback]) -> list[RatedItem]:
    """Load ratings in one query, and their tags in a second that repeats the first as a subquery.

    A list of ids instead would exceed the databases' limits on parameters at 100,000 ratings.
    """
    found = list(rows.select_related("item"))
    if not found:
        return []
    tags: defaultdict[int, list[str]] = defaultdict(list)
    tag_rows = FeedbackTag.objects.filter(feedback__in=rows.values("pk")).order_by("tag_id")
    for feedback_id, tag in tag_rows.values_list("feedback_id", "tag_id"):
        tags[feedback_id].append(tag)
    return [
        RatedItem(
            item_id=row.item_id,
            article=row.article,
            url=row.item.url,
            title=row.rated_title or row.item.title,
            text=row.item.text,
            source=row.item.source_id,
            useful=row.useful,
            tags=tuple(tags[row.pk]),
            other_reasons=tuple(row.other_reasons),
            at=row.at,
            dated_at=row.item.dated_at,
            categories=tuple(row.item.categories),
            author=row.item.author,
        )
        for row in found
    ]

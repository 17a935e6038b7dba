"""What a reader has said: counted and weighed in SQL, or thumb by thumb in a fixed number of queries."""

from collections import defaultdict
from collections.abc import Collection
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db.models import Count, F, FloatField, Max, Min, Q, QuerySet, Sum, Value
from django.db.models.functions import Cast, Coalesce, Least, Power

from digest.days import utc_day
from digest.entities import FeedbackCounts, RatedItem, TagCount
from digest.models import Feedback, FeedbackTag, ReasonTag
from ranking.entities import SourceTally
from ranking.learning import FEEDBACK_HALF_LIFE_DAYS


def feedback_counts(*, reader_id: UUID) -> FeedbackCounts:
    """How much the reader has said so far, in one query."""
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
    """The reader's thumbs per source, each weighed by 2^(-age in days / 60); in order of source, one query.

    Ages count in whole UTC days up to `now`; `until` leaves out the thumbs given at or after it.
    """
    age = Cast(Least(F("day") - Value(utc_day(now)), Value(0)), FloatField())
    weight = Power(Value(2.0, FloatField()), age / Value(FEEDBACK_HALF_LIFE_DAYS, FloatField()))
    rows = (
        _of_reader(reader_id, until=until)
        .values_list("item__source_id")
        .annotate(
            n=Sum(weight),
            likes=Coalesce(Sum(weight, filter=Q(useful=True)), Value(0.0, FloatField())),
            count=Count("pk"),
        )
    )
    return [SourceTally(*row) for row in rows.order_by("item__source_id")]


def feedback_recent(
    *, reader_id: UUID, limit: int | None = 500, since: datetime | None = None, until: datetime | None = None
) -> list[RatedItem]:
    """The reader's thumbs with `since` <= at < `until`, newest first, in two queries."""
    return _rated_items(_of_reader(reader_id, since, until).order_by("-at", "-pk")[:limit])


def feedback_by_urls(*, reader_id: UUID, urls: Collection[str]) -> dict[str, RatedItem]:
    """The reader's thumb for each of the canonical `urls` that has one, in two queries."""
    rated = _rated_items(_of_reader(reader_id).filter(item__url__in=urls))
    return {item.url: item for item in rated}


def feedback_by_items(*, reader_id: UUID, item_ids: Collection[int]) -> dict[int, RatedItem]:
    """The reader's thumb for each of the items that has one, by item id, in two queries."""
    rated = _rated_items(_of_reader(reader_id).filter(item_id__in=item_ids))
    return {item.item_id: item for item in rated}


def feedback_tag_counts(*, reader_id: UUID) -> list[TagCount]:
    """How often the reader gave each reason, the most frequent first; one query."""
    rows = FeedbackTag.objects.filter(feedback__reader_id=reader_id).values_list("tag_id", "tag__kind")
    counted = rows.annotate(count=Count("pk")).order_by("-count", "tag_id")
    return [TagCount(*row) for row in counted]


def feedback_source_counts(*, reader_id: UUID, since: datetime | None = None) -> dict[str, tuple[int, int]]:
    """Likes and thumbs per source, undecayed: source -> (likes, total); one query."""
    rows = _of_reader(reader_id, since).values_list("item__source_id").order_by("item__source_id")
    counted = rows.annotate(likes=Count("pk", filter=Q(useful=True)), total=Count("pk"))
    return {source: (likes, total) for source, likes, total in counted}


def reason_tags() -> list[ReasonTag]:
    """The taxonomy, in the order in which its reasons are offered."""
    return list(ReasonTag.objects.all())


def _of_reader(
    reader_id: UUID, since: datetime | None = None, until: datetime | None = None
) -> QuerySet[Feedback]:
    rows = Feedback.objects.filter(reader_id=reader_id)
    if since is not None:
        rows = rows.filter(at__gte=since)
    return rows if until is None else rows.filter(at__lt=until)


def _rated_items(rows: QuerySet[Feedback]) -> list[RatedItem]:
    """One query for the thumbs and one for their tags, which repeats the first as a subquery.

    A list of ids instead would meet the databases' limits on parameters at 100,000 thumbs.
    """
    tags: defaultdict[int, list[str]] = defaultdict(list)
    given = FeedbackTag.objects.filter(feedback__in=rows.values("pk")).order_by("tag_id")
    for feedback_id, tag in given.values_list("feedback_id", "tag_id"):
        tags[feedback_id].append(tag)
    return [
        RatedItem(
            item_id=thumb.item_id,
            url=thumb.item.url,
            title=thumb.item.title,
            text=thumb.item.text,
            source=thumb.item.source_id,
            useful=thumb.useful,
            tags=tuple(tags[thumb.pk]),
            other_reasons=tuple(thumb.other_reasons),
            at=thumb.at,
            dated_at=thumb.item.dated_at,
        )
        for thumb in rows.select_related("item")
    ]

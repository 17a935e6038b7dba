"""The thumbs and named articles of readers, as examples of their taste.

Starred or opened articles are no examples.
"""

import datetime as dt
from collections import defaultdict
from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import Any
from uuid import UUID

from django.db.models import F, Window
from django.db.models.functions import RowNumber

from digest.models import Feedback, FeedbackTag, Reading
from ranking.taste.entities import NAMED_WEIGHT, Example
from ranking.taste.signal import EXAMPLES_MAX

ITEM_COLUMNS = (
    "item_id",
    "item__source_id",
    "item__title",
    "item__categories",
    "item__author",
    "item__vector__meaning",
    "item__vector__terms",
)


def examples_many(*, reader_ids: Collection[UUID], now: dt.datetime) -> dict[UUID, tuple[Example, ...]]:
    """Return the newest 300 thumbs and named articles of each reader, newest first; three queries."""
    found: defaultdict[UUID, list[Example]] = defaultdict(list)
    tags = _tags(reader_ids)
    newest = Window(RowNumber(), partition_by=F("reader_id"), order_by=[F("at").desc(), F("pk").desc()])
    thumbs = Feedback.objects.filter(reader_id__in=reader_ids, at__lte=now).annotate(n=newest)
    thumb_columns = ("reader_id", "pk", "useful", "at", *ITEM_COLUMNS)
    for reader_id, pk, liked, at, *item in thumbs.filter(n__lte=EXAMPLES_MAX).values_list(*thumb_columns):
        found[reader_id].append(_example(item, liked, at, tags=tuple(tags.get(pk, ()))))
    latest = Window(RowNumber(), partition_by=F("reader_id"), order_by=[F("named_at").desc()])
    named = Reading.objects.filter(reader_id__in=reader_ids, named_at__lte=now).annotate(n=latest)
    columns = ("reader_id", "named_at", *ITEM_COLUMNS)
    for reader_id, at, *item in named.filter(n__lte=EXAMPLES_MAX).values_list(*columns):
        example = _example(item, True, at, tags=())
        found[reader_id].append(replace(example, weight=NAMED_WEIGHT, named=True))
    return {
        pk: tuple(sorted(some, key=lambda one: (one.at, one.item_id, one.named), reverse=True)[:EXAMPLES_MAX])
        for pk, some in found.items()
    }


def _tags(reader_ids: Collection[UUID]) -> dict[int, list[str]]:
    rows = FeedbackTag.objects.filter(feedback__reader_id__in=reader_ids, feedback__has_reason=True)
    found: defaultdict[int, list[str]] = defaultdict(list)
    for feedback_id, tag in rows.values_list("feedback_id", "tag_id"):
        found[feedback_id].append(tag)
    return found


def _example(item: Sequence[Any], liked: bool, at: dt.datetime, *, tags: Sequence[str]) -> Example:
    item_id, source, title, categories, author, meaning, terms = item
    return Example(
        item_id,
        source,
        liked,
        at,
        title,
        tuple(categories),
        author,
        tags,
        meaning=bytes(meaning or b""),
        terms=b"" if meaning else bytes(terms or b""),
    )

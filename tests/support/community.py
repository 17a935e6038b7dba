"""Readers who share their thumbs: published figures, or thumbs that are still to be published."""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta

from digest.days import utc_day, utc_day_begin
from digest.feedback.peers import PERIOD_DAYS
from digest.models import Feedback, Item, ItemFigure, Reader, SourceFigure
from tests.support.factories import FeedbackFactory, ItemFactory, ReaderFactory, SourceFactory

GOOD, DULL = "good.example", "dull.example"
DAY = timedelta(days=1)


def source_figures(now: datetime, figures: Mapping[str, tuple[int, int]]) -> None:
    """Figures of sources, (likes, thumbs) each, as the last closed period left them; "" is the whole."""
    for source, (likes, thumbs) in figures.items():
        SourceFigure.objects.create(
            source=SourceFactory(key=source) if source else None,
            period=utc_day(now) // PERIOD_DAYS - 1,
            day=utc_day(now) - 1,
            likes=likes,
            thumbs=thumbs,
        )


def tastes(now: datetime) -> None:
    """Publish one liked source and one disliked one, so the usual rate is one half."""
    source_figures(now, {GOOD: (90, 100), DULL: (10, 100), "": (500, 1000)})


def item_figure(item: int, now: datetime, likes: int, thumbs: int) -> None:
    """The figure of one item, published yesterday."""
    ItemFigure.objects.create(item_id=item, day=utc_day(now) - 1, likes=likes, thumbs=thumbs)


def members(now: datetime, count: int) -> list[Reader]:
    """Readers who count: 20 thumbs on five days, a month ago, on items too old for any figure."""
    long_ago = now - 300 * DAY
    old = Item.objects.bulk_create(
        ItemFactory.build_batch(
            20, source=SourceFactory(key="old.example"), first_seen_at=long_ago, published_at=long_ago
        )
    )
    readers = Reader.objects.bulk_create(ReaderFactory.build_batch(count))
    Feedback.objects.bulk_create(
        FeedbackFactory.build(reader=reader, item=item, useful=n % 2 == 0, at=now - (30 - n % 5) * DAY)
        for reader in readers
        for n, item in enumerate(old)
    )
    return readers


def items_seen(day: int, count: int = 1, source: str = GOOD) -> list[Item]:
    """Items first seen on a UTC day."""
    at = utc_day_begin(day) + timedelta(hours=1)
    built = ItemFactory.build_batch(
        count, source=SourceFactory(key=source), published_at=at, first_seen_at=at, dated_at=at
    )
    return Item.objects.bulk_create(built)


def rate(readers: Sequence[Reader], item: Item, day: int, *, useful: bool = True) -> None:
    """Store the readers' thumbs on an item, given on a UTC day. They replace earlier ones."""
    Feedback.objects.filter(reader__in=readers, item=item).delete()
    at = utc_day_begin(day) + timedelta(hours=2)
    Feedback.objects.bulk_create(
        FeedbackFactory.build(reader=reader, item=item, useful=useful, at=at) for reader in readers
    )

"""Readers' histories for the advisor's tests, created in bulk and the same every time."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from uuid import uuid4

from advisor.run_values import ToolContext
from digest.days import utc_day
from digest.feeds.identity import article_hash
from digest.models import Feedback, FeedbackTag, Item, Reader, ReasonTag, Source
from tests.support.factories import CLOCK, FeedFactory

DAYS = 50


def thumbs(
    reader: Reader,
    source: str,
    count: int,
    *,
    rate: float = 0.5,
    tagged: bool = True,
    days: float = DAYS,
    now: datetime = CLOCK,
    titles: Sequence[str] = ("{source} note {n}",),
) -> list[Item]:
    """`count` rated items of one source, spread evenly over the last `days`, `rate` of them liked."""
    Source.objects.get_or_create(key=source, defaults={"title": source.split(".")[0].title()})
    feed = FeedFactory(source_id=source)
    step = timedelta(days=days) / max(count, 1)
    dates = [now - step * n - timedelta(hours=1) for n in range(count)]
    items = Item.objects.bulk_create(
        Item(
            feed=feed,
            guid=f"{reader.username}/{n}",
            url=f"https://{source}/{reader.username}/{n}",
            article=article_hash(f"https://{source}/{reader.username}/{n}"),
            source_id=source,
            title=titles[n % len(titles)].replace("{source}", source).replace("{n}", str(n)),
            published_at=at,
            first_seen_at=at,
            dated_at=at,
            fingerprint=f"{n:064x}",
        )
        for n, at in enumerate(dates)
    )
    given = Feedback.objects.bulk_create(
        Feedback(
            reader=reader,
            item=item,
            article=item.article,
            useful=int((n + 1) * rate) > int(n * rate),
            at=item.dated_at,
            day=utc_day(item.dated_at),
            has_reason=tagged,
        )
        for n, item in enumerate(items)
    )
    if tagged:
        _taxonomy()
        FeedbackTag.objects.bulk_create(
            FeedbackTag(feedback_id=row.pk, tag_id="depth" if row.useful else "hype") for row in given
        )
    return items


def _taxonomy() -> None:
    """Create the two reasons used here. A test with its own transactions finds them deleted."""
    kinds = (("depth", ReasonTag.Kind.VALUED), ("hype", ReasonTag.Kind.DISLIKED))
    rows = [ReasonTag(slug=slug, label=slug.title(), kind=kind) for slug, kind in kinds]
    ReasonTag.objects.bulk_create(rows, ignore_conflicts=True)


def opinionated(reader: Reader, *, now: datetime = CLOCK) -> None:
    """Give a reader thumbs that clearly like one source, dislike another, and are mixed for the rest."""
    thumbs(reader, "loved.example", 40, rate=0.95, now=now)
    thumbs(reader, "loathed.example", 40, rate=0.05, now=now)
    for n in range(4):
        thumbs(reader, f"middling{n}.example", 30, rate=0.5, now=now)


def balanced(reader: Reader, *, now: datetime = CLOCK) -> None:
    """Give a reader thumbs of which every second one is up, for all sources."""
    for n in range(6):
        thumbs(reader, f"middling{n}.example", 30, rate=0.5, now=now)


def context_for(reader: Reader, *, now: datetime = CLOCK) -> ToolContext:
    """Return a context bound to `reader`, for tools called without a run."""
    return ToolContext(reader.pk, uuid4(), now, fence=lambda: None)

"""Simulated readers of known truth, put through the real services: accept, digests, thumbs, outcome check.

Each reader has five sources that publish equally. Four are liked at the base rate, the fifth depends on the
case:

- helpful: a boost of a well-liked source, or a reduction of a disliked one
- harmful: a boost of a disliked source, or a reduction of a well-liked one
- null: all five are liked equally, and the change is about the one that looked best (or worst) by chance in
  the two weeks before, as an advisor would have picked it

Every day after the change a digest is built and the reader rates some of it, the upper half twice as likely
as the lower. Before it they rate items of all sources equally, as equal weights would have shown them.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import numpy as np
from django.db.models import Count, Q

from digest.daily.services import digest_build
from digest.days import day_of, utc_day
from digest.entities import DIGEST_SIZE
from digest.feeds.identity import article_hash
from digest.models import Feed, Feedback, Impression, Item, Reader, Source, Subscription
from suggestions.models import Suggestion
from suggestions.services.resolve import suggestion_accept
from tests.support.changes import BOOST_SOURCE, REDUCE_SOURCE, SOURCE_WEIGHTS

START = datetime(2026, 3, 2, 8, 0, tzinfo=UTC)
DAYS = 14
SOURCES = 5
ITEMS_PER_DAY = 6
BASE, LIKED, DISLIKED = 0.5, 0.8, 0.2
STEP = 0.3
KINDS = ("helpful", "harmful", "null")
Rng = np.random.Generator


@dataclass(frozen=True, slots=True)
class Life:
    """One simulated reader: the changed source, and the true like-rate of each source."""

    reader: Reader
    suggestion: Suggestion
    rates: tuple[float, ...]


def sources_make() -> list[Source]:
    """Five sources with the items of a month, shared by all simulated readers."""
    sources = [Source(key=f"bench{n}.example", title=f"Bench {n}") for n in range(SOURCES)]
    Source.objects.bulk_create(sources, ignore_conflicts=True)
    feeds = {source.key: _feed(source) for source in sources}
    hours = [
        START + timedelta(hours=h) for h in range(-24 * (DAYS + 7), 24 * (DAYS + 1), 24 // ITEMS_PER_DAY)
    ]
    # Items are minutes apart, and the order shifts by one each time, so that no source is always the newest.
    Item.objects.bulk_create(
        Item(
            feed=feeds[source.key],
            guid=str(n),
            url=f"https://{source.key}/{n}",
            article=article_hash(f"https://{source.key}/{n}"),
            source=source,
            title=f"Item {n} of {source.title}",
            published_at=at + timedelta(minutes=(place + n) % SOURCES),
            first_seen_at=at + timedelta(minutes=(place + n) % SOURCES),
            dated_at=at + timedelta(minutes=(place + n) % SOURCES),
            fingerprint=f"{place:032x}{n:032x}",
        )
        for place, source in enumerate(sources)
        for n, at in enumerate(hours)
    )
    return sources


def life_begin(kind: str, n: int, sources: Sequence[Source], per_day: float, rng: Rng) -> Life:
    """Return a reader with two weeks of thumbs, and the change of the given kind accepted."""
    reader = Reader.objects.create(username=f"bench-{kind}-{n}", email="")
    feeds = [_feed(source) for source in sources]
    Subscription.objects.bulk_create(
        Subscription(reader=reader, feed=feed, created_at=START - timedelta(days=60)) for feed in feeds
    )
    boosts = n % 2 == 0
    odd = BASE if kind == "null" else LIKED if boosts == (kind == "helpful") else DISLIKED
    rates = (odd, *[BASE] * (SOURCES - 1))
    _past(reader, sources, rates, per_day, rng)
    target = _extreme(reader, sources, boosts) if kind == "null" else sources[0]
    return Life(reader, _accepted(reader, target, boosts), rates)


def life_go_on(life: Life, sources: Sequence[Source], per_day: float, rng: Rng) -> None:
    """Two weeks of digests and thumbs after the change."""
    rate = {source.key: p for source, p in zip(sources, life.rates, strict=True)}
    for day in range(DAYS):
        now = START + timedelta(days=day, hours=4)
        digest = digest_build(reader=life.reader, date=day_of(now, UTC), now=now)
        rated = Feedback.objects.filter(reader=life.reader).values("item_id")
        shown = list(
            Impression.objects.filter(digest=digest).exclude(item_id__in=rated).select_related("item")
        )
        chances = np.array([2.0 if row.rank <= DIGEST_SIZE / 2 else 1.0 for row in shown])
        count = min(int(rng.poisson(per_day)), len(shown))
        if count:
            picked = rng.choice(len(shown), size=count, replace=False, p=chances / chances.sum())
            items = [shown[i].item for i in picked]
            _rate(
                life.reader,
                items,
                [rate[i.source_id] for i in items],
                [now + timedelta(hours=2)] * count,
                rng,
            )


def _feed(source: Source) -> Feed:
    made = {"source": source, "state": Feed.State.IMPORTED}
    return Feed.objects.get_or_create(url=f"https://{source.key}/feed", defaults=made)[0]


def _past(
    reader: Reader, sources: Sequence[Source], rates: Sequence[float], per_day: float, rng: Rng
) -> None:
    """The thumbs of the two weeks before."""
    since = START - timedelta(days=DAYS)
    pool = list(Item.objects.filter(dated_at__gte=since, dated_at__lt=START).order_by("pk"))
    count = min(int(rng.poisson(per_day * DAYS)), len(pool))
    items = [pool[i] for i in rng.choice(len(pool), size=count, replace=False)]
    by_key = {source.key: rate for source, rate in zip(sources, rates, strict=True)}
    times = [item.dated_at + timedelta(minutes=30) for item in items]
    times = [min(at, START - timedelta(minutes=1)) for at in times]
    _rate(reader, items, [by_key[item.source_id] for item in items], times, rng)


def _rate(
    reader: Reader, items: Sequence[Item], rates: Sequence[float], times: Sequence[datetime], rng: Rng
) -> None:
    useful = rng.random(len(items)) < np.array(rates)
    Feedback.objects.bulk_create(
        Feedback(reader=reader, item=item, article=item.article, useful=bool(up), at=at, day=utc_day(at))
        for item, up, at in zip(items, useful, times, strict=True)
    )


def _extreme(reader: Reader, sources: Sequence[Source], best: bool) -> Source:
    """Return the source that looked best, or worst, so far."""
    rows = Feedback.objects.filter(reader=reader).values_list("item__source_id").order_by()
    counts = rows.annotate(likes=Count("pk", filter=Q(useful=True)), n=Count("pk"))
    seen = {key: (likes + 1) / (n + 2) for key, likes, n in counts}
    ordered = sorted(sources, key=lambda source: (seen.get(source.key, 0.5), source.key))
    return ordered[-1 if best else 0]


def _accepted(reader: Reader, target: Source, boosts: bool) -> Suggestion:
    suggestion = Suggestion.objects.create(
        reader=reader,
        suggestion_type=BOOST_SOURCE if boosts else REDUCE_SOURCE,
        field=SOURCE_WEIGHTS,
        target_key=target.key,
        label=target.title,
        current_value="1.0",
        suggested_value=f"{1 + (STEP if boosts else -STEP):.1f}",
        reason="A simulated proposal.",
        confidence="medium",
        p_helpful=0.8,
        config_version=0,
        created_at=START,
    )
    suggestion_accept(reader_id=reader.pk, suggestion_id=suggestion.pk, now=START)
    suggestion.refresh_from_db()
    return suggestion

"""The spread of readers' tastes: sums over batches of readers who share, published once each, with noise.

A reader counts at most twice in life: with the thumbs given before the day of their first batch, 20 or more,
and, 80 thumbs later, with those on articles that came since. So each thumb is in one batch at most. Who
counts, and when, depends on accounts, numbers, days and ids, never on the direction of thumbs
(docs/peers.md).
"""

from collections.abc import Callable, Collection, Iterator
from datetime import datetime
from functools import partial
from uuid import UUID

from django.conf import settings
from django.db import IntegrityError, transaction
from django.db.models import Count, Exists, F, OuterRef, Q

from digest.days import utc_day, utc_day_begin
from digest.entities import RatedItem
from digest.feedback.noisy_counts import community_members, uniforms_secret
from digest.feedback.peers import readers_sharing
from digest.feedback.selectors import feedback_recent
from digest.items.selectors import source_titles
from digest.models import Item
from ranking.common.isolation import READER, isolate
from ranking.community import spread_with_noise
from ranking.selectors import read_once
from ranking.taste.leans import SPREAD_PRIOR
from suggestions.changes.columns import attributes_of
from suggestions.models import TasteContribution, TasteSpread
from suggestions.planner.tastes import Batch, batch_sum, contribution_of, spread_of, tallies_of

# At least this many readers are published together, and half as many as before. Sums over few readers are
# mostly noise, and so are many such sums.
BATCH_MIN, BATCH_SHARE = 40, 0.5
# A night's work: about 20 ms for each reader.
BATCH_MAX = 2000
SECOND_RATINGS_MIN = 80
FIRST, SECOND = 1, 2


def taste_spread_publish(*, now: datetime) -> int:
    """Publish the sums of the waiting readers if they are enough; return their number.

    At most once a UTC day. Runs at once are one: the other finds the day's row.
    """
    day = utc_day(now)
    if not settings.PEERS_ENABLED or TasteSpread.objects.filter(day__gte=day).exists():
        return 0
    waiting = _waiting(day)
    if len(waiting) < BATCH_MIN or len(waiting) < BATCH_SHARE * TasteContribution.objects.count():
        return 0
    counted = list(_contributions(waiting, day, now))
    total = batch_sum(batch for _, _, batch in counted)
    estimates, weights = spread_with_noise(total.estimates, total.weights, uniforms_secret((2, 2)))
    marks = [TasteContribution(reader_id=r, number=n, day=day) for r, n, _ in counted]
    try:
        with transaction.atomic():
            together = {"source_estimates": estimates, "source_weights": weights}
            TasteSpread.objects.create(day=day, topic_estimates=0, topic_weights=0, **together)
            TasteContribution.objects.bulk_create(marks, batch_size=1000)
    except IntegrityError:
        if not TasteSpread.objects.filter(day=day).exists():
            raise
        return 0
    return len(counted)


def taste_spread_for(*, reader_id: UUID) -> float:
    """Return how much tastes vary, for one reader; `taste_spreads_for` of one."""
    return taste_spreads_for(reader_ids=[reader_id])[reader_id]


def taste_spreads_for(*, reader_ids: Collection[UUID]) -> dict[UUID, float]:
    """Return how much tastes vary, by reader: as published for one who shares, else the prior alone.

    Two queries at most.
    """
    sharing = readers_sharing(reader_ids=reader_ids)
    read: Callable[[], list[TasteSpread]] = partial(list, TasteSpread.objects.all())
    rows = read_once("taste_spread", read) if sharing else []
    published = spread_of(
        [Batch(r.source_estimates + r.topic_estimates, r.source_weights + r.topic_weights) for r in rows]
    )
    return {pk: published if pk in sharing else SPREAD_PRIOR for pk in reader_ids}


def _waiting(day: int) -> list[tuple[UUID, int, int]]:
    """Return (reader, number of the contribution, first UTC day that counts) of those who wait; 2 queries."""
    members = community_members(day=day)
    marks = TasteContribution.objects.filter(reader_id=OuterRef("reader_id"))
    new = members.filter(~Exists(marks)).values_list("reader_id", flat=True).order_by("reader_id")
    since = Q(reader__feedback__day__gte=F("day"), reader__feedback__day__lt=day)
    again = (
        TasteContribution.objects.filter(~Exists(marks.filter(number=SECOND)), number=FIRST)
        .filter(reader__peers_enabled=True, reader__is_active=True)
        .annotate(ratings=Count("reader__feedback", filter=since))
        .filter(ratings__gte=SECOND_RATINGS_MIN)
        .order_by("reader_id")
    )
    found = [(reader, FIRST, 0) for reader in new[:BATCH_MAX]]
    rest = again.values_list("reader_id", "day")[: BATCH_MAX - len(found)]
    return [*found, *((reader, SECOND, first) for reader, first in rest)]


def _contributions(
    waiting: list[tuple[UUID, int, int]], day: int, now: datetime
) -> Iterator[tuple[UUID, int, Batch]]:
    """Yield (reader, number of the contribution, contribution). At most four queries each.

    A reader whose contribution cannot be computed is left out, and tried again with the next batch.
    """
    until = utc_day_begin(day)
    for reader_id, number, first in waiting:
        batch = None
        with isolate(READER, reader_id, "taste_contribution_failed"):
            rated = feedback_recent(reader_id=reader_id, until=until, public=True)
            if first:
                rated = _come_since(rated, utc_day_begin(first))
            titles = source_titles(keys={item.source for item in rated})
            attributes = attributes_of(rated, titles=titles)
            batch = contribution_of(tallies_of(rated, attributes, now))
        if batch is not None:
            yield reader_id, number, batch


def _come_since(rated: list[RatedItem], since: datetime) -> list[RatedItem]:
    """Return the ratings of articles that came since. Older articles were counted before."""
    articles = {item.article for item in rated}
    old = Item.objects.filter(feed__owner=None, article__in=articles, first_seen_at__lt=since)
    known = set(old.values_list("article", flat=True))
    return [item for item in rated if item.article not in known]

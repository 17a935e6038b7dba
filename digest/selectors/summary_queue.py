"""Which texts may go to a model, and which of them first."""

import heapq
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping
from datetime import datetime, timedelta

from django.db.models import Exists, OuterRef, Q, QuerySet
from django.db.models.functions import Length

from digest.entities import ITEM_WINDOW_DAYS
from digest.models import Feed, FeedEntry, Item, Subscription, Summary
from digest.summary_entities import OFFLINE, WORTH_CHARS, Text, value_of
from ranking.entities import WEIGHT_DEFAULT
from ranking.selectors import config_effective_many


def subscriptions_open_to_models() -> QuerySet[Subscription]:
    """Those whose reader and feed both have AI on: only through them may a text go to a model."""
    return Subscription.objects.filter(ai_enabled=True, reader__ai_enabled=True, reader__is_active=True)


def texts_still_wanted(*, item_ids: Collection[int]) -> set[int]:
    """Those of the items that a reader with AI on reads through a feed with AI on, and that no model was
    asked about meanwhile; one query.
    """
    rows = Item.objects.filter(_open(), ~Exists(_asked()), pk__in=item_ids)
    return set(rows.values_list("pk", flat=True))


def texts_waiting(*, now: datetime) -> int:
    """How many different texts a model could be asked about; one query."""
    return _waiting(now).filter(_open()).values("fingerprint").distinct().count()


def texts_wanted(*, now: datetime, limit: int) -> list[Text]:
    """The `limit` most valuable texts that no model was asked about yet, the most valuable first.

    A text is worth the sum, over the readers whom a model's summary may be shown, of the weight they give its
    source, halved with each day of age: what stands high in many upcoming digests comes first. Short texts
    and those that hold nothing to summarise are never wanted. Seven queries.
    """
    weights = _feed_weights()
    values: dict[str, tuple[float, int]] = {}
    for feed_weight, item_id, fingerprint, dated_at in _carried(now, weights):
        worth = values.get(fingerprint, (0.0, item_id))[0] + value_of(feed_weight, dated_at, now)
        values[fingerprint] = worth, item_id
    best = heapq.nlargest(limit, values.values())
    fields = ("pk", "fingerprint", "title", "text")
    rows = Item.objects.filter(pk__in=[item_id for _, item_id in best]).values_list(*fields)
    found = {row[0]: Text(*row) for row in rows}
    return [found[item_id] for _, item_id in best if item_id in found]


def _waiting(now: datetime) -> QuerySet[Item]:
    """Items of a digest's window whose text is worth a call and was never the subject of one."""
    empty = Summary.objects.filter(fingerprint=OuterRef("fingerprint"), model=OFFLINE).exclude(refusal="")
    rows = Item.objects.filter(dated_at__gt=now - timedelta(days=ITEM_WINDOW_DAYS), dated_at__lte=now)
    return rows.annotate(chars=Length("text")).filter(
        ~Exists(_asked()), ~Exists(empty), chars__gte=WORTH_CHARS
    )


def _asked() -> QuerySet[Summary]:
    """What models made of an item's text."""
    return Summary.objects.filter(fingerprint=OuterRef("fingerprint")).exclude(model=OFFLINE)


def _open() -> Q:
    """Items that a feed open to models carries; imported sources count as a whole, as in digests."""
    feeds = subscriptions_open_to_models().values("feed_id")
    carried = FeedEntry.objects.filter(feed_id__in=feeds).values("item_id")
    whole = Feed.objects.filter(pk__in=feeds, state=Feed.State.IMPORTED).values("source_id")
    return Q(pk__in=carried) | Q(source_id__in=whole)


def _feed_weights() -> dict[int, tuple[float, str, str]]:
    """For each feed open to models: its readers' weights for its source, summed; its source; its state."""
    rows = subscriptions_open_to_models().order_by()
    configs = config_effective_many(reader_ids=list(rows.values_list("reader_id", flat=True).distinct()))
    sums: dict[int, tuple[float, str, str]] = {}
    fields = ("reader_id", "feed_id", "feed__source_id", "feed__state")
    for reader_id, feed_id, source, state in rows.values_list(*fields).iterator():
        before = sums.get(feed_id, (0.0, source, state))[0]
        config = configs.get(reader_id)
        sums[feed_id] = (before + (config.weight(source) if config else WEIGHT_DEFAULT), source, state)
    return sums


def _carried(
    now: datetime, feeds: Mapping[int, tuple[float, str, str]]
) -> Iterator[tuple[float, int, str, datetime]]:
    """Each waiting item once for every feed that brings it: the feed's weight, id, fingerprint, date."""
    waiting = _waiting(now)
    entries = FeedEntry.objects.filter(feed_id__in=list(feeds), item__in=waiting)
    fields = ("feed_id", "item_id", "item__fingerprint", "item__dated_at")
    for feed_id, item_id, fingerprint, dated_at in entries.values_list(*fields).iterator():
        yield feeds[feed_id][0], item_id, fingerprint, dated_at
    whole: defaultdict[str, float] = defaultdict(float)
    for weight, source, state in feeds.values():
        if state == Feed.State.IMPORTED:
            whole[source] += weight
    rows = waiting.filter(source_id__in=list(whole))
    for item_id, source, fingerprint, dated_at in rows.values_list(
        "pk", "source_id", "fingerprint", "dated_at"
    ).iterator():
        yield whole[source], item_id, fingerprint, dated_at

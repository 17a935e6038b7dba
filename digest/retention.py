"""Retention: delete old used links, mails, exposures, digests, sessions, and items that nothing uses.

`KEEP_DAYS` sets the number of days for each kind. Ratings, saved and named items, and items that evidence
refers to are never deleted here.
"""

from collections.abc import Sequence
from datetime import date, datetime, timedelta
from importlib import import_module
from typing import Any

from django.conf import settings
from django.db import transaction
from django.db.models import Exists, Model, OuterRef, QuerySet

from digest.items.texts import texts_delete
from digest.models import (
    Delivery,
    Digest,
    Exposure,
    FeedAccess,
    Feedback,
    Impression,
    Item,
    Notification,
    PrunedEntry,
    Reading,
    SpendRefusal,
    Story,
    Subscription,
    UsedLink,
)
from ranking.common.rows import BATCH, NIGHT_MAX, retention_start, rows_add, rows_delete

# A smaller batch, because thirty impressions are deleted with each digest.
DIGESTS_BATCH = 200
# (kind in `KEEP_DAYS`, rows, the column with their date, rows per DELETE).
PRUNED: tuple[tuple[str, QuerySet[Any], str, int], ...] = (
    ("mail", UsedLink.objects.all(), "used_at", BATCH),
    ("mail", Delivery.objects.all(), "claimed_at", BATCH),
    ("mail", Notification.objects.all(), "created_at", BATCH),
    ("refusals", SpendRefusal.objects.all(), "created_at", BATCH),
    ("showings", Exposure.objects.all(), "shown_at", BATCH),
    ("digests", Digest.objects.all(), "date", DIGESTS_BATCH),
    ("readings", Reading.objects.exclude(Reading.SAVED_OR_NAMED), "read_at", BATCH),
)


def rows_prune(*, now: datetime) -> int:
    """Delete rows older than `KEEP_DAYS`, except items, and expired sessions; return the number of rows.

    Sessions are not counted. If a run is interrupted or reaches its limit, the next run deletes the rest.
    """
    import_module(settings.SESSION_ENGINE).SessionStore.clear_expired()
    deleted = accesses_prune(now=now)
    for kind, rows, at, batch in PRUNED:
        since = retention_start(kind, now)
        if since is not None:
            before: date = since.date() if at == "date" else since
            deleted += rows_delete(rows.all(), at=at, before=before, batch=min(batch, BATCH))
    return deleted


def accesses_prune(*, now: datetime) -> int:
    """Delete credentials of private feeds without a subscriber that were last fetched over a day ago.

    Return how many. A reader can undo a removal for an hour, and after it nobody fetches the feed.
    """
    read = Subscription.objects.filter(feed=OuterRef("feed"))
    ended = FeedAccess.objects.filter(~Exists(read), feed__last_fetched_at__lt=now - timedelta(days=1))
    return ended.delete()[0]


def items_prune(*, now: datetime, referenced_by: Sequence[QuerySet[Any]] = ()) -> int:
    """Delete old items that nothing refers to, with their extracts and stories; return how many items.

    References are digests, exposures, ratings, saved and named items, and the rows of `referenced_by`:
    subqueries over `OuterRef("pk")`, for rooms that this one does not know. The item's identity in its feed
    is kept, so a feed that still carries it does not bring it back as new.
    """
    since = retention_start("items", now)
    if since is None:
        return 0
    deleted = _items_prune(since, referenced_by)
    empty = Story.objects.filter(last_item_at__lt=since).filter(
        ~Exists(Item.objects.filter(story=OuterRef("pk")))
    )
    while batch := list(empty.values_list("pk", flat=True)[:BATCH]):
        Story.objects.filter(pk__in=batch).delete()
    return deleted


def _items_prune(since: datetime, referenced_by: Sequence[QuerySet[Any]]) -> int:
    old = Item.objects.filter(dated_at__lt=since, first_seen_at__lt=since).order_by("dated_at", "pk")
    unused, deleted = _without_references(old, referenced_by), 0
    rest = unused
    while deleted < NIGHT_MAX and (batch := list(rest.values_list("pk", "dated_at")[:BATCH])):
        count = _items_delete([pk for pk, _ in batch], referenced_by)
        if not count:  # All of them were rated or saved meanwhile.
            break
        deleted += count
        rest = unused.filter(dated_at__gte=batch[-1][1])
    return deleted


def _without_references(items: QuerySet[Item], referenced_by: Sequence[QuerySet[Any]]) -> QuerySet[Item]:
    models: list[type[Model]] = [Impression, Exposure, Feedback]
    references = [model._default_manager.filter(item=OuterRef("pk")) for model in models]
    references += [Reading.objects.filter(Reading.SAVED_OR_NAMED, item=OuterRef("pk")), *referenced_by]
    for rows in references:
        items = items.filter(~Exists(rows))
    return items


@transaction.atomic
def _items_delete(ids: Sequence[int], referenced_by: Sequence[QuerySet[Any]]) -> int:
    """Delete the items among `ids` that are still unused. Return how many.

    The rows are locked and tested again, because somebody may have rated or saved one meanwhile.
    """
    rows = Item.objects.select_for_update().filter(pk__in=ids).order_by("pk")
    locked = Item.objects.filter(pk__in=[item.pk for item in rows.only("pk")])
    unused = dict(_without_references(locked, referenced_by).values_list("pk", "fingerprint"))
    gone = Item.objects.filter(pk__in=list(unused))
    entries = gone.exclude(feed=None).exclude(guid="").values_list("feed_id", "guid")
    rows_add(model=PrunedEntry, columns=("feed", "guid"), rows=list(entries))
    gone.delete()
    texts_delete(fingerprints=unused.values())
    return len(unused)

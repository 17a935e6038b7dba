"""What nobody needs any longer goes: used links, old mails and showings, sessions that ended, old items.

`KEEP_DAYS` says how long each kind is kept. Thumbs, what was saved, and what evidence rests on are kept
whatever it says: of items only those go that nothing refers to any more.
"""

from collections.abc import Iterator, Sequence
from datetime import date, datetime
from importlib import import_module
from typing import Any

from django.conf import settings
from django.db import transaction
from django.db.models import Exists, Model, OuterRef, QuerySet

from digest.models import (
    Cluster,
    Delivery,
    Digest,
    Exposure,
    Feedback,
    Impression,
    Item,
    Reading,
    SpendRefusal,
    SuggestedReasons,
    Summary,
    UsedLink,
)
from ranking.pruning import BATCH, NIGHT_MAX, kept_since, rows_delete

# Thirty impressions go with each.
DIGESTS = 200
# By kind of `KEEP_DAYS`: rows, the column that dates them, rows of one DELETE.
TERMS: tuple[tuple[str, QuerySet[Any], str, int], ...] = (
    ("mail", UsedLink.objects.all(), "used_at", BATCH),
    ("mail", Delivery.objects.all(), "claimed_at", BATCH),
    ("refusals", SpendRefusal.objects.all(), "created_at", BATCH),
    ("showings", Exposure.objects.all(), "shown_at", BATCH),
    ("digests", Digest.objects.all(), "date", DIGESTS),
    ("readings", Reading.objects.filter(saved_at=None), "read_at", BATCH),
)


def rows_prune(*, now: datetime) -> int:
    """Delete the rows whose term is over, items apart, and sessions that ended, uncounted; how many rows.

    What was cut off goes on the next time, and so does what is beyond a night's share.
    """
    import_module(settings.SESSION_ENGINE).SessionStore.clear_expired()
    return sum(_term(kind, rows, at, batch, now) for kind, rows, at, batch in TERMS)


def _term(kind: str, rows: QuerySet[Any], at: str, batch: int, now: datetime) -> int:
    since = kept_since(kind, now)
    if since is None:
        return 0
    before: date = since.date() if at == "date" else since
    return rows_delete(rows.all(), at=at, before=before, batch=min(batch, BATCH))


def items_prune(*, now: datetime, kept_by: Sequence[QuerySet[Any]] = ()) -> int:
    """Delete the items whose term is over and that nothing refers to any more; how many.

    What refers to one: a digest, a showing, a thumb, being saved, and a row of `kept_by` (subqueries over
    `OuterRef("pk")`, for rooms that this one does not know). The entry that its feed has of it stays, without
    it, so that a feed that goes on carrying it does not bring it back as new. Extracts and stories that no
    item has any more go along.
    """
    since = kept_since("items", now)
    if since is None:
        return 0
    gone = sum(_items_gone(since, kept_by))
    over = Cluster.objects.filter(last_item_at__lt=since).filter(
        ~Exists(Item.objects.filter(cluster=OuterRef("pk")))
    )
    while some := list(over.values_list("pk", flat=True)[:BATCH]):
        Cluster.objects.filter(pk__in=some).delete()
    return gone


def _items_gone(since: datetime, kept_by: Sequence[QuerySet[Any]]) -> Iterator[int]:
    old = Item.objects.filter(dated_at__lt=since, first_seen_at__lt=since).order_by("dated_at", "pk")
    free, gone, last = _free(old, kept_by), 0, None
    while gone < NIGHT_MAX:
        left = free if last is None else free.filter(dated_at__gte=last)
        some = list(left.values_list("pk", "dated_at")[:BATCH])
        if not some:
            return
        gone += (went := _items_delete([pk for pk, _ in some], kept_by))
        last = some[-1][1]
        yield went
        if not went:  # somebody came first, to all of them
            return


def _free(items: QuerySet[Item], kept_by: Sequence[QuerySet[Any]]) -> QuerySet[Item]:
    holding: list[type[Model]] = [Impression, Exposure, Feedback]
    rows = [model._default_manager.filter(item=OuterRef("pk")) for model in holding]
    rows += [Reading.objects.filter(item=OuterRef("pk"), saved_at__isnull=False), *kept_by]
    for held in rows:
        items = items.filter(~Exists(held))
    return items


@transaction.atomic
def _items_delete(ids: Sequence[int], kept_by: Sequence[QuerySet[Any]]) -> int:
    """Look again under the rows' locks: somebody may have rated or saved one meanwhile."""
    held = Item.objects.select_for_update().filter(pk__in=ids).order_by("pk")
    locked = [item.pk for item in held.only("pk")]
    rows = dict(_free(Item.objects.filter(pk__in=locked), kept_by).values_list("pk", "fingerprint"))
    Item.objects.filter(pk__in=list(rows)).delete()
    prints = set(rows.values())
    left = prints - set(Item.objects.filter(fingerprint__in=prints).values_list("fingerprint", flat=True))
    for model in (Summary, SuggestedReasons):
        model._default_manager.filter(fingerprint__in=left).delete()
    return len(rows)

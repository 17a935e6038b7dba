"""The receipt of a source that is never missed: how many of its articles a digest has shown."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db.models import Exists, OuterRef

from digest.entities import ITEM_WINDOW_DAYS
from digest.models import Exposure, Feedback, Item, Reader, Reading
from ranking.selectors import config_changed_to
from ranking.source_rules import NEVER_MISSED


@dataclass(frozen=True, slots=True)
class Receipt:
    """Of `came` articles since `since`, `shown` were in a digest, read or rated; `waiting` still can be."""

    since: datetime
    came: int
    shown: int
    waiting: int


def receipt_of(*, reader: Reader, source: str, since: datetime, now: datetime) -> Receipt:
    """Return the receipt since `since`, or since the source is never missed. Two queries."""
    chosen = config_changed_to(
        reader_id=reader.pk, field=NEVER_MISSED, target=source, after=True, since=since
    )
    start = max(since, chosen) if chosen else since
    own = Item.objects.filter(feed__subscriptions__reader=reader, source=source)
    known = [
        rows.filter(reader=reader, **{f"{name}article": OuterRef("article")})
        for rows, name in ((Exposure.objects, "item__"), (Reading.objects, ""), (Feedback.objects, ""))
    ]
    is_known = Exists(known[0]) | Exists(known[1]) | Exists(known[2])
    came = own.filter(first_seen_at__gt=start, first_seen_at__lte=now, dated_at__gt=start).annotate(
        known=is_known
    )
    rows = came.values_list("article", "known", "dated_at")
    shown, at = set(), {}
    for article, is_shown, dated_at in rows:
        at[article] = dated_at
        if is_shown:
            shown.add(article)
    open_since = now - timedelta(days=ITEM_WINDOW_DAYS)
    waiting = sum(dated_at > open_since for article, dated_at in at.items() if article not in shown)
    return Receipt(start, len(at), len(shown), waiting)

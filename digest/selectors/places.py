"""Where an item stands, or stood, in its reader's digest."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from digest.entities import ITEM_WINDOW_DAYS
from digest.models import Digest, Impression, Item, Reader
from digest.selectors.left_out import LeftOutItem, digest_left_out


@dataclass(frozen=True, slots=True)
class ItemPlace:
    """One item's place in one digest: `shown` there, or `passed` over, told by the settings of today.

    `settings_changed`: those are others than the digest was made by.
    """

    digest: Digest
    shown: Impression | None = None
    passed: LeftOutItem | None = None
    settings_changed: bool = False


def item_place(*, reader: Reader, item: Item, now: datetime) -> ItemPlace | None:
    """The item's place in the latest digest that shows it; else why the first made after it came does not.

    One query where it is shown, else a constant number. `None` where no digest had it to choose from.
    """
    showing = Impression.objects.filter(item=item, digest__reader_id=reader.pk).select_related("digest")
    if shown := showing.order_by("-digest__date").first():
        return ItemPlace(shown.digest, shown=shown)
    since = max(item.dated_at, item.first_seen_at)
    until = item.dated_at + timedelta(days=ITEM_WINDOW_DAYS)
    made = Digest.objects.filter(reader_id=reader.pk, built_at__gte=since, built_at__lt=until)
    digest = made.order_by("date").first()
    if digest is None:
        return None
    found = digest_left_out(reader=reader, date=digest.date, now=now, only=[item.pk])
    if found is None or not found.items:
        return None
    return ItemPlace(digest, passed=found.items[0], settings_changed=found.settings_changed)

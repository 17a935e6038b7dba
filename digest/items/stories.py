"""Stories: which new items several sources report alike, and the other items of a story."""

import datetime as dt
from collections import defaultdict
from collections.abc import Collection, Sequence
from dataclasses import asdict, dataclass
from uuid import UUID

import structlog
from django.db import transaction
from django.db.models import BooleanField, ExpressionWrapper, Q

from digest.entities import ITEM_WINDOW_DAYS
from digest.items.clustering import STORY_HOURS, TitledItem, cluster_items, title_stems
from digest.items.selectors import items_visible
from digest.models import Item, Story

log = structlog.get_logger(__name__)

# New items compared in one transaction, and titles they are compared with: these bound time and memory.
FRESH_MAX = 2_000
KNOWN_MAX = 60_000
# Equal headlines of fewer words prove nothing ("Daily briefing"), unless the items have the same text too.
HEADLINE_WORDS_MIN = 3
STORY_DURATION = dt.timedelta(hours=STORY_HOURS)
# Parameters of one statement: SQLite takes 32,766 of them, older builds 999.
BATCH = 500


@dataclass(frozen=True, slots=True)
class StoriesReport:
    """Counts of one update: items compared, items that joined a story, stories begun."""

    compared: int = 0
    clustered: int = 0
    begun: int = 0

    def as_dict(self) -> dict[str, int]:
        """Return plain JSON values."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class RelatedItem:
    """Another item of the same story; `source` is its source's title, `source_key` the key."""

    item_id: int
    title: str
    source: str
    url: str
    source_key: str = ""


def stories_update(*, now: dt.datetime) -> StoriesReport:
    """Compare each new item of a digest's window with the items within 72 hours of it, and store stories.

    Items of one story share a `Story`; an item that no other source reports has none. Only items without
    `clustered_at` are new, so a second call does nothing. Works through 2,000 items a transaction, oldest
    first; finished transactions stay if a later one fails.
    """
    compared = clustered = begun = 0
    while (batch := _compare_batch(now)).compared:
        compared += batch.compared
        clustered += batch.clustered
        begun += batch.begun
    report = StoriesReport(compared, clustered, begun)
    log.info("stories.updated", **report.as_dict())
    return report


def items_related(*, reader_id: UUID, item_ids: Collection[int]) -> dict[int, list[RelatedItem]]:
    """Return, by item of `item_ids`, the items of its story that this reader may see, newest first.

    Items of the item's own source are left out; items with no others are missing. Two queries for a page.
    """
    rows = Item.objects.filter(pk__in=item_ids).exclude(story=None)
    asked = {pk: (story, source) for pk, story, source in rows.values_list("pk", "story_id", "source_id")}
    if not asked:
        return {}
    by_story: defaultdict[int | None, list[RelatedItem]] = defaultdict(list)
    visible = items_visible(reader_id=reader_id).filter(story__in={story for story, _ in asked.values()})
    for item in visible.select_related("source").order_by("-dated_at", "-id"):
        mate = RelatedItem(item.pk, item.title, str(item.source), item.url, item.source_id)
        by_story[item.story_id].append(mate)
    found = {
        pk: [mate for mate in by_story[story] if mate.item_id != pk and mate.source_key != source]
        for pk, (story, source) in asked.items()
    }
    return {pk: mates for pk, mates in found.items() if mates}


@transaction.atomic
def _compare_batch(now: dt.datetime) -> StoriesReport:
    since = now - dt.timedelta(days=ITEM_WINDOW_DAYS)
    new = Item.objects.select_for_update(skip_locked=True).filter(
        clustered_at=None, dated_at__gt=since, dated_at__lte=now
    )
    ids = list(new.order_by("dated_at", "id").values_list("pk", flat=True)[:FRESH_MAX])
    if not ids:
        return StoriesReport()
    parts = [ids[start : start + BATCH] for start in range(0, len(ids), BATCH)]
    fresh = [item for part in parts for item in _titles(Q(pk__in=part))]
    first, last = (pick(item.dated_at for item in fresh) for pick in (min, max))
    neighbours = Q(dated_at__range=(first - STORY_DURATION, last + STORY_DURATION))
    known = _titles(neighbours & Q(clustered_at__isnull=False))
    clustered, begun = _store(cluster_items(known, fresh), now)
    for part in parts:
        Item.objects.filter(pk__in=part).update(clustered_at=now)
    return StoriesReport(len(ids), clustered, begun)


def _titles(which: Q) -> list[TitledItem]:
    """Return the newest of those items to compare, with a fingerprint only where equality proves a story."""
    has_text = ExpressionWrapper(~Q(text=""), output_field=BooleanField())
    rows = Item.objects.filter(which).annotate(has_text=has_text).order_by("-dated_at", "-id")
    fields = rows.values_list("pk", "source_id", "title", "dated_at", "fingerprint", "story_id", "has_text")
    found = []
    for pk, source, title, dated, fingerprint, story, texted in fields[:KNOWN_MAX]:
        significant = texted or len(title_stems(title)) >= HEADLINE_WORDS_MIN
        found.append(TitledItem(pk, source, title, dated, fingerprint if significant else "", story))
    return found


def _store(found: Sequence[Sequence[TitledItem]], now: dt.datetime) -> tuple[int, int]:
    """Store the items' stories; return how many items joined one, and how many stories are new."""
    known = Story.objects.in_bulk({item.story for items in found for item in items if item.story})
    new: list[Story] = []
    rows: list[Item] = []
    for items in found:
        newest = max(item.dated_at for item in items)
        story = next((known[item.story] for item in items if item.story in known), None)
        if story is None:
            story = Story(created_at=now, last_item_at=newest)
            new.append(story)
        story.last_item_at = max(story.last_item_at, newest)
        rows += [Item(pk=item.item_id, story=story) for item in items if item.story is None]
    Story.objects.bulk_create(new, batch_size=BATCH)
    Story.objects.bulk_update(known.values(), ["last_item_at"], batch_size=100)
    for row in rows:
        row.story = row.story  # copies the key that the database has assigned since
    Item.objects.bulk_update(rows, ["story"], batch_size=100)
    return len(rows), len(new)

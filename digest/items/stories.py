"""Stories: find new items that several sources report, and return the other items of a story."""

import datetime as dt
from collections import defaultdict
from collections.abc import Collection, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from uuid import UUID

import structlog
from django.db import transaction
from django.db.models import BooleanField, ExpressionWrapper, Q

from digest.entities import ITEM_WINDOW_DAYS
from digest.items.clustering import (
    STORY_HOURS,
    TitledItem,
    cluster_items,
    stories_split,
    story_title,
    title_proves,
)
from digest.items.own_names import items_name_sources
from digest.items.selectors import item_is_hidden, items_visible, mutes_in_force
from digest.models import Item, Story
from ranking.common.isolation import isolate_batches

log = structlog.get_logger(__name__)

# How many new items are compared in one transaction, and with how many titles. They bound time and memory.
FRESH_MAX = 2_000
KNOWN_MAX = 60_000
STORY_DURATION = dt.timedelta(hours=STORY_HOURS)
# Parameters per statement. SQLite takes 32,766; older builds take 999.
BATCH = 500


@dataclass(frozen=True, slots=True)
class StoriesReport:
    """Counts of one update: compared items, items that joined a story, and new stories."""

    compared: int = 0
    clustered: int = 0
    begun: int = 0

    def as_dict(self) -> dict[str, int]:
        """Return plain JSON values."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class RelatedItem:
    """Another item of the same story. `source` is its source's title, `source_key` the key."""

    item_id: int
    title: str
    source: str
    url: str
    source_key: str = ""


def stories_update(*, now: dt.datetime) -> StoriesReport:
    """Compare each new item of a digest's window with items within 72 hours of it, and store stories.

    Items of one story share a `Story`. An item that no other source reports has none. Only items without
    `clustered_at` are new, so a second call does nothing. It handles 2,000 items per transaction, oldest
    first. An item that fails is left for the next call, and the others are compared without it.
    """
    compared = clustered = begun = 0
    seen: set[int] = set()
    while ids := _uncompared_ids(now, seen):
        seen |= {*ids}
        work = partial(_compare, now=now)
        for batch in isolate_batches(ids, work, what="item", event="story_failed", size=len(ids)):
            compared += batch.compared
            clustered += batch.clustered
            begun += batch.begun
    report = StoriesReport(compared, clustered, begun)
    log.info("stories_updated", **report.as_dict())
    return report


def items_related(
    *, reader_id: UUID, item_ids: Collection[int], now: dt.datetime
) -> dict[int, list[RelatedItem]]:
    """Return {item of `item_ids`: the other items of its story that this reader may see}, newest first.

    The story is computed over these items only (`stories_split`). Items of the item's own article are left
    out, and so are muted ones. Other articles appear once, those of the item's own source last: it posted the
    story again. Items without others are missing. Four queries per page.
    """
    rows = Item.objects.filter(pk__in=item_ids).exclude(story=None)
    asked = {row.pk: row for row in rows.only("story", "source", "article")}
    if not asked:
        return {}
    mutes = mutes_in_force(reader_id=reader_id, now=now)
    visible = [
        item
        for item in _visible_of_stories(reader_id, asked.values())
        if item.pk in asked or not item_is_hidden(mutes, item)
    ]
    items_name_sources(reader_id=reader_id, items=visible)
    joined = _story_keys(visible)
    by_story: defaultdict[int, list[Item]] = defaultdict(list)
    for item in visible:
        if item.article in joined and not item_is_hidden(mutes, item):
            by_story[joined[item.article]].append(item)
    found = {
        pk: _mates(row, by_story[joined[row.article]]) for pk, row in asked.items() if row.article in joined
    }
    return {pk: mates for pk, mates in found.items() if mates}


def stories_joined(*, reader_id: UUID, items: Collection[Item]) -> dict[int, int]:
    """Return {article of `items`: key of its story among the items this reader may see} (`stories_split`).

    An article without others is missing. One query, or none.
    """
    clustered = [item for item in items if item.story_id]
    return _story_keys(_visible_of_stories(reader_id, clustered)) if clustered else {}


def _visible_of_stories(reader_id: UUID, items: Collection[Item]) -> list[Item]:
    visible = items_visible(reader_id=reader_id).filter(story__in={item.story_id for item in items})
    return list(visible.select_related("source").order_by("-dated_at", "-id"))


def _story_keys(items: Collection[Item]) -> dict[int, int]:
    return stories_split(
        story_title(story=item.story_id or 0, article=item.article, title=item.title, text=item.text)
        for item in items
    )


def _mates(item: Item, others: Sequence[Item]) -> list[RelatedItem]:
    once = {other.article: other for other in reversed(others)}
    mates = [other for other in others if other.article != item.article and once[other.article] is other]
    return [
        RelatedItem(other.pk, other.title, other.source_name, other.address, other.source_id)
        for other in sorted(mates, key=lambda other: other.source_id == item.source_id)
    ]


def _uncompared_ids(now: dt.datetime, seen: Collection[int]) -> list[int]:
    """Return up to 2,000 new items of the window that are not in `seen`, oldest first."""
    since = now - dt.timedelta(days=ITEM_WINDOW_DAYS)
    new = Item.objects.filter(clustered_at=None, dated_at__gt=since, dated_at__lte=now)
    rows = new.order_by("dated_at", "id").values_list("pk", flat=True)
    return [pk for pk in rows[: len(seen) + FRESH_MAX] if pk not in seen][:FRESH_MAX]


@transaction.atomic
def _compare(some: Sequence[int], *, now: dt.datetime) -> StoriesReport:
    """Compare the items in `some` that no other worker has, and store their stories."""
    new = Item.objects.select_for_update(skip_locked=True).filter(clustered_at=None)
    batches = [new.filter(pk__in=some[start : start + BATCH]) for start in range(0, len(some), BATCH)]
    ids = [pk for rows in batches for pk in rows.order_by("dated_at", "id").values_list("pk", flat=True)]
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
    """Return the newest of these items for comparison.

    `fingerprint` is set only if equality proves a story.
    """
    has_text = ExpressionWrapper(~Q(text=""), output_field=BooleanField())
    rows = Item.objects.filter(which).annotate(has_text=has_text).order_by("-dated_at", "-id")
    fields = rows.values_list("pk", "source_id", "title", "dated_at", "fingerprint", "story_id", "has_text")
    found = []
    for pk, source, title, dated, fingerprint, story, texted in fields[:KNOWN_MAX]:
        significant = title_proves(title, has_text=texted)
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
        row.story = row.story  # Copies the key that the database has assigned meanwhile.
    Item.objects.bulk_update(rows, ["story"], batch_size=100)
    return len(rows), len(new)

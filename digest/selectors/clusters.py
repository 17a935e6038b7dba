"""Who else tells the story of an item."""

from collections import defaultdict
from collections.abc import Collection
from dataclasses import dataclass
from uuid import UUID

from digest.models import Item
from digest.selectors.items import items_visible


@dataclass(frozen=True, slots=True)
class Mate:
    """Another item that tells the same story; `source` is its source's title, `source_key` the key."""

    item_id: int
    title: str
    source: str
    url: str
    source_key: str = ""


def cluster_mates(*, reader_id: UUID, item_ids: Collection[int]) -> dict[int, list[Mate]]:
    """The items this reader may see that tell the story of each of `item_ids` (at most a page's worth).

    By item, the newest mate first, never one of the item's own source; items without mates are missing from
    the answer. Two queries, however many items.
    """
    asked = Item.objects.filter(pk__in=item_ids).exclude(cluster=None)
    stories = {
        pk: (cluster, source) for pk, cluster, source in asked.values_list("pk", "cluster_id", "source_id")
    }
    if not stories:
        return {}
    told: defaultdict[int, list[Mate]] = defaultdict(list)
    rows = items_visible(reader_id=reader_id).filter(cluster__in={cluster for cluster, _ in stories.values()})
    for row in rows.select_related("source").order_by("-dated_at", "-id"):
        if row.cluster_id is not None:
            mate = Mate(row.pk, row.title, str(row.source), row.url, row.source_id)
            told[row.cluster_id].append(mate)
    found = {
        pk: [mate for mate in told[cluster] if mate.item_id != pk and mate.source_key != source]
        for pk, (cluster, source) in stories.items()
        if cluster is not None
    }
    return {pk: mates for pk, mates in found.items() if mates}

"""Finding the same story in several sources, a few new items at a time."""

import datetime as dt
from collections.abc import Sequence
from dataclasses import asdict, dataclass

import structlog
from django.db import transaction
from django.db.models import BooleanField, ExpressionWrapper, Q

from digest.clustering import STORY_HOURS, Told, stories, words_of
from digest.entities import ITEM_WINDOW_DAYS
from digest.models import Cluster, Item

log = structlog.get_logger(__name__)

# New items looked at in one transaction, and titles they are compared with: what bounds time and memory.
FRESH_MAX = 2_000
KNOWN_MAX = 60_000
# Fewer words prove nothing by being the same ("Daily briefing"), unless a text is the same too.
HEADLINE_WORDS_MIN = 3
STORY = dt.timedelta(hours=STORY_HOURS)
# Parameters of one statement: SQLite takes 32,766 of them, older builds 999.
BATCH = 500


@dataclass(frozen=True, slots=True)
class ClusterReport:
    """What one update did: items compared, those found to tell a story others tell, stories begun."""

    compared: int = 0
    clustered: int = 0
    begun: int = 0

    def as_dict(self) -> dict[str, int]:
        """Plain JSON values."""
        return asdict(self)


def clusters_update(*, now: dt.datetime) -> ClusterReport:
    """Compare each item of a digest's window that never was compared with those within 72 hours of it.

    Items of one story share a `Cluster`; one that tells nothing others tell has none. Only items with no
    `clustered_at` are looked at, so a second call does nothing. Works through 2,000 items a transaction,
    oldest first; what was stored stays if a later one fails.
    """
    compared = clustered = begun = 0
    while (step := _step(now)).compared:
        compared, clustered, begun = (
            compared + step.compared,
            clustered + step.clustered,
            begun + step.begun,
        )
    report = ClusterReport(compared, clustered, begun)
    log.info("clusters.updated", **report.as_dict())
    return report


@transaction.atomic
def _step(now: dt.datetime) -> ClusterReport:
    since = now - dt.timedelta(days=ITEM_WINDOW_DAYS)
    waiting = Item.objects.select_for_update(skip_locked=True).filter(
        clustered_at=None, dated_at__gt=since, dated_at__lte=now
    )
    ids = list(waiting.order_by("dated_at", "id").values_list("pk", flat=True)[:FRESH_MAX])
    if not ids:
        return ClusterReport()
    fresh = [told for part in _parts(ids) for told in _told(Q(pk__in=part))]
    first, last = (pick(item.dated_at for item in fresh) for pick in (min, max))
    known = _told(Q(clustered_at__isnull=False, dated_at__range=(first - STORY, last + STORY)))
    clustered, begun = _store(stories(known, fresh), now)
    for part in _parts(ids):
        Item.objects.filter(pk__in=part).update(clustered_at=now)
    return ClusterReport(len(ids), clustered, begun)


def _told(which: Q) -> list[Told]:
    """The newest of those items as they are compared; the fingerprint only where it proves something."""
    has_text = ExpressionWrapper(~Q(text=""), output_field=BooleanField())
    rows = Item.objects.filter(which).annotate(has_text=has_text).order_by("-dated_at", "-id")
    fields = rows.values_list("pk", "source_id", "title", "dated_at", "fingerprint", "cluster_id", "has_text")
    return [
        Told(pk, source, title, dated, print_ if has or _tells(title) else "", story)
        for pk, source, title, dated, print_, story, has in fields[:KNOWN_MAX]
    ]


def _tells(title: str) -> bool:
    return len(words_of(title)) >= HEADLINE_WORDS_MIN


def _store(found: Sequence[Sequence[Told]], now: dt.datetime) -> tuple[int, int]:
    """Put the items of each story into its cluster; how many items joined one, and how many began."""
    running = Cluster.objects.in_bulk({item.story for story in found for item in story if item.story})
    begun: list[Cluster] = []
    rows: list[Item] = []
    for story in found:
        newest = max(item.dated_at for item in story)
        cluster = next((running[item.story] for item in story if item.story in running), None)
        if cluster is None:
            cluster = Cluster(created_at=now, last_item_at=newest)
            begun.append(cluster)
        cluster.last_item_at = max(cluster.last_item_at, newest)
        rows += [Item(pk=item.item_id, cluster=cluster) for item in story if item.story is None]
    Cluster.objects.bulk_create(begun, batch_size=BATCH)
    Cluster.objects.bulk_update(running.values(), ["last_item_at"], batch_size=100)
    for row in rows:
        row.cluster = row.cluster  # the key that the database has given since
    Item.objects.bulk_update(rows, ["cluster"], batch_size=100)
    return len(rows), len(begun)


def _parts(ids: Sequence[int]) -> list[Sequence[int]]:
    return [ids[start : start + BATCH] for start in range(0, len(ids), BATCH)]

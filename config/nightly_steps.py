"""The seven steps of a night, each a call of the room it belongs to and a few counts for the report.

Each can be done again without harm: it looks up for itself what is left to do.
"""

from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta

import structlog
from django.db.models import Exists, OuterRef

from advisor.services.scheduled import readers_advise
from advisor.services.traces import traces_prune
from digest.models import Feedback, Reader
from digest.services.clusters import clusters_update
from digest.services.delivery import digests_deliver
from digest.services.fetching import feeds_fetch
from digest.services.learning import weights_update
from digest.services.pruning import items_prune, rows_prune
from digest.services.rounds import digests_build
from digest.services.summaries import summaries_make
from digest.services.vectors import item_vectors_prune, item_vectors_update
from ranking.cycles import readers_learned
from ranking.pruning import snapshots_prune
from suggestions.models import Evidence
from suggestions.services.effects import effects_check

log = structlog.get_logger(__name__)
Counts = Mapping[str, object]
# A learning cycle is weekly: its steps are sized for a week's thumbs (docs/architecture.md).
CYCLE = timedelta(days=7)


class MailDown(Exception):
    """No mail server could be reached; what is due waits for the next round."""


def fetch(now: datetime) -> Counts:
    """Fetch the feeds that are due."""
    found = feeds_fetch(now=now).as_dict()
    return {name: found[name] for name in ("feeds", "ok", "failed", "items_new")}


def cluster(now: datetime) -> Counts:
    """Find the stories that several sources tell, and the vectors that similarity is measured by.

    Vectors, and rows of other kinds, that have had their time go.
    """
    stories, vectors = clusters_update(now=now).as_dict(), item_vectors_update(now=now)
    pruned = item_vectors_prune(now=now)
    rows = rows_prune(now=now) + snapshots_prune(now=now) + traces_prune(now=now)
    # What a suggestion was argued with is kept, whoever else has forgotten it.
    items = items_prune(now=now, kept_by=[Evidence.objects.filter(item=OuterRef("pk"))])
    return {**stories, "vectors": vectors, "pruned": pruned, "rows_pruned": rows, "items_pruned": items}


def summarise(now: datetime) -> Counts:
    """Summarise new texts, the most valuable first, as far as the day's money goes."""
    report = summaries_make(now=now)
    counts = {name: getattr(report, name) for name in ("extracts", "asked", "made", "repaired")}
    return {**counts, **({"stopped": report.stopped} if report.stopped else {})}


def learn(now: datetime) -> Counts:
    """Run the learning cycle of every active reader with thumbs whose last one is a week old."""
    thumbs = Feedback.objects.filter(reader=OuterRef("pk"))
    lately = readers_learned(since=(now.astimezone(UTC) - CYCLE).date() + timedelta(days=1))
    readers = Reader.objects.filter(Exists(thumbs), is_active=True).order_by("pk")
    moved = done = failed = 0
    for reader_id in readers.values_list("pk", flat=True):
        if reader_id in lately:
            continue
        try:
            moved += weights_update(reader_id=reader_id, now=now)
            done += 1
        except Exception:
            log.exception("weights.update_failed", reader_id=str(reader_id))
            failed += 1
    return {"readers": done, "moved": moved, "failed": failed}


def digests(now: datetime) -> Counts:
    """Build each reader's digest of the day that it is for them."""
    return {"built": digests_build(now=now)}


def deliver(now: datetime) -> Counts:
    """Send the mail that is due. Raises `MailDown` where no mail server answers."""
    report = digests_deliver(now=now)
    if report.down:
        raise MailDown(f"Mails waiting: {report.left}. No mail server could be reached: {report.down}")
    return report.as_dict()


def advise(now: datetime) -> Counts:
    """Judge what accepted changes did, then ask for a run for each reader due: the one informs the other."""
    checked: object = 0
    try:
        checked = effects_check(now=now)["checked"]
    finally:
        requested = len(readers_advise(now=now))
    return {"effects": checked, "requested": requested}


STEPS: dict[str, Callable[[datetime], Counts]] = {
    step.__name__: step for step in (fetch, cluster, summarise, learn, digests, deliver, advise)
}

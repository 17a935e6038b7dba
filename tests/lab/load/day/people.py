"""The readers of the day: the demo's Ada over and over, each with an account and a month of thumbs."""

from collections.abc import Iterable
from datetime import timedelta
from typing import Any
from uuid import NAMESPACE_URL, UUID, uuid5

from django.contrib.auth.hashers import make_password
from django.db import connection
from django.utils import timezone

from advisor.models import Run
from digest.models import Feed, Feedback, FeedbackTag, Item, Reader, Subscription
from suggestions.models import Suggestion

PASSWORD = "tidings-demo"
# Old items that nobody reads, so that a migration of their table takes some time.
SHELF = 10_000


def pk_of(name: str) -> UUID:
    """Return the id of a reader of the day, known before there is one."""
    return uuid5(NAMESPACE_URL, name)


def readers_make(names: Iterable[str]) -> None:
    """Create readers with Ada's feeds and ratings."""
    ada, secret, now = Reader.objects.get(username="ada"), make_password(PASSWORD), timezone.now()
    feeds = list(Subscription.objects.filter(reader=ada).values_list("feed_id", flat=True))
    thumbs = list(Feedback.objects.filter(reader=ada).prefetch_related("feedbacktag_set"))
    for name in names:
        reader = Reader.objects.create(
            pk=pk_of(name),
            username=name,
            email=f"{name}@day.example",
            password=secret,
            time_zone="UTC",
            date_joined=now,
        )
        Subscription.objects.bulk_create(
            Subscription(reader=reader, feed_id=pk, created_at=now - timedelta(days=30)) for pk in feeds
        )
        given = Feedback.objects.bulk_create(
            Feedback(
                **{
                    "reader": reader,
                    "item_id": t.item_id,
                    "article": t.article,
                    "useful": t.useful,
                    "at": t.at,
                },
                **{"day": t.day, "has_reason": t.has_reason},
            )
            for t in thumbs
        )
        FeedbackTag.objects.bulk_create(
            FeedbackTag(feedback=new, tag_id=tag.tag_id)
            for new, old in zip(given, thumbs, strict=True)
            for tag in old.feedbacktag_set.all()
        )


def shelf_fill(count: int = SHELF) -> None:
    """Items of last year."""
    feed = Feed.objects.order_by("pk").first()
    old = timezone.now() - timedelta(days=400)
    rows = (
        Item(
            **{"feed": feed, "source_id": feed.source_id, "guid": f"shelf {n}", "article": n},
            **{"url": f"https://shelf.example/{n}", "title": f"Number {n} on the shelf"},
            **{"published_at": old, "first_seen_at": old, "dated_at": old, "clustered_at": old},
            fingerprint=f"{n:064x}",
        )
        for n in range(count)
    )
    Item.objects.bulk_create(rows, batch_size=2000)


def statistics_update() -> None:
    """Update the statistics of PostgreSQL's tables, as autovacuum does each minute unless a server has none.

    Without any, the planner takes each table for a small one, and a query of the night takes minutes.
    """
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE")


def items_rated() -> list[int]:
    """Return some newer items, for thumbs."""
    return list(Item.objects.order_by("-dated_at").values_list("pk", flat=True)[:40])


def thumbs_missing(answered: dict[tuple[str, int], bool]) -> int:
    """Thumbs that were answered with 200 and are not there as answered."""
    rows = Feedback.objects.values_list("reader__username", "item_id", "useful")
    stored = {(name, item): useful for name, item, useful in rows}
    return sum(stored.get(key) is not useful for key, useful in answered.items())


def runs_state(names: Iterable[str]) -> dict[str, Any]:
    """Return the outcomes of some readers' runs.

    `once`: readers with exactly one run, completed, with its steps numbered without a gap. `taken_up_again`:
    runs that a second worker began. `doubled`: targets suggested twice to one reader. `not_whole`: how each
    other run stands, so that the cause can be found.
    """
    runs = list(Run.objects.filter(reader__username__in=list(names)).prefetch_related("steps"))
    by_reader: dict[Any, list[Run]] = {}
    for run in runs:
        by_reader.setdefault(run.reader_id, []).append(run)
    once = sum(len(own) == 1 and _whole(own[0]) for own in by_reader.values())
    told = Suggestion.objects.filter(reader_id__in=by_reader).values_list("reader_id", "field", "target_key")
    rows = list(told)
    return {
        "once": once,
        "open": sum(run.status in (Run.Status.QUEUED, Run.Status.RUNNING) for run in runs),
        "taken_up_again": sum(run.attempt > 1 for run in runs),
        "suggestions": len(rows),
        "doubled": len(rows) - len(set(rows)),
        "not_whole": [
            {
                "runs": len(own),
                "status": run.status,
                "stop_reason": run.stop_reason,
                "attempt": run.attempt,
                "seconds": run.finished_at and (run.finished_at - run.created_at).total_seconds(),
                "steps": sorted(step.n for step in run.steps.all()),
            }
            for own in by_reader.values()
            for run in own
            if len(own) > 1 or not _whole(run)
        ],
    }


def _whole(run: Run) -> bool:
    numbers = [step.n for step in run.steps.all()]
    return run.status == Run.Status.COMPLETED and sorted(numbers) == list(range(1, len(numbers) + 1))

"""The disk space of an item: `python -m tests.lab bench.storage [--json] [--items N]`.

It stores the made-up items of `tests.lab.bench.search` (about 200 words each) on SQLite, then their search
index, vectors and stories, and extracts. With `TIDINGS_DATA` it also stores the items of its real feeds, with
and without their bodies, and the items that 250 such feeds bring in ninety days, each feed as often as its
own dates tell. Figures are bytes per item after VACUUM, minus an empty database. There is no comparison: it
shows the cost of keeping items for ever.
"""

import argparse
import json
import os
import tempfile
from datetime import timedelta
from pathlib import Path

from tests.lab.bench.engine import engine, where
from tests.lab.bench.ingest import emptied, unpack
from tests.lab.bench.search import NOW, SEED, Made, fill, world

# All within the week in which items get stories, vectors and extracts.
WEEK = timedelta(days=6)
# An operator's feeds and days. Fewer items do not show a rate, and a faster feed was made in one moment.
FEEDS, DAYS = 250, 90
DATED_MIN, ITEMS_A_DAY_MAX = 5, 200


def main() -> None:
    """Print the figures, or one JSON object."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--items", type=int, default=5_000)
    options = parser.parse_args()
    made, _ = world(options.items, 0)
    items = [Made(i.feed, i.title, i.text, NOW - WEEK * n / len(made)) for n, i in enumerate(made)]
    with engine() as folder:
        sizes = measured(items, folder)
        real = measured_real(folder) if os.environ.get("TIDINGS_DATA") else {}
        ninety = measured_ninety_days(folder) if os.environ.get("TIDINGS_DATA") else {}
    words = sum(len(item.title) + len(item.text) for item in items) / len(items)
    report = {
        "command": "python -m tests.lab bench.storage",
        **where(),
        "seed": SEED,
        "items": options.items,
        "chars": round(words),
        "bytes_an_item": sizes,
        "real_feeds": real,
        "ninety_days": ninety,
    }
    print(json.dumps(report) if options.json else "\n".join(f"{key}: {said}" for key, said in report.items()))


def measured(items: list[Made], folder: Path) -> dict[str, int]:
    """Return bytes per item after each step, including the steps before."""
    from digest.items.stories import stories_update  # noqa: PLC0415
    from digest.items.vectors import item_vectors_update  # noqa: PLC0415
    from digest.summaries.services import extracts_make  # noqa: PLC0415

    def beside() -> None:
        stories_update(now=NOW)
        item_vectors_update(now=NOW)

    empty, found = size(folder), {}
    for name, step in (
        ("items and index", lambda: fill(items)),
        ("with vectors and stories", beside),
        ("with extracts", lambda: extracts_make(now=NOW)),
    ):
        step()
        found[name] = (size(folder) - empty) // len(items)
    return found


def measured_real(folder: Path) -> dict[str, int]:
    """Items of the real feeds, in place of all others, and the bytes each takes with its body and without."""
    from digest.models import Item, ItemBody  # noqa: PLC0415

    empty = ingested(folder)
    count = Item.objects.count()
    found = {"items": count, "with_bodies": (size(folder) - empty) // count}
    ItemBody.objects.all().delete()
    Item.objects.update(categories=[], image="", body_hash=0)
    found["without_bodies"] = (size(folder) - empty) // count
    return found


def ingested(folder: Path) -> int:
    """Read the real feeds in place of all that was there; the bytes of the empty database before."""
    from django.utils import timezone  # noqa: PLC0415

    from digest.feeds.fetch_batch import folder_ingest  # noqa: PLC0415

    emptied()
    index_rebuild()
    empty = size(folder)
    with tempfile.TemporaryDirectory(prefix="tidings-feeds-") as name:
        folder_ingest(folder=unpack(Path(name)), now=timezone.now())
    return empty


def measured_ninety_days(folder: Path) -> dict[str, float]:
    """Return items, megabytes and bytes per item of ninety days of 250 feeds like the real ones."""
    from digest.models import Item  # noqa: PLC0415

    empty = ingested(folder)
    feeds = [*Item.objects.order_by().values_list("feed", flat=True).distinct()]
    for feed in feeds:
        repeated(feed, FEEDS / len(feeds))
    count, taken = Item.objects.count(), size(folder) - empty
    return {"feeds": FEEDS, "items": count, "mb": round(taken / 1e6, 1), "bytes_an_item": taken // count}


def repeated(feed: int, times: float) -> None:
    """Give a feed as many items as it brings in ninety days by its own dates, `times` over: its own again."""
    from digest.models import Item, ItemBody  # noqa: PLC0415

    items = list(Item.objects.filter(feed=feed).select_related("body").order_by("-published_at"))
    newest, days = items[0].published_at, (items[0].published_at - items[-1].published_at) / timedelta(days=1)
    lately = sum(newest - item.published_at < DAYS * timedelta(days=1) for item in items)
    if DAYS > days > 0 and len(items) >= DATED_MIN:
        lately = min(len(items) * DAYS / days, DAYS * ITEMS_A_DAY_MAX)
    wanted = round(lately * times)
    Item.objects.filter(pk__in=[item.pk for item in items[max(wanted, 1) :]]).delete()
    named = [(item, item.guid, item.url, item.article, getattr(item, "body", None)) for item in items]
    for first in range(len(items), wanted, len(items)):
        again = named[: wanted - first]
        for n, (item, guid, url, article, _) in enumerate(again, start=first):
            item.pk, item.guid, item.url, item.article = None, f"{guid}#{n}", f"{url}#{n}", article + n
        Item.objects.bulk_create(item for item, *_ in again)
        ItemBody.objects.bulk_create(
            ItemBody(item_id=item.pk, html=body.html, enclosures=body.enclosures)
            for item, *_, body in again
            if body
        )


def index_rebuild() -> None:
    """Empty the search index, which still holds deleted items."""
    from importlib import import_module  # noqa: PLC0415

    from django.db import connection  # noqa: PLC0415

    search = import_module("digest.migrations.0001_squashed")
    search.search_rebuild(connection.schema_editor())


def size(folder: Path) -> int:
    """Bytes of all files of the database, once it holds nothing to throw away."""
    from django.db import connection  # noqa: PLC0415

    with connection.cursor() as cursor:
        cursor.execute("VACUUM")
        cursor.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    return sum(path.stat().st_size for path in folder.rglob("*.sqlite3*"))


if __name__ == "__main__":
    main()

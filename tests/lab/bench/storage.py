"""What an item takes on disk: `python -m tests.lab bench.storage [--json] [--items N]`.

The made-up items of `tests.lab.bench.search` (some 200 words each) on SQLite, and what is kept beside them:
search index, then vectors and stories, then extracts. With `TIDINGS_DATA` also the items of its
real feeds, with and without what they have beside their words. Bytes an item, after VACUUM, less an empty
database. Nothing to compare with: it says what keeping items for ever costs.
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
    words = sum(len(item.title) + len(item.text) for item in items) / len(items)
    report = {
        "command": "python -m tests.lab bench.storage",
        **where(),
        "seed": SEED,
        "items": options.items,
        "chars": round(words),
        "bytes_an_item": sizes,
        "real_feeds": real,
    }
    print(json.dumps(report) if options.json else "\n".join(f"{key}: {said}" for key, said in report.items()))


def measured(items: list[Made], folder: Path) -> dict[str, int]:
    """Bytes an item after each step, those of the steps before included."""
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
    from django.db import connection  # noqa: PLC0415
    from django.utils import timezone  # noqa: PLC0415

    from digest.feeds.rounds import folder_ingest  # noqa: PLC0415
    from digest.models import Item, ItemBody  # noqa: PLC0415

    emptied()
    with connection.cursor() as cursor:  # the index holds on to what was deleted
        cursor.execute("INSERT INTO digest_item_search(digest_item_search) VALUES ('rebuild')")
    empty = size(folder)
    with tempfile.TemporaryDirectory(prefix="tidings-feeds-") as name:
        folder_ingest(folder=unpack(Path(name)), now=timezone.now())
    count = Item.objects.count()
    found = {"items": count, "with_bodies": (size(folder) - empty) // count}
    ItemBody.objects.all().delete()
    Item.objects.update(categories=[], image="", body_hash=0)
    found["without_bodies"] = (size(folder) - empty) // count
    return found


def size(folder: Path) -> int:
    """Bytes of all files of the database, once it holds nothing to throw away."""
    from django.db import connection  # noqa: PLC0415

    with connection.cursor() as cursor:
        cursor.execute("VACUUM")
        cursor.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    return sum(path.stat().st_size for path in folder.rglob("*.sqlite3*"))


if __name__ == "__main__":
    main()

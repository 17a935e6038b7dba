"""Taking everything along, and leaving: `python -m tests.lab bench.export [--thumbs N] [--json]`.

One reader with N thumbs (every third with a reason), as many readings, a digest of thirty items for every 30
of them and a log of each item shown; a second reader with as much. The first is exported, then deleted, on a
throwaway database (SQLite unless DATABASE_URL says otherwise). The floor beside it: reading the same tables
through the same driver without making JSON of them.
"""

import argparse
import json
import os
import platform
import tempfile
import time
import tracemalloc
from datetime import UTC, datetime, timedelta

NOW = datetime(2026, 3, 18, 12, 0, tzinfo=UTC)
BATCH, SHOWN = 500, 30


def main() -> None:
    """Set a database up, fill it, export, delete."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--thumbs", type=int, default=10_000)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        os.environ.setdefault("DATABASE_URL", f"sqlite:///{folder}/bench.sqlite3")
        os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
        row = measured(options.thumbs)
    print(json.dumps(row) if options.json else "\n".join(f"{key:<20}{value}" for key, value in row.items()))


def measured(thumbs: int) -> dict[str, object]:
    """The figures of one run. Memory is measured in a second export, since tracing makes it slow."""
    import django  # noqa: PLC0415 - after the settings' environment is made

    django.setup()
    from django.core.management import call_command  # noqa: PLC0415
    from django.db import connection  # noqa: PLC0415

    from config.export import reader_export_parts, reader_export_stream  # noqa: PLC0415
    from digest.accounts.services import reader_delete  # noqa: PLC0415
    from digest.models import Feedback  # noqa: PLC0415

    call_command("migrate", verbosity=0)
    reader = filled(thumbs, "ada")
    filled(thumbs, "ben")
    floor = timed(lambda: [list(rows) for _, rows in reader_export_parts(reader=reader)])
    size = [0]

    def export() -> None:
        size[0] = sum(len(piece.encode()) for piece in reader_export_stream(reader=reader, now=NOW))

    export_s = timed(export)
    tracemalloc.start()
    export()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    delete_s = timed(lambda: reader_delete(reader=reader))
    assert Feedback.objects.count() == thumbs, "the other reader keeps everything"
    return {
        "command": "python -m tests.lab bench.export",
        "machine": f"{platform.machine()}, {os.cpu_count()} cores, {connection.vendor}",
        "thumbs": thumbs,
        "export_mb": round(size[0] / 1e6, 1),
        "export_s": export_s,
        "rows_only_s": floor,
        "ratio": round(export_s / floor, 2),
        "peak_mb": round(peak / 1e6, 1),
        "delete_s": delete_s,
    }


def timed(work: object) -> float:
    """Seconds of one call."""
    began = time.perf_counter()
    work()  # type: ignore[operator]
    return round(time.perf_counter() - began, 2)


def filled(thumbs: int, name: str) -> object:
    """A reader with `thumbs` thumbs and all that comes with them."""
    from digest.feeds.identity import article_hash  # noqa: PLC0415
    from digest.models import Feedback, FeedbackTag, Item, Reader, Reading, Source  # noqa: PLC0415

    reader = Reader.objects.create(username=name)
    source, _ = Source.objects.get_or_create(key="gazette.example", title="Gazette")
    at = [NOW - timedelta(hours=n) for n in range(thumbs)]
    items = Item.objects.bulk_create(
        [
            Item(
                source=source,
                guid=f"{name}/{n}",
                url=f"https://gazette.example/{name}/{n}",
                article=article_hash(f"https://gazette.example/{name}/{n}"),
                title=f"Plain news number {n}",
                published_at=when,
                first_seen_at=when,
                dated_at=when,
                fingerprint=f"{n:064x}",
            )
            for n, when in enumerate(at)
        ],
        BATCH,
    )
    said = Feedback.objects.bulk_create(
        [
            Feedback(
                **{"reader": reader, "item": item, "article": item.article, "useful": n % 3 > 0},
                **{"at": at[n], "day": 0, "has_reason": n % 3 == 0},
            )
            for n, item in enumerate(items)
        ],
        BATCH,
    )
    FeedbackTag.objects.bulk_create([FeedbackTag(feedback=row, tag_id="depth") for row in said[::3]], BATCH)
    Reading.objects.bulk_create(
        [
            Reading(reader=reader, item=item, article=item.article, read_at=at[n])
            for n, item in enumerate(items)
        ],
        BATCH,
    )
    show(reader, items)
    return reader


def show(reader: object, items: list[object]) -> None:
    """Digests of the items, thirty a day, with what was put before the reader."""
    from digest.models import Digest, Exposure, Impression  # noqa: PLC0415

    days = [NOW.date() - timedelta(days=n) for n in range(len(items) // SHOWN)]
    digests = Digest.objects.bulk_create(
        [Digest(reader=reader, date=day, config_version=0, built_at=NOW) for day in days], BATCH
    )
    shown = [(digests[n // SHOWN], n % SHOWN + 1, item) for n, item in enumerate(items[: len(days) * SHOWN])]
    parts = {"weight": 1.0, "recency": 0.5, "topics": 0, "boosts": 0.0, "similarity": 0.1, "community": 0.0}
    Impression.objects.bulk_create(
        [Impression(digest=d, item=item, rank=rank, score=1.0, parts=parts) for d, rank, item in shown], BATCH
    )
    Exposure.objects.bulk_create(
        [
            Exposure(
                reader=reader,
                item=item,
                date=d.date,
                door="page",
                rank=rank,
                slot="ranked",
                propensity=1.0,
                score=1.0,
                config_version=0,
                shown_at=NOW,
            )
            for d, rank, item in shown
        ],
        BATCH,
    )


if __name__ == "__main__":
    main()

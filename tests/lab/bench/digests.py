"""The digests of many readers: `python -m tests.lab bench.digests [--readers N] [--items N] [--json]`.

It compares building all readers' digests together with building them one reader at a time, on the same
database in the same run (a throwaway one, SQLite unless DATABASE_URL is set). One at a time is measured on a
sample of the readers and multiplied. Each reader reads 20 of the 200 feeds. Half have topics, out of 60
words, and half have thumbs, so a taste. Both ways must give the same digests, or the run fails.
"""

import argparse
import json
import os
import platform
import random
import resource
import sys
import tempfile
import time
from datetime import UTC, datetime, timedelta

SEED = 42
NOW = datetime(2026, 3, 18, 12, 0, tzinfo=UTC)
FEEDS, READ, TOPICS = 200, 20, 60
SAMPLE = 20


def main() -> None:
    """Set a database up, fill it, build both ways, compare."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--readers", type=int, default=100)
    parser.add_argument("--items", type=int, default=10_000)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        os.environ.setdefault("DATABASE_URL", f"sqlite:///{folder}/bench.sqlite3")
        os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
        row = measured(options.readers, options.items)
    print(json.dumps(row) if options.json else "\n".join(f"{key:<28}{value}" for key, value in row.items()))
    if not row["same_digests"]:
        sys.exit(1)


def measured(readers: int, items: int) -> dict[str, object]:
    """Return the figures of one run."""
    import django  # noqa: PLC0415 - after the settings' environment is made

    django.setup()
    from django.core.management import call_command  # noqa: PLC0415
    from django.db import connection, reset_queries  # noqa: PLC0415
    from django.test.utils import CaptureQueriesContext  # noqa: PLC0415

    from digest.daily.services import digest_build, digests_build  # noqa: PLC0415
    from digest.models import Digest, Reader  # noqa: PLC0415

    call_command("migrate", verbosity=0)
    fill(readers, items)
    some = list(Reader.objects.order_by("username")[:SAMPLE])
    began = time.perf_counter()
    alone = {r.pk: entries(digest_build(reader=r, date=NOW.date(), now=NOW)) for r in some}
    one = (time.perf_counter() - began) / len(some)
    Digest.objects.all().delete()
    reset_queries()
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with CaptureQueriesContext(connection) as queries:
        began = time.perf_counter()
        built = digests_build(now=NOW)
        together = time.perf_counter() - began
    found = {d.reader_id: entries(d) for d in Digest.objects.filter(reader__in=some)}
    return {
        "command": "python -m tests.lab bench.digests",
        "machine": f"{platform.machine()}, {os.cpu_count()} cores, {connection.vendor}",
        "seed": SEED,
        "readers": built,
        "items": items,
        "one_reader_s": round(one, 4),
        "one_reader_times_all_s": round(one * readers, 2),
        "together_s": round(together, 2),
        "ratio": round(together / (one * readers), 3),
        "queries": len(queries),
        "peak_mb": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024),
        "peak_before_mb": round(before / 1024),
        "same_digests": found == alone,
    }


def entries(digest: object) -> list[tuple[object, ...]]:
    """Return the part of a digest that must not depend on the way it was built."""
    rows = digest.impressions.order_by("rank")  # type: ignore[attr-defined]
    return [(i.rank, i.item_id, round(i.score, 9), i.slot, i.propensity, str(sorted(i.parts))) for i in rows]


def fill(readers: int, items: int) -> None:
    """Feeds, a week of items with texts of 60 words, and readers with subscriptions, topics and thumbs."""
    from digest.items.vectors import item_vectors_update, profile_refresh  # noqa: PLC0415
    from digest.models import Feed, Feedback, Item, Reader, Source, Subscription  # noqa: PLC0415
    from ranking.services import ConfigEdit, config_edit  # noqa: PLC0415

    rng = random.Random(SEED)
    words = sorted(
        {
            "".join(rng.choices("bcdfghklmnprstvwz", k=1) + rng.choices("aeiou", k=1)) * 1
            + "".join(rng.choice("bdfgklmnprst") + rng.choice("aeiou") for _ in range(2))
            for _ in range(2000)
        }
    )
    rng.shuffle(words)
    topics = words[:TOPICS]
    Source.objects.bulk_create(Source(key=f"s{n}.example", title=f"S{n}") for n in range(FEEDS))
    Feed.objects.bulk_create(
        Feed(url=f"https://s{n}.example/feed", source_id=f"s{n}.example") for n in range(FEEDS)
    )
    feeds = list(Feed.objects.order_by("pk").values_list("pk", flat=True))
    # A few loud feeds and many quiet ones.
    shares = [1 / (n + 1) ** 0.7 for n in range(FEEDS)]
    carriers = rng.choices(range(FEEDS), weights=shares, k=items)
    rows = []
    for n, feed in enumerate(carriers):
        at = NOW - timedelta(seconds=rng.random() * 7 * 86400 - 1 + 1)
        rows.append(
            Item(
                feed_id=feeds[feed],
                guid=str(n),
                url=f"https://s{feed}.example/{n}",
                article=n,
                own=True,
                source_id=f"s{feed}.example",
                title=" ".join(rng.choices(words, k=8)),
                text=" ".join(rng.choices(words, k=60)),
                published_at=at,
                first_seen_at=at,
                dated_at=at,
                fingerprint=f"{n:064x}",
            )
        )
    Item.objects.bulk_create(rows, batch_size=500)
    articles = dict(Item.objects.order_by("pk").values_list("pk", "article"))
    ids = list(articles)
    while item_vectors_update(now=NOW):
        pass
    for n in range(readers):
        reader = Reader.objects.create(username=f"r{n:05}")
        read = rng.sample(feeds, READ)
        Subscription.objects.bulk_create(
            Subscription(reader=reader, feed_id=feed, created_at=NOW - timedelta(days=60)) for feed in read
        )
        if n % 2:
            chosen = ConfigEdit(topics=rng.sample(topics, 3), keyword_boosts={rng.choice(topics): -0.5})
            config_edit(reader_id=reader.pk, edit=chosen, expected_version=0, now=NOW)
        if n % 4 > 1:
            rated = rng.sample(ids, 40)
            at = NOW - timedelta(days=1)
            Feedback.objects.bulk_create(
                Feedback(
                    **{"reader": reader, "item_id": pk, "article": articles[pk]},
                    **{"useful": rng.random() < 0.6, "at": at, "day": 20529},
                )
                for pk in rated
            )
            profile_refresh(reader_id=reader.pk, now=NOW)


if __name__ == "__main__":
    main()

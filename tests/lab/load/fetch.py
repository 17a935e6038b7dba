"""Five thousand feeds in an hour: `python -m tests.lab load.fetch [--feeds N] [--minutes N] [--json]`.

The publishers of `bench.fleet` (nine in ten answer well, a tenth share twenty hosts, the others stall, move,
break off or are gone) are on loopback addresses. One worker with the default settings (16 at a time, 2 s
between two requests to a host) fetches them into the database of `DATABASE_URL`: first cold, then batch after
batch as if two days had passed, until the time ends. The rate is that of all batches, over at least three
minutes. Feeds and items made here are deleted at the end.
"""

import argparse
import os
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

from tests.lab.bench.engine import Clock, engine, peak_mb
from tests.lab.bench.fleet import fleet
from tests.lab.bench.publisher import publishers, stats
from tests.lab.bench.running import Watch
from tests.lab.load.setting import Json, head, least, rows_of, told
from tests.lab.read_all import feeds_are_read

AN_HOUR, SERVED = 5_000, 0.99
MINUTES_MIN = 3.0
WELL = ("good", "shared", "moved", "found")


def main() -> None:
    """Fetch and report. Exit 1 if a target is missed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--feeds", type=int, default=5_000)
    parser.add_argument("--minutes", type=float, default=MINUTES_MIN)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    watch = Watch()
    with engine(database=os.environ["DATABASE_URL"]), publishers() as port:
        report: Json = {**head("fetch"), "rows": rows_of("digest_item", "digest_feed")}
        urls, hosts = fleet(options.feeds, port)
        made = _ensure(urls, hosts)
        with _alone(made):
            report["rounds"] = rounds(urls, port, options.minutes * 60)
    wall = sum(row["wall_s"] for row in report["rounds"])
    asked = sum(row["asked"] for row in report["rounds"])
    report |= {"feeds": len(urls), "wall_s": round(wall, 1), "peak_mb": peak_mb()}
    report["feeds_an_hour"] = round(3600 * asked / wall)
    report["cold_feeds_an_hour"] = round(3600 * report["rounds"][0]["asked"] / report["rounds"][0]["wall_s"])
    report |= {f"watch_{key}": value for key, value in watch.read().items()}
    share = round(
        sum(row["well"] for row in report["rounds"]) / sum(row["due_well"] for row in report["rounds"]), 4
    )
    report["targets"] = [
        least("feeds an hour, cold", AN_HOUR, report["cold_feeds_an_hour"]),
        least("feeds an hour, all rounds", AN_HOUR, report["feeds_an_hour"]),
        least("of feeds that are served well, read", SERVED, share),
        least("seconds measured", MINUTES_MIN * 60, report["wall_s"]),
    ]
    told(report, options.json)
    raise SystemExit(0 if all(aim["met"] for aim in report["targets"]) else 1)


def _ensure(urls: list[str], hosts: list[str]) -> list[int]:
    from django.conf import settings  # noqa: PLC0415
    from django.utils import timezone  # noqa: PLC0415

    from digest.feeds.ingest import feed_get_or_create  # noqa: PLC0415

    settings.FETCH_ALLOW_HOSTS = hosts
    made = [feed_get_or_create(url=url, now=timezone.now()).pk for url in urls]
    feeds_are_read()
    return made


def rounds(urls: list[str], port: int, seconds: float) -> list[Json]:
    """Run fetch batches over all feeds, until `seconds` were spent fetching."""
    from django.utils import timezone  # noqa: PLC0415

    from digest.feeds.fetch_batch import feeds_fetch  # noqa: PLC0415

    start, rows, spent = timezone.now(), [], 0.0
    well = sum(url.split("/")[3] in WELL for url in urls)
    while spent < seconds:
        stats(port, reset=True)
        clock, now = Clock(), start + timedelta(days=2 * len(rows))
        report: Any = feeds_fetch(now=now, seconds=1200)
        took = clock.read()
        spent += took["wall_s"]
        refused = len(report.errors)
        rows.append(
            {
                "round": len(rows) + 1,
                "wall_s": round(took["wall_s"], 1),
                "cpu_s": round(took["cpu_s"], 1),
                "asked": len(report.per_feed) + refused,
                "well": len(report.per_feed),
                "due_well": well,
                "unchanged": report.unchanged,
                "refused": dict(sorted(Counter(said.code for _, said in report.errors).items())),
                "left": report.left,
                "items_new": sum(result.items_new for _, result in report.per_feed),
                "load": round(os.getloadavg()[0], 1),
            }
        )
    return rows


@contextmanager
def _alone(made: list[int]) -> Iterator[None]:
    """Only these feeds are polled; afterwards they are gone, and the others active again."""
    from digest.models import Feed  # noqa: PLC0415

    others = list(
        Feed.objects.filter(state=Feed.State.ACTIVE).exclude(pk__in=made).values_list("pk", flat=True)
    )
    Feed.objects.filter(pk__in=others).update(state=Feed.State.PAUSED)
    try:
        yield
    finally:
        _clean(made)
        Feed.objects.filter(pk__in=others).update(state=Feed.State.ACTIVE)


def _clean(made: list[int]) -> None:
    from digest.models import Feed, Item  # noqa: PLC0415

    items = list(Item.objects.filter(feed__in=made).values_list("pk", flat=True))
    sources = list(Feed.objects.filter(pk__in=made).values_list("source", flat=True).distinct())
    for start in range(0, len(items), 5_000):
        Item.objects.filter(pk__in=items[start : start + 5_000]).delete()
    Feed.objects.filter(pk__in=made).delete()
    from digest.models import Source  # noqa: PLC0415

    Source.objects.filter(pk__in=sources, feeds=None, items=None).delete()


if __name__ == "__main__":
    main()

"""Two thousand feeds of every temper: `python -m tests.lab bench.fleet [--json] [--feeds N] [--rounds N]`.

A local server in another process plays the publishers. Each has its own host (127.x.y.z), except a tenth that
share twenty hosts. There are three fetch batches, two days apart by the passed clock: cold, unchanged, and
one in which moves are believed. A fourth asks the new addresses. The settings are the defaults (16 workers, 2
s between two requests to a host). The report shows the requests at the server, and the stored items.
"""

import argparse
import json
import resource
from collections import Counter
from collections.abc import Sequence
from datetime import timedelta

from tests.lab.bench.engine import Clock, engine, where
from tests.lab.bench.publisher import address, publishers, stats
from tests.lab.read_all import feeds_are_read

Row = dict[str, object]
# The number of each temper among a thousand feeds.
MIX = {
    "good": 750,
    "shared": 100,
    "busy": 30,
    "down": 30,
    "moved/1": 30,
    "moved/3": 10,
    "found/2": 10,
    "moved/5": 5,
    "drip": 8,
    "truncated": 10,
    "bomb": 2,
    "missing": 10,
    "gone": 5,
}
SHARED_HOSTS = 20


def main() -> None:
    """Print the table, or one JSON object."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--feeds", type=int, default=2000)
    parser.add_argument("--rounds", type=int, default=4)
    options = parser.parse_args()
    with engine(), publishers() as port:
        urls, hosts = fleet(options.feeds, port)
        rows = rounds(urls, hosts, port, options.rounds)
    report = {"command": "python -m tests.lab bench.fleet", **where(), "feeds": len(urls), "rounds": rows}
    report["memory_peak_mib"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    print(json.dumps(report) if options.json else words(report, rows))


def fleet(feeds: int, port: int) -> tuple[list[str], list[str]]:
    """Return the addresses of all feeds, and the hosts they are on."""
    tempers = [temper for temper, share in MIX.items() for _ in range(share * feeds // 1000)]
    urls, hosts = [], set()
    for n, temper in enumerate(tempers):
        host = address(60_000 + n % SHARED_HOSTS if temper == "shared" else n)
        kind = "good" if temper == "shared" else temper
        urls.append(f"http://{host}:{port}/{kind}/{n}")
        hosts.add(host)
    return urls, sorted(hosts)


def rounds(urls: Sequence[str], hosts: list[str], port: int, count: int) -> list[Row]:
    """Return for each fetch batch its results, its time, and the requests at the server."""
    from django.conf import settings  # noqa: PLC0415
    from django.utils import timezone  # noqa: PLC0415

    from digest.feeds.fetch_batch import feeds_fetch  # noqa: PLC0415
    from digest.feeds.ingest import feed_get_or_create  # noqa: PLC0415
    from digest.models import Feed  # noqa: PLC0415

    settings.FETCH_ALLOW_HOSTS = hosts
    start, rows = timezone.now(), []
    for url in urls:
        feed_get_or_create(url=url, now=start)
    feeds_are_read()
    for n in range(count):
        stats(port, reset=True)
        clock = Clock()
        report = feeds_fetch(now=start + timedelta(days=2 * n), seconds=1200)
        spent = clock.read()
        rows.append(
            {
                "round": n + 1,
                "wall_s": round(spent["wall_s"], 1),
                "cpu_s": round(spent["cpu_s"], 1),
                "ok": len(report.per_feed),
                "unchanged": report.unchanged,
                "items_new": sum(result.items_new for _, result in report.per_feed),
                "left": report.left,
                "refused": dict(sorted(Counter(p.code for _, p in report.errors).items())),
                "server": stats(port),
                "moved": len(urls) - Feed.objects.filter(url__in=urls).count(),
                "gone": Feed.objects.filter(state="gone").count(),
            }
        )
    return rows


def words(report: dict[str, object], rows: list[Row]) -> str:
    """Return the report as a table."""
    head = "{at}, Python {python}, {cpus} CPUs, load {load}, {feeds} feeds, ".format(**report)
    lines = [f"{head}{report['memory_peak_mib']} MiB at most"]
    for row in rows:
        lines.append(
            "round {round}: {wall_s} s wall, {cpu_s} s cpu; {ok} read ({unchanged} unchanged), "
            "{items_new} new items, {left} left; moved so far {moved}, gone {gone}".format(**row)
        )
        lines += [f"  refused: {row['refused']}", f"  server: {row['server']}"]
    return "\n".join(lines)


if __name__ == "__main__":
    main()

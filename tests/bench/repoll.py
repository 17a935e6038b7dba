"""Unchanged re-poll: `python -m tests.bench.repoll [--json] [--feeds N] [--rounds N]`.

A local server in another process answers 304 to whoever has its feeds already, each feed on a host of its
own (127.x.y.z). Ours: `feeds_fetch` with its claims, address checks and results written, the pause between
two requests to one host not coming into it. Beside it, in the same run: lemon24/reader 3.26 on the same
feeds, with one worker and with as many as ours. The best of the rounds counts.
"""

import argparse
import json
import tempfile
from collections.abc import Callable
from datetime import timedelta

from tests.bench.engine import Clock, engine, where
from tests.bench.publisher import address, publishers, stats

Row = dict[str, object]


def main() -> None:
    """Print the table, or one JSON object."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--feeds", type=int, default=400)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    with engine(), publishers() as port:
        hosts = [address(n) for n in range(options.feeds)]
        urls = [f"http://{host}:{port}/good/{n}" for n, host in enumerate(hosts)]
        rows = [
            *(peer(urls, port, options.rounds, workers) for workers in (1, 16)),
            ours(urls, hosts, port, options.rounds),
        ]
    report = {"command": "tests.bench.repoll", **where(), "feeds": options.feeds, "rows": rows}
    best = max(float(str(row["feeds_per_s"])) for row in rows[:-1])
    report["times_peer"] = round(float(str(rows[-1]["feeds_per_s"])) / best, 2)
    print(json.dumps(report) if options.json else words(report, rows))


def peer(urls: list[str], port: int, rounds: int, workers: int) -> Row:
    """Feeds a second of lemon24/reader."""
    from reader import make_reader  # noqa: PLC0415

    with tempfile.TemporaryDirectory() as place:
        reader = make_reader(f"{place}/reader.sqlite")
        for url in urls:
            reader.add_feed(url)
        reader.update_feeds(workers=workers)
        name = f"lemon24/reader 3.26, {workers} workers"

        def again(n: int) -> None:
            reader.update_feeds(workers=workers, scheduled=False)

        return timed(name, port, rounds, again, len(urls))


def ours(urls: list[str], hosts: list[str], port: int, rounds: int) -> Row:
    """Feeds a second of Tidings."""
    from django.conf import settings  # noqa: PLC0415
    from django.utils import timezone  # noqa: PLC0415

    from digest.services.fetching import feeds_fetch  # noqa: PLC0415
    from digest.services.ingest import feed_ensure  # noqa: PLC0415

    settings.FETCH_ALLOW_HOSTS, settings.FETCH_HOST_GAP_S = hosts, 0.0
    now = timezone.now()
    for url in urls:
        feed_ensure(url=url, now=now)
    feeds_fetch(now=now)

    def again(n: int) -> None:
        report = feeds_fetch(now=now + timedelta(days=2 * n))
        assert report.unchanged == len(urls), report.as_dict()["errors"]

    return timed(f"ours, {settings.FETCH_WORKERS} workers", port, rounds, again, len(urls))


def timed(name: str, port: int, rounds: int, work: Callable[[int], None], feeds: int) -> Row:
    """The best of the rounds, and what the server saw in them."""
    stats(port, reset=True)
    spent = []
    for n in range(1, rounds + 1):
        clock = Clock()
        work(n)
        spent.append(clock.read())
    wall, cpu = min(s["wall_s"] for s in spent), min(s["cpu_s"] for s in spent)
    return {
        "name": name,
        "wall_s": round(wall, 3),
        "cpu_s": round(cpu, 3),
        "feeds_per_s": round(feeds / wall, 1),
        "feeds_per_s_cpu": round(feeds / cpu, 1),
        "statuses": stats(port)["statuses"],
    }


def words(report: dict[str, object], rows: list[Row]) -> str:
    """The report as a table."""
    head = "{at}, Python {python}, {cpus} CPUs, load {load}, {feeds} feeds".format(**report)
    lines = [
        "{name:<34}{wall_s:>8} s wall {cpu_s:>8} s cpu {feeds_per_s:>8} feeds/s wall {feeds_per_s_cpu:>8}/s "
        "cpu  {statuses}".format(**row)
        for row in rows
    ]
    return "\n".join([head, *lines, "ours: {times_peer} x the faster peer (wall)".format(**report)])


if __name__ == "__main__":
    main()

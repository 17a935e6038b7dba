"""Unchanged re-poll: `python -m tests.lab bench.repoll [--json] [--feeds N] [--rounds N]`.

A local server in another process answers 304 to clients that have its feeds, each feed on its own host
(127.x.y.z). Ours: `feeds_fetch` with its claims, address checks and stored results; the pause between two
requests to one host never applies. Compared in the same run: lemon24/reader 3.26 on the same feeds, with one
worker and with as many as ours. Each round runs all three in turn. A row is the best of its rounds, a ratio
the median of the rounds (ours against the faster of reader's two).
"""

import argparse
import json
import tempfile
from collections.abc import Callable, Sequence
from datetime import timedelta
from statistics import median

from tests.lab.bench.engine import Clock, engine, where
from tests.lab.bench.publisher import address, publishers, stats
from tests.lab.read_all import feeds_are_read

Row = dict[str, object]
Run = tuple[float, float]
Work = tuple[str, Callable[[int], None]]


def main() -> None:
    """Print the table, or one JSON object."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--feeds", type=int, default=400)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--alone", action="store_true", help="ours, and nothing beside it")
    options = parser.parse_args()
    with engine(), publishers() as port, tempfile.TemporaryDirectory() as place:
        hosts = [address(n) for n in range(options.feeds)]
        urls = [f"http://{host}:{port}/good/{n}" for n, host in enumerate(hosts)]
        beside = () if options.alone else (peer(urls, place, 1), peer(urls, place, 16))
        works = dict([*beside, ours(urls, hosts)])
        stats(port, reset=True)
        rounds = [[timed(work, n) for work in works.values()] for n in range(1, options.rounds + 1)]
        statuses = stats(port)["statuses"]
    rows = [best(name, runs, len(urls)) for name, runs in zip(works, zip(*rounds, strict=True), strict=True)]
    report = {"command": "python -m tests.lab bench.repoll", **where(), "feeds": options.feeds, "rows": rows}
    report |= {"rounds": options.rounds, "statuses": statuses}
    for name, n in () if options.alone else (("times_peer", 0), ("times_peer_cpu", 1)):
        ratios = [min(run[n] for run in runs[:-1]) / runs[-1][n] for runs in rounds]
        report[name] = round(median(ratios), 2)
    print(json.dumps(report) if options.json or options.alone else words(report, rows))


def peer(urls: list[str], place: str, workers: int) -> Work:
    """Return a re-poll by lemon24/reader, which has read the feeds once."""
    from reader import make_reader  # noqa: PLC0415

    reader = make_reader(f"{place}/reader-{workers}.sqlite")
    for url in urls:
        reader.add_feed(url)
    reader.update_feeds(workers=workers)

    def again(n: int) -> None:
        reader.update_feeds(workers=workers, scheduled=False)

    return f"lemon24/reader 3.26, {workers} workers", again


def ours(urls: list[str], hosts: list[str]) -> Work:
    """Return a re-poll by Tidings, which has read the feeds once."""
    from django.conf import settings  # noqa: PLC0415
    from django.utils import timezone  # noqa: PLC0415

    from digest.feeds.fetch_batch import feeds_fetch  # noqa: PLC0415
    from digest.feeds.ingest import feed_get_or_create  # noqa: PLC0415

    settings.FETCH_ALLOW_HOSTS, settings.FETCH_HOST_GAP_S = hosts, 0.0
    now = timezone.now()
    for url in urls:
        feed_get_or_create(url=url, now=now)
    feeds_are_read()
    feeds_fetch(now=now)

    def again(n: int) -> None:
        report = feeds_fetch(now=now + timedelta(days=2 * n))
        assert report.unchanged == len(urls), report.as_dict()["errors"]

    return f"ours, {settings.FETCH_WORKERS} workers", again


def timed(work: Callable[[int], None], n: int) -> Run:
    """Return wall and processor seconds of the n-th round."""
    clock = Clock()
    work(n)
    spent = clock.read()
    return spent["wall_s"], spent["cpu_s"]


def best(name: str, runs: Sequence[Run], feeds: int) -> Row:
    """Return the fastest round of one contestant."""
    wall, cpu = min(wall for wall, _ in runs), min(cpu for _, cpu in runs)
    return {
        "name": name,
        "wall_s": round(wall, 3),
        "cpu_s": round(cpu, 3),
        "feeds_per_s": round(feeds / wall, 1),
        "feeds_per_s_cpu": round(feeds / cpu, 1),
    }


def words(report: dict[str, object], rows: list[Row]) -> str:
    """Return the report as a table."""
    head = "{at}, Python {python}, {cpus} CPUs, load {load}, {feeds} feeds".format(**report)
    lines = [
        "{name:<34}{wall_s:>8} s wall {cpu_s:>8} s cpu {feeds_per_s:>8} feeds/s wall {feeds_per_s_cpu:>8}/s "
        "cpu".format(**row)
        for row in rows
    ]
    ratios = "ours: {times_peer} x the faster peer (wall), {times_peer_cpu} (cpu); answers: {statuses}"
    return "\n".join([head, *lines, ratios.format(**report)])


if __name__ == "__main__":
    main()

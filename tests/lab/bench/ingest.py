"""Cold ingest of the real feeds: `python -m tests.lab bench.ingest [--json] [--rounds N]`.

Data: every document of `feeds/real-*` below `TIDINGS_DATA`, unpacked into one folder that all read from.
Ours: `folder_ingest` into an empty SQLite database, sanitised and deduplicated. Beside it, in the same run:
lemon24/reader 3.26 into its own SQLite database (the peer), and `fastfeedparser.parse` alone, which stores
and cleans nothing (the floor). Each round runs all three, one after the other: a row is the best of its
rounds, a ratio the median of the rounds', by the clock and by processor time, children included.
"""

import argparse
import gzip
import json
import os
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import median

from tests.lab.bench.engine import Clock, engine, where

Row = dict[str, object]
Run = tuple[int, float, float]


def main() -> None:
    """Print the table, or one JSON object."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    with engine(), tempfile.TemporaryDirectory(prefix="tidings-feeds-") as name:
        folder = unpack(Path(name))
        works = {"fastfeedparser alone (floor)": floor, "lemon24/reader 3.26 (peer)": peer, "ours": ours}
        rounds = [[timed(work, folder) for work in works.values()] for _ in range(options.rounds)]
    rows = [best(name, runs) for name, runs in zip(works, zip(*rounds, strict=True), strict=True)]
    report = {
        "command": "python -m tests.lab bench.ingest",
        **where(),
        "rounds": options.rounds,
        "rows": rows,
    }
    for unit, n in (("wall", 1), ("cpu", 2)):
        speeds = [[run[0] / run[n] for run in runs] for runs in rounds]
        report |= {
            f"times_peer_{unit}": round(median(own / other for _, other, own in speeds), 2),
            f"share_of_floor_{unit}": round(median(own / bare for bare, _, own in speeds), 3),
        }
    print(json.dumps(report) if options.json else words(report, rows))


def unpack(folder: Path) -> Path:
    """Every real document, as it would arrive, in one flat folder."""
    for path in sorted((Path(os.environ["TIDINGS_DATA"]) / "feeds").glob("real-*/**/*")):
        if path.is_file():
            body = path.read_bytes()
            body = gzip.decompress(body) if body.startswith(b"\x1f\x8b") else body
            (folder / f"{path.parent.name}-{path.name.removesuffix('.gz')}").write_bytes(body)
    return folder


def floor(folder: Path) -> int:
    """The entries the bare parser finds."""
    import fastfeedparser  # noqa: PLC0415

    count = 0
    for path in sorted(folder.iterdir()):
        try:
            count += len(fastfeedparser.parse(path.read_bytes())["entries"])
        except Exception:
            continue  # documents that are no feeds are among them
    return count


def peer(folder: Path) -> int:
    """The entries lemon24/reader stores."""
    from reader import make_reader  # noqa: PLC0415

    with tempfile.TemporaryDirectory() as place:
        reader = make_reader(f"{place}/reader.sqlite", feed_root=str(folder))
        for path in sorted(folder.iterdir()):
            reader.add_feed(path.name)
        reader.update_feeds()
        count = reader.get_entry_counts().total
        reader.close()
    return int(count or 0)


def ours(folder: Path) -> int:
    """The items Tidings keeps, starting from nothing."""
    from django.utils import timezone  # noqa: PLC0415

    from digest.feeds.rounds import folder_ingest  # noqa: PLC0415
    from digest.feeds.sandbox import SANDBOX  # noqa: PLC0415
    from digest.models import Item  # noqa: PLC0415

    folder_ingest(folder=folder, now=timezone.now())
    SANDBOX.end()  # its start and its children count too
    return Item.objects.count()


def emptied() -> None:
    """Forget every item; before each round, outside what is timed."""
    from django.core.management import call_command  # noqa: PLC0415

    call_command("flush", verbosity=0, interactive=False)


def timed(work: Callable[[Path], int], folder: Path) -> Run:
    """The items of one run from nothing, and its seconds on the wall and of the processor."""
    emptied()
    clock = Clock()
    items = work(folder)
    spent = clock.read()
    return items, spent["wall_s"], spent["cpu_s"]


def best(name: str, runs: Sequence[Run]) -> Row:
    """The fastest of the runs of one."""
    items, wall, cpu = runs[0][0], min(wall for _, wall, _ in runs), min(cpu for _, _, cpu in runs)
    return {
        "name": name,
        "items": items,
        "wall_s": round(wall, 2),
        "cpu_s": round(cpu, 2),
        "items_per_s_wall": round(items / wall),
        "items_per_s_cpu": round(items / cpu),
    }


def words(report: dict[str, object], rows: list[Row]) -> str:
    """The report as a table."""
    head = "{at}, Python {python}, {cpus} CPUs, load {load}, best of {rounds}".format(**report)
    lines = [
        "{name:<32}{items:>7} items {wall_s:>8} s wall {cpu_s:>8} s cpu {items_per_s_wall:>8}/s wall "
        "{items_per_s_cpu:>8}/s cpu".format(**row)
        for row in rows
    ]
    ratios = "ours: {times_peer_wall} x peer, {share_of_floor_wall} of the floor (wall); ".format(**report)
    ratios += "{times_peer_cpu} x peer, {share_of_floor_cpu} of the floor (cpu)".format(**report)
    return "\n".join([head, *lines, ratios])


if __name__ == "__main__":
    main()

"""Cold ingest of the real feeds: `python -m tests.lab bench.ingest [--json] [--rounds N] [--documents N]
[--alone]`.

Data: every document of `feeds/real-*` below `TIDINGS_DATA`, unpacked into one folder that all contestants
read. Ours: `folder_ingest` into an empty SQLite database, sanitised and deduplicated. Three comparisons in
the same run: lemon24/reader 3.26 into its own SQLite database (the peer); `feedparser.parse` alone with its
sanitiser off, which stores and cleans nothing (the bare parser); and the floor, which parses and cleans every
document as we do, then inserts our rows by plain SQL in one transaction, with no look-ups, comparisons or
decisions. (It inserts many rows per statement, because SQLite writes the search index after each one.) The
last row is ours with the vectors of all items, which the worker makes afterwards. Each round runs all in
turn. A row is the best of its rounds, a ratio the median of the rounds, by wall and processor time, children
included.
"""

import argparse
import gzip
import json
import os
import tempfile
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from statistics import median

from tests.lab.bench.engine import Clock, engine, where

Row = dict[str, object]
Run = tuple[int, float, float]
Table = tuple[str, list[tuple[object, ...]]]
# SQLite's limit for one statement is 32,766.
PARAMETERS_MAX = 30_000
BARE, FLOOR = "feedparser alone", "parsed, cleaned, plain SQL (floor)"


def main() -> None:
    """Print the table, or one JSON object."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--documents", type=int, default=0, help="only the first N of them")
    parser.add_argument("--alone", action="store_true", help="ours, and nothing beside it")
    options = parser.parse_args()
    with engine(), tempfile.TemporaryDirectory(prefix="tidings-feeds-") as name:
        folder = unpack(Path(name), options.documents)
        ours(folder)
        rows_of_ours = stored()
        beside: dict[str, Callable[[Path], int]] = {
            BARE: bare,
            FLOOR: lambda folder: floor(folder, rows_of_ours),
            "lemon24/reader 3.26 (peer)": peer,
        }
        works = {**({} if options.alone else beside), "ours": ours, "ours, and vectors": ours_with_vectors}
        rounds = [[timed(work, folder) for work in works.values()] for _ in range(options.rounds)]
    rows = [best(name, runs) for name, runs in zip(works, zip(*rounds, strict=True), strict=True)]
    report = {
        "command": "python -m tests.lab bench.ingest",
        **where(),
        "rounds": options.rounds,
        "rows": rows,
    }
    for unit, n in () if options.alone else (("wall", 1), ("cpu", 2)):
        speeds = [[run[0] / run[n] for run in runs] for runs in rounds]
        report |= {
            f"times_peer_{unit}": round(median(own / other for _, _, other, own, _ in speeds), 2),
            f"share_of_floor_{unit}": round(median(own / least for _, least, _, own, _ in speeds), 3),
            f"share_of_bare_{unit}": round(median(own / parser for parser, _, _, own, _ in speeds), 3),
        }
    print(json.dumps(report) if options.json or options.alone else words(report, rows))


def unpack(folder: Path, most: int = 0) -> Path:
    """Return the real documents, or `most` of them spread over all, as they would arrive, in one flat
    folder."""
    found = sorted((Path(os.environ["TIDINGS_DATA"]) / "feeds").glob("real-*/**/*"))
    paths = [path for path in found if path.is_file()]
    for path in paths[:: max(1, len(paths) // most)] if most else paths:
        body = path.read_bytes()
        body = gzip.decompress(body) if body.startswith(b"\x1f\x8b") else body
        (folder / f"{path.parent.name}-{path.name.removesuffix('.gz')}").write_bytes(body)
    return folder


def bare(folder: Path) -> int:
    """Return the entries the bare parser finds."""
    import feedparser  # noqa: PLC0415

    count = 0
    for path in sorted(folder.iterdir()):
        try:
            found = feedparser.parse(path.read_bytes(), sanitize_html=False, resolve_relative_uris=False)
            count += len(found.entries)
        except Exception:
            continue  # documents that are no feeds are among them
    return count


def floor(folder: Path, tables: Iterable[Table]) -> int:
    """Return the number of items in `tables`. Their rows are inserted unchanged after parsing and cleaning
    all documents."""
    from django.db import connection, transaction  # noqa: PLC0415

    from digest.feeds.entities import FeedProblem  # noqa: PLC0415
    from digest.feeds.parse import parse_document  # noqa: PLC0415
    from digest.feeds.sandbox import SANDBOX  # noqa: PLC0415
    from digest.models import Item  # noqa: PLC0415

    for path in sorted(folder.iterdir()):
        with suppress(FeedProblem):
            parse_document(path.read_bytes())
    SANDBOX.end()
    with transaction.atomic(), connection.cursor() as cursor:
        for insert, rows in tables:
            places = "(" + ", ".join(["%s"] * len(rows[0])) + ")"
            step = PARAMETERS_MAX // len(rows[0])
            for some in (rows[n : n + step] for n in range(0, len(rows), step)):
                values = [value for row in some for value in row]
                cursor.execute(f"{insert} VALUES {', '.join([places] * len(some))}", values)
    return Item.objects.count()


def stored() -> list[Table]:
    """Return the rows of each table that has some, with the beginning of the statement that puts them in
    again."""
    from django.apps import apps  # noqa: PLC0415
    from django.db import connection  # noqa: PLC0415

    found = []
    with connection.cursor() as cursor:
        for model in apps.get_app_config("digest").get_models():
            cursor.execute(f"SELECT * FROM {model._meta.db_table}")
            names = [column[0] for column in cursor.description]
            if rows := cursor.fetchall():
                found.append((f"INSERT INTO {model._meta.db_table} ({', '.join(names)})", rows))
    return found


def peer(folder: Path) -> int:
    """Return the entries lemon24/reader stores."""
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
    """Return the items Tidings keeps, starting from nothing."""
    from django.utils import timezone  # noqa: PLC0415

    from digest.feeds.fetch_batch import folder_ingest  # noqa: PLC0415
    from digest.feeds.sandbox import SANDBOX  # noqa: PLC0415
    from digest.models import Item  # noqa: PLC0415

    folder_ingest(folder=folder, now=timezone.now())
    SANDBOX.end()  # its start and its children count too
    return Item.objects.count()


def ours_with_vectors(folder: Path) -> int:
    """Return the items Tidings keeps, starting from nothing, with the vectors of all, old ones, too."""
    from digest.items.vectors import item_vectors_update  # noqa: PLC0415

    items = ours(folder)
    while item_vectors_update(now=datetime.fromtimestamp(0, UTC)):
        pass
    return items


def emptied() -> None:
    """Delete every item before each round, outside the timing."""
    from django.core.management import call_command  # noqa: PLC0415

    call_command("flush", verbosity=0, interactive=False)


def timed(work: Callable[[Path], int], folder: Path) -> Run:
    """Return the items of one run from nothing, and its seconds on the wall and of the processor."""
    emptied()
    clock = Clock()
    items = work(folder)
    spent = clock.read()
    return items, spent["wall_s"], spent["cpu_s"]


def best(name: str, runs: Sequence[Run]) -> Row:
    """Return the fastest of the runs of one."""
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
    """Return the report as a table."""
    head = "{at}, Python {python}, {cpus} CPUs, load {load}, best of {rounds}".format(**report)
    lines = [
        "{name:<36}{items:>7} items {wall_s:>8} s wall {cpu_s:>8} s cpu {items_per_s_wall:>8}/s wall "
        "{items_per_s_cpu:>8}/s cpu".format(**row)
        for row in rows
    ]
    ratios = "ours: {times_peer_wall} x peer, {share_of_floor_wall} of the floor (wall); ".format(**report)
    ratios += "{times_peer_cpu} x peer, {share_of_floor_cpu} of the floor (cpu); ".format(**report)
    ratios += "{share_of_bare_wall} of the bare parser (wall), {share_of_bare_cpu} (cpu)".format(**report)
    return "\n".join([head, *lines, ratios])


if __name__ == "__main__":
    main()

"""The effect of partitions on the largest table: `python -m tests.lab load.partitions [--json]`.

The impressions are copied twice into their own schema: whole, and in partitions by ranges of digests, which
are numbered in the order of days. Then, in turns: a digest is read by its key, digests are written, and the
oldest third is deleted, by DELETE in batches as in `rows_prune` and by dropping partitions. The schema is
deleted at the end.
"""

import argparse
import random
import time
from collections.abc import Callable
from typing import Any

from tests.lab.load.setting import Json, django_up, head, rows_of, spread, told

PARTS, READS, WRITES, SHOWN, BATCH = 6, 300, 300, 30, 200
KEYS = ("(digest_id, item_id)", "(digest_id, rank)")


def main() -> None:
    """Compare and report."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    django_up()
    from django.db import connection  # noqa: PLC0415

    report: Json = {**head("partitions"), "rows": rows_of("digest_impression")}
    with connection.cursor() as cursor:
        cursor.execute("DROP SCHEMA IF EXISTS trial CASCADE")
        cursor.execute("CREATE SCHEMA trial")
        try:
            cuts = made(cursor)
            report["tables"] = [measured(cursor, name, cuts) for name in ("whole", "parted")]
        finally:
            cursor.execute("DROP SCHEMA trial CASCADE")
    told(report | {"targets": []}, options.json)


def made(cursor: Any) -> list[int]:
    """Both tables with their rows and indexes; the digests at which partitions begin, and the last."""
    # Partitions follow days, so digests are renumbered to keep those of one day together.
    cursor.execute(
        "CREATE TABLE trial.day AS SELECT id, row_number() OVER (ORDER BY date, id) AS n FROM digest_digest"
    )
    cursor.execute("CREATE UNIQUE INDEX ON trial.day (id)")
    cursor.execute("SELECT max(n) FROM trial.day")
    last = cursor.fetchone()[0]
    cuts = [1 + last * n // PARTS for n in range(PARTS)] + [10**9]
    columns = (
        "digest_id bigint, item_id bigint, rank int, score float8, parts jsonb, propensity float8, slot text"
    )
    cursor.execute(f"CREATE TABLE trial.whole (id bigserial, {columns})")
    cursor.execute(f"CREATE TABLE trial.parted (id bigserial, {columns}) PARTITION BY RANGE (digest_id)")
    for n in range(PARTS):
        bounds = f"FROM ({cuts[n]}) TO ({cuts[n + 1]})"
        cursor.execute(f"CREATE TABLE trial.part{n} PARTITION OF trial.parted FOR VALUES {bounds}")
    for name in ("whole", "parted"):
        cursor.execute(
            f"INSERT INTO trial.{name} (digest_id, item_id, rank, score, parts, propensity, slot) "
            "SELECT n, item_id, rank, score, parts, propensity, slot FROM digest_impression i "
            "JOIN trial.day d ON d.id = i.digest_id ORDER BY n, rank"
        )
        for key in (*KEYS, "(item_id)"):
            cursor.execute(f"CREATE {'UNIQUE ' if key in KEYS else ''}INDEX ON trial.{name} {key}")
        cursor.execute(f"ANALYZE trial.{name}")
    return cuts


def measured(cursor: Any, name: str, cuts: list[int]) -> Json:
    """Reads, writes and letting go, of one of the two."""
    dice, table = random.Random(1), f"trial.{name}"
    cursor.execute(f"SELECT max(digest_id) FROM {table}")
    last = cursor.fetchone()[0]

    def read() -> None:
        cursor.execute(f"SELECT * FROM {table} WHERE digest_id = %s ORDER BY rank", [dice.randint(1, last)])
        cursor.fetchall()

    def write(digest: int) -> None:
        cursor.execute(
            f"INSERT INTO {table} (digest_id, item_id, rank, score, parts, propensity, slot) "
            "SELECT %s, %s + n, n, 1, '{}', 1, 'ranked' FROM generate_series(1, %s) n",
            [digest, dice.randint(1, 900_000), SHOWN],
        )

    found = {"table": name, **{f"read_{key}": value for key, value in spread(timed(read, READS)).items()}}
    fresh = iter(range(last + 1, last + WRITES + 1))
    found |= {
        f"write_{key}": value for key, value in spread(timed(lambda: write(next(fresh)), WRITES)).items()
    }
    began, third = time.perf_counter(), cuts[PARTS // 3]
    if name == "whole":
        for first in range(1, third, BATCH):
            keys = [first, min(first + BATCH, third)]
            cursor.execute(f"DELETE FROM {table} WHERE digest_id >= %s AND digest_id < %s", keys)
        cursor.execute(f"VACUUM {table}")
    else:
        for n in range(PARTS // 3):
            cursor.execute(f"DROP TABLE trial.part{n}")
    found["third_gone_s"] = round(time.perf_counter() - began, 3)
    cursor.execute(
        "SELECT sum(pg_total_relation_size(c.oid)) FROM pg_class c JOIN pg_namespace n ON n.oid=relnamespace "
        "WHERE nspname = 'trial' AND relkind = 'r' AND relname LIKE %s",
        ["whole" if name == "whole" else "part%"],
    )
    return found | {"mb_after": round(int(cursor.fetchone()[0]) / 1e6)}


def timed(work: Callable[[], object], times: int) -> list[float]:
    """Seconds of each time."""
    found = []
    for _ in range(times):
        began = time.perf_counter()
        work()
        found.append(time.perf_counter() - began)
    return found


if __name__ == "__main__":
    main()

"""Reads from a streaming replica while the first server writes: `python -m tests.lab load.replica [--json]`.

It uses PostgreSQL's own replication: the server of `DATABASE_URL` is copied into a throwaway folder, and a
second server on a spare port of the loopback follows it. Then the product's selectors run the same searches
and past days, first on the server that writes thumbs meanwhile, then on the replica. It measures the lag, and
whether both have the same rows in the end. Both share this machine's processors.
"""

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg
from django.utils import timezone

from tests.lab.faults.servers import Postgres
from tests.lab.load.reads import searches, timed
from tests.lab.load.setting import Json, django_up, head, least, rows_of, spread, target, told

DAYS, SETTLED_S, LOOK_S, WRITES_A_SECOND = 200, 60.0, 0.1, 20
LAG_MAX_MS = 5000.0
# Thumbs written again as they are, thirty at a time; the last transaction shows whether all of them arrived.
WRITE = "UPDATE digest_feedback SET useful = useful WHERE id BETWEEN %s AND %s + 29"
LAST = "SELECT count(*), sum(id) FILTER (WHERE useful), max(xmin::text::bigint) FROM digest_feedback"
LAG = "SELECT coalesce(extract(epoch FROM max(replay_lag)), 0) FROM pg_stat_replication"


def main() -> None:
    """Copy, follow, read at both, report. Exit 1 if the replica stayed behind."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--reads", action="store_true", help="only read, at the server of DATABASE_URL")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    django_up()
    if options.reads:
        print(json.dumps(reads(options.seed)))
        return
    first = os.environ["DATABASE_URL"]
    report: Json = {
        **head("replica"),
        "seed": options.seed,
        "rows": rows_of("digest_item", "digest_feedback"),
    }
    with tempfile.TemporaryDirectory(prefix="tidings-replica-", ignore_cleanup_errors=True) as folder:
        began = time.monotonic()
        with following(first, Path(folder)) as replica:
            report["copied_s"] = round(time.monotonic() - began, 1)
            second = replica.url(first.rpartition("/")[2])
            with writing(first) as (written, lags):
                report["tables"] = [{"server": "first", **read_at(first, options.seed)}]
                report["tables"] += [{"server": "replica", **read_at(second, options.seed)}]
            report |= {
                "updates": len(written),
                "lag": spread(lags),
                "same_after_s": same_after(first, second),
            }
    arrived = float(report["same_after_s"] is not None)
    report["targets"] = [
        target("lag while one is written, both are read, p95 in ms", LAG_MAX_MS, report["lag"]["p95_ms"]),
        least("the replica has the first one's rows in the end", 1, arrived),
    ]
    told(report, options.json)
    raise SystemExit(0 if all(aim["met"] for aim in report["targets"]) else 1)


def reads(seed: int) -> Json:
    """Searches and past days of readers drawn at random, through the product's selectors."""
    from digest.daily.selectors import digest_impressions  # noqa: PLC0415
    from digest.models import Digest, Reader  # noqa: PLC0415

    dice = random.Random(seed)
    found = searches(dice, list(Reader.objects.filter(username__startswith="r").order_by("pk")))
    past = dice.sample(list(Digest.objects.order_by("pk")[: 100 * DAYS]), DAYS)
    days = timed(lambda one=one: len(digest_impressions(digest=one, now=timezone.now())) for one in past)
    return {f"search_{key}": found[key] for key in ("p50_ms", "p95_ms")} | {
        f"day_{key}": days[key] for key in ("p50_ms", "p95_ms")
    }


def read_at(address: str, seed: int) -> Json:
    """Return the figures of `reads` in its own process, on the server at that address."""
    command = [sys.executable, "-m", "tests.lab.load.replica", "--reads", "--seed", str(seed)]
    done = subprocess.run(
        command, env=os.environ | {"DATABASE_URL": address}, capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise SystemExit(done.stderr.strip()[-600:])
    return dict(json.loads(done.stdout.strip().splitlines()[-1]))


@contextmanager
def following(address: str, folder: Path) -> Iterator[Postgres]:
    """Yield a server that follows the one of `address`, once it has all that this has; gone afterwards."""
    folder.chmod(0o755)
    replica = Postgres.follow(folder / "replica", address)
    replica.start()
    try:
        yield replica
    finally:
        replica.stop("fast")


@contextmanager
def writing(address: str) -> Iterator[tuple[list[int], list[float]]]:
    """Write without end until the block does: the updates, and the replica's lag in seconds meanwhile."""
    stop, written, lags = threading.Event(), list[int](), list[float]()

    def write() -> None:
        dice = random.Random(1)
        with psycopg.connect(address, autocommit=True) as own:
            last = own.execute("SELECT max(id) FROM digest_feedback").fetchone()[0]  # type: ignore[index]
            while not stop.wait(1 / WRITES_A_SECOND):
                begin = dice.randint(1, last)
                own.execute(WRITE, [begin, begin])
                written.append(begin)

    def look() -> None:
        with psycopg.connect(address, autocommit=True) as own:
            while not stop.wait(LOOK_S):
                lags.append(float(own.execute(LAG).fetchone()[0]))  # type: ignore[index]

    threads = [threading.Thread(target=work) for work in (write, look)]
    for thread in threads:
        thread.start()
    try:
        yield written, lags
    finally:
        stop.set()
        for thread in threads:
            thread.join()


def same_after(first: str, second: str) -> float | None:
    """Return the seconds until both have the same thumbs, or `None` after a minute."""
    began = time.monotonic()
    with psycopg.connect(first, autocommit=True) as one, psycopg.connect(second, autocommit=True) as other:
        wanted = one.execute(LAST).fetchone()
        while time.monotonic() - began < SETTLED_S:
            if other.execute(LAST).fetchone() == wanted:
                return round(time.monotonic() - began, 2)
            time.sleep(LOOK_S)
    return None


if __name__ == "__main__":
    main()

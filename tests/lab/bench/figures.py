"""What the page of guidance's figures takes: `python -m tests.lab bench.figures [--json] [--events N]`.

N calls of 28 days (one in ten told something, one in a hundred held out or broken) and, of 1,000 runs, two
writes each. The page is asked for as an operator does, after the daily job. Best of the rounds, by the clock
and by processor time, a PostgreSQL server's own included. SQLite unless DATABASE_URL says otherwise.
"""

import argparse
import json
import os
import tempfile
from datetime import timedelta
from pathlib import Path
from typing import Any

from tests.lab.bench.engine import Clock, where

DAYS, RUNS, TICKS = 28, 1_000, os.sysconf("SC_CLK_TCK")
DOUBLINGS = 6


def main() -> None:
    """Set a database up, fill it, ask for the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--events", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="tidings-bench-") as folder:
        os.environ |= {"TIDINGS_VAR_DIR": folder, "LOG_LEVEL": "CRITICAL"}
        os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
        report = measured(options.events, options.rounds)
    print(json.dumps(report) if options.json else "\n".join(f"{k:<16}{v}" for k, v in report.items()))


def measured(events: int, rounds: int) -> dict[str, Any]:
    """The daily job, and the page."""
    import django  # noqa: PLC0415 - reads the environment as it is imported

    django.setup()
    from django.core.management import call_command  # noqa: PLC0415
    from django.db import connection  # noqa: PLC0415
    from django.utils import timezone  # noqa: PLC0415

    from advisor.guidance.events import guidance_prune  # noqa: PLC0415
    from digest.models import Reader  # noqa: PLC0415

    call_command("migrate", verbosity=0)
    Reader.objects.create(username="operator", is_staff=True, is_superuser=True)
    asked()  # what is imported and compiled once is no part of what a page takes
    stored = filled(events)
    prune = best(1, lambda: guidance_prune(now=timezone.now()))
    page = best(rounds, asked)
    return {
        "command": "python -m tests.lab bench.figures",
        **where(),
        "database": connection.vendor,
        "events": stored,
        "rounds": rounds,
        "prune": prune,
        "page": page,
    }


def asked() -> None:
    """The page, as an operator asks for it."""
    from django.test import Client  # noqa: PLC0415
    from django.urls import reverse  # noqa: PLC0415

    from digest.models import Reader  # noqa: PLC0415

    client = Client(headers={"host": "localhost"})
    client.force_login(Reader.objects.get(username="operator"))
    assert client.get(reverse("admin:advisor_guidance")).status_code == 200


def best(rounds: int, work: Any) -> dict[str, float]:
    """Milliseconds of the quickest round by the clock, and of the one that took least processor time."""
    found = []
    for _ in range(rounds):
        clock, server = Clock(), server_s()
        work()
        read = clock.read()
        found.append((read["wall_s"], read["cpu_s"] + server_s() - server))
    wall, cpu = (min(column) for column in zip(*found, strict=True))
    return {"wall_ms": round(1000 * wall, 1), "cpu_ms": round(1000 * cpu, 1)}


def server_s() -> float:
    """Processor seconds so far of the PostgreSQL process that serves us, where it is one of this machine."""
    from django.db import connection  # noqa: PLC0415

    if connection.vendor != "postgresql":
        return 0.0
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_backend_pid()")
        stat = Path(f"/proc/{cursor.fetchone()[0]}/stat")
    if not stat.exists():
        return 0.0
    fields = stat.read_text(encoding="ascii").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


def filled(events: int) -> int:
    """Calls of the last 28 days: one part made here, and doubled six times within the database."""
    from django.db import connection  # noqa: PLC0415
    from django.utils import timezone  # noqa: PLC0415

    from advisor.models import GuidanceEvent, Run, Step  # noqa: PLC0415
    from digest.models import Reader  # noqa: PLC0415

    reader, now = Reader.objects.create(username="ada"), timezone.now()
    some = events >> DOUBLINGS
    at = [now - timedelta(days=DAYS - 1) * n / some for n in range(some)]
    runs = Run.objects.bulk_create(
        Run(reader=reader, day=now.date() - timedelta(days=n + 100), trigger="mcp", created_at=now)
        for n in range(RUNS)
    )
    Step.objects.bulk_create(
        Step(run=run, n=k, kind="tool", tool="write_suggestion", at=now) for run in runs for k in (1, 2)
    )
    calls = (GuidanceEvent(reader=reader, run=runs[n % RUNS], at=at[n], **call(n)) for n in range(some))
    GuidanceEvent.objects.bulk_create(calls, batch_size=1_000)
    table = GuidanceEvent._meta.db_table
    columns = ", ".join(f'"{f.column}"' for f in GuidanceEvent._meta.concrete_fields if not f.primary_key)
    with connection.cursor() as cursor:
        for _ in range(DOUBLINGS):
            cursor.execute(f"INSERT INTO {table} ({columns}) SELECT {columns} FROM {table}")
        cursor.execute("ANALYZE")
    return GuidanceEvent.objects.count()


def call(n: int) -> dict[str, Any]:
    """The fields of the n-th call: mostly silent, after eight memories were weighed."""
    weighed = [{"id": k, "score": 0.4, "why": ("shown", "too_weak", "about_else")[k % 3]} for k in range(8)]
    fields: dict[str, Any] = {"n": n % 20 + 1, "level": "silent", "why": ("too_weak", "shown", "none")[n % 3]}
    if n % 10 == 0:
        fields |= {
            "level": "note",
            "why": "told",
            "emitted_ids": [1, 2],
            "text": "When …: … Because …",
            "tokens": 40,
        }
    elif n % 100 == 1:
        fields |= {"why": "held_out", "holdout": True}
    elif n % 100 == 2:
        fields |= {"why": "failed", "error_code": "TimeoutError"}
    return fields | {
        "tool": ("write_suggestion", "test_suggestion", "self_critique")[n % 3],
        "phase": "write",
        "suggestion_type": "boost_source",
        "target_key": f"source-{n % 50}.example",
        "candidates": weighed,
        "facts": {"pending": n % 5, "spent": 0.1, "p_helpful": 0.8},
        "outcome": ("accepted", "rejected", "")[n % 3],
        "ms": n % 40,
    }


if __name__ == "__main__":
    main()

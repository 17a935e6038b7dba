"""Shared by all load scripts: Django on the large database, the head of a report, percentiles."""

import json
import os
import platform
import statistics
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

Json = dict[str, Any]


def django_up() -> None:
    """Set Django up on `DATABASE_URL`. Raises `SystemExit` unless that names a PostgreSQL."""
    if not os.environ.get("DATABASE_URL", "").startswith("postgres"):
        raise SystemExit("Name a PostgreSQL in DATABASE_URL, filled by python -m tests.lab load.seed.")
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    os.environ.setdefault("LOG_LEVEL", "ERROR")
    import django  # noqa: PLC0415 - reads the environment as it is imported

    django.setup()


def head(command: str) -> Json:
    """Return the command, the moment, and the machine with its load."""
    return {
        "command": f"python -m tests.lab load.{command}",
        "at": datetime.now(UTC).isoformat(timespec="seconds"),
        "python": platform.python_version(),
        "cpus": os.cpu_count(),
        "load": round(os.getloadavg()[0], 1),
    }


def rows_of(*tables: str) -> Json:
    """How many rows tables have, by PostgreSQL's own estimate."""
    from django.db import connection  # noqa: PLC0415

    query = "SELECT relname, reltuples::bigint FROM pg_class WHERE relname = ANY(%s)"
    with connection.cursor() as cursor:
        cursor.execute(query, [list(tables)])
        return dict(cursor.fetchall())


def spread(seconds: Sequence[float]) -> Json:
    """Milliseconds: median, 95th and 99th percentile, the longest; and how many there were."""
    if len(seconds) < 2:
        only = round(1000 * seconds[0], 1) if seconds else None
        return {"n": len(seconds), "p50_ms": only, "p95_ms": only, "p99_ms": only, "max_ms": only}
    cuts = statistics.quantiles(seconds, n=100, method="inclusive")
    found = {"p50_ms": cuts[49], "p95_ms": cuts[94], "p99_ms": cuts[98], "max_ms": max(seconds)}
    return {"n": len(seconds), **{name: round(1000 * value, 1) for name, value in found.items()}}


def target(metric: str, most: float, value: float | None) -> Json:
    """Return a figure with an upper limit."""
    met = value is not None and value <= most
    return {"metric": metric, "target": f"≤ {most:g}", "value": value, "met": met}


def least(metric: str, few: float, value: float | None) -> Json:
    """Return a figure with a lower limit."""
    return {
        "metric": metric,
        "target": f"≥ {few:g}",
        "value": value,
        "met": value is not None and value >= few,
    }


def told(report: Mapping[str, Any], as_json: bool) -> None:
    """Print the report: one JSON object on the last line, or a line for each row."""
    if as_json:
        print(json.dumps(report, ensure_ascii=False))
        return
    print(", ".join(f"{key} {value}" for key, value in report.items() if not isinstance(value, list | dict)))
    for key, value in report.items():
        for row in value if isinstance(value, list) else []:
            print(f"  {key}: " + ", ".join(f"{name} {figure}" for name, figure in row.items()))
        if isinstance(value, dict):
            print(f"  {key}: " + ", ".join(f"{name} {figure}" for name, figure in value.items()))

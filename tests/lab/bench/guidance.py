"""The cost of guidance before one tool call: `python -m tests.lab bench.guidance [--json] [--rounds N]`.

For a reader with 5 memories and one with 500, each with 200 thumbs and 30 decided suggestions, it calls three
tools in an active run, as a session does, each time for another target and after the cooldown of the last.
The write is refused, because a stored one gets no words. It measures milliseconds of processor and wall time,
and queries, of `Guide.before` and `Guide.after`, without the tool itself. `DATABASE_URL` may name another
database than a fresh SQLite; it must be one that may be filled.
"""

import argparse
import json
import os
import statistics
import time
from datetime import timedelta
from typing import Any
from uuid import UUID

from tests.lab.bench.engine import engine, where

SIZES = (5, 500)
TOOLS = ("query_user_config", "test_suggestion", "write_suggestion")
THUMBS, DECIDED, SOURCES = 200, 30, 40
REST_S = 11
Row = dict[str, Any]


def main() -> None:
    """Print the table, or one JSON object."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--rounds", type=int, default=60)
    options = parser.parse_args()
    with engine(database=os.environ.get("DATABASE_URL", "")):
        from django.db import connection  # noqa: PLC0415

        rows = [row for size in SIZES for row in rows_of(size, options.rounds)]
        report = {
            "command": "python -m tests.lab bench.guidance",
            **where(),
            "database": connection.vendor,
            "rounds": options.rounds,
            "rows": rows,
            "write_p95_ms": max(row["cpu_p95_ms"] for row in rows if row["tool"] == TOOLS[-1]),
        }
    if options.json:
        print(json.dumps(report))
        return
    print("{at}, {database}, load {load}, {rounds} calls each".format(**report))
    print("\n".join("  ".join(f"{key} {value}" for key, value in row.items()) for row in rows))


def rows_of(size: int, rounds: int) -> list[Row]:
    """Return the figures of each tool for a reader with `size` memories, with one run per tool."""
    from django.utils import timezone  # noqa: PLC0415

    now = timezone.now()
    reader_id = reader_with(size, now)
    return [measured(reader_id, tool, rounds, now) | {"memories": size} for tool in TOOLS]


def measured(reader_id: UUID, tool: str, rounds: int, now: Any) -> Row:
    """Make one tool's calls, one after another, in a run of that reader."""
    from django.db import connection, reset_queries  # noqa: PLC0415

    from digest.models import Reader  # noqa: PLC0415
    from tests.advisor.guidance.desk import Desk  # noqa: PLC0415
    from tests.advisor.guidance.test_engine import REFUSED  # noqa: PLC0415

    desk = Desk(Reader.objects.get(pk=reader_id), at=now, trigger="mcp")
    wall, cpu, asked = [], [], []
    for n in range(rounds):
        desk.wait(REST_S)
        call = call_of(tool, n)
        connection.force_debug_cursor = n % 10 == 9
        reset_queries()
        began, used = time.perf_counter(), time.process_time()
        desk.guide.before(call)
        desk.guide.after(call, REFUSED)
        if connection.force_debug_cursor:
            asked.append(len(connection.queries))
        else:
            wall.append(1000 * (time.perf_counter() - began))
            cpu.append(1000 * (time.process_time() - used))
    connection.force_debug_cursor = False
    return {
        "tool": tool,
        "cpu_p50_ms": quantile(cpu, 50),
        "cpu_p95_ms": quantile(cpu, 95),
        "p50_ms": quantile(wall, 50),
        "p95_ms": quantile(wall, 95),
        "first_cpu_ms": round(cpu[0], 1),
        "queries": round(statistics.mean(asked), 1) if asked else None,
    }


def call_of(tool: str, n: int) -> Any:
    """Return the `n`th call of a run: about one source after another, each time with other words."""
    from digest.llm.entities import ToolCall  # noqa: PLC0415

    target = f"source{n % SOURCES}.example"
    reading: Row = {"query": f"source weights {n}"}
    trying: Row = {"suggestion_type": "reduce_source", "target": target, "suggested_value": "0.9"}
    writing: Row = {
        "suggestion_type": "reduce_source",
        "target": target,
        "suggested_value": f"{0.5 + n % 45 / 100:.2f}",
        "evidence": [],
        "reason": f"Of {n + 3} items of {target} read last week, few were liked.",
    }
    given = dict(zip(TOOLS, (reading, trying, writing), strict=True))[tool]
    return ToolCall("call", tool, json.dumps(given))


def reader_with(size: int, now: Any) -> UUID:
    """Create a reader with `size` own memories, thumbs and decided suggestions, none of them cooling down."""
    from advisor.guidance.admission import text_signature, tokens_of  # noqa: PLC0415
    from advisor.models import Memory  # noqa: PLC0415
    from suggestions.models import Suggestion  # noqa: PLC0415
    from tests.advisor.guidance.lives import suggestion  # noqa: PLC0415
    from tests.support.factories import ReaderFactory  # noqa: PLC0415
    from tests.support.histories import thumbs  # noqa: PLC0415

    reader = ReaderFactory(username=f"reader-{size}-{now:%H%M%S%f}")
    # Enough dislikes on each that no write is stopped for want of evidence.
    for n in range(SOURCES):
        thumbs(reader, f"source{n}.example", THUMBS // SOURCES, rate=0.2)
    long_ago = now - timedelta(days=90)
    Suggestion.objects.bulk_create(
        suggestion(
            reader,
            target=f"old{n}.example",
            status="accepted",
            created_at=long_ago,
            resolved_at=long_ago,
        )
        for n in range(DECIDED)
    )
    rows = []
    for n in range(size):
        target = f"source{n % SOURCES}.example" if n % 4 else ""
        why = f"Because {n} of {n + 3} large ones were declined within a week."
        text = f"When lowering {target or 'a source'} by {n}: take small steps. {why}"
        values: Row = {
            "kind": Memory.Kind.INSIGHT if n % 3 else Memory.Kind.PATTERN,
            "suggestion_type": ("reduce_source", "boost_source", "")[n % 3],
            "tool": ("write_suggestion", "")[n % 2],
            "unified": 0.5 + n % 5 / 10,
            "confidence": 0.5 + n % 4 / 10,
            "evidence": n % 7,
        }
        rows.append(
            Memory(
                reader=reader,
                key=f"made-{n}",
                title=f"Small steps {n}",
                text=text,
                target_key=target,
                tokens=list(tokens_of(text)),
                text_sig=text_signature(text),
                valid_from=now - timedelta(days=n % 60),
                updated_at=now - timedelta(days=1),
                polarity=-1,
                **values,
            )
        )
    Memory.objects.bulk_create(rows)
    return reader.pk


def quantile(times: list[float], percent: int) -> float:
    """Return the time that `percent` of the calls took at most."""
    ordered = sorted(times)
    return round(ordered[min(len(ordered) - 1, len(ordered) * percent // 100)], 1)


if __name__ == "__main__":
    main()

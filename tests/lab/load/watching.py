"""Measure the cost of work: seconds, processor, memory, and queries by kind."""

import re
import time
from collections import defaultdict
from collections.abc import Callable
from typing import Any

from tests.lab.bench.engine import Clock, peak_mb
from tests.lab.load.setting import Json

_LISTS = re.compile(r"\((?:%s, )+%s\)")
DEAREST = 3
SHOWN_CHARS = 200


class Queries:
    """Counts queries while it wraps a connection: how many, how long, and which took longest together."""

    def __init__(self) -> None:
        self.count, self.seconds = 0, 0.0
        self.by_shape: defaultdict[str, list[float]] = defaultdict(lambda: [0, 0.0])

    def __call__(self, execute: Callable[..., Any], sql: str, params: Any, many: bool, context: Any) -> Any:
        began = time.perf_counter()
        try:
            return execute(sql, params, many, context)
        finally:
            spent = time.perf_counter() - began
            self.count, self.seconds = self.count + 1, self.seconds + spent
            shape = self.by_shape[_LISTS.sub("(…)", sql)[:SHOWN_CHARS]]
            shape[0], shape[1] = shape[0] + 1, shape[1] + spent

    def dearest(self) -> list[Json]:
        """Return the shapes of query that took most, together."""
        worst = sorted(self.by_shape.items(), key=lambda pair: -pair[1][1])[:DEAREST]
        return [{"times": n, "seconds": round(seconds, 2), "sql": sql} for sql, (n, seconds) in worst]


def watched(work: Callable[[], object]) -> Json:
    """Do the work. Return `took` and its result. Memory is the process's peak so far."""
    from django.db import connection  # noqa: PLC0415

    queries, clock = Queries(), Clock()
    with connection.execute_wrapper(queries):
        gave = work()
    spent = clock.read()
    return {
        "wall_s": round(spent["wall_s"], 2),
        "cpu_s": round(spent["cpu_s"], 2),
        "queries": queries.count,
        "queries_s": round(queries.seconds, 2),
        "peak_mb": peak_mb(),
        "gave": gave,
        "dearest": queries.dearest(),
    }

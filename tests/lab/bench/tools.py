"""Each tool as a history grows: `python -m tests.lab bench.tools [--json] [--rounds N] [--sizes ...]`.

Readers have 10, 1,000 and 100,000 thumbs, with up to 60 decisions, 40 topics and 200 weights (the histories
of `tests.advisor.tools.test_sizes`). Each tool is asked for the most it may return. Tokens are four bytes of
JSON each. Queries are counted. The time is the best of the rounds by the clock; each round is rolled back.
"""

import argparse
import json
from collections.abc import Sequence

from tests.lab.bench.engine import engine, where

Row = dict[str, object]
# In the place of a time too short for the clock.
NOTHING = 1e-9


def main() -> None:
    """Print the table, or one JSON object."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--sizes", type=int, nargs=3, default=[10, 1_000, 100_000])
    options = parser.parse_args()
    with engine():
        rows = measured(options.sizes, options.rounds)
    report: Row = {
        "command": "python -m tests.lab bench.tools",
        **where(),
        "sizes": options.sizes,
        "rounds": options.rounds,
    }
    report |= {"rows": rows} | worst(rows)
    print(json.dumps(report) if options.json else "\n".join(map(str, [*rows, worst(rows)])))


def measured(sizes: Sequence[int], rounds: int) -> list[Row]:
    """Return a row a tool: its budget, and per size its tokens, queries and milliseconds."""
    from advisor.tools.registry import TOOLS  # noqa: PLC0415
    from tests.advisor.tools.test_sizes import history  # noqa: PLC0415
    from tests.advisor.tools.test_tools import BUDGETS  # noqa: PLC0415
    from tests.conftest import NOW  # noqa: PLC0415

    found: dict[str, list[tuple[float, int, float]]] = {name: [] for name in TOOLS}
    for size in sizes:
        reader = history(size, NOW)
        for name in TOOLS:
            asked = [undone(reader, name) for _ in range(rounds)]
            tokens, queries, _ = asked[0]
            found[name].append((tokens, queries, min(ms for _, _, ms in asked)))
    return [
        {
            "name": name,
            "budget": BUDGETS[name],
            "tokens": [round(tokens) for tokens, _, _ in asked],
            "queries": [queries for _, queries, _ in asked],
            "ms": [round(ms, 1) for _, _, ms in asked],
        }
        for name, asked in found.items()
    ]


def undone(reader: object, name: str) -> tuple[float, int, float]:
    """Measure one call and roll it back, because its writes would change the next answer."""
    from django.db import transaction  # noqa: PLC0415

    from tests.advisor.tools.test_sizes import measured as one  # noqa: PLC0415

    with transaction.atomic():
        found = one(reader, name)
        transaction.set_rollback(True)
    return found


def worst(rows: Sequence[Row]) -> Row:
    """Return the tool that does worst in each of the three respects."""

    def most(figure: "dict[str, float]") -> tuple[float, str]:
        name = max(figure, key=lambda key: figure[key])
        return round(figure[name], 2), name

    lists = {str(r["name"]): r for r in rows}

    def of(name: str, key: str) -> list[float]:
        return list(lists[name][key])  # type: ignore[call-overload]

    times = most({name: of(name, "ms")[2] / max(of(name, "ms")[1], NOTHING) for name in lists})
    share = most({name: max(of(name, "tokens")) / float(str(lists[name]["budget"])) for name in lists})
    more = most({name: of(name, "queries")[2] - of(name, "queries")[1] for name in lists})
    return {
        "ms_times_most": times[0],
        "ms_times_tool": times[1],
        "budget_share_most": share[0],
        "budget_share_tool": share[1],
        "queries_more_most": more[0],
        "queries_more_tool": more[1],
    }


if __name__ == "__main__":
    main()

"""`python -m tests.lab steer`: does a change of the config move the items it names, and no others?"""

import time
from argparse import ArgumentParser
from collections.abc import Sequence
from pathlib import Path

from django.conf import settings

from ranking.common.commands import whole_number
from tests.lab.command import progress, report_end
from tests.lab.histories.data import SMALL
from tests.lab.steer.cases import AG_NEWS, BBC, films, news
from tests.lab.steer.rows import Json, steer_rows, topic_row
from tests.lab.steer.topics import LABELS, precision_row, topic_fields, topic_targets

SEED, POOLS = 11, 10
METRICS = {"pools moved the wrong way": "wrong_way", "order lost among the rest": "order_lost"}


def main(argv: Sequence[str] | None = None) -> int:
    """Run every change on every data set and print a row for each. Return 1 if one moved the wrong way."""
    parser = ArgumentParser(prog="python -m tests.lab steer", description=__doc__)
    parser.add_argument("--seed", type=int, default=SEED, help=f"of the pools ({SEED})")
    parser.add_argument("--pools", type=whole_number(1), default=POOLS, help=f"for each target ({POOLS})")
    parser.add_argument("--json", action="store_true", help="one JSON object on stdout")
    options = vars(parser.parse_args(argv))
    started = time.monotonic()
    rows = _rows(options["seed"], options["pools"])
    result = {
        "command": "python -m tests.lab steer",
        "seed": options["seed"],
        "rows": rows,
        "targets": _targets(rows),
        "seconds": round(time.monotonic() - started, 1),
    }
    return report_end(result, as_json=options["json"])


def _rows(seed: int, pools: int) -> list[Json]:
    folder = Path(settings.TIDINGS_DATA or "")
    rows = []
    for name, read in (
        (SMALL, films),
        *((name, lambda folder, name=name: news(folder, name)) for name in (BBC, AG_NEWS)),
    ):
        if not settings.TIDINGS_DATA or not (folder / name).is_dir():
            reason = f"no {name} below TIDINGS_DATA ({settings.TIDINGS_DATA or 'not set'})"
            progress(f"SKIPPED {name}: {reason}")
            rows.append({"name": name, "skipped": reason})
            continue
        field = read(folder)
        if name in LABELS:
            for kind, variant, one in topic_fields(field, seed=seed):
                row = topic_row(one, f"{name}: {kind}, {variant}", seed=seed, pools=pools)
                rows.append({**row, "variant": variant, **precision_row(one)})
        rows += steer_rows(field, seed=seed, pools=pools)
        progress(f"{name}: done")
    return rows


def _targets(rows: Sequence[Json]) -> list[Json]:
    """More of something never lowers it, less never raises it; the order of the rest stays as it was."""
    measured = [row for row in rows if "skipped" not in row]
    return [
        {
            "metric": metric,
            "target": "0",
            "value": sum(abs(row[key]) for row in measured),
            "met": all(row[key] == 0 for row in measured),
        }
        for metric, key in (
            ("pools moved the wrong way", "wrong_way"),
            ("order lost among the rest", "order_lost"),
        )
        if measured
    ] + topic_targets(measured)

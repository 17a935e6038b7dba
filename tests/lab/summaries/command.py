"""`python -m tests.lab summaries`: extracts and the grounding check, measured on captured feeds."""

import time
from argparse import ArgumentParser
from collections.abc import Sequence
from pathlib import Path

from django.conf import settings

from tests.lab.command import fail, report_end
from tests.lab.summaries.standfirsts import feed_texts, standfirsts
from tests.lab.summaries.trials import WRONG_TEXTS, Row, trials_report

# (row, figure, least)
TARGETS = (
    ("extracts", "citations_exact", 1.0),
    ("extracts", "covered", 0.8),
    ("kept: faithful", "share", 0.75),
    ("caught: another text's summary and citations", "share", 1.0),
    ("caught: another text's summary, exact citations", "share", 0.95),
    ("caught: a number changed", "share", 0.95),
    ("caught: a foreign name", "share", 0.9),
    ("caught: a word of the citation changed", "share", 1.0),
)


def main(argv: Sequence[str] | None = None) -> int:
    """Measure and print. Exit code 1 if a target is missed."""
    options = vars(_parser().parse_args(argv))
    started, folder = time.monotonic(), Path(settings.TIDINGS_DATA or "-") / "feeds"
    samples = list(standfirsts(folder))
    if len(samples) <= WRONG_TEXTS:
        fail(f"There are no feeds in “{folder}”. Set TIDINGS_DATA to a folder that has some.")
    rows = trials_report(samples, list(feed_texts(folder)), options["seed"])
    report = {
        "command": "python -m tests.lab summaries",
        "data": f"{len(samples)} items with a standfirst of their own in feeds/real-*",
        "seed": options["seed"],
        "rows": rows,
        "targets": [_target(rows, *target) for target in TARGETS],
        "seconds": round(time.monotonic() - started, 1),
    }
    return report_end(report, _words(report), as_json=options["json"])


def _parser() -> ArgumentParser:
    parser = ArgumentParser(
        prog="python -m tests.lab summaries",
        description="Measure extracts and the grounding check on the feeds below TIDINGS_DATA.",
    )
    parser.add_argument("--seed", type=int, default=1, help="draws of wrong texts (%(default)s)")
    parser.add_argument("--json", action="store_true", help="one JSON object on stdout")
    return parser


def _target(rows: list[Row], name: str, figure: str, least: float) -> Row:
    value = next(row[figure] for row in rows if row["name"] == name)
    return {"metric": f"{name}, {figure}", "target": f">= {least}", "value": value, "met": value >= least}


def _words(report: Row) -> str:
    lines = [f"{report['data']}, seed {report['seed']}, {report['seconds']} s"]
    for row in report["rows"]:
        figures = (f"{key} {value}" for key, value in row.items() if key != "name")
        lines.append(f"{row['name']:<55}  {', '.join(figures)}")
    for target in report["targets"]:
        mark = "met" if target["met"] else "MISSED"
        lines.append(f"{mark:<7} {target['metric']} {target['target']}: {target['value']}")
    return "\n".join(lines)

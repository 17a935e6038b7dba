"""`manage.py evaluate_summaries`: extracts and the grounding check, measured on captured feeds."""

import json
import time
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser

from digest.grounding_trials import WRONG_TEXTS, Row, trials_report
from digest.management.standfirsts import feed_texts, standfirsts

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


class Command(BaseCommand):
    """Try publishers' own standfirsts as summaries: beside their text, beside others, and falsified."""

    help = "Measure extracts and the grounding check on the feeds below TIDINGS_DATA. Asks no model."

    def add_arguments(self, parser: CommandParser) -> None:
        """Which draws, in which form."""
        parser.add_argument("--seed", type=int, default=1, help="draws of wrong texts (%(default)s)")
        parser.add_argument("--json", action="store_true", help="one JSON object on stdout")

    def handle(self, *args: Any, **options: Any) -> None:
        """Measure, then print; exit code 1 where a target is missed."""
        started, folder = time.monotonic(), Path(settings.TIDINGS_DATA or "-") / "feeds"
        samples = list(standfirsts(folder))
        if len(samples) <= WRONG_TEXTS:
            raise CommandError(
                f"There are no feeds in “{folder}”. Set TIDINGS_DATA to a folder that has some."
            )
        rows = trials_report(samples, list(feed_texts(folder)), options["seed"])
        report = {
            "command": "evaluate_summaries",
            "data": f"{len(samples)} items with a standfirst of their own in feeds/real-*",
            "seed": options["seed"],
            "rows": rows,
            "targets": [_target(rows, *target) for target in TARGETS],
            "seconds": round(time.monotonic() - started, 1),
        }
        self.stdout.write(json.dumps(report) if options["json"] else _words(report))
        if not all(target["met"] for target in report["targets"]):
            raise SystemExit(1)


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

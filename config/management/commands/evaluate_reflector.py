"""`manage.py evaluate_reflector`: does a second round with other readers' evidence earn its place?"""

import json
import sys
import time
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser

from advisor.evaluation.reflector_data import (
    MOVIELENS,
    NEMIG,
    Rating,
    ratings_movielens,
    ratings_nemig,
    ratings_records,
)
from advisor.evaluation.reflector_report import rows_of, targets_of
from config.arguments import whole_number
from ranking.swing import NORMALISED, RAW, SwingSettings

SEED = 42
# Histories that leave room for candidates: NeMig readers made about 25 choices.
HISTORIES = {MOVIELENS: (20, 50), NEMIG: (15,)}
LOADERS = {MOVIELENS: ratings_movielens, NEMIG: ratings_nemig}


class Command(BaseCommand):
    """Judges preference records in two rounds, of open data or a file; exit 1 on a missed target."""

    help = "Evaluate the reflector on MovieLens-100k and NeMig (below TIDINGS_DATA), or on a file of records."

    def add_arguments(self, parser: CommandParser) -> None:
        """The data, the seed and the form of Swing."""
        parser.add_argument("--data", nargs="+", default=[MOVIELENS, NEMIG], choices=[MOVIELENS, NEMIG])
        parser.add_argument(
            "--records", type=Path, metavar="FILE", help="preference records, instead of the open data"
        )
        parser.add_argument(
            "--history", type=whole_number(1), metavar="N", help="thumbs a history holds (20, 50; 15)"
        )
        parser.add_argument("--form", choices=[NORMALISED, RAW], default=settings.SWING_FORM, help="of Swing")
        parser.add_argument("--seed", type=int, default=SEED, help=f"of draws and controls ({SEED})")
        parser.add_argument("--json", action="store_true", help="one JSON object on stdout")

    def handle(self, *args: Any, **options: Any) -> None:
        """Judge, report, and fail where a target is missed."""
        started, rows = time.monotonic(), []
        swing = SwingSettings(
            form=options["form"],
            alpha1=settings.SWING_ALPHA1,
            alpha2=settings.SWING_ALPHA2,
            beta=settings.SWING_BETA,
            threshold=settings.SWING_THRESHOLD,
            top_k=settings.SWING_TOP_K,
        )
        for name, ratings, history in self._data(options):
            rows += rows_of(name, ratings, swing, seed=options["seed"], history=history, say=self._say)
        report = {
            "command": "evaluate_reflector",
            "data": str(options["records"]) if options["records"] else options["data"],
            "seed": options["seed"],
            "form": options["form"],
            "rows": rows,
            "targets": targets_of(rows, null=[f"{NEMIG}, {n} thumbs" for n in (15, options["history"])]),
            "seconds": round(time.monotonic() - started, 1),
        }
        self.stdout.write(json.dumps(report) if options["json"] else _words(report))
        if missed := [target["metric"] for target in report["targets"] if not target["met"]]:
            raise CommandError(f"Targets missed: {'; '.join(missed)}.")

    def _data(self, options: dict[str, Any]) -> list[tuple[str, list[Rating], int]]:
        if options["records"]:
            return [self._records(options["records"], options["history"] or 10)]
        if not settings.TIDINGS_DATA:
            raise CommandError("TIDINGS_DATA names no folder of open data; --records FILE needs none.")
        found = []
        for name in options["data"]:
            folder = Path(settings.TIDINGS_DATA) / name
            try:
                ratings = LOADERS[name](folder)
            except OSError as error:
                raise CommandError(f"{folder} cannot be read ({error.strerror}).") from error
            histories = [options["history"]] if options["history"] else HISTORIES[name]
            found += [(f"{name}, {history} thumbs", ratings, history) for history in histories]
        return found

    def _records(self, path: Path, history: int) -> tuple[str, list[Rating], int]:
        try:
            with path.open(encoding="utf-8-sig", errors="surrogateescape") as lines:
                ratings, bad = ratings_records(lines)
        except OSError as error:
            raise CommandError(f"{path} cannot be read ({error.strerror}).", returncode=2) from error
        for number, code in bad[:20]:
            self._say(f"line {number}: {code}")
        return "records", ratings, history

    def _say(self, words: str) -> None:
        """Progress, on stderr only."""
        sys.stderr.write(f"{words}\n")


def _words(report: dict[str, Any]) -> str:
    lines = []
    for row in report["rows"]:
        figures = ", ".join(f"{key} {value}" for key, value in row.items() if key != "name")
        lines.append(f"{row['name']}\n  {figures}")
    for target in report["targets"]:
        word = "met" if target["met"] else "MISSED"
        lines.append(f"{word}: {target['metric']} {target['target']} (is {target['value']})")
    return "\n".join([*lines, f"{report['seconds']} s"])

"""`manage.py summarise`: an extract for every new text, and a model's summary for the most valuable."""

import json
import time
from dataclasses import asdict
from typing import Any

from django.core.management.base import CommandError, CommandParser
from django.utils import timezone

from digest.llm.caller import PromptUnusable
from digest.summaries.services import SummaryReport, summaries_make
from ranking.common.start import SettingsCommand


class Command(SettingsCommand):
    """Summarise the items of the last week within the day's cap. Existing summaries are kept."""

    help = (
        "Summarise recent items. All get extracts. A model, if one is set up, writes for the most valuable."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        """Add the options: number of texts, and form of output."""
        parser.add_argument(
            "--limit",
            type=int,
            metavar="N",
            help="How many texts a model gets at most. Default: LLM_SUMMARIES_PER_NIGHT. 0 asks no model.",
        )
        parser.add_argument("--json", action="store_true", help="Print one JSON object instead of a report.")

    def handle(self, *args: Any, **options: Any) -> None:
        """Run one round, then print the result."""
        if options["limit"] is not None and options["limit"] < 0:
            raise CommandError("--limit must be 0 or more.", returncode=2)
        started = time.monotonic()
        try:
            report = summaries_make(now=timezone.now(), limit=options["limit"])
        except (PromptUnusable, ValueError) as error:
            raise CommandError(str(error)) from error
        seconds = round(time.monotonic() - started, 3)
        body = {**asdict(report), "cost_usd": float(report.cost_usd), "seconds": seconds}
        self.stdout.write(json.dumps(body) if options["json"] else _words(report))


def _words(report: SummaryReport) -> str:
    lines = [f"{report.extracts} new texts got their extract."]
    if report.wanted:
        refused = sum(report.refused.values())
        lines.append(
            f"{report.asked} of {report.wanted} wanted texts went to a model in {report.calls} calls: "
            f"{report.made} summaries kept, {report.repaired} repaired, {refused} refused; "
            f"${report.cost_usd:.4f}."
        )
    if report.stopped:
        lines.append(f"The round ended early ({report.stopped}): {report.message}")
    return "\n".join(lines)

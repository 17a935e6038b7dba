"""`manage.py sync_memories`: bring the stored memories in line with the insight files and the readers'
answers."""

import json
from argparse import ArgumentParser
from typing import Any

from django.utils import timezone

from advisor.guidance.store import memories_sync
from ranking.common.commands import rejected_exit
from ranking.common.start import SettingsCommand


class Command(SettingsCommand):
    """Exit code 1 if files were refused. They are listed, and the others are stored."""

    help = "Bring curated insights and nameless patterns over all readers into the advisor's memory."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Add the form of the report."""
        parser.add_argument("--json", action="store_true", help="Print one JSON object instead of a report.")

    def handle(self, *args: Any, **options: Any) -> None:
        """Sync and report."""
        report = memories_sync(now=timezone.now())
        self.stdout.write(json.dumps(report) if options["json"] else _words(report))
        rejected_exit(len(report["errors"]), "all other files are stored")


def _words(report: dict[str, Any]) -> str:
    lines = [
        f"{kind}: " + (", ".join(f"{n} {what}" for what, n in report[kind].items() if n) or "none")
        for kind in ("insights", "patterns")
    ]
    return "\n".join([*lines, *(f"{e['file']}: {e['message']} [{e['code']}]" for e in report["errors"])])

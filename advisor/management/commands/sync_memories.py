"""`manage.py sync_memories`: make the stored memories what the insight files and the readers' answers say."""

import json
from argparse import ArgumentParser
from typing import Any

from django.utils import timezone

from advisor.guidance.store import memories_sync
from ranking.common.start import SettingsCommand


class Command(SettingsCommand):
    """Exit with 0 even if files were refused. They are listed, and the others are stored."""

    help = "Sync curated insights and anonymised patterns over readers into the advisor's memory."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """In which form to report."""
        parser.add_argument("--json", action="store_true", help="print one JSON object")

    def handle(self, *args: Any, **options: Any) -> None:
        """Sync and report."""
        report = memories_sync(now=timezone.now())
        if options["json"]:
            self.stdout.write(json.dumps(report))
            return
        for kind in ("insights", "patterns"):
            counts = ", ".join(f"{count} {what}" for what, count in report[kind].items())
            self.stdout.write(f"{kind}: {counts}")
        for error in report["errors"]:
            self.stdout.write(f"{error['file']}: {error['code']}: {error['message']}")

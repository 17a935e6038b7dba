"""`manage.py seed_demo`: fill the database with the demo's feeds and readers."""

import json
from argparse import ArgumentParser
from typing import Any

from django.core.management.base import CommandError
from django.utils import timezone

from config.demo.people import PASSWORD, READERS
from config.demo.seed import DemoNotAllowed, demo_seed
from ranking.common.start import SettingsCommand


class Command(SettingsCommand):
    """Seed fictional feeds and three readers. A second call only adds newly published items."""

    help = "Seed the demo: made-up feeds, three readers with a month of thumbs, and an operator."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Add `--json`."""
        parser.add_argument("--json", action="store_true", help="Print one JSON object instead of a report.")

    def handle(self, *args: Any, **options: Any) -> None:
        """Seed and print the totals. Exit code 1 if the demo is refused."""
        try:
            seeded = demo_seed(now=timezone.now())
        except DemoNotAllowed as refused:
            raise CommandError(str(refused)) from refused
        if options["json"]:
            self.stdout.write(json.dumps(seeded.as_dict()))
            return
        self.stdout.write(f"{seeded.feeds} feeds, {seeded.items_seen} items, {seeded.items_new} of them new.")
        for person in READERS:
            self.stdout.write(f"{person.name}: {seeded.thumbs[person.name]} thumbs, password {PASSWORD}")

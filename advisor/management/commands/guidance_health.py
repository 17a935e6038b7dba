"""`manage.py guidance_health`: whether guidance does its work, in one pass."""

import json
import sys
from argparse import ArgumentParser
from dataclasses import asdict
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.db import DatabaseError
from django.utils import timezone

from advisor.guidance.health import State, guidance_checks, worst

WORDS = {State.FINE: "fine", State.LOOK: "look", State.BROKEN: "broken"}


class Command(BaseCommand):
    """Exit code 0 if all is fine, 1 if something should be looked at, 2 if something is broken."""

    help = "Check guidance: errors, time, stages, hold-out, packets, memories, rules, exported notes."
    # A bad tunable is a check of its own here, with the rest of the report around it.
    requires_system_checks = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        """In which form."""
        parser.add_argument("--json", action="store_true", help="print one JSON object")

    def handle(self, *args: Any, **options: Any) -> None:
        """Check, print, and exit with the worst state."""
        try:
            checks = guidance_checks(now=timezone.now())
        except DatabaseError as error:
            words = f"broken  the database does not answer ({type(error).__name__}). See DATABASE_URL."
            raise CommandError(words, returncode=int(State.BROKEN)) from error
        state = worst(checks)
        if options["json"]:
            rows = [{**asdict(check), "state": WORDS[check.state]} for check in checks]
            self.stdout.write(json.dumps({"state": WORDS[state], "checks": rows}))
        else:
            for check in checks:
                self.stdout.write(f"{WORDS[check.state]:<6}  {check.code:<16}  {check.found}")
                if check.todo and check.state is not State.FINE:
                    self.stdout.write(f"{'':<26}{check.todo}")
        if state:
            sys.exit(int(state))

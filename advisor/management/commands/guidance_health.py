"""`manage.py guidance_health`: whether guidance does its work, in one pass."""

import json
import sys
from argparse import ArgumentParser
from typing import Any

from django.core.management.base import CommandError
from django.db import DatabaseError
from django.utils import timezone

from advisor.guidance.health import State, guidance_checks, worst
from ranking.common.start import JsonCommand


class Command(JsonCommand):
    """Exit code 0 if all is fine, 1 if something should be looked at, 2 if something is broken."""

    help = "Check guidance: its errors, time, hold-out, memories and rules, and the exported note."
    # A bad tunable is a check of its own here, so that the rest of the report still appears.
    requires_system_checks = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Add the form of the report."""
        parser.add_argument("--json", action="store_true", help="Print one JSON object instead of a report.")

    def handle(self, *args: Any, **options: Any) -> None:
        """Check, print, and exit with the worst state."""
        try:
            checks = guidance_checks(now=timezone.now())
        except DatabaseError as error:
            words = f"broken  the database does not answer ({type(error).__name__}). See DATABASE_URL."
            raise CommandError(words, returncode=int(State.BROKEN)) from error
        rows = [{**check._asdict(), "state": check.state.name.lower()} for check in checks]
        state = worst(checks)
        if options["json"]:
            self.stdout.write(json.dumps({"state": state.name.lower(), "checks": rows}))
            rows = []
        for row in rows:
            self.stdout.write("{state:<6}  {code:<16}  {found}".format(**row))
            if row["todo"]:
                self.stdout.write(f"{'':<26}{row['todo']}")
        if state:
            sys.exit(int(state))

"""`manage.py run_advisor`: suggestions for one reader, or for all with enough feedback."""

import json
import sys
import time
from argparse import ArgumentParser
from collections.abc import Sequence
from operator import attrgetter
from typing import Any
from uuid import UUID

from django.utils import timezone

from advisor.models import Run
from advisor.run.scheduling import Report, reader_advise, readers_lacking_feedback
from advisor.run.status_words import operator_message
from digest.models import Reader
from digest.requests import reader_arguments_add, readers_named
from ranking.common.isolation import Failures, failures_collected, isolate_batches
from ranking.common.start import SettingsCommand


class Command(SettingsCommand):
    """Exit codes: 0 done (skipped readers too), 1 a run or its request failed, 2 wrong usage."""

    help = "Run the advisor for one reader or for all, for each at most once a week."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Add the readers and the form of the report."""
        reader_arguments_add(parser)
        parser.add_argument(
            "--force",
            action="store_true",
            help="Do not wait for the week to pass. There is still at most one run a day.",
        )
        parser.add_argument("--json", action="store_true", help="Print one JSON object instead of a report.")
        parser.add_argument("--quiet", action="store_true", help="Print neither progress nor summary.")

    def handle(self, *args: Any, **options: Any) -> None:
        """Run and report; exit with 1 when a run failed or timed out."""
        began = time.monotonic()
        readers = readers_named(options["user_id"])
        reports: list[Report] = []
        with failures_collected() as failed:
            lacking = _lacking(readers) if options["all_users"] else {}
            for n, reader in enumerate(readers, start=1):
                self._progress(n, len(readers), reader, options["quiet"])
                now, missing = timezone.now(), lacking.get(reader.pk, "")
                report = reader_advise(
                    reader=reader, now=now, force=options["force"], missing_feedback=missing
                )
                reports.append({"username": reader.username, **report})
        self._print(reports, failed, round(time.monotonic() - began, 3), options)
        broken = (Run.Status.AGENT_ERROR, Run.Status.AGENT_TIMEOUT)
        if failed.count or any(report["status"] in broken for report in reports):
            sys.exit(1)

    def _progress(self, n: int, total: int, reader: Reader, quiet: bool) -> None:
        if not quiet and self.stderr.isatty():
            self.stderr.write(f"\r{n}/{total} {reader.username:.40}\033[K", ending="" if n < total else "\n")

    def _print(
        self, reports: list[Report], failed: Failures, seconds: float, options: dict[str, Any]
    ) -> None:
        if options["json"]:
            whole = {"runs": reports, **failed.as_dict(), "seconds": seconds}
            self.stdout.write(json.dumps(whole, ensure_ascii=False))
        elif not options["quiet"]:
            for report in reports:
                words = operator_message(
                    report["username"], report["status"], report["suggestions_created"], report["reason"]
                )
                errors = f" Models that failed: {', '.join(report['model_errors'])}."
                self.stdout.write(f"{report['username']}: {words}{errors if report['model_errors'] else ''}")


def _lacking(readers: Sequence[Reader]) -> dict[UUID, str]:
    """Return the missing feedback by reader. Read all together or, if that fails, each alone."""

    def missing(some: Sequence[Reader]) -> dict[UUID, str]:
        return readers_lacking_feedback(readers=some, now=timezone.now())

    batches = isolate_batches(
        readers,
        missing,
        event="advisor_request_failed",
        size=max(1, len(readers)),
        key_of=attrgetter("pk"),
    )
    return {reader: message for batch in batches for reader, message in batch.items()}

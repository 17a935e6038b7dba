"""`manage.py export_records`: readers' histories as preference records, one Yes/No question a line."""

from typing import Any

from django.core.management.base import CommandError, CommandParser

from digest.feedback.transfer import HISTORY_ROWS, QUESTIONS_MAX, records_export
from digest.requests import reader_arguments_add, readers_named
from ranking.common.isolation import READER, failures_collected, isolate
from ranking.common.start import SettingsCommand


class Command(SettingsCommand):
    """Write preference records to stdout: each reader's newest ratings as questions, with the ratings before.

    A record names its reader only by a hash of the history. Titles and sources appear as they are. Exit code
    1 if it failed for a reader; the records of the others are written.
    """

    help = "Export readers' histories as JSON Lines of yes-or-no questions and their answers."

    def add_arguments(self, parser: CommandParser) -> None:
        """Add the options: readers, and how much of each."""
        reader_arguments_add(parser)
        parser.add_argument(
            "--history",
            type=int,
            default=HISTORY_ROWS,
            help="How many thumbs stand before each question. Default: 10.",
        )
        parser.add_argument(
            "--questions",
            type=int,
            default=QUESTIONS_MAX,
            help="How many questions are asked about each reader. Default: 5.",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        """Write every record."""
        if options["history"] < 1 or options["questions"] < 1:
            raise CommandError("--history and --questions must be at least 1.", returncode=2)
        with failures_collected() as failed:
            for reader in readers_named(options["user_id"]):
                with isolate(READER, reader.pk, "records_export_failed"):
                    records = records_export(
                        reader_id=reader.pk, history=options["history"], questions=options["questions"]
                    )
                    for record in records:
                        self.stdout.write(record)
        failed.exit_if_any()

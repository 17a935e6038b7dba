"""`manage.py export_opml`: a reader's feeds as an OPML list."""

from typing import Any
from uuid import UUID

from django.core.management.base import BaseCommand, CommandParser
from django.utils import timezone

from digest.readers import readers_named
from digest.services.opml import opml_export


class Command(BaseCommand):
    """Write one reader's feeds, with their folders, to standard output."""

    help = "Write one reader's feeds as OPML to standard output."

    def add_arguments(self, parser: CommandParser) -> None:
        """Whose list it is."""
        parser.add_argument("--user-id", type=UUID, metavar="UUID", required=True, help="the reader")

    def handle(self, *args: Any, **options: Any) -> None:
        """Export."""
        (reader,) = readers_named(options["user_id"])
        self.stdout.write(opml_export(reader=reader, now=timezone.now()).decode(), ending="")

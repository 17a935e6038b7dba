"""`manage.py export_opml`: a reader's feeds as an OPML list."""

from typing import Any

from django.core.management.base import BaseCommand, CommandParser
from django.utils import timezone

from digest.presenters import href_of
from digest.readers import reader_argument_add, readers_named
from digest.selectors.subscriptions import subscriptions_of
from digest.services.opml import opml_export


class Command(BaseCommand):
    """Write one reader's feeds, with their folders, to standard output."""

    help = "Write one reader's feeds as OPML to standard output."

    def add_arguments(self, parser: CommandParser) -> None:
        """Whose list it is."""
        reader_argument_add(parser)

    def handle(self, *args: Any, **options: Any) -> None:
        """Export."""
        (reader,) = readers_named(options["user_id"])
        self.stdout.write(opml_export(reader=reader, now=timezone.now()).decode(), ending="")
        rows = subscriptions_of(reader_id=reader.pk)
        if left := sum(not href_of(row.feed.url) for row in rows):
            said = "1 feed has no address and is" if left == 1 else f"{left} feeds have no address and are"
            self.stderr.write(f"{said} left out.")

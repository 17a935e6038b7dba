"""`manage.py export_opml`: a reader's feeds as an OPML list."""

from typing import Any

from django.core.management.base import CommandParser
from django.utils import timezone

from digest.feeds.selectors import subscriptions_of
from digest.requests import reader_argument_add, readers_named
from digest.sources.subscriptions import is_unlistable, opml_export
from ranking.common.start import SettingsCommand


class Command(SettingsCommand):
    """Write one reader's feeds, with their folders, to standard output."""

    help = "Write one reader's feeds as OPML to standard output."

    def add_arguments(self, parser: CommandParser) -> None:
        """Add the option: the reader."""
        reader_argument_add(parser)

    def handle(self, *args: Any, **options: Any) -> None:
        """Export."""
        (reader,) = readers_named(options["user_id"])
        self.stdout.write(opml_export(reader=reader, now=timezone.now()).decode(), ending="")
        rows = subscriptions_of(reader_id=reader.pk)
        if left := sum(is_unlistable(row.feed) for row in rows):
            feeds = "1 feed has no address and is" if left == 1 else f"{left} feeds have no address and are"
            self.stderr.write(f"{feeds} left out.")

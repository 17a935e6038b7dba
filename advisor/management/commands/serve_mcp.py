"""`manage.py serve_mcp`: serve the advisor's tools for one reader to an MCP client on stdio."""

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import CommandError

from advisor.mcp_server import SessionRefused, serve
from digest.requests import readers_named
from ranking.common.start import SettingsCommand


class Command(SettingsCommand):
    """Serve for manual use. Only the protocol goes to stdout; a refusal goes to stderr, exit code 1."""

    help = "Serve the advisor's tools for one reader over MCP on stdio. Nothing here accepts a suggestion."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Add the reader."""
        parser.add_argument(
            "--reader", required=True, metavar="NAME|UUID", help="The reader, by id or username."
        )

    def handle(self, *args: Any, **options: Any) -> None:
        """Serve until the client disconnects."""
        try:
            (reader,) = readers_named(options["reader"])
            serve(reader=reader)
        except SessionRefused as refused:
            raise CommandError(str(refused)) from None

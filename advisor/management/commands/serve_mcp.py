"""`manage.py serve_mcp`: serve the advisor's tools for one reader to an MCP client on stdio."""

from argparse import ArgumentParser
from contextlib import suppress
from typing import Any
from uuid import UUID

from django.core.management.base import CommandError

from advisor.mcp_server import SessionRefused, serve
from digest.models import Reader
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
            serve(reader=_reader(options["reader"]))
        except SessionRefused as refused:
            raise CommandError(str(refused)) from None


def _reader(named: str) -> Reader:
    """The reader of that name or id. Raises `CommandError`."""
    found = Reader.objects.filter(username=named).first()
    with suppress(ValueError):
        found = found or Reader.objects.filter(pk=UUID(named)).first()
    if found is None:
        raise CommandError(f"There is no reader “{named}”. Names and ids are in /admin/ under readers.")
    return found

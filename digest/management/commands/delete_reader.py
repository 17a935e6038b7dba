"""`manage.py delete_reader`: delete one account with all data of its reader."""

from typing import Any

from django.core.management.base import CommandError, CommandParser

from digest.accounts.services import deleted_words, reader_delete
from digest.errors import DigestError
from digest.requests import reader_argument_add, readers_named
from ranking.common.start import SettingsCommand


class Command(SettingsCommand):
    """Delete a reader as the reader could on the account page.

    Asks for the username unless `--yes` gives it.
    """

    help = "Delete one reader with all their data. What models cost for them stays, without their name."

    def add_arguments(self, parser: CommandParser) -> None:
        """Add the options: the reader, and the username that confirms."""
        reader_argument_add(parser)
        parser.add_argument(
            "--yes", metavar="USERNAME", help="Type the reader's username here, so that nothing is asked."
        )

    def handle(self, *args: Any, **options: Any) -> None:
        """Ask for confirmation, delete, and list the deleted rows."""
        (reader,) = readers_named(options["user_id"])
        name = reader.username
        question = f"Type the username of {options['user_id']} ({reader.pk}) to delete the account: "
        typed = options["yes"] or self._ask(question)
        if typed != name:
            raise CommandError("That is not this reader's username. Nothing was deleted.", returncode=2)
        try:
            gone = reader_delete(reader=reader)
        except DigestError as error:
            raise CommandError(error.message) from error
        self.stdout.write(f"{name} is deleted.")
        for name_of_kind, count in deleted_words(gone):
            self.stdout.write(f"  {name_of_kind}: {count}")

    def _ask(self, question: str) -> str:
        """Return the typed answer. Raises `CommandError` if there is no terminal."""
        self.stderr.write(question, style_func=str, ending="")
        try:
            return input()
        except EOFError:
            raise CommandError("Nobody is there to be asked: give --yes USERNAME.", returncode=2) from None

"""`manage.py export_guidance`: the figures of guidance as a Markdown note."""

from typing import Any

from django.core.management.base import CommandError
from django.utils import timezone

from advisor.guidance.health import export_folder, guidance_export
from ranking.common.start import SettingsCommand


class Command(SettingsCommand):
    """Exit with 0 if all is written, with 1 if the folder cannot be written or has a foreign file."""

    help = "Write the dashboard of guidance as a Markdown note."

    def handle(self, *args: Any, **options: Any) -> None:
        """Write the note, even if the export is switched off."""
        try:
            path = guidance_export(now=timezone.now())
        except OSError as error:
            reason = error.strerror or error
            raise CommandError(f"Nothing was written to {export_folder()}: {reason}") from None
        self.stdout.write(f"{path} written.")

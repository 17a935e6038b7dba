"""`manage.py export_guidance`: the figures of guidance as a Markdown note."""

from typing import Any

from django.core.management.base import CommandError
from django.utils import timezone

from advisor.guidance.health import export_folder, guidance_export
from ranking.common.start import SettingsCommand


class Command(SettingsCommand):
    """Exit code 0 once all is written, 1 where the folder cannot be written or holds another's file."""

    help = "Write the dashboard of guidance as a Markdown note."

    def handle(self, *args: Any, **options: Any) -> None:
        """Write, whether or not export is switched on: whoever calls this wants the note."""
        try:
            path = guidance_export(now=timezone.now())
        except OSError as error:
            reason = error.strerror or error
            raise CommandError(f"Nothing was written to {export_folder()}: {reason}") from None
        self.stdout.write(f"{path} written.")

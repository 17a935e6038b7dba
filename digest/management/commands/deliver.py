"""`manage.py deliver`: send the mail that is due now."""

import json
import time
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.utils import timezone

from digest.mail_way import mail_goes_out
from digest.services.delivery import digests_deliver


class Command(BaseCommand):
    """Send each digest whose hour has come and which was not sent yet; exit code 1 without a mail server."""

    help = "Send the digests whose hour has come and which were not sent yet."

    def add_arguments(self, parser: CommandParser) -> None:
        """In which form to report."""
        parser.add_argument("--json", action="store_true", help="one JSON object on stdout")

    def handle(self, *args: Any, **options: Any) -> None:
        """Send, then print the counts; an address that fails is reported and is no failure."""
        if not mail_goes_out():
            raise CommandError("EMAIL_URL names no mail server, so there is nobody to hand mail to. Set it.")
        began = time.monotonic()
        report = digests_deliver(now=timezone.now())
        errors = [{"reader_id": reader, "message": message} for reader, message in report.errors]
        result = {**report.as_dict(), "errors": errors, "seconds": round(time.monotonic() - began, 3)}
        if options["json"]:
            self.stdout.write(json.dumps(result))
        else:
            counts = ", ".join(f"{count} {name}" for name, count in report.as_dict().items())
            self.stdout.write("\n".join([counts, *(f"{e['reader_id']}  {e['message']}" for e in errors)]))
        if report.down:
            raise CommandError(f"No mail server could be reached: {report.down}")

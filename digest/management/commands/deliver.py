"""`manage.py deliver`: send the mail that is due now."""

import json
import time
from typing import Any

from django.core.management.base import CommandError, CommandParser
from django.utils import timezone

from digest.mail.due import deliveries_waiting
from digest.mail.render import mail_goes_out
from digest.mail.send import ATTEMPTS_MAX, RETRY_AFTER, DeliveryReport, digests_deliver
from ranking.common.start import FailureReported, SettingsCommand


class Command(SettingsCommand):
    """Send every digest that is due and not yet sent.

    Exit code 1 without a mail server, or if every mail failed.
    """

    help = "Send the digests by mail whose hour has come and that were not sent yet."

    def add_arguments(self, parser: CommandParser) -> None:
        """Add the option: form of output."""
        parser.add_argument("--json", action="store_true", help="Print one JSON object instead of a report.")

    def handle(self, *args: Any, **options: Any) -> None:
        """Send, then print the counts.

        If only some mails fail, they are reported and the command succeeds.
        """
        if not mail_goes_out():
            raise CommandError("EMAIL_URL names no mail server, so mail cannot be sent. Set it.")
        began, now = time.monotonic(), timezone.now()
        report = digests_deliver(now=now)
        waiting = deliveries_waiting(since=now - RETRY_AFTER, attempts_max=ATTEMPTS_MAX)
        errors = [{"reader_id": reader, "message": message} for reader, message in report.errors]
        result = {
            **report.as_dict(),
            "waiting": waiting,
            "errors": errors,
            "seconds": round(time.monotonic() - began, 3),
        }
        if options["json"]:
            self.stdout.write(json.dumps(result))
        else:
            failed = [f"  reader {e['reader_id']}: {e['message']}" for e in errors]
            self.stdout.write("\n".join([_words(report, waiting), *failed]))
        if report.down:
            raise FailureReported(f"No mail server could be reached: {report.down}")
        if report.due and report.failed >= report.due:
            raise FailureReported("Every mail that was due failed.")


def _words(report: DeliveryReport, waiting: int) -> str:
    """Return the counts in words, without zeros."""
    parts = {
        "{n} sent": report.sent,
        "{n} had nothing new to show": report.empty,
        "{n} failed": report.failed,
        "{n} readers have no confirmed address": report.skipped,
        "{n} left for the next run": report.left,
        f"{{n}} waiting for another try in {RETRY_AFTER.seconds // 60} minutes": waiting,
    }
    counts = [words.format(n=n) for words, n in parts.items() if n]
    return f"{report.due} mails due" + (f": {', '.join(counts)}." if counts else ".")

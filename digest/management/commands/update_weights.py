"""`manage.py update_weights`: learn source weights once."""

import json
import time
from datetime import datetime
from typing import Any

from django.core.management.base import CommandParser
from django.utils import timezone

from digest.feedback.selectors import feedback_source_counts
from digest.feedback.services import weights_update
from digest.models import Reader
from digest.requests import reader_arguments_add, readers_named
from ranking.common.isolation import READER, failures_collected, isolate
from ranking.common.start import SettingsCommand

Json = dict[str, Any]


class Command(SettingsCommand):
    """Learn source weights from the readers' ratings, at most once per reader and UTC day.

    Exit code 1 if it failed for a reader; the others are done.
    """

    help = "Learn source weights from thumbs in small steps, at most once per reader and day."

    def add_arguments(self, parser: CommandParser) -> None:
        """Add the options: readers, and form of output."""
        reader_arguments_add(parser)
        parser.add_argument("--json", action="store_true", help="Print one JSON object instead of a report.")

    def handle(self, *args: Any, **options: Any) -> None:
        """Run the cycle for each reader, then print."""
        started, now = time.monotonic(), timezone.now()
        readers: list[Json] = []
        with failures_collected() as failed:
            for reader in readers_named(options["user_id"]):
                with isolate(READER, reader.pk, "weights_update_failed"):
                    readers.append(_learn(reader, now))
        result = {"readers": readers, **failed.as_dict(), "seconds": round(time.monotonic() - started, 3)}
        self.stdout.write(json.dumps(result) if options["json"] else _table(readers))
        failed.exit_if_any()


def _learn(reader: Reader, now: datetime) -> Json:
    moved = weights_update(reader_id=reader.pk, now=now)
    sources = len(feedback_source_counts(reader_id=reader.pk))
    return {"reader_id": str(reader.pk), "username": reader.username, "sources": sources, "moved": moved}


def _table(readers: list[Json]) -> str:
    rows = [
        f"{row['username']}: the weights of {row['moved']} of {row['sources']} rated sources moved"
        for row in readers
    ]
    return "\n".join(rows) or "There are no active readers."

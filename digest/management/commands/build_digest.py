"""`manage.py build_digest`: build and list the digests of a day."""

import json
from datetime import date, datetime
from typing import Any

from django.core.management.base import CommandError, CommandParser
from django.utils import timezone

from digest.daily.selectors import digest_impressions
from digest.daily.services import digest_build, digest_rank
from digest.days import day_of
from digest.entities import DIGEST_SIZE
from digest.items.selectors import item_urls
from digest.models import Impression, Reader
from digest.requests import date_argument, reader_arguments_add, readers_named
from ranking.common.isolation import READER, failures_collected, isolate
from ranking.common.start import SettingsCommand
from ranking.selectors import config_effective

Json = dict[str, Any]


class Command(SettingsCommand):
    """Build the digests of a day and list them. The default day is today in each reader's zone.

    Exit code 1 if it failed for a reader; the others are built.
    """

    help = "Build the digests of a day and list them. --plain lists the bare order by score, storing nothing."

    def add_arguments(self, parser: CommandParser) -> None:
        """Add the options: readers, day, number of entries, form of output."""
        reader_arguments_add(parser)
        parser.add_argument(
            "--date", type=date_argument, metavar="YYYY-MM-DD", help="The day, as 2026-03-18. Default: today."
        )
        parser.add_argument(
            "--limit",
            type=int,
            metavar="N",
            help=f"List the first N entries. Default: all, or {DIGEST_SIZE} with --plain.",
        )
        parser.add_argument(
            "--plain", action="store_true", help="List the bare order by score, and store nothing."
        )
        parser.add_argument("--json", action="store_true", help="Print one JSON object instead of a report.")

    def handle(self, *args: Any, **options: Any) -> None:
        """Build or rank, then print."""
        if options["limit"] is not None and options["limit"] < 1:
            raise CommandError("--limit must be at least 1.", returncode=2)
        now = timezone.now()
        entries_of = _rank_entries if options["plain"] else _build_entries
        digests: list[Json] = []
        with failures_collected() as failed:
            for reader in readers_named(options["user_id"]):
                with isolate(READER, reader.pk, "digest_build_failed"):
                    date = options["date"] or day_of(now, reader.zone)
                    digests.append(entries_of(reader, date, now, options["limit"]))
        result = {"digests": digests, **failed.as_dict()}
        self.stdout.write(json.dumps(result) if options["json"] else _table(digests))
        failed.exit_if_any()


def _build_entries(reader: Reader, day: date, now: datetime, limit: int | None) -> Json:
    """Build and store the digest; return its first `limit` entries as stored."""
    digest = digest_build(reader=reader, date=day, now=now)
    entries = [
        {
            "rank": shown.rank,
            "item_id": shown.item_id,
            "url": shown.item.address,
            "title": shown.item.title,
            "source": shown.item.source_id,
            "score": shown.score,
            "parts": shown.parts,
            "slot": shown.slot,
            "propensity": shown.propensity,
        }
        for shown in digest_impressions(digest=digest, now=now)[:limit]
    ]
    return {**_digest(reader, day, digest.config_version, entries), "left_out": digest.left_out}


def _rank_entries(reader: Reader, day: date, now: datetime, limit: int | None) -> Json:
    """Return the order by score alone: no source shares, no stories, no novelty. Stores nothing."""
    effective = config_effective(reader_id=reader.pk)
    scores = digest_rank(reader=reader, date=day, now=now, effective=effective)[: limit or DIGEST_SIZE]
    urls = item_urls(item_ids=[score.candidate.item_id for score in scores])
    entries = [
        {
            "rank": rank,
            "item_id": score.candidate.item_id,
            "url": urls[score.candidate.item_id],
            "title": score.candidate.title,
            "source": score.candidate.source,
            "score": score.total,
            "parts": score.parts.as_dict(),
            "slot": Impression.Slot.RANKED.value,
            "propensity": 1.0,
        }
        for rank, score in enumerate(scores, start=1)
    ]
    return _digest(reader, day, effective.config.version, entries)


def _digest(reader: Reader, day: date, version: int, entries: list[Json]) -> Json:
    return {
        "reader_id": str(reader.pk),
        "username": reader.username,
        "date": day.isoformat(),
        "config_version": version,
        "entries": entries,
    }


def _table(digests: list[Json]) -> str:
    lines = []
    for digest in digests:
        version = digest["config_version"]
        lines.append(f"{digest['date']}  {digest['username']}, settings version {version}")
        lines += [_line(entry) for entry in digest["entries"]] + [""]
    return "\n".join(lines[:-1])


def _line(entry: Json) -> str:
    return f"{entry['rank']:>4}  {entry['score']:6.3f}  {entry['source'][:24]:<24}  {entry['title'][:70]}"

"""`manage.py fetch_feeds`: read feeds over HTTP, or a folder of documents, into the database."""

import json
import sys
import time
from math import ceil
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.utils import timezone

from digest.databases import database_told
from digest.identity import canonical_url
from digest.reports import FetchReport
from digest.services.fetching import feeds_fetch
from digest.services.folders import folder_ingest
from digest.services.ingest import feed_ensure


class Command(BaseCommand):
    """Fetch the feeds that are due (or those named) and keep their items. Refused feeds are reported."""

    help = "Fetch the feeds that are due, the feeds named, or a folder of feed documents."

    def add_arguments(self, parser: CommandParser) -> None:
        """Where to read from, and in which form to report."""
        where = parser.add_mutually_exclusive_group()
        where.add_argument("--from-dir", type=Path, metavar="PATH", help="read every document in this folder")
        where.add_argument("--feed", nargs="+", metavar="URL", help="fetch these feeds, due or not")
        parser.add_argument("--json", action="store_true", help="one JSON object on stdout")

    def handle(self, *args: Any, **options: Any) -> None:
        """Fetch, then report."""
        started, now = time.monotonic(), timezone.now()
        self.stderr.write(f"Into: {database_told()}.", style_func=str)
        watched = sys.stderr.isatty()
        progress = self._progress if watched else _quiet
        if options["from_dir"]:
            if not options["from_dir"].is_dir():
                raise CommandError(f"There is no folder “{options['from_dir']}”.", returncode=2)
            report = folder_ingest(folder=options["from_dir"], now=now, progress=progress)
        else:
            feeds = options["feed"] and [feed_ensure(url=url, now=now) for url in _checked(options["feed"])]
            waiting = self._waiting if watched else _untold
            report = feeds_fetch(now=now, feeds=feeds or None, progress=progress, waiting=waiting)
        seconds = round(time.monotonic() - started, 3)
        whole = json.dumps(report.as_dict() | {"seconds": seconds})
        self.stdout.write(whole if options["json"] else _words(report, seconds))

    def _progress(self, feed: str) -> None:
        self.stderr.write(f"  {feed}"[:110])

    def _waiting(self, host: str, seconds: float) -> None:
        self.stderr.write(f"  waiting {ceil(seconds)} s for {host}, which wants a pause"[:110])


def _untold(host: str, seconds: float) -> None:
    """Say nothing of a wait where nobody watches."""


def _quiet(feed: str) -> None:
    """Show no progress where nobody watches."""


def _checked(urls: list[str]) -> list[str]:
    """Web addresses without repeats; anything else is a mistake on the command line."""
    for url in urls:
        if not canonical_url(url).startswith("http"):
            raise CommandError(f"“{url}” is not a web address; it should start with https://.", returncode=2)
    return list(dict.fromkeys(urls))


def _words(report: FetchReport, seconds: float) -> str:
    sums = report.as_dict()
    head = "{ok} of {feeds} feeds read, {items_new} new items of {items_seen} seen".format(**sums)
    if report.unchanged:
        head += f", {report.unchanged} feeds unchanged"
    if report.left:
        head += f", {report.left} left for the next round"
    lines = [f"  {feed}: {problem.message} [{problem.code}]" for feed, problem in report.errors]
    return "\n".join([f"{head}, {seconds} s.", *lines])

"""`manage.py fetch_feeds`: fetch feeds and newsletters, or read a folder of documents."""

import json
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict
from datetime import UTC, datetime, timedelta
from math import ceil
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError, CommandParser
from django.db.models import Q
from django.utils import timezone

from digest.feeds.addresses import feed_address
from digest.feeds.entities import FetchReport
from digest.feeds.fetch import host_of
from digest.feeds.fetch_batch import feeds_fetch, folder_ingest
from digest.feeds.ingest import feeds_current
from digest.feeds.pauses import feed_pauses
from digest.models import Feed
from digest.sources.newsletters import NewslettersReport, newsletters_are_on, newsletters_fetch
from ranking.common.commands import database_label, near_words
from ranking.common.start import FailureReported, SettingsCommand


class Command(SettingsCommand):
    """Fetch the feeds that are due, or the named ones, and store their items. Failures are reported.

    Exit code 1 if every feed failed, or if one that `--feed` names failed or was not fetched. Exit code 2 if
    there is no feed that it names.
    """

    help = "Fetch newsletters and the feeds that are due, or the feeds named, or read a folder of documents."

    def add_arguments(self, parser: CommandParser) -> None:
        """Add the options: the feeds or folder to read, and the form of output."""
        where = parser.add_mutually_exclusive_group()
        where.add_argument(
            "--from-dir", type=Path, metavar="PATH", help="Read every document in this folder instead."
        )
        where.add_argument(
            "--feed",
            nargs="+",
            metavar="URL",
            help="Fetch these feeds, which readers have, due or not.",
        )
        parser.add_argument("--json", action="store_true", help="Print one JSON object instead of a report.")

    def handle(self, *args: Any, **options: Any) -> None:
        """Fetch, then report."""
        started, now = time.monotonic(), timezone.now()
        self.stderr.write(f"Into: {database_label()}.", style_func=str)
        watched = sys.stderr.isatty()
        progress = self._progress if watched else _no_progress
        letters, named, paused = None, _feeds_named(options["feed"] or []), list[str]()
        if options["from_dir"]:
            if not options["from_dir"].is_dir():
                raise CommandError(f"There is no folder “{options['from_dir']}”.", returncode=2)
            report = folder_ingest(folder=options["from_dir"], now=now, progress=progress)
        else:
            pauses = feed_pauses(feeds=named, now=now)
            paused = [_pause_words(host_of(one.address), pauses[one.pk]) for one in named if one.pk in pauses]
            asked = [feed for feed in named if feed.pk not in pauses]
            waiting = self._waiting if watched else _no_waiting
            report = feeds_fetch(now=now, feeds=asked if named else None, progress=progress, waiting=waiting)
            if not named and newsletters_are_on():
                letters = newsletters_fetch(now=timezone.now())
        seconds = round(time.monotonic() - started, 3)
        if named:
            at = timezone.now()
            paused += [_pause_words(host, at + timedelta(seconds=s)) for host, s in report.pauses_s.items()]
        read = {"newsletters": asdict(letters)} if letters else {}
        whole = json.dumps(report.as_dict() | read | {"seconds": seconds, "paused": paused})
        text = _words(report, letters, seconds, is_named=bool(named))
        self.stdout.write(whole if options["json"] else text)
        _end(report, paused, named=len(named))

    def _progress(self, feed: str) -> None:
        self.stderr.write(f"  {feed}"[:110])

    def _waiting(self, host: str, seconds: float) -> None:
        self.stderr.write(f"  waiting {ceil(seconds)} s for {host} (rate limit)"[:110])


def _no_waiting(host: str, seconds: float) -> None:
    """Do nothing: without a terminal no waiting is shown."""


def _no_progress(feed: str) -> None:
    """Do nothing: without a terminal no progress is shown."""


def _feeds_named(urls: list[str]) -> list[Feed]:
    """Return the feeds at these addresses, or those that replaced them, each once.

    A private feed is found by its address, too. Raises `CommandError` with exit code 2 if a URL is not a web
    address, or no feed has it.
    """
    addresses = {url: feed_address(url) for url in urls}
    if wrong := next((url for url, address in addresses.items() if not address), ""):
        raise CommandError(f"“{wrong}” is not a web address; it should start with https://.", returncode=2)
    wanted = list(addresses.values())
    stored = list(Feed.objects.filter(Q(url__in=wanted) | Q(own_address__in=wanted)).order_by("pk"))
    for address in wanted:
        if not any(feed.address == address for feed in stored):
            near = near_words(
                address, Feed.objects.filter(url__startswith="http").values_list("url", flat=True)
            )
            raise CommandError(
                f"No feed here has the address “{address}”, so nothing was fetched.{near} Readers add feeds "
                "under Sources, or you do for them with import_opml.",
                returncode=2,
            )
    current = feeds_current(feeds={feed.url: feed for feed in stored})
    return list({feed.pk: feed for feed in current.values()}.values())


def _pause_words(host: str, until: datetime) -> str:
    return f"{host} asked for a pause until {until.astimezone(UTC):%H:%M} UTC."


def _end(report: FetchReport, paused: Sequence[str], *, named: int) -> None:
    """Raise `FailureReported`, for exit code 1, if all failed, or any of the `named` feeds."""
    failed, tried = len(report.errors), len(report.errors) + len(report.per_feed)
    if named and paused:
        raise FailureReported(" ".join(paused))
    if tried < named:
        text = "was not fetched: it is paused, moved or gone, or another worker fetches it now."
        raise FailureReported(f"{named - tried} of {named} feeds {text}")
    if failed and (named or failed == tried):
        raise FailureReported(f"{failed} of {tried} feeds failed, as listed.")


def _words(report: FetchReport, letters: NewslettersReport | None, seconds: float, *, is_named: bool) -> str:
    sums = report.as_dict()
    head = "{ok} of {feeds} feeds read, {items_new} new items of {items_seen} seen".format(**sums)
    if not sums["feeds"]:
        head = "No feed was fetched" if is_named else "No feed was due (--feed URL fetches one at once)"
    if report.unchanged:
        head += f", {report.unchanged} feeds unchanged"
    if report.left:
        head += f", {report.left} left for the next round"
    lines = [f"  {feed}: {problem.message} [{problem.code}]" for feed, problem in report.errors]
    if letters:
        nobody = letters.unknown + letters.removed
        waiting = f"{letters.waiting} waiting, " if letters.waiting else ""
        brought = f"{letters.stored} stored, {waiting}{nobody} for nobody, {letters.refused} refused"
        lines.append(f"  newsletters: {letters.problem or brought}")
    return "\n".join([f"{head}, {seconds} s.", *lines])

"""Subscription lists in and out. Nothing is fetched here: new feeds are due at once."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings
from django.db import transaction

from digest.addresses import address_plausible
from digest.errors import InvalidFeedUrl
from digest.feeds import FeedProblem
from digest.identity import URL_MAX_CHARS, canonical_url, source_key
from digest.models import Feed, Reader, Source, Subscription
from digest.opml import ListedFeed, Reject, opml_read, opml_write
from digest.presenters import href_of
from digest.selectors.subscriptions import subscriptions_of
from digest.services.subscriptions import address_checked
from ranking.selectors import keys_now

BATCH = 500
REJECTS_LISTED_MAX = 100
TOO_LONG = f"The address is too long: {URL_MAX_CHARS:,} characters at most."
REASON_GONE = "The publisher took this feed down for good."


@dataclass(slots=True)
class OpmlReport:
    """What an import did. `refused` counts every reject; of `rejects`, the first 100 are kept.

    `found` = `added` + `already` + `duplicates` + the addresses among the refused.
    """

    found: int = 0
    added: int = 0
    already: int = 0
    duplicates: int = 0
    refused: int = 0
    folders: int = 0
    well_formed: bool = True
    rejects: list[Reject] = field(default_factory=list)

    def reject(self, reject: Reject) -> None:
        """Count a line that brought no feed, and list it while the list is short."""
        self.refused += 1
        if len(self.rejects) < REJECTS_LISTED_MAX:
            self.rejects.append(reject)

    def as_dict(self) -> dict[str, Any]:
        """The object scripts rely on."""
        names = ("found", "added", "already", "duplicates", "refused", "folders", "well_formed")
        rows = [{"line": r.line, "code": r.code, "reason": r.reason, "what": r.what} for r in self.rejects]
        return {name: getattr(self, name) for name in names} | {"rejects": rows}


def opml_import(*, reader: Reader, document: bytes, now: datetime) -> OpmlReport:
    """Subscribe `reader` to the feeds of a list; doing it again changes nothing.

    A bad line is reported and the rest goes in. What the reader reads already stays as it is filed. Raises
    `OpmlTooLarge` and `NotOpml`, as `opml_read` does.
    """
    listed = opml_read(document)
    report = OpmlReport(found=len(listed.feeds), well_formed=listed.well_formed)
    for reject in listed.rejects:
        report.reject(reject)
    wanted = _wanted(listed.feeds, report)
    addresses = list(wanted)
    for start in range(0, len(addresses), BATCH):
        chunk = {url: wanted[url] for url in addresses[start : start + BATCH]}
        with transaction.atomic():
            _subscribe(reader, chunk, report, now)
    report.folders = len({feed.folder for feed in wanted.values() if feed.folder})
    report.rejects.sort(key=lambda reject: reject.line)
    return report


def _wanted(feeds: Iterable[ListedFeed], report: OpmlReport) -> dict[str, ListedFeed]:
    """The feeds by canonical address; what is no address is refused, what comes twice counted."""
    wanted: dict[str, ListedFeed] = {}
    for feed in feeds:
        try:
            url = _address(feed.url)
        except (InvalidFeedUrl, FeedProblem) as error:
            report.reject(Reject(feed.line, error.code, error.message, feed.url[:200]))
            continue
        if url in wanted:
            report.duplicates += 1
        else:
            wanted[url] = feed
    return wanted


def _address(listed: str) -> str:
    """The canonical form of a listed address, refused as it is where a reader adds one by hand.

    Raises `InvalidFeedUrl`, or `FeedProblem` where nothing may be fetched from there. No host is looked up.
    """
    if len(listed) > URL_MAX_CHARS:
        raise InvalidFeedUrl(TOO_LONG)
    checked = address_checked(url=listed)
    parts = urlsplit(checked)
    port = parts.port or (443 if parts.scheme.lower() == "https" else 80)
    address_plausible(
        parts.hostname or "", port, allow=settings.FETCH_ALLOW_HOSTS, ports=settings.FETCH_PORTS
    )
    url = canonical_url(checked)
    if not url:
        raise InvalidFeedUrl("That is not a web address, or one too long once it is written out.")
    return url


def _subscribe(reader: Reader, chunk: dict[str, ListedFeed], report: OpmlReport, now: datetime) -> None:
    feeds = _feeds_ensure(chunk, now)
    ids = [feed.pk for feed in feeds.values()]
    had = set(Subscription.objects.filter(reader=reader, feed_id__in=ids).values_list("feed_id", flat=True))
    rows = []
    for url, listed in chunk.items():
        feed = feeds[url]
        if feed.pk in had:
            report.already += 1
        elif feed.state == Feed.State.GONE:
            report.reject(Reject(listed.line, "feed_is_gone", REASON_GONE, url[:200]))
        else:
            rows.append(Subscription(reader=reader, feed=feed, folder=listed.folder, created_at=now))
    Subscription.objects.bulk_create(rows, ignore_conflicts=True)
    report.added += len(rows)


def _feeds_ensure(chunk: dict[str, ListedFeed], now: datetime) -> dict[str, Feed]:
    """The feeds by address, created with their sources where nobody reads them yet; six statements.

    A list may name a feed nobody knows, never a source: that name is everybody's.
    """
    feeds = _feeds_at(chunk)
    new = {url: source_key(url) or "unknown" for url in chunk if url not in feeds}
    if new:
        renamed = keys_now(keys=set(new.values()))
        new = {url: renamed.get(key, key) for url, key in new.items()}
        Source.objects.bulk_create(
            [Source(key=key) for key in sorted(set(new.values()))], ignore_conflicts=True
        )
        Feed.objects.bulk_create(
            [
                Feed(url=url, source_id=key, title=chunk[url].title[:200], next_check_at=now)
                for url, key in new.items()
            ],
            ignore_conflicts=True,
        )
        feeds |= _feeds_at(list(new))
    return feeds


def _feeds_at(urls: Iterable[str]) -> dict[str, Feed]:
    return {feed.url: feed for feed in Feed.objects.filter(url__in=list(urls))}


def opml_export(*, reader: Reader, now: datetime | None = None) -> bytes:
    """The reader's subscriptions as an OPML list, dated `now` where that is given.

    Sources imported from files have no address and are left out.
    """
    return opml_write(_listed(subscriptions_of(reader_id=reader.pk)), title="Tidings", now=now)


def _listed(subscriptions: Sequence[Subscription]) -> list[ListedFeed]:
    return [
        ListedFeed(row.feed.url, row.feed.title or str(row.feed.source), row.folder)
        for row in subscriptions
        if href_of(row.feed.url)
    ]

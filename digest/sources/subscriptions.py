"""Subscriptions of a reader: add one, and import and export them as an OPML list.

Nothing is fetched here: new feeds are due at once.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, Final

from django.conf import settings
from django.db import transaction
from django.db.models import Q
from django.utils.translation import gettext, gettext_noop, ngettext

from digest.errors import FeedIsGone, InvalidFeedUrl, TooManySubscriptions
from digest.feeds.address_checks import FEED_GONE, check_address, check_fetchable, check_typed
from digest.feeds.addresses import URL_MAX_CHARS, feed_scheme_dropped, scheme_other
from digest.feeds.entities import FETCH_PROBLEMS, FeedProblem
from digest.feeds.identity import source_key, web_url
from digest.feeds.ingest import feed_get_or_create, feeds_get_or_create
from digest.feeds.selectors import NEWSLETTER_PREFIX, subscriptions_left, subscriptions_of
from digest.feeds.titles import title_clean
from digest.models import Feed, Reader, Subscription
from digest.places import turn_give_way, turn_shared
from digest.sources.opml import ListedFeed, Reject, opml_read, opml_write
from digest.throttling import HOUR, Limit, limit_charge
from ranking.common.isolation import isolate_batches
from ranking.language import stored_text, thousands

LINE_FAILED: Final = gettext_noop(
    "This site could not store that line; its operator finds the fault in the log."
)
FEED_GONE_REASON: Final = gettext_noop("The publisher took this feed down for good.")
# In a list for other programs, so in English.
WITHOUT_SECRET: Final = "Private: the password, header or cookie that opens it is not in this list."
# Lines of one transaction. Others wait for its lock, and their pages for its end.
IMPORT_BATCH: Final = 100
# Newsletters of a reader, apart from their feeds.
NEWSLETTERS_MAX: Final = 100
REJECTS_LISTED_MAX: Final = 100


def check_room(*, reader: Reader, more: int = 1) -> None:
    """Refuse `more` subscriptions beyond SUBSCRIPTIONS_MAX. Raises `TooManySubscriptions`.

    Within a transaction: the reader is locked, so that two requests at once do not both get the last place.
    """
    Reader.objects.select_for_update().get(pk=reader.pk)
    if subscriptions_left(reader_id=reader.pk) < more:
        raise TooManySubscriptions(limit_reached())


def additions_left(*, reader: Reader, wanted: int, now: datetime) -> int:
    """Count `wanted` new subscriptions of a day, and return how many of them are allowed.

    A reader may add twice as many feeds a day as they may have: room for a list, its removal, and another.
    Each feed that was ever added stays stored with its items.
    """
    most: int = 2 * settings.SUBSCRIPTIONS_MAX
    limit = Limit("additions", most, 24 * HOUR, "")
    over = limit_charge(limit=limit, who=reader.pk, now=now, cost=wanted) - most
    return wanted - min(max(round(over), 0), wanted)


def check_addition(*, reader: Reader, now: datetime) -> None:
    """Count a new subscription of the day. Raises `TooManySubscriptions` beyond the most."""
    if not additions_left(reader=reader, wanted=1, now=now):
        raise TooManySubscriptions(additions_reached())


def additions_reached() -> str:
    """Return the sentence for a reader who has added as many feeds today as one may."""
    return gettext("You added {most} feeds today, as many as one may in a day. Go on tomorrow.").format(
        most=thousands(2 * settings.SUBSCRIPTIONS_MAX)
    )


def newsletter_check_room(*, reader: Reader, more: int = 1) -> None:
    """Refuse `more` newsletters beyond a hundred. The caller has locked the reader.

    Raises `TooManySubscriptions`.
    """
    had = Subscription.objects.filter(reader=reader, feed__own_address__startswith=NEWSLETTER_PREFIX)
    if had.count() + more > NEWSLETTERS_MAX:
        raise TooManySubscriptions(
            gettext("You read {most} newsletters, as many as one may here. Remove one first.").format(
                most=NEWSLETTERS_MAX
            )
        )


def limit_reached() -> str:
    """Return the sentence for a reader who has as many subscriptions as one may."""
    return gettext("You read {SUBSCRIPTIONS_MAX} feeds, as many as one may here. Remove one first.").format(
        SUBSCRIPTIONS_MAX=thousands(settings.SUBSCRIPTIONS_MAX)
    )


def private_at(*, reader: Reader, addresses: Collection[str]) -> list[Subscription]:
    """Return the reader's subscriptions to private feeds fetched at one of these addresses; one query."""
    found = Subscription.objects.filter(
        reader=reader, feed__owner=reader, feed__own_address__in=set(addresses) - {""}
    )
    return list(found.select_related("feed"))


def subscribed_otherwise(*, reader: Reader, addresses: Collection[str]) -> dict[str, Subscription]:
    """Return, by address, the subscriptions to the same address with TLS instead of without, or the reverse.

    Both are one feed to a reader. Only the reader's own subscriptions count, because nobody knows the answer
    at an address before a request. One query.
    """
    others = {scheme_other(url): url for url in addresses}
    both = Q(feed__url__in=list(others)) | Q(feed__url__in=list(addresses))
    rows = list(Subscription.objects.filter(both, reader=reader).select_related("feed"))
    had = {row.feed.url for row in rows}
    return {others[row.feed.url]: row for row in rows if others.get(row.feed.url, row.feed.url) not in had}


@transaction.atomic
def subscription_add(*, reader: Reader, url: str, now: datetime, alive: bool = False) -> Subscription:
    """Subscribe the reader to the feed at `url`. Create the feed if nobody reads it yet.

    Doing it again changes nothing. Neither does the address of the reader's own private feed, or a feed the
    reader has already with or without TLS, unless the caller has just seen the new one `alive` and it has TLS
    or replaces one that fails. Then `twins_join` joins both later. A feed that was given up is fetched again
    if it is `alive`. Raises `InvalidFeedUrl` if `url` is no plain web address, `FeedIsGone` for a feed given
    up, and `TooManySubscriptions` beyond the limit.
    """
    url = check_address(url=url)
    if own := private_at(reader=reader, addresses=[url]):
        return own[0]
    other = subscribed_otherwise(reader=reader, addresses=[url]).get(url)
    if other and not (alive and (url.startswith("https:") or other.feed.error_code)):
        return other
    if not Subscription.objects.filter(reader=reader, feed__url=url).exists():
        check_room(reader=reader)
        check_addition(reader=reader, now=now)
    feed = feed_get_or_create(url=url, now=now)
    if feed.state == Feed.State.GONE:
        if not alive:
            raise FeedIsGone(FEED_GONE)
        Feed.objects.filter(pk=feed.pk, state=Feed.State.GONE).update(
            state=Feed.State.ACTIVE,
            next_check_at=now,
            failures=0,
            missing=0,
            error_code="",
            error_message="",
        )
    subscription, _ = Subscription.objects.get_or_create(
        reader=reader, feed=feed, defaults={"created_at": now}
    )
    return subscription


@dataclass(slots=True)
class OpmlReport:
    """The result of an import. `reasons` counts every reject; `rejects` lists the first 100.

    Reasons are in the language in force. `found` = `added` + `already` + `duplicates` + the addresses among
    the refused.
    """

    found: int = 0
    added: int = 0
    already: int = 0
    duplicates: int = 0
    folders: int = 0
    well_formed: bool = True
    rejects: list[Reject] = field(default_factory=list)
    reasons: Counter[str] = field(default_factory=Counter)

    @property
    def refused(self) -> int:
        """Return how many lines brought no feed."""
        return self.reasons.total()

    def reject(self, reject: Reject) -> None:
        """Count a line that brought no feed, and list it while the list is short."""
        reason = stored_text(reject.reason, FETCH_PROBLEMS)
        self.reasons[reason] += 1
        if len(self.rejects) < REJECTS_LISTED_MAX:
            self.rejects.append(replace(reject, reason=reason))

    def add(self, part: "OpmlReport") -> None:
        """Add the report of a part of the list."""
        self.added += part.added
        self.already += part.already
        self.reasons.update(part.reasons)
        self.rejects += part.rejects[: REJECTS_LISTED_MAX - len(self.rejects)]

    def as_dict(self) -> dict[str, Any]:
        """Return the object scripts rely on."""
        names = ("found", "added", "already", "duplicates", "refused", "folders", "well_formed")
        rows = [{"line": r.line, "code": r.code, "reason": r.reason, "what": r.what} for r in self.rejects]
        return {name: getattr(self, name) for name in names} | {"rejects": rows}


def opml_import(*, reader: Reader, document: bytes, now: datetime) -> OpmlReport:
    """Subscribe `reader` to the feeds of a list; doing it again changes nothing.

    A bad line is reported and the rest goes in. A name in the list that is not the feed's own is the
    reader's own. Subscriptions that the reader has keep their folders and names.
    Raises `OpmlTooLarge` and `NotOpml`, as `opml_read` does.
    """
    listed = opml_read(document)
    report = OpmlReport(found=len(listed.feeds), well_formed=listed.well_formed)
    for reject in listed.rejects:
        report.reject(reject)
    wanted = _by_address(listed.feeds, report)
    failed = set(wanted)

    def store(addresses: Sequence[str]) -> OpmlReport:
        part = OpmlReport()
        with transaction.atomic():
            _subscribe(reader, {url: wanted[url] for url in addresses}, part, now)
        failed.difference_update(addresses)
        turn_give_way()
        return part

    parts = isolate_batches(list(wanted), store, what="line", event="opml_line_failed", size=IMPORT_BATCH)
    for part in parts:
        report.add(part)
    for url in failed:
        report.reject(Reject(wanted[url].line, "internal", LINE_FAILED, url[:200]))
    report.folders = len({feed.folder for feed in wanted.values() if feed.folder})
    report.rejects.sort(key=lambda reject: reject.line)
    return report


def _by_address(feeds: Iterable[ListedFeed], report: OpmlReport) -> dict[str, ListedFeed]:
    """Return the feeds by their addresses. Refuse those that may not be fetched, and count duplicates.

    An address with and without TLS is one feed. The one without wins, unless the other is known to answer: a
    server with TLS sends readers there, and one without it cannot. A later mention may name a folder if the
    first did not.
    """
    wanted: dict[str, ListedFeed] = {}
    for feed in turn_shared(feeds):
        try:
            url = _listed_url(feed.url)
        except (InvalidFeedUrl, FeedProblem) as error:
            report.reject(Reject(feed.line, error.code, error.message, feed.url[:200]))
            continue
        if known := wanted.get(url) or wanted.get(scheme_other(url)):
            report.duplicates += 1
            feed = replace(known, folder=known.folder or feed.folder, title=known.title or feed.title)
            if scheme_other(url) in wanted:
                wanted.pop(scheme_other(url))
                url = _answering(url)
        wanted[url] = feed
    return wanted


def _answering(url: str) -> str:
    """Return an address without TLS, or with it if that is known to answer."""
    secure, plain = max(url, scheme_other(url)), min(url, scheme_other(url))
    known = Feed.objects.filter(url__in=[secure, plain], state=Feed.State.ACTIVE, error_code="")
    answered = set(known.exclude(last_fetched_at=None).values_list("url", flat=True))
    return secure if secure in answered else plain


def _listed_url(address: str) -> str:
    """Return the address of a listed feed as it is stored. Raises `InvalidFeedUrl` or `FeedProblem`."""
    if len(address) > URL_MAX_CHARS:
        raise InvalidFeedUrl(
            gettext("The address is too long: {url_max_chars} characters at most.").format(
                url_max_chars=thousands(URL_MAX_CHARS)
            )
        )
    typed, address = address.strip().lower(), feed_scheme_dropped(address)
    if address.startswith("//"):
        # `feed:` and its like stand for http. An import asks no server whether it has TLS, too.
        address = f"{'https' if typed.startswith(('//', 'feeds:')) else 'http'}:{address}"
    check_typed(address)
    check_fetchable(address)
    return check_address(url=address)


def _subscribe(reader: Reader, batch: dict[str, ListedFeed], report: OpmlReport, now: datetime) -> None:
    Reader.objects.select_for_update().get(pk=reader.pk)  # so that two lists at once share the remaining room
    left = subscriptions_left(reader_id=reader.pk)
    private = {row.feed.own_address for row in private_at(reader=reader, addresses=batch)}
    private |= set(subscribed_otherwise(reader=reader, addresses=batch))
    report.already += len(private)
    batch = {url: listed for url, listed in batch.items() if url not in private}
    mine = Q(pk__in=Subscription.objects.filter(reader=reader).values("feed_id"))
    known = Feed.objects.filter(mine | Q(state=Feed.State.GONE), url__in=batch)
    placed = set(known.values_list("url", flat=True))
    beyond = set([url for url in batch if url not in placed][left:])
    for url in beyond:
        report.reject(Reject(batch[url].line, TooManySubscriptions.code, limit_reached(), url[:200]))
    batch = {url: listed for url, listed in batch.items() if url not in beyond}
    new_here = [url for url in batch if url not in placed]
    allowed = additions_left(reader=reader, wanted=len(new_here), now=now) if new_here else 0
    for url in new_here[allowed:]:
        report.reject(Reject(batch.pop(url).line, TooManySubscriptions.code, additions_reached(), url[:200]))
    # A list names neither feed nor source: those names are everybody's.
    new = (Feed(url=url, source_id=source_key(url) or "unknown", next_check_at=now) for url in batch)
    feeds = feeds_get_or_create(feeds=new, source_titles={})
    ids = [feed.pk for feed in feeds.values()]
    had = set(Subscription.objects.filter(reader=reader, feed_id__in=ids).values_list("feed_id", flat=True))
    rows = []
    for url, listed in batch.items():
        feed = feeds[url]
        if feed.pk in had:
            report.already += 1
        elif feed.state == Feed.State.GONE:
            report.reject(Reject(listed.line, "feed_is_gone", FEED_GONE_REASON, url[:200]))
        else:
            own = {"folder": listed.folder, "own_name": _own_name(listed, feed, url)}
            rows.append(Subscription(reader=reader, feed=feed, created_at=now, **own))
    Subscription.objects.bulk_create(rows, ignore_conflicts=True)
    report.added += len(rows)


def _own_name(listed: ListedFeed, feed: Feed, url: str) -> str:
    """Return the name that a list gives a feed, "" if it is the feed's own.

    Nobody knows yet what a new feed calls itself: then the list has most likely its own name.
    """
    cleaned = title_clean(listed.title)
    if {listed.title, cleaned} & {feed.title, feed.source_id, listed.url, url}:
        return ""
    return listed.title if feed.title else cleaned


def opml_export(*, reader: Reader, now: datetime | None = None) -> bytes:
    """Return the reader's subscriptions as an OPML list, dated `now` if that is given.

    Those without a web address are left out (`is_unlistable`). Access to private feeds does not go along,
    and the list says so.
    """
    listed = [
        ListedFeed(
            row.feed.address,
            row.name,
            row.folder,
            description=WITHOUT_SECRET if row.feed.owner_id else "",
            site="" if row.feed.owner_id else row.feed.site_url,
        )
        for row in subscriptions_of(reader_id=reader.pk)
        if not is_unlistable(row.feed)
    ]
    return opml_write(listed, title="Tidings", now=now)


def is_unlistable(feed: Feed) -> bool:
    """Return whether no other program could fetch the feed: newsletters, and files such as the demo's."""
    return not web_url(feed.address)


def left_out_words(feeds: Sequence[Feed]) -> str:
    """Return why some of a reader's feeds are not in their OPML list; "" if all are."""
    if not (count := sum(map(is_unlistable, feeds))):
        return ""
    return ngettext(
        "{n} source is not in the list: a newsletter, or a file of this machine such as the demo’s, has no "
        "address that another reader could fetch.",
        "{n} sources are not in the list: newsletters, and files of this machine such as the demo’s, have no "
        "address that another reader could fetch.",
        count,
    ).format(n=thousands(count))

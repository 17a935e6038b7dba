"""Twins: join a feed that is stored twice, without any loss for its readers.

Two addresses that differ in TLS or `www.` are one feed only if both have answered with the same posts. A feed
that moved is another one, with its own posts. The items of both stay, with their thumbs, stars and reads.
Each pair becomes one article, which a reader sees, reads and rates once.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, time, timedelta
from itertools import combinations
from typing import Final
from uuid import UUID

from django.db.models import Exists, Max, OuterRef, Q, QuerySet

from digest.entities import PUBLISHED_MIN, UNREAD_DAYS
from digest.feeds.identity import address_folded, address_place, web_url
from digest.models import Feed, Feedback, Item, Reading, Subscription
from ranking.common.isolation import isolate
from ranking.common.text import fold

# How many of the newest posts of a feed are looked for in the other.
COMPARED: Final = 20
SHARED: Final = 0.5
BATCH: Final = 500
_STARTS: Final = ("https://", "https://www.", "http://", "http://www.")
STAMPS: Final = ("read_at", "saved_at", "opened_at", "finished_at")


@dataclass(frozen=True, slots=True)
class _Post:
    """The fields of an item by which twin feeds are compared. `name` is its guid without scheme and `www.`.

    `place` is its link below its host. `at` is its publisher's date, or None if it gave none.
    """

    pk: int
    name: str
    title: str
    article: int
    url: str
    words: str
    place: str
    at: datetime | None

    @property
    def keys(self) -> list[object]:
        """Return the keys that a post keeps when its site moves, the surest first."""
        found: list[object] = [(self.name, fold(self.title))]
        if self.place:
            found.append((self.place, fold(self.title), self.at))
        if self.at and self.at.time() != time():
            found.append((self.words, self.at))
        return found


def feed_place(url: str) -> str:
    """Return an address without scheme and `www.`, or "" if it is no web address."""
    scheme, mark, rest = url.partition("://")
    return rest.removeprefix("www.") if mark and scheme in ("http", "https") else ""


def twins_of(*, feed_ids: Collection[int] | None = None) -> list[tuple[Feed, Feed]]:
    """Return feeds that are one: the feed to give up, and the one that its readers shall read.

    The latter has answered last time, and has TLS if the other has. With `feed_ids` only pairs with one of
    these. Two queries, and two for each pair of addresses.
    """
    public = Feed.objects.filter(owner=None, url__contains="://").exclude(state=Feed.State.MOVED)
    places: defaultdict[str, list[int]] = defaultdict(list)
    if feed_ids is None:
        rows = public.values_list("pk", "url")
    else:
        wanted = {feed_place(url) for url in public.filter(pk__in=feed_ids).values_list("url", flat=True)}
        spelt = [f"{start}{place}" for place in wanted - {""} for start in _STARTS]
        rows = public.filter(url__in=spelt).values_list("pk", "url")
    for pk, url in rows:
        places[feed_place(url)].append(pk)
    ids = [pk for place, some in places.items() if place and len(some) > 1 for pk in some]
    found = {feed.pk: feed for feed in Feed.objects.filter(pk__in=ids)} if ids else {}
    pairs: list[tuple[Feed, Feed]] = []
    for place in sorted(place for place, some in places.items() if place and len(some) > 1):
        feeds = sorted((found[pk] for pk in places[place] if pk in found), key=_order)
        left: set[int] = set()
        for target, feed in combinations(feeds, 2):
            if {target.pk, feed.pk} & left or not _has_answered(target):
                continue
            with isolate("feed", feed.pk, "twins_join_failed"):
                if _is_same(feed, target):
                    pairs.append((feed, target))
                    left.add(feed.pk)
    return pairs


def _order(feed: Feed) -> tuple[bool, bool, int]:
    return (not feed.url.startswith("https:"), not _has_answered(feed), feed.pk)


def _has_answered(feed: Feed) -> bool:
    return feed.state == Feed.State.ACTIVE and feed.last_fetched_at is not None and not feed.error_code


def _is_same(feed: Feed, target: Feed) -> bool:
    """Return whether the newest posts of one feed are those of the other, by name and title."""
    ours, theirs = _posts(feed), _posts(target)
    return _share(ours, theirs) >= SHARED or _share(theirs, ours) >= SHARED


def _share(posts: Sequence[_Post], among: Sequence[_Post]) -> float:
    known = {(post.name, fold(post.title)) for post in among}
    newest = posts[: min(COMPARED, len(posts), len(among))]
    return sum((post.name, fold(post.title)) in known for post in newest) / len(newest) if newest else 0.0


def _posts(feed: Feed) -> list[_Post]:
    rows = Item.objects.filter(feed=feed).order_by("-dated_at", "-pk")
    names = ("pk", "guid", "title", "article", "url", "fingerprint", "link", "published_at", "first_seen_at")
    return [
        _Post(
            pk,
            address_folded(guid),
            title,
            article,
            url,
            words,
            address_place(link or web_url(url)),
            at if PUBLISHED_MIN < at < seen else None,
        )
        for pk, guid, title, article, url, words, link, at, seen in rows.values_list(*names)
    ]


def items_join(*, feed: Feed, target: Feed, now: datetime) -> int:
    """Make each post that both feeds have one article. Return their number. Call it within a transaction.

    Reads, stars and thumbs follow the article. Posts that only the target has, dated before the other feed's
    newest post, are marked as read for the other feed's readers, so nothing comes back as unread.
    """
    pairs = _pairs(_posts(feed), _posts(target), lambda post: [post.name])
    _pairs_join(pairs, feed)
    _rest_read(feed, target, {b.pk for _, b in pairs}, readers_new(feed=feed, target=target), now)
    return len(pairs)


def items_follow(*, feed: Feed, target: Feed, readers: Collection[UUID], now: datetime) -> int:
    """Join each post that a feed had before it moved with the same post of `target`, as one article.

    Return their number. Posts are the same by name and title, by place and title, or by words and date. The
    link is the target's. If most of the newest are the same, the target's other posts from before the move
    are marked as read for `readers`, who moved along. Call it within a transaction.
    """
    ours, theirs = _posts(feed), _posts(target)
    pairs = _pairs(ours, theirs, lambda post: post.keys)
    _pairs_join(pairs, feed)
    links = dict(Item.objects.filter(feed=target).values_list("pk", "link"))
    rows = [Item(pk=a.pk, link=links[b.pk], own=False) for a, b in pairs]
    Item.objects.bulk_update(rows, ["link", "own"], batch_size=BATCH)
    same, newest = {b.pk for _, b in pairs}, theirs[: min(COMPARED, len(ours), len(theirs))]
    if newest and sum(post.pk in same for post in newest) >= SHARED * len(newest):
        _rest_read(feed, target, same, readers, now)
    return len(pairs)


def _pairs(
    ours: Sequence[_Post], theirs: Sequence[_Post], keys: Callable[[_Post], Sequence[object]]
) -> list[tuple[_Post, _Post]]:
    """Return the posts that share one of their `keys` with one post of the other feed, and no other does."""
    counts = [Counter(key for post in some for key in {*keys(post)}) for some in (ours, theirs)]
    unique = {key: post for post in ours for key in keys(post) if counts[0][key] == 1}
    found: dict[int, tuple[_Post, _Post]] = {}
    for post in theirs:
        for key in keys(post):
            other = unique.get(key) if counts[1][key] == 1 else None
            if other and other.pk not in found:
                found[other.pk] = (other, post)
                break
    return list(found.values())


def _pairs_join(pairs: Sequence[tuple[_Post, _Post]], feed: Feed) -> None:
    for start in range(0, len(pairs), BATCH):
        some = [(a, b) for a, b in pairs[start : start + BATCH] if a.article != b.article]
        _articles_join(some, feed)


def _articles_join(pairs: Sequence[tuple[_Post, _Post]], feed: Feed) -> None:
    """Give the items of one feed the articles of their counterparts, with the marks of its readers."""
    to = {a.article: b.article for a, b in pairs}
    items = {a.article: a.pk for a, _ in pairs}
    elsewhere = dict(Item.objects.filter(article__in=to).exclude(feed=feed).values_list("article", "pk"))
    readers = Subscription.objects.filter(feed=feed, reader=OuterRef("reader"))
    # Marks of others on these articles are of other feeds: who publishes one may name any article.
    marks = Reading.objects.filter(Exists(readers) | Q(item__in=items.values()))
    _readings_join(to, items, elsewhere, marks)
    _thumbs_join(to, set(items.values()))
    rows = [Item(pk=a.pk, article=b.article, url=b.url) for a, b in pairs]
    Item.objects.bulk_update(rows, ["article", "url"])


def _readings_join(
    to: Mapping[int, int],
    items: Mapping[int, int],
    elsewhere: Mapping[int, int],
    marks: QuerySet[Reading],
) -> None:
    """Move `marks` to other articles. An article that a third feed has too stays read there as well."""
    both = marks.select_for_update().filter(article__in=[*to, *to.values()])
    rows = {(row.reader_id, row.article): row for row in both}
    made: list[Reading] = []
    moved: list[Reading] = []
    for (reader, article), row in sorted(rows.items(), key=lambda one: one[1].pk):
        if article not in to:
            continue
        other = rows.get((reader, to[article]))
        if other:
            for name in STAMPS:
                setattr(
                    other, name, min(filter(None, (getattr(other, name), getattr(row, name))), default=None)
                )
            other.opened_by = other.opened_by or row.opened_by
            moved.append(other)
        if article in elsewhere:
            if not other:
                stamps = {name: getattr(row, name) for name in (*STAMPS, "opened_by")}
                made.append(Reading(reader_id=reader, item_id=items[article], article=to[article], **stamps))
            row.item_id = elsewhere[article]
            moved.append(row)
        elif other:
            row.delete()
        else:
            row.article = to[article]
            moved.append(row)
    Reading.objects.bulk_update(moved, ["article", "item", "opened_by", *STAMPS], batch_size=BATCH)
    Reading.objects.bulk_create(made, ignore_conflicts=True, batch_size=BATCH)


def _thumbs_join(to: Mapping[int, int], item_ids: Collection[int]) -> None:
    """Move the thumbs on these items to other articles. Of two thumbs of one reader the later stays."""
    given = Feedback.objects.select_for_update().filter(Q(item__in=item_ids) | Q(article__in=to.values()))
    rows = {(row.reader_id, row.article): row for row in given}
    moved: list[Feedback] = []
    for (reader, article), row in rows.items():
        if article not in to:
            continue
        other = rows.get((reader, to[article]))
        if other and other.at >= row.at:
            row.delete()
            continue
        if other:
            other.delete()
        row.article = to[article]
        moved.append(row)
    Feedback.objects.bulk_update(moved, ["article"], batch_size=BATCH)


def _rest_read(
    feed: Feed, target: Feed, paired: Collection[int], readers: Collection[UUID], now: datetime
) -> None:
    """Mark the posts that only the target has as read, up to the time the other feed's readers have seen."""
    newest = Item.objects.filter(feed=feed).aggregate(at=Max("dated_at"))["at"]
    if newest is None or not readers:
        return
    recent = Item.objects.filter(
        feed=target, dated_at__lte=newest, dated_at__gt=now - timedelta(days=UNREAD_DAYS)
    )
    rest = [(pk, article) for pk, article in recent.values_list("pk", "article") if pk not in paired]
    rows = (
        Reading(reader_id=reader, item_id=pk, article=article, read_at=now)
        for reader in readers
        for pk, article in rest
    )
    Reading.objects.bulk_create(rows, ignore_conflicts=True, batch_size=BATCH)


def readers_new(*, feed: Feed, target: Feed) -> list[UUID]:
    """Return those who read `feed` and not yet `target`."""
    both = Subscription.objects.filter(feed=target, reader=OuterRef("reader"))
    rows = Subscription.objects.filter(~Exists(both), feed=feed)
    return list(rows.values_list("reader_id", flat=True))

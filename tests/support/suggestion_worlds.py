"""Readers with known tastes, and drafts about them."""

from collections.abc import Iterable
from datetime import datetime, timedelta
from uuid import uuid4

from digest.days import utc_day
from digest.entities import RatedItem
from digest.feeds.identity import article_hash
from digest.models import Exposure, Feed, Feedback, Item, Reader
from suggestions.models import Suggestion
from suggestions.proposals import Draft, Proposed, Refusal
from suggestions.services.lifecycle import suggestion_candidate, suggestion_store
from tests.support.factories import (
    CLOCK,
    FeedFactory,
    ItemFactory,
    ReaderFactory,
    SourceFactory,
    SubscriptionFactory,
    feed_address,
)

LOVED, HATED, PLAIN, OTHER = "loved.example", "hated.example", "plain.example", "other.example"
SOURCES = (LOVED, HATED, PLAIN, OTHER)
EACH = 30


def rate(reader: Reader, source: str, title: str, useful: bool, at: datetime) -> Item:
    """Store a thumb on a new item of `source`, given half an hour after it appeared; return the item."""
    return rate_all(reader, [(source, title, useful, at)])[0]


def rate_all(reader: Reader, ratings: Iterable[tuple[str, str, bool, datetime]]) -> list[Item]:
    """Do as `rate` for many (source, title, useful, at), in two statements beside those of new sources."""
    rows = list(ratings)
    feeds = feeds_of(row[0] for row in rows)
    items = Item.objects.bulk_create(_item(feeds[key], title, at) for key, title, _, at in rows)
    Feedback.objects.bulk_create(
        Feedback(reader=reader, item=item, article=item.article, useful=useful, at=at, day=utc_day(at))
        for item, (_, _, useful, at) in zip(items, rows, strict=True)
    )
    return items


def feeds_of(sources: Iterable[str]) -> dict[str, Feed]:
    """Return the feed of each source. Those that are there take one query: some tests ask a hundred times."""
    keys = [*dict.fromkeys(sources)]
    there = {feed.source_id: feed for feed in Feed.objects.filter(url__in=map(feed_address, keys))}
    return {key: there.get(key) or FeedFactory(source=SourceFactory(key=key)) for key in keys}


def _item(feed: Feed, title: str, at: datetime) -> Item:
    """Return an item as its factory makes it, in a quarter of the time, half an hour older than `at`."""
    n, came = ItemFactory._meta.next_sequence(), at - timedelta(minutes=30)
    url = f"https://{feed.source_id}/items/{n}"
    dates = {"published_at": came, "first_seen_at": came, "dated_at": came}
    known = {"guid": url, "article": article_hash(url), "fingerprint": f"{n:064x}"}
    return Item(feed=feed, source_id=feed.source_id, url=url, title=title, text="", **dates, **known)


def tastes(reader: Reader, *, topic: str = "", days: int = 40) -> None:
    """Store 120 thumbs over `days` days: one source always liked, one never, two every other time.

    With `topic`, only the liked items of the two plain sources have it in their titles. The items come three
    hours apart and the sources take turns, so that recency favours none of them.
    """
    for feed in feeds_of(SOURCES).values():
        SubscriptionFactory(reader=reader, feed=feed)
    ratings = []
    for n in range(EACH):
        at = CLOCK - timedelta(days=days * (EACH - n) / EACH, minutes=5)
        for place, key in enumerate(SOURCES):
            useful = key == LOVED or (key != HATED and n % 2 == 0)
            about = f"{topic} in focus" if topic and useful and key in (PLAIN, OTHER) else "Plain day"
            later = timedelta(hours=3 * ((place + n) % 4))
            ratings.append((key, f"{about} x{place}{n}", useful, at + later))
    rate_all(reader, ratings)
    unread(topic)


def unread(topic: str = "", each: int = 12, at: datetime = CLOCK) -> None:
    """Store unread items for the page at `at`, because rated ones have left it. The sources take turns."""
    feeds = feeds_of(SOURCES)
    Item.objects.bulk_create(
        _item(
            feeds[key],
            f"{topic} in focus y{place}{n}"
            if topic and n % 2 and key in (PLAIN, OTHER)
            else f"Plain day y{place}{n}",
            at - timedelta(minutes=25 * (4 * n + (place + n) % 4)),
        )
        for n in range(each)
        for place, key in enumerate(SOURCES)
    )


def urls(reader: Reader, source: str, useful: bool, count: int = 4) -> tuple[str, ...]:
    """Return the addresses of the newest items of `source` that the reader gave this thumb."""
    rows = Item.objects.filter(source_id=source, feedback__reader=reader, feedback__useful=useful)
    return tuple(rows.order_by("-dated_at").values_list("url", flat=True)[:count])


def boost(reader: Reader, value: object = "1.3", source: str = LOVED, **traits: object) -> Draft:
    """Return a draft that boosts a source, with four of its liked items as evidence."""
    given = {"evidence_urls": urls(reader, source, True), "reason": "You keep liking it.", **traits}
    return Draft("boost_source", source, value, **given)


def reduce(reader: Reader) -> Draft:
    """Return a draft that reduces the hated source, with four of its disliked items as evidence."""
    return Draft("reduce_source", HATED, "0.7", urls(reader, HATED, False), "You skip it.")


def add_topic(reader: Reader, topic: str) -> Draft:
    """Return a draft that adds the topic given to `tastes`, on items of both plain sources."""
    evidence = urls(reader, PLAIN, True, 2) + urls(reader, OTHER, True, 2)
    return Draft("add_topic", None, topic, evidence, "You like it.")


def propose(
    reader: Reader, draft: Draft, now: datetime = CLOCK, run_id=None, fence=lambda: None, review=None
):
    """Put `draft` through the agent's door."""
    found = suggestion_candidate(reader_id=reader.pk, run_id=run_id or uuid4(), draft=draft, now=now)
    if isinstance(found, Refusal):
        return found
    return suggestion_store(candidate=found, review=review and review(found.proposal), now=now, fence=fence)


def proposed(reader: Reader, draft: Draft | None = None, now: datetime = CLOCK) -> Suggestion:
    """Return a pending suggestion: to boost the loved source, unless told otherwise."""
    answer = propose(reader, draft or boost(reader), now)
    assert isinstance(answer, Proposed), answer
    return Suggestion.objects.get(pk=answer.suggestion_id)


def boost_waiting() -> int:
    """Make Ada, who may boost the source she loves; return the id of that suggestion."""
    ada = ReaderFactory(username="ada", time_zone="Europe/Berlin")
    tastes(ada)
    return proposed(ada).pk


def thumb(
    n: int, *, source: str = "a", title: str = "Plain", useful: bool = True, days_ago: float = 1
) -> RatedItem:
    """Return a thumb that is in no database."""
    at = CLOCK - timedelta(days=days_ago)
    url = f"https://{source}.example/{n}"
    return RatedItem(n, url, title, "", source, useful, (), (), at, at - timedelta(hours=1))


def visit(reader: Reader, at: datetime) -> None:
    """The reader sees a page of a digest."""
    figures = {"rank": 1, "slot": "exploit", "propensity": 1.0, "score": 1.0, "config_version": 0}
    door, item = Exposure.Door.PAGE, ItemFactory()
    Exposure.objects.create(reader=reader, item=item, date=at.date(), door=door, shown_at=at, **figures)

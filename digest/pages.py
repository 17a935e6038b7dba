"""What each page of the digest room shows, put together: selectors asked, words found."""

from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass, replace
from datetime import date as Date
from datetime import datetime, timedelta
from typing import Any

from digest.days import day_of
from digest.left_out import why_left_out
from digest.models import Digest, Feed, Impression, Item, Reader, Subscription
from digest.months import month_first, month_of
from digest.places import drawn, place_words
from digest.presenters import Why, age_words, href_of
from digest.searching import Part, marked, snippet
from digest.selectors import digest_for, digest_impressions
from digest.selectors.digests import digest_dates_between
from digest.selectors.places import item_place
from digest.selectors.readings import items_saved
from digest.selectors.search import Found, Order, items_search
from digest.selectors.subscriptions import subscriptions_of
from digest.services.build import digest_current
from digest.showing import (
    Response,
    Scored,
    items_shown,
    reasons_for,
    responses_of,
    scored_now,
    since_of,
    sums_since,
)

# How far back digests are shown: a build for the year 1 would help nobody.
OLDEST = timedelta(days=730)


@dataclass(frozen=True, slots=True)
class Hit:
    """One item that a search found, its places marked."""

    item: Item
    href: str
    age: str
    title: tuple[Part, ...]
    snippet: tuple[Part, ...]
    why: Why
    response: Response


def paper_of(reader: Reader, date: Date, now: datetime) -> dict[str, Any]:
    """The digest of `date` for its page, today's built anew where it is due (`digest_current`)."""
    today = day_of(now, reader.zone)
    digest = digest_current(reader=reader, date=date, now=now)
    impressions = digest_impressions(digest=digest) if digest else []
    # Only a paper without items says how its sources are doing.
    subscriptions = [] if impressions else subscriptions_of(reader_id=reader.pk)
    scored = [Scored(i.item, i.parts, i.score, i.slot) for i in impressions]
    thumbs = {impression.item_id: impression.thumb for impression in impressions}
    since = sums_since(reader=reader, scored=_kept(scored), now=now) if date == today else {}
    shown = items_shown(reader=reader, scored=scored, now=now, thumbs=thumbs, since=since)
    return {
        "digest": digest,
        "made": digest is not None,
        "waiting": [row for row in subscriptions if _unfetched(row)],
        "date": date,
        "is_today": date == today,
        "previous": date - timedelta(days=1) if today - date < OLDEST else None,
        "next": date + timedelta(days=1) if date < today else None,
        "shown": shown,
        "unread": sum(entry.response.read_at is None for entry in shown),
        "batch": last_batch([entry.response.read_at for entry in shown]),
        "left_out": _left_out(digest),
        "has_sources": bool(impressions) or bool(subscriptions),
    }


def _kept(scored: Collection[Scored]) -> list[Scored]:
    """What keeps its place and its sum though the rest was ranked anew."""
    return [entry for entry in scored if entry.slot == Impression.Slot.KEPT]


def _left_out(digest: Digest | None) -> int:
    """How many candidates the digest passed over, for whatever reason."""
    counts = digest.left_out.values() if digest else ()
    return sum(count for count in counts if isinstance(count, int))


def _unfetched(row: Subscription) -> bool:
    return row.feed.state == Feed.State.ACTIVE and row.feed.last_fetched_at is None


def item_page(reader: Reader, item: Item, now: datetime) -> dict[str, Any]:
    """One item with its score as it would be now, its place in the digest, and the sum it had there.

    That sum is shown where the reader's settings said something else of the item then.
    """
    place = item_place(reader=reader, item=item, now=now)
    scored = scored_now(reader=reader, items=[item], now=now)
    words, then = "", None
    if place and (there := place.shown):
        words = place_words(there.slot, there.propensity)
        then = Scored(item, there.parts, there.score, there.slot)
        slot = Impression.Slot.NOVELTY if drawn(there.slot, there.propensity) else there.slot
        scored = [replace(entry, slot=slot) for entry in scored]
    elif place and (passed := place.passed):
        words = why_left_out(
            passed.reason,
            str(item.source),
            str(passed.told_by.source) if passed.told_by else "",
            passed.score.parts.source_weight,
        )
    since = since_of(then, scored[0], shown=then) if then else None
    shown = items_shown(reader=reader, scored=scored, now=now, since={item.pk: since} if since else None)[0]
    return {"shown": shown, "place": place, "place_words": words}


def response_page(reader: Reader, item: Item) -> dict[str, Any]:
    """The thumbs and reasons of one item, as they stand."""
    return {"response": responses_of(reader=reader, items=[item])[item.pk]}


def saved_page(reader: Reader, page: int, now: datetime) -> dict[str, Any]:
    """One page of what the reader saved, with scores as they would be now."""
    saved = items_saved(reader_id=reader.pk, page=page)
    scored = scored_now(reader=reader, items=saved.items, now=now)
    return {"saved": saved, "shown": items_shown(reader=reader, scored=scored, now=now)}


def search_page(reader: Reader, query: str, order: Order, page: int, now: datetime) -> dict[str, Any]:
    """What a search found, with its places marked and what would speak for each item now."""
    found = items_search(reader_id=reader.pk, query=query, order=order, page=page)
    return {"query": query, "order": order, "found": found, "hits": _hits(reader, found, now)}


def _hits(reader: Reader, found: Found, now: datetime) -> list[Hit]:
    if not found.items:
        return []
    said = responses_of(reader=reader, items=found.items)
    return [
        Hit(
            item=item,
            href=href_of(item.url),
            age=age_words(item.dated_at, now),
            title=marked(item.title, found.terms),
            snippet=snippet(item.text, found.terms),
            why=reasons_for(entry),
            response=said[item.pk],
        )
        for entry in scored_now(reader=reader, items=found.items, now=now)
        if (item := entry.item)
    ]


def calendar_page(reader: Reader, typed: str, now: datetime) -> dict[str, Any]:
    """The month `typed` ("2026-03") with the days that have a digest; this month for anything else."""
    today = day_of(now, reader.zone)
    oldest = today - OLDEST
    first = max(month_first(typed, today), oldest.replace(day=1))
    last = min(first + timedelta(days=42), today)
    since = max(first - timedelta(days=7), oldest)
    made = digest_dates_between(reader_id=reader.pk, first=since, last=last)
    month = month_of(first, today, made, oldest)
    return {"month": month, "made": sum(day.month == first.month for day in made)}


def digest_items(reader: Reader, date: Date) -> list[int]:
    """The ids of the items that the reader's digest of that day shows; a constant number of queries."""
    digest = digest_for(reader_id=reader.pk, date=date)
    return [impression.item_id for impression in digest_impressions(digest=digest)] if digest else []


def last_batch(moments: Collection[datetime | None]) -> tuple[datetime, int] | None:
    """The latest moment of reading and how many items share it, where that is more than one."""
    counts = Counter(moment for moment in moments if moment is not None)
    latest = max(counts, default=None)
    return (latest, counts[latest]) if latest and counts[latest] > 1 else None

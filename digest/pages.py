"""What each page of the digest room shows, put together: selectors asked, words found."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date as Date
from datetime import datetime, timedelta
from typing import Any

from digest.days import day_of
from digest.entities import RatedItem
from digest.models import Digest, Feed, Item, Reader, ReasonTag, Subscription
from digest.presenters import Why, age_words, href_of, lede_of, why_of
from digest.selectors import (
    digest_for,
    digest_impressions,
    feedback_by_items,
    reason_tags,
)
from digest.selectors.signals import signals_for
from digest.selectors.subscriptions import subscriptions_of
from digest.services.build import digest_build
from ranking.entities import Candidate
from ranking.scoring import rank
from ranking.selectors import config_effective

# How long a digest keeps its order while its day lasts; new settings show at once.
FROZEN = timedelta(hours=1)


@dataclass(frozen=True, slots=True)
class Shown:
    """One item as a page shows it."""

    item: Item
    href: str
    age: str
    lede: str
    why: Why
    thumb: RatedItem | None
    tags: tuple[ReasonTag, ...]


def paper_of(reader: Reader, date: Date, now: datetime) -> dict[str, Any]:
    """The digest of `date` for its page.

    Today's is built when there is none, or a newer one is due. A past day shows what was made that day:
    today's settings would say little of what the reader saw then.
    """
    today, subscriptions = day_of(now, reader.zone), subscriptions_of(reader_id=reader.pk)
    digest = digest_for(reader_id=reader.pk, date=date)
    impressions = digest_impressions(digest=digest) if digest else []
    if date == today and _due(digest, impressions, subscriptions, now):
        digest = digest_build(reader=reader, date=date, now=now)
        impressions = digest_impressions(digest=digest)
    tags = reason_tags()
    return {
        "made": digest is not None,
        "waiting": [row for row in subscriptions if _unfetched(row)],
        "date": date,
        "is_today": date == today,
        "previous": date - timedelta(days=1),
        "next": date + timedelta(days=1) if date < today else None,
        "shown": [_shown(i.item, i.parts, i.score, i.thumb, tags, now) for i in impressions],
        "has_sources": bool(impressions) or bool(subscriptions),
    }


def _due(
    digest: Digest | None, impressions: Sequence[object], subscriptions: Sequence[Subscription], now: datetime
) -> bool:
    """Whether today's digest is to be built: missing, empty, an hour old, or from before a change."""
    if digest is None or not impressions or now - digest.built_at >= FROZEN:
        return True
    version = config_effective(reader_id=digest.reader_id).config.version
    return version != digest.config_version or any(row.created_at > digest.built_at for row in subscriptions)


def _unfetched(row: Subscription) -> bool:
    return row.feed.state == Feed.State.ACTIVE and row.feed.last_fetched_at is None


def item_page(reader: Reader, item: Item, now: datetime) -> dict[str, Any]:
    """One item with its score as it would be now."""
    effective = config_effective(reader_id=reader.pk)
    candidate = Candidate(item.pk, item.source_id, item.title, item.text, item.dated_at)
    signals = signals_for(reader_id=reader.pk, item_ids=[item.pk], now=now)
    score = rank([candidate], effective, now, signals)[0]
    thumb = feedback_by_items(reader_id=reader.pk, item_ids=[item.pk]).get(item.pk)
    return {"shown": _shown(item, score.parts.as_dict(), score.total, thumb, reason_tags(), now)}


def responses_of(reader: Reader, item: Item) -> dict[str, Any]:
    """The thumbs and reasons of one item, as they stand."""
    thumb = feedback_by_items(reader_id=reader.pk, item_ids=[item.pk]).get(item.pk)
    return {"item": item, "thumb": thumb, "tags": _offered(thumb, reason_tags())}


def _shown(
    item: Item,
    parts: dict[str, Any],
    score: float,
    thumb: RatedItem | None,
    tags: Sequence[ReasonTag],
    now: datetime,
) -> Shown:
    return Shown(
        item=item,
        href=href_of(item.url),
        age=age_words(item.dated_at, now),
        lede=lede_of(item.text),
        why=why_of(parts, score, str(item.source)),
        thumb=thumb,
        tags=_offered(thumb, tags),
    )


def _offered(thumb: RatedItem | None, tags: Sequence[ReasonTag]) -> tuple[ReasonTag, ...]:
    """The reasons to offer after a thumb: what is valued after one up, what is disliked after one down."""
    if thumb is None:
        return ()
    kind = ReasonTag.Kind.VALUED if thumb.useful else ReasonTag.Kind.DISLIKED
    return tuple(tag for tag in tags if tag.kind == kind)

"""Find sites by name, among the recommended feeds and the feeds that many readers have."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final
from uuid import UUID

from django.db.models import Count, Q

from digest.models import Feed, Subscription
from digest.sources.recommended import starter_interests
from ranking.common.text import fold

# A feed's address may hold a secret of the reader who added it (a token in its query, a private list). An
# address with this many readers is no secret, and starters are in our own file. Accounts cost nothing, so the
# readers must also have had it for a while. That gives an operator time to see a feed that goes by another's
# name.
READERS_MIN: Final = 5
READ_SINCE: Final = timedelta(days=14)
FOUND_MAX: Final = 8
WORDS_MAX: Final = 8


@dataclass(frozen=True, slots=True)
class NamedFeed:
    """A feed that fits a name; its address may be shown to anybody."""

    url: str
    title: str


def is_name(text: str) -> bool:
    """Return whether `text` can be no address: it has a space within, or neither a dot nor a scheme."""
    words = text.split()
    if "://" in text:
        return False
    return len(words) > 1 or (len(words) == 1 and not set(":./") & set(words[0]))


def subscription_named(*, reader_id: UUID, name: str) -> str:
    """Return the name of a feed of the reader's that has every word of `name`, or ""."""
    words = fold(name).split()[:WORDS_MAX]
    rows = Subscription.objects.filter(reader_id=reader_id).select_related("feed").order_by("pk")
    return next((row.name for row in rows if words and all(word in fold(row.name) for word in words)), "")


def feeds_named(*, name: str, now: datetime) -> list[NamedFeed]:
    """Return the feeds whose titles have every word of `name`, starters first, at most eight. One query.

    Besides starters, only feeds with at least five readers who let others learn from them and have read it
    for two weeks. Words may match in part, so "r/python" and "python" find the same.
    """
    words = [word for word in fold(name).replace("/", " ").split() if len(word) > 1][:WORDS_MAX]
    if not words:
        return []
    starters = {
        feed.url: feed.title
        for interest in starter_interests()
        for feed in interest.feeds
        if all(word in fold(f"{feed.title} {feed.url}") for word in words)
    }
    known = Feed.objects.filter(owner=None, state=Feed.State.ACTIVE, failures=0).exclude(url__in=starters)
    for word in words:
        known = known.filter(
            Q(title__icontains=word) | Q(source__title__icontains=word) | Q(source__key__icontains=word)
        )
    open_readers = Q(subscriptions__reader__is_active=True, subscriptions__reader__peers_enabled=True)
    open_readers &= Q(subscriptions__created_at__lte=now - READ_SINCE)
    read = known.annotate(readers=Count("subscriptions", filter=open_readers)).filter(
        readers__gte=READERS_MIN
    )
    rows = read.order_by("-readers", "url").values_list("url", "title", "source__title", "source__key")
    found = {url: title or source or key for url, title, source, key in rows[:FOUND_MAX]}
    return [NamedFeed(url, title) for url, title in (starters | found).items()][:FOUND_MAX]

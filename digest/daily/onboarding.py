"""The interview of twenty headlines: the next question, and the effect of the answers on today's digest."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import NamedTuple

import numpy as np
from django.db.models import Count, Exists, F, OuterRef, Window
from django.db.models.functions import RowNumber

from digest.daily.anew import change_since, page_before
from digest.daily.changes import OrderChange
from digest.daily.services import digest_refresh
from digest.days import day_of
from digest.entities import UNREAD_DAYS
from digest.feedback.onboarding import Headline, Question, question_choose
from digest.feedback.selectors import feedback_tallies
from digest.feedback.services import weights_update
from digest.feedback.subjects import has_subjects
from digest.items.meanings import vectors_for
from digest.items.own_names import own_feeds
from digest.items.selectors import NEW_FOR, article_rank, items_hidden, mutes_in_force
from digest.models import Digest, Feedback, Item, Reader, Reading
from ranking.learning import N_MIN
from ranking.meaning.spread import tells_more

# How many of the newest items of each feed, and how many headlines of all feeds, a question is chosen from.
# 1,500 take 60 ms a question.
FEED_NEWEST, HEADLINES_MAX = 20, 1_500
# The latest ratings of a reader that tell what is known already.
KNOWN_MAX = 200
# An interview is offered after this many new feeds (or all of them), and below this many thumbs since.
OFFER_FEEDS, OFFER_THUMBS = 3, 20


class _Row(NamedTuple):
    """One of a feed's newest items. `waiting` counts all unrated items of that feed."""

    item_id: int
    source: str
    article: int
    story: int | None
    own: bool
    feed: int
    subscription: int
    waiting: int

    @property
    def headline(self) -> Headline:
        """Return the row as a headline for `question_choose`."""
        return Headline(self.item_id, self.source, self.article, self.story or self.article)


@dataclass(frozen=True, slots=True)
class Askable:
    """The headlines that a reader may be asked about now, and how many items of each source wait."""

    headlines: Sequence[Headline]
    waiting: dict[str, int]


def headlines_askable(*, reader: Reader, now: datetime) -> Askable:
    """Return the newest headlines of each of the reader's feeds, from the last thirty days.

    Rated and muted items are left out. Of an article's items, the one with the words that the reader gets is
    used. Two to four queries, whatever the number of items.
    """
    rows = _rows(reader, now)
    mutes = mutes_in_force(reader_id=reader.pk, now=now)
    hidden = items_hidden(mutes=mutes, item_ids=[row.item_id for row in rows])
    best: dict[int, _Row] = {}
    counts: dict[int, tuple[str, int]] = {}
    for row in rows:
        counts[row.feed] = (row.source, row.waiting)
        if row.item_id in hidden:
            continue
        known = best.setdefault(row.article, row)
        if article_rank(row.own, row.subscription) < article_rank(known.own, known.subscription):
            best[row.article] = row
    waiting: defaultdict[str, int] = defaultdict(int)
    for source, count in counts.values():
        waiting[source] += count
    found = [row.headline for row in best.values()]
    return Askable(found, waiting)


def _rows(reader: Reader, now: datetime) -> list[_Row]:
    rated = Feedback.objects.filter(reader=reader, article=OuterRef("article"))
    since = now - timedelta(days=UNREAD_DAYS)
    newest = [F("dated_at").desc(), F("pk").desc()]
    rows = (
        Item.objects.filter(feed__subscriptions__reader=reader, dated_at__gt=since, dated_at__lte=now)
        .filter(~Exists(rated))
        .annotate(
            place=Window(RowNumber(), partition_by=F("feed"), order_by=newest),
            waiting=Window(Count("pk"), partition_by=F("feed")),
        )
        .filter(place__lte=FEED_NEWEST)
        .order_by("place", "-dated_at", "pk")
    )
    fields = ("pk", "source_id", "article", "story_id", "own", "feed_id", "feed__subscriptions__pk")
    return [_Row(*row) for row in rows.values_list(*fields, "waiting")[:HEADLINES_MAX]]


def question_next(
    *, reader: Reader, asked: Sequence[Headline], current: Question | None, now: datetime
) -> Question | None:
    """Return the question to ask now: `current` as long as it may be asked, else the next one.

    `asked` are the headlines of this interview so far. A constant number of queries.
    """
    askable = headlines_askable(reader=reader, now=now)
    if current and current.headline in askable.headlines:
        return current
    return question_choose(
        askable.headlines,
        waiting=askable.waiting,
        tallies=feedback_tallies(reader_id=reader.pk, now=now),
        asked=asked,
        seed=f"{reader.pk}|{now.isoformat()}|{len(asked)}",
        tells=_tells(reader, askable.headlines, asked),
    )


def _tells(reader: Reader, headlines: Sequence[Headline], asked: Sequence[Headline]) -> dict[int, float]:
    """Return by item id how much an answer would tell, for those with a meaning; 0 for earlier questions."""
    rated = Feedback.objects.filter(reader=reader).order_by("-at").values_list("item_id", flat=True)
    known_ids = list({*(one.item_id for one in asked), *rated[:KNOWN_MAX]})
    waiting_ids = [one.item_id for one in headlines]
    vectors = vectors_for([*known_ids, *waiting_ids])
    known, waiting = vectors[: len(known_ids)], vectors[len(known_ids) :]
    gains = tells_more(waiting, known).tolist()
    found = dict.fromkeys((known_ids[n] for n in np.flatnonzero(known.any(axis=1))), 0.0)
    return found | {waiting_ids[n]: gains[n] for n in np.flatnonzero(waiting.any(axis=1))}


class Offer(StrEnum):
    """The offer of today's page to a new reader, so that they tell their interests."""

    NONE = ""
    SUBJECTS = "subjects"
    INTERVIEW = "interview"


def offer_of_today(*, reader: Reader, now: datetime) -> Offer:
    """Return the offer of today: subjects first, then the interview; one offer a day. One to four queries."""
    if reader.taught_on == day_of(now, reader.zone) or not interview_offered(reader=reader, now=now):
        return Offer.NONE
    if Reading.objects.filter(reader=reader, named_at__isnull=False).exists():
        return Offer.INTERVIEW
    return Offer.SUBJECTS if has_subjects(reader=reader) else Offer.INTERVIEW


def offer_end(*, reader: Reader, now: datetime) -> None:
    """Note that today's offer was taken up or put off: there is none until tomorrow."""
    reader.taught_on = day_of(now, reader.zone)
    reader.save(update_fields=["taught_on"])


def interview_offered(*, reader: Reader, now: datetime) -> bool:
    """Return whether the reader added several feeds (or all they have) lately and gave few thumbs since.

    One query, or two.
    """
    joined = [one.created_at for one in own_feeds(reader_id=reader.pk) if one.created_at <= now]
    lately = [at for at in joined if at > now - NEW_FOR]
    # A reader who has just begun may have only one feed, so "all of them" counts, too.
    if not lately or len(lately) < min(OFFER_FEEDS, len(joined)):
        return False
    return Feedback.objects.filter(reader=reader, at__gte=min(lately)).count() < OFFER_THUMBS


def interview_finish(*, reader: Reader, item_ids: Sequence[int], now: datetime) -> OrderChange | None:
    """Learn from the answers to `item_ids`, rebuild today's digest, and return the changes in its order.

    Source weights are learned only if some source has enough thumbs. A cycle that could move none would only
    postpone the weekly one. The change is stored with the digest, so it can be undone. Returns `None` if
    there was no digest or no answer.
    """
    before = page_before(reader=reader, now=now)
    tallies = feedback_tallies(reader_id=reader.pk, now=now)
    is_due = any(tally.n >= N_MIN for tally in tallies)
    moved = weights_update(reader_id=reader.pk, now=now) if item_ids and is_due else 0
    digest = digest_refresh(reader=reader, now=now)
    if before is None or not item_ids:
        return None
    change = replace(
        change_since(reader=reader, before=before, digest=digest, answered=item_ids),
        cycle=now.astimezone(UTC).date().isoformat() if moved else "",
        answers=tuple(item_ids),
    )
    Digest.objects.filter(pk=digest.pk).update(change=change.as_dict())
    return change

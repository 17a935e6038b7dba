"""The one tip that a reader's page may show: from their own answers, until they put it away."""

from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from uuid import UUID

from django.conf import settings
from django.db.models import Q
from django.urls import reverse

from advisor.guidance.tip_words import Candidate, TipWords, choose, tip_words
from advisor.guidance.tunables import tunables
from advisor.models import Memory, Tip
from digest.models import Subscription
from suggestions.entities import BOOST_SOURCE, REDUCE_SOURCE

KINDS = (Memory.Kind.PATTERN, Memory.Kind.RULE)
MEMORIES_MAX = 100
ON_SOURCES = (BOOST_SOURCE, REDUCE_SOURCE)
ITS_PAGE = "See how this source is doing"
RULE_WHY = "An operator of this site wrote it for you."


@dataclass(frozen=True, slots=True)
class Shown:
    """A tip as a page shows it: its id, words, and the address of what it leads to."""

    id: int
    words: TipWords
    address: str


def tip_for(*, reader_id: UUID, now: datetime) -> Shown | None:
    """The tip that a page shows this reader now, noted as shown if it is new; `None` for none.

    One query for a reader of whom nothing is known; never more for more memories. Two pages opened at once
    agree.
    """
    if not settings.ADVISOR_GUIDANCE:
        return None
    memories = {row.pk: row for row in _memories(reader_id, now) if _words(row, "") is not None}
    if not memories:
        return None
    tips = {tip.memory_id: tip for tip in Tip.objects.filter(reader_id=reader_id)}
    wanted = tunables()
    choice = choose(
        [_candidate(row, tips.get(row.pk)) for row in memories.values()],
        now=now,
        last_at=max((tip.shown_at for tip in tips.values()), default=None),
        gap=timedelta(hours=wanted.tip_gap_hours),
        away=timedelta(days=wanted.tip_dismissed_days),
    )
    if choice is None:
        return None
    row = memories[choice.memory_id]
    tip = _noted(row, reader_id, now) if choice.new else tips[row.pk]
    return _shown(tip, row)


def tip_dismiss(*, reader_id: UUID, tip_id: int, now: datetime) -> bool:
    """Put a tip of the reader's away; `False` if there is none such. Twice is once."""
    own = Tip.objects.filter(pk=tip_id, reader_id=reader_id)
    return bool(own.filter(dismissed_at=None).update(dismissed_at=now)) or own.exists()


def _memories(reader_id: UUID, now: datetime) -> list[Memory]:
    """The reader's own patterns and rules in force, none of others or of all."""
    rows = Memory.objects.filter(
        Q(expires_at=None) | Q(expires_at__gt=now),
        reader_id=reader_id,
        kind__in=KINDS,
        retired_at=None,
        superseded_by=None,
        valid_from__lte=now,
    )
    return list(rows.order_by("-confidence", "pk")[:MEMORIES_MAX])


def _candidate(row: Memory, tip: Tip | None) -> Candidate:
    return Candidate(
        memory_id=row.pk,
        worth=row.confidence,
        shown_at=tip.shown_at if tip else None,
        dismissed_at=tip.dismissed_at if tip else None,
    )


def _noted(row: Memory, reader_id: UUID, now: datetime) -> Tip:
    """The tip, first shown now; one that was put away long ago begins anew."""
    tip, _ = Tip.objects.update_or_create(
        reader_id=reader_id, memory=row, defaults={"shown_at": now, "dismissed_at": None}
    )
    return tip


def _shown(tip: Tip, row: Memory) -> Shown | None:
    """The tip with its target's name; one about a source leads to that source's page where it is read."""
    read = None
    if row.target_key and row.suggestion_type in ON_SOURCES:
        own = Subscription.objects.filter(reader_id=tip.reader_id, feed__source_id=row.target_key)
        read = own.select_related("feed__source").order_by("pk").first()
    words = _words(row, str(read.feed.source) if read else row.target_key)
    if words is None:
        return None
    if read is not None and row.polarity > 0:
        return Shown(tip.pk, replace(words, action=ITS_PAGE), reverse("digest:source", args=[read.feed_id]))
    return Shown(tip.pk, words, reverse(words.page))


def _words(row: Memory, target: str) -> TipWords | None:
    if row.kind == Memory.Kind.RULE:
        return TipWords(row.text, "suggestions:list", "See what is suggested now", RULE_WHY)
    data = row.data if isinstance(row.data, dict) else {}
    return tip_words(
        key=row.key,
        suggestion_type=row.suggestion_type,
        polarity=row.polarity,
        data=data,
        target=target,
        last=row.valid_from,
    )

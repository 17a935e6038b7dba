"""The one tip that a reader's page may show: from their own answers, until it is put away."""

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import NamedTuple
from uuid import UUID

from django.conf import settings
from django.urls import reverse
from django.utils.formats import date_format
from django.utils.translation import gettext, gettext_noop

from advisor.guidance.store import memories_in_force
from advisor.models import Memory, Tip
from digest.models import Subscription
from suggestions.changes.registry import KINDS

MEMORIES_MAX = 100
# Before another new tip, and before one that was put away may come back.
GAP, AWAY_DAYS = timedelta(hours=24), 30
ACCEPTED, EFFECTS = "accepted", "effects"
# By statistic and whether it is good: the sentence, the page that helps, and what to do there.
# fmt: off
FORMS: Mapping[tuple[str, bool], tuple[str, str, str]] = {
    (ACCEPTED, True): (gettext_noop("You accepted {hits} of {total} suggestions for {about}."),
        "suggestions:list", gettext_noop("See what is suggested now")),
    (ACCEPTED, False): (gettext_noop("You said no to {misses} of {total} suggestions for {about}."),
        "ranking:config", gettext_noop("Choose what may be suggested at all")),
    (EFFECTS, True): (
        gettext_noop("{hits} of {total} changes you accepted for {about} made you like your digest more."),
        "suggestions:list", gettext_noop("See what is suggested now")),
    (EFFECTS, False): (
        gettext_noop("{misses} of {total} changes you accepted for {about} did not serve you."),
        "suggestions:history", gettext_noop("Look at them, and put back what you like")),
}
# fmt: on
WHY = gettext_noop(
    "It sums up {total} decisions of yours from the last 180 days, the newest of {last}. Nobody else’s are "
    "in it. You see at most one new tip a day. Put away, it stays away for 30 days; nothing changes by "
    "reading it."
)


class TipWords(NamedTuple):
    """A tip in words: the fact, the action with its address, and the reason for showing it."""

    sentence: str
    action: str
    address: str
    why: str
    id: int = 0


def tip_for(*, reader_id: UUID, now: datetime) -> TipWords | None:
    """Return and store the tip for now: a new one, the surest, once a day, else the newest not put away."""
    if not settings.ADVISOR_GUIDANCE:
        return None
    own = memories_in_force(reader_id=reader_id, now=now).filter(reader_id=reader_id)
    rows = own.filter(kind=Memory.Kind.PATTERN).order_by("-confidence", "pk")[:MEMORIES_MAX]
    memories = {row.pk: (row, words) for row in rows if (words := tip_words(row, row.target_key))}
    if not memories:
        return None
    tips = {tip.memory_id: tip for tip in Tip.objects.filter(reader_id=reader_id)}
    away = now - timedelta(days=AWAY_DAYS)
    fresh = [pk for pk in memories if pk not in tips or (tips[pk].dismissed_at or now) <= away]
    last_at = max((tip.shown_at for tip in tips.values()), default=None)
    waiting = [tip for tip in tips.values() if tip.memory_id in memories and tip.dismissed_at is None]
    if fresh and (last_at is None or now - last_at >= GAP):
        shown = {"shown_at": now, "dismissed_at": None}
        tip, _ = Tip.objects.update_or_create(reader_id=reader_id, memory_id=fresh[0], defaults=shown)
        waiting = [tip]
    if not waiting:
        return None
    tip = max(waiting, key=lambda tip: (tip.shown_at, tip.memory_id))
    row, words = memories[tip.memory_id]
    if row.target_key and row.suggestion_type in KINDS and KINDS[row.suggestion_type].of_source:
        reads = Subscription.objects.filter(reader_id=reader_id, feed__source_id=row.target_key)
        if read := reads.select_related("feed__source").order_by("pk").first():
            words = tip_words(row, read.own_name or str(read.feed.source)) or words
            if row.polarity > 0:
                page = reverse("digest:source", args=[read.feed_id])
                words = words._replace(action=gettext("See how this source is doing"), address=page)
    return words._replace(id=tip.pk)


def tip_dismiss(*, reader_id: UUID, tip_id: int, now: datetime) -> bool:
    """Dismiss a tip of the reader's. Return `False` if it does not exist. Doing it twice changes nothing."""
    own = Tip.objects.filter(pk=tip_id, reader_id=reader_id)
    return bool(own.filter(dismissed_at=None).update(dismissed_at=now)) or own.exists()


def tip_words(row: Memory, target: str) -> TipWords | None:
    """Return a pattern as a tip; `None` for one that leads to nothing a reader can do."""
    hits, total, statistic = row.data.get("hits"), row.data.get("of"), row.key.partition(":")[0]
    form = FORMS.get((statistic, row.polarity > 0))
    if hits is None or not total or not row.polarity or form is None:
        return None
    kind, named = KINDS[row.suggestion_type].texts.about
    about = gettext(named).format(target) if target else gettext(kind)
    sentence = gettext(form[0]).format(hits=hits, misses=total - hits, total=total, about=about)
    last = date_format(row.valid_from, gettext("j F Y"))
    why = gettext(WHY).format(total=total, last=last)
    return TipWords(sentence, gettext(form[2]), reverse(form[1]), why)

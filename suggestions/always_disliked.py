"""Sources of which a reader called every rated article not useful, and the offer to mute them.

No suggestion may come of such ratings: the weight is at its end, or less of it would change no first ten.
Then the page of suggestions says so, and leads to the preview of a mute, which the reader can save or leave.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from django.urls import reverse
from django.utils.http import urlencode

from digest.feedback.selectors import feedback_source_counts
from digest.feeds.selectors import subscriptions_of
from ranking.common.probability import drawn_above
from ranking.entities import EffectiveConfig
from ranking.mutes import SOURCE, MuteFilter
from suggestions.changes.change import Change
from suggestions.changes.weights import REDUCE_SOURCE, SOURCE_STEP_MIN, weight_bounds
from suggestions.measures import measure_once
from suggestions.proposals import Facts
from suggestions.rules import rule_cooldown, rule_duplicate, target_pinned, visibility_refusal
from suggestions.selectors import facts_of
from suggestions.sentences import disliked_words
from suggestions.week import week_for

# So many ratings at least, and how probable chance may be that gives any of the sources nothing but dislikes.
RATINGS_MIN, CHANCE_MAX = 10, 0.01
OFFERS_MAX = 3


@dataclass(frozen=True, slots=True)
class MuteOffer:
    """An offer to mute a source: why, in words, the preview of the mute, and the page of its feed."""

    name: str
    words: str
    preview: str
    feed_id: int


def mute_offers(*, reader_id: UUID, now: datetime) -> list[MuteOffer]:
    """Return an offer for each source that the reader always calls not useful, the most rated ones first.

    None for sources that are muted, pinned or kept out of Today, nor while a suggestion about it waits, can
    still come, or rests after an answer. One query if there is no such source.
    """
    counts = sources_disliked(feedback_source_counts(reader_id=reader_id))
    if not counts:
        return []
    facts = facts_of(reader_id=reader_id, now=now, with_wished=False)
    muted = MuteFilter(facts.effective.config.mutes, now.date()).sources
    feeds = {row.feed.source_id: row for row in subscriptions_of(reader_id=reader_id) if row.in_today}
    able = [key for key in counts if key in feeds and key not in muted and not _rests(key, facts)]
    changes = {key: _lowered(key, facts.effective) for key in able}
    unseen = _unseen(reader_id, facts.effective, [one for one in changes.values() if one], now)
    return [
        MuteOffer(
            name=feeds[key].name,
            words=disliked_words(counts[key], feeds[key].name, is_lowest=change is None),
            preview=f"{reverse('digest:mutes')}?{urlencode({'kind': SOURCE, 'value': key})}",
            feed_id=feeds[key].feed_id,
        )
        for key, change in changes.items()
        if change is None or key in unseen
    ][:OFFERS_MAX]


def sources_disliked(counts: Mapping[str, tuple[int, int]]) -> dict[str, int]:
    """Return the number of ratings of each source that got none but dislikes, the most rated ones first.

    `counts` has (likes, ratings) by source. With a reader who dislikes nearly everything that is chance.
    """
    ratings = sum(n for _, n in counts.values())
    dislikes = ratings - sum(likes for likes, _ in counts.values())
    found = {
        source: n
        for source, (likes, n) in counts.items()
        if not likes and n >= RATINGS_MIN and drawn_above(n, n, dislikes, ratings) * len(counts) <= CHANCE_MAX
    }
    return dict(sorted(found.items(), key=lambda pair: (-pair[1], pair[0])))


def _rests(source: str, facts: Facts) -> bool:
    """Return whether the reader pinned the source, or a suggestion about its weight waits or was answered."""
    target = str(REDUCE_SOURCE.field), source
    asked = any(rule(REDUCE_SOURCE.name, target, facts) for rule in (rule_duplicate, rule_cooldown))
    waits = any(change.kind.of_source and change.target == source for change in facts.asked)
    return asked or waits or target_pinned(target, facts.effective)


def _lowered(source: str, effective: EffectiveConfig) -> Change | None:
    """Return the largest step down of the source, or `None` if it is too short to be worth a question."""
    current = effective.weight(source)
    lowest = weight_bounds(current)[0]
    return REDUCE_SOURCE.change(source, effective, lowest) if current - lowest >= SOURCE_STEP_MIN else None


def _unseen(reader_id: UUID, before: EffectiveConfig, changes: list[Change], now: datetime) -> set[str]:
    """Return the sources of those changes whose effect nobody would have seen last week."""
    if not changes:
        return set()

    def make() -> set[str]:
        week = week_for(reader_id=reader_id, before=before, changes=changes, now=now)
        effects = zip(changes, week.effects(changes), strict=True)
        return {change.target for change, effect in effects if visibility_refusal(change, effect)}

    about = ["unseen", *((change.target, change.after) for change in changes)]
    return measure_once(make, about=about, reader_id=reader_id, effective=before, now=now)

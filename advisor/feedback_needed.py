"""Decide whether a reader has given enough feedback for a run, and name the missing part. Pure."""

from typing import NamedTuple

from digest.entities import FeedbackCounts
from ranking.language import gettext as _
from ranking.language import gettext_noop

# The beginning of the message about too little feedback. No other message begins so.
MISSING_PREFIX = "Not enough ratings for suggestions yet."
MISSING_FORMS = (
    gettext_noop("Not enough ratings for suggestions yet. Give a reason for 1 more rating."),
    gettext_noop("Not enough ratings for suggestions yet. Give reasons for {reasons} more ratings."),
    gettext_noop(
        "Not enough ratings for suggestions yet. Rate 1 more headline for suggestions today ({total} so far)."
    ),
    gettext_noop(
        "Not enough ratings for suggestions yet. Rate {more} more headlines for suggestions today "
        "({total} so far)."
    ),
    # Stored before.
    gettext_noop(
        "Not enough ratings for suggestions yet. Rate {more} more headlines for suggestions today "
        "({total} so far), or {items} over {days} days, {tagged} of them with a reason."
    ),
)
# Suggestions on fifty thumbs gain two to three times as much as on twenty (docs/benchmarks.md), even without
# reasons and at any speed of rating, so an import need not wait.
THUMBS_ALONE = 50


class FeedbackLimits(NamedTuple):
    """The least feedback for a run: thumbs, days they span, thumbs with a reason."""

    items: int
    days: int
    tagged: int

    @property
    def alone(self) -> int:
        """Return how many thumbs are enough whenever they came, and without any reason: an import."""
        return max(THUMBS_ALONE, self.items)


def feedback_suffices(counts: FeedbackCounts, limits: FeedbackLimits) -> bool:
    """Decide whether a run may be made for a reader with these ratings: the one rule of every door."""
    given = (counts.total, counts.days, counts.tagged)
    return counts.total >= limits.alone or all(have >= need for have, need in zip(given, limits, strict=True))


def missing_message(counts: FeedbackCounts, limits: FeedbackLimits) -> str:
    """Return the nearer of the two ways to enough feedback in a sentence, "" if there is enough.

    Who rated over enough days lacks only reasons, if these are fewer than the thumbs of the other way.
    """
    if feedback_suffices(counts, limits):
        return ""
    more = limits.alone - counts.total
    reasons = limits.tagged - counts.tagged
    one, some, headline, headlines = MISSING_FORMS[:4]
    if counts.total >= limits.items and counts.days >= limits.days and reasons < more:
        return _(one if reasons == 1 else some).format(reasons=reasons)
    return _(headline if more == 1 else headlines).format(total=counts.total, more=more)

"""Decide whether a reader has given enough feedback for a run, and name the missing part. Pure."""

from typing import NamedTuple

from digest.entities import FeedbackCounts
from ranking.language import gettext as _
from ranking.language import gettext_noop

# The beginning of the message about too little feedback. No other message begins so.
MISSING_PREFIX = "Not enough thumbs for suggestions yet."
MISSING_FORMS = (
    gettext_noop(
        "Not enough thumbs for suggestions yet. Rate 1 more headline for suggestions today ({total} so far)."
    ),
    gettext_noop(
        "Not enough thumbs for suggestions yet. Rate {more} more headlines for suggestions today "
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
    """Return the missing feedback in sentences for the reader, "" if there is enough."""
    if feedback_suffices(counts, limits):
        return ""
    more = limits.alone - counts.total
    words = _(MISSING_FORMS[more != 1])
    return words.format(total=counts.total, more=more, **limits._asdict())

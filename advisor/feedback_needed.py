"""Decide whether a reader has given enough feedback for a run, and say what is missing. Pure."""

from typing import NamedTuple

from digest.entities import FeedbackCounts
from ranking.language import gettext as _
from ranking.language import gettext_noop

# The beginning of the message about too little feedback, and of no other.
MISSING_PREFIX = "Not enough thumbs for suggestions yet."
MISSING_FORMS = (
    gettext_noop(
        "Not enough thumbs for suggestions yet. You gave {items} thumbs, over {days} days, {tagged} with a "
        "reason. Or add 1 more thumb: {alone} are enough at once."
    ),
    gettext_noop(
        "Not enough thumbs for suggestions yet. You gave {items} thumbs, over {days} days, {tagged} with a "
        "reason. Or add {more} more thumbs: {alone} are enough at once."
    ),
)
# Suggestions on fifty thumbs gain two to three times what they gain on twenty (docs/benchmarks.md), also
# without reasons and however fast the thumbs came: an import need not wait.
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
    items, days, tagged = (
        f"{have}" if have >= need else _("{have} of {need}").format(have=have, need=need)
        for have, need in zip((counts.total, counts.days, counts.tagged), limits, strict=True)
    )
    more = limits.alone - counts.total
    words = _(MISSING_FORMS[more != 1])
    return words.format(items=items, days=days, tagged=tagged, more=more, alone=limits.alone)

"""How much a reader must have said before the advisor asks a model anything. Pure."""

from collections.abc import Sequence
from typing import NamedTuple

from digest.entities import FeedbackCounts

# How the words for too little feedback begin, and no others.
MISSING = "Need at least"


class Need(NamedTuple):
    """One condition and the progress towards it."""

    label: str
    have: int
    need: int

    @property
    def met(self) -> bool:
        """Whether there is enough."""
        return self.have >= self.need


def needs_of(counts: FeedbackCounts, *, items: int, days: int, tagged: int) -> list[Need]:
    """The three conditions: thumbs, days they span, thumbs with a reason."""
    return [
        Need("feedback items", counts.total, items),
        Need("days of history", counts.days, days),
        Need("items with a reason", counts.tagged, tagged),
    ]


def missing_words(needs: Sequence[Need]) -> str:
    """What is still missing, in words for the reader; empty when nothing is."""
    missing = [f"{n.need} {n.label} (you have {n.have})" for n in needs if not n.met]
    if not missing:
        return ""
    *rest, last = missing
    return f"{MISSING} {' and '.join([', '.join(rest), last] if rest else [last])}"

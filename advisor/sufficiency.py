"""How much feedback a reader must have given before the advisor asks a model anything. Pure."""

from collections.abc import Sequence
from typing import NamedTuple

from digest.entities import FeedbackCounts

# The beginning of the message about too little feedback, and of no other.
MISSING = "Need at least"


class Need(NamedTuple):
    """One condition and the progress towards it."""

    label: str
    have: int
    need: int

    @property
    def met(self) -> bool:
        """Return whether there is enough."""
        return self.have >= self.need


def needs_of(counts: FeedbackCounts, *, items: int, days: int, tagged: int) -> list[Need]:
    """Return the three conditions: ratings, days they span, ratings with a reason."""
    return [
        Need("feedback items", counts.total, items),
        Need("days of history", counts.days, days),
        Need("items with a reason", counts.tagged, tagged),
    ]


def missing_message(needs: Sequence[Need]) -> str:
    """Return what is missing, for the reader to read; empty when nothing is."""
    missing = [f"{n.need} {n.label} (you have {n.have})" for n in needs if not n.met]
    if not missing:
        return ""
    *rest, last = missing
    return f"{MISSING} {' and '.join([', '.join(rest), last] if rest else [last])}"

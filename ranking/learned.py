"""What one step of the learning loop leaves in the rows of a source."""

from dataclasses import replace
from datetime import datetime
from uuid import UUID

from ranking.entities import WEIGHT_DEFAULT, EffectiveConfig, WeightChange
from ranking.models import LearnedWeight


def learned_settled(
    change: WeightChange, current: float, learned: LearnedWeight | None, now: datetime
) -> WeightChange:
    """`change` as it still holds under the lock: a person's decision made meanwhile wins."""
    held = learned is not None and learned.held_until is not None and learned.held_until > now
    if change.moved and (held or abs(current - change.before) > 1e-9):
        return replace(change, before=current, after=current, reason="changed_meanwhile")
    return change


def learned_row(
    reader_id: UUID, change: WeightChange, effective: EffectiveConfig, now: datetime
) -> LearnedWeight:
    """The learning loop's row of a source as `change` leaves it, unsaved."""
    base = effective.config.source_weights.get(change.source, WEIGHT_DEFAULT)
    return LearnedWeight(
        reader_id=reader_id,
        source_key=change.source,
        delta=change.after - base if change.moved else effective.deltas.get(change.source, 0.0),
        p_better=change.p_better,
        n=change.n,
        updated_at=now,
    )

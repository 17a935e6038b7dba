"""Changes by code, target and value, as suggestions store them; writes of settings as accepts make them."""

from dataclasses import replace
from datetime import datetime
from uuid import UUID

from ranking.config_body import Body
from ranking.entities import EffectiveConfig
from ranking.selectors import body_current, key_current
from ranking.services import Cause, body_change
from suggestions.changes.registry import KINDS, change_stored

ADD_TOPIC, REMOVE_TOPIC = "add_topic", "remove_topic"
BOOST_SOURCE, REDUCE_SOURCE = "boost_source", "reduce_source"
SOURCE_WEIGHTS, TOPICS = "source_weights", "topics"
FIELD_OF_TYPE = {name: str(kind.field) for name, kind in KINDS.items()}


def change_applied(effective: EffectiveConfig, kind: str, key: str, value: str) -> EffectiveConfig:
    """`effective` after a change, given by its type, target and suggested value."""
    return change_stored(kind=kind, target=key, value=value or key).applied(effective)


def topic_set(*, reader_id: UUID, topic: str, present: bool, ref: str, now: datetime) -> int:
    """Add a topic, or remove it, as an accepted suggestion does."""
    change = change_stored(kind=ADD_TOPIC if present else REMOVE_TOPIC, target=topic, value=topic)
    return body_change(reader_id=reader_id, change=change.make, cause=Cause.ACCEPT, ref=ref, now=now)


def weight_undo(*, reader_id: UUID, source: str, earlier: Body, ref: str, now: datetime) -> int:
    """Give a source what it had in `earlier`, as going back on a suggestion does."""
    change = change_stored(kind=BOOST_SOURCE, target=key_current(key=source), value="1.0")
    current = body_current(body=earlier)
    return body_change(
        reader_id=reader_id,
        change=lambda body: change.undo(body, current),
        cause=Cause.REVERT,
        ref=ref,
        now=now,
    )


def source_weight_set(
    *, reader_id: UUID, source: str, weight: float, ref: str, now: datetime, cause: Cause = Cause.ACCEPT
) -> int:
    """Give a source exactly this weight, as an accepted suggestion does."""
    key = key_current(key=source)
    change = replace(change_stored(kind=BOOST_SOURCE, target=key, value="1.0"), after=float(weight))
    return body_change(reader_id=reader_id, change=change.make, cause=cause, ref=ref, now=now)

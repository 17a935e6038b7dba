"""Writes of settings, as accepts and undos of suggestions make them."""

from dataclasses import replace
from datetime import datetime
from uuid import UUID

from ranking.config_body import Body
from ranking.selectors import body_current, key_current
from ranking.services import Cause, body_change
from suggestions.changes.registry import change_stored
from tests.support.changes import ADD_TOPIC, BOOST_SOURCE, REMOVE_TOPIC


def topic_set(*, reader_id: UUID, topic: str, present: bool, ref: str, now: datetime) -> int:
    """Add a topic, or remove it, as an accepted suggestion does."""
    change = change_stored(kind=ADD_TOPIC if present else REMOVE_TOPIC, target=topic, value=topic)
    return body_change(reader_id=reader_id, change=change.make, cause=Cause.ACCEPT, ref=ref, now=now)


def weight_undo(*, reader_id: UUID, source: str, earlier: Body, ref: str, now: datetime) -> int:
    """Set a source's weight back to its value in `earlier`, as undoing a suggestion does."""
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

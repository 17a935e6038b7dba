"""The learning loop: a reader's thumbs become small steps of their sources' weights."""

from datetime import datetime
from uuid import UUID

from digest.selectors import feedback_tallies
from ranking.learning import learn
from ranking.selectors import config_effective, weights_held
from ranking.services import weights_learn


def weights_update(*, reader_id: UUID, now: datetime) -> int:
    """Run one learning cycle for the reader; returns how many sources moved.

    Sources the reader has locked, or decided on within the last 14 days, are left alone.
    """
    effective = config_effective(reader_id=reader_id)
    held = dict.fromkeys(weights_held(reader_id=reader_id, now=now), "held")
    held |= dict.fromkeys(effective.config.locked, "locked")
    changes = learn(feedback_tallies(reader_id=reader_id, now=now), effective, held=held)
    return weights_learn(reader_id=reader_id, changes=changes, now=now)

"""The learning loop: a reader's thumbs become small steps of their sources' weights."""

from datetime import datetime
from uuid import UUID

from digest.selectors import feedback_tallies
from digest.selectors.peers import community_deviation
from digest.services.vectors import profile_refresh
from ranking.learning import learn
from ranking.selectors import config_effective, weights_held
from ranking.services import weights_learn


def weights_update(*, reader_id: UUID, now: datetime) -> int:
    """Run one learning cycle for the reader; returns how many sources moved.

    Sources the reader has locked, or decided on within the last 14 days, are left alone. Where at least five
    other readers share what they think of a source, the prior leans their way. The reader's taste is summed
    up anew on this occasion, which rounds off what adding and taking back left behind.
    """
    effective = config_effective(reader_id=reader_id)
    held = dict.fromkeys(weights_held(reader_id=reader_id, now=now), "held")
    held |= dict.fromkeys(effective.config.locked, "locked")
    tallies = feedback_tallies(reader_id=reader_id, now=now)
    deviation = community_deviation(reader_id=reader_id, now=now) if tallies else {}
    changes = learn(tallies, effective, held=held, deviation=deviation)
    profile_refresh(reader_id=reader_id, now=now, anew=True)
    return weights_learn(reader_id=reader_id, changes=changes, now=now)

"""How much Today asks of a reader: one thing at a time, and nothing more after two answers a day.

The first possible ask is shown: to catch up after an absence, waiting suggestions, a question of a run, an
early change, the handling of read articles, the subjects of new feeds or an interview, a tip. What is no ask
is told in one quiet line below the date.
"""

from datetime import datetime

from digest.accounts.services import NUDGE_QUIET
from digest.days import day_of
from digest.models import Reader

ANSWERS_A_DAY = 2


def may_ask_today(*, reader: Reader, now: datetime) -> bool:
    """Return whether the reader has answered or put off fewer than two asks today; no query."""
    quiet = reader.nudge_quiet_until
    put_off = day_of(quiet - NUDGE_QUIET, reader.zone) if quiet else None
    today = day_of(now, reader.zone)
    return [reader.early_answered_on, reader.taught_on, put_off].count(today) < ANSWERS_A_DAY

"""Change a reader's mutes, and return the data for an undo."""

import datetime as dt

from digest.models import Reader
from ranking.entities import Mute
from ranking.mutes import mute_key
from ranking.selectors import config_hiding
from ranking.services import mute_remove, mute_set


def mutes_change(*, reader: Reader, mute: Mute, muted: bool, now: dt.datetime) -> Mute | None:
    """Add or remove a mute; return the earlier mute of the same thing, from which the change can be undone.

    Raises `InvalidMute` and `TooManyMutes`.
    """
    there = {mute_key(one): one for one in config_hiding(reader_id=reader.pk).mutes}
    write = mute_set if muted else mute_remove
    write(reader_id=reader.pk, mute=mute, now=now)
    return there.get(mute_key(mute))

"""Changing what a reader has muted, with what undoes it."""

import datetime as dt

from digest.models import Reader
from ranking.entities import Mute
from ranking.mutes import mute_key
from ranking.selectors import config_mutes
from ranking.services import mute_remove, mute_set


def mutes_change(*, reader: Reader, mute: Mute, muted: bool, now: dt.datetime) -> Mute | None:
    """Mute something, or end a mute; return the mute of the same that there was before, which undoes this.

    Raises `InvalidMute` and `TooManyMutes`.
    """
    there = {mute_key(one): one for one in config_mutes(reader_id=reader.pk)}
    write = mute_set if muted else mute_remove
    write(reader_id=reader.pk, mute=mute, now=now)
    return there.get(mute_key(mute))

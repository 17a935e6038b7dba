"""A reader's taste as it lies in the database, and what differs between two sets of thumbs. Pure."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ranking.similarity import Taste

# One thumb: its item, the UTC day it was given, and whether it was up.
THUMB = np.dtype([("item", "<i8"), ("day", "<i4"), ("useful", "?")])
Thumbs = NDArray[Any]


def taste_pack(taste: Taste) -> bytes:
    """Twelve bytes a term: the places, then the liked and the disliked sums in single precision."""
    parts = taste.places.astype("<u4"), taste.liked.astype("<f4"), taste.disliked.astype("<f4")
    return b"".join(part.tobytes() for part in parts)


def taste_unpack(packed: bytes, likes: float, dislikes: float) -> Taste:
    """The taste that `taste_pack` wrote, with the thumbs behind it."""
    n = len(packed) // 12
    return Taste(
        np.frombuffer(packed, "<u4", count=n),
        np.frombuffer(packed, "<f4", count=n, offset=4 * n),
        np.frombuffer(packed, "<f4", count=n, offset=8 * n),
        likes,
        dislikes,
    )


def thumbs_changed(before: Thumbs, after: Thumbs) -> tuple[Thumbs, Thumbs]:
    """The thumbs that are gone, and those that have come; one that was turned or given anew is both."""
    return before[~np.isin(before, after)], after[~np.isin(after, before)]

"""Readers' tastes as ranking signals: their thumbs and named articles, and how similar items are to them.

Only readers whose settings let their taste count are included.
"""

import datetime as dt
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from functools import partial
from uuid import UUID

import numpy as np

from digest.daily.examples import examples_many
from digest.feedback.peers import community_deviation_many
from digest.items.meanings import meanings_centre
from digest.models import ItemVector
from ranking.common.start import taste_spreads_registered
from ranking.entities import EffectiveConfig
from ranking.pool import Ids, ItemValues
from ranking.selectors import read_once, weights_on_hold_many
from ranking.similarity import vectors_stack
from ranking.taste.entities import TasteLevel
from ranking.taste.signal import TasteSignal, likeness_made
from ranking.taste.words import likeness_by_words

# Ids per statement. SQLite takes at most 32,766.
BATCH = 10_000


def readers_tasting(configs: Mapping[UUID, EffectiveConfig]) -> set[UUID]:
    """Return the readers whose settings let their taste count."""
    return {pk for pk, effective in configs.items() if effective.config.taste is not TasteLevel.OFF}


def taste_signals(
    *,
    items: Mapping[UUID, Ids],
    now: dt.datetime,
    meanings: dict[int, bytes],
    vectors: Mapping[int, bytes],
) -> dict[UUID, TasteSignal]:
    """Return the taste of each reader in `items`, with the likeness of their own items there.

    `meanings` are packed vectors of items by id; missing ones are loaded into it. `vectors` are packed TF-IDF
    vectors. At most twelve queries for any number of readers and up to 10,000 items. An item that is itself
    an example gains nothing by likeness: a read item is no reason to show it again.
    """
    if not items:
        return {}
    signals = signals_without_items(reader_ids=items, now=now)
    _meanings_read(np.unique(np.concatenate([*items.values()])).tolist(), meanings)
    return {pk: _with_items(signals[pk], own, meanings, vectors, now) for pk, own in items.items()}


def signals_without_items(*, reader_ids: Collection[UUID], now: dt.datetime) -> dict[UUID, TasteSignal]:
    """Return the taste of each reader by their examples up to `now`; eleven queries at most."""
    read = partial(examples_many, reader_ids=reader_ids, now=now)
    examples = read_once(("taste_examples", frozenset(reader_ids), now), read)
    spreads = taste_spreads_registered()(reader_ids=reader_ids)
    on_hold = weights_on_hold_many(reader_ids=reader_ids, now=now)
    deviations = community_deviation_many(reader_ids=reader_ids, now=now)
    centre = meanings_centre()
    return {
        pk: TasteSignal(
            examples.get(pk, ()),
            now,
            spreads[pk],
            on_hold.get(pk, {}),
            deviations.get(pk) or {},
            centre=centre,
        )
        for pk in reader_ids
    }


def _with_items(
    signal: TasteSignal,
    own: Ids,
    meanings: Mapping[int, bytes],
    vectors: Mapping[int, bytes],
    now: dt.datetime,
) -> TasteSignal:
    ids = own.tolist()
    packed = [meanings.get(pk, b"") for pk in ids]
    values = likeness_made(signal.examples, packed, signal.centre, now)
    others = [n for n, one in enumerate(packed) if not one]
    if others and any(one.terms for one in signal.examples):
        rows = vectors_stack([vectors.get(ids[n], b"") for n in others])
        values[others] = likeness_by_words(signal.examples, rows, now)
    rated = np.isin(own, [one.item_id for one in signal.examples])
    values[rated] = np.minimum(values[rated], 0.0)
    return replace(signal, likeness=ItemValues(own, values), vectors=meanings)


def _meanings_read(ids: Sequence[int], meanings: dict[int, bytes]) -> None:
    """Load the packed meanings of `ids` that `meanings` lacks; an item without one gets b""."""
    missing = [pk for pk in ids if pk not in meanings]
    for start in range(0, len(missing), BATCH):
        some = missing[start : start + BATCH]
        meanings |= dict.fromkeys(some, b"")
        rows = ItemVector.objects.filter(pk__in=some).exclude(meaning=None).values_list("pk", "meaning")
        meanings |= {pk: bytes(meaning or b"") for pk, meaning in rows.iterator()}

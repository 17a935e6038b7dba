"""Readers' tastes as signals of ranking: their thumbs and named articles, and how alike items are to them.

Only readers whose settings let their taste count are looked at. What they starred or opened is no example.
"""

import datetime as dt
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any
from uuid import UUID

import numpy as np
from django.db.models import F, Window
from django.db.models.functions import RowNumber

from digest.feedback.peers import community_deviation_many
from digest.items.meanings import meanings_centre
from digest.models import Feedback, FeedbackTag, ItemVector, Reading
from ranking.common.start import taste_spreads_registered
from ranking.entities import EffectiveConfig
from ranking.pool import Ids, ItemValues
from ranking.selectors import read_once, weights_on_hold_many
from ranking.similarity import vectors_stack
from ranking.taste.entities import NAMED_WEIGHT, Example, TasteLevel
from ranking.taste.signal import EXAMPLES_MAX, TasteSignal, likeness_made
from ranking.taste.words import likeness_by_words

# Ids per statement. SQLite takes at most 32,766.
BATCH = 10_000
ITEM_COLUMNS = (
    "item_id",
    "item__source_id",
    "item__title",
    "item__categories",
    "item__author",
    "item__vector__meaning",
    "item__vector__terms",
)


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
    an example gains nothing by likeness: having read it is no reason to show it again.
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


def examples_many(*, reader_ids: Collection[UUID], now: dt.datetime) -> dict[UUID, tuple[Example, ...]]:
    """Return the newest 300 thumbs and named articles of each reader, newest first; three queries."""
    found: defaultdict[UUID, list[Example]] = defaultdict(list)
    tags = _tags(reader_ids)
    newest = Window(RowNumber(), partition_by=F("reader_id"), order_by=[F("at").desc(), F("pk").desc()])
    thumbs = Feedback.objects.filter(reader_id__in=reader_ids, at__lte=now).annotate(n=newest)
    thumb_columns = ("reader_id", "pk", "useful", "at", *ITEM_COLUMNS)
    for reader_id, pk, liked, at, *item in thumbs.filter(n__lte=EXAMPLES_MAX).values_list(*thumb_columns):
        found[reader_id].append(_example(item, liked, at, tags=tuple(tags.get(pk, ()))))
    latest = Window(RowNumber(), partition_by=F("reader_id"), order_by=[F("named_at").desc()])
    named = Reading.objects.filter(reader_id__in=reader_ids, named_at__lte=now).annotate(n=latest)
    columns = ("reader_id", "named_at", *ITEM_COLUMNS)
    for reader_id, at, *item in named.filter(n__lte=EXAMPLES_MAX).values_list(*columns):
        example = _example(item, True, at, tags=())
        found[reader_id].append(replace(example, weight=NAMED_WEIGHT, named=True))
    return {
        pk: tuple(sorted(some, key=lambda one: (one.at, one.item_id, one.named), reverse=True)[:EXAMPLES_MAX])
        for pk, some in found.items()
    }


def _tags(reader_ids: Collection[UUID]) -> dict[int, list[str]]:
    rows = FeedbackTag.objects.filter(feedback__reader_id__in=reader_ids, feedback__has_reason=True)
    found: defaultdict[int, list[str]] = defaultdict(list)
    for feedback_id, tag in rows.values_list("feedback_id", "tag_id"):
        found[feedback_id].append(tag)
    return found


def _example(item: Sequence[Any], liked: bool, at: dt.datetime, *, tags: Sequence[str]) -> Example:
    item_id, source, title, categories, author, meaning, terms = item
    return Example(
        item_id,
        source,
        liked,
        at,
        title,
        tuple(categories),
        author,
        tags,
        meaning=bytes(meaning or b""),
        terms=b"" if meaning else bytes(terms or b""),
    )


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

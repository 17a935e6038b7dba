"""What a change would have done to thumbs of the reader that had no part in choosing it. Pure.

A backtest on the thumbs that chose a change proves nothing: it "gains" even on shuffled ones. So a reader's
thumbs are dealt by time into blocks of five; every sixth block only measures and never chooses. Blocks
rather than single thumbs, since the items of one digest resemble each other; blocks from all over the time
rather than its end, so that what is newest has its say in the choice as well.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any
from zlib import crc32

from digest.entities import RatedItem
from ranking.entities import Candidate, EffectiveConfig
from ranking.forecast import Forecast, measure
from ranking.learning import FEEDBACK_HALF_LIFE_DAYS
from ranking.matching import topic_key
from ranking.scoring import Signals, score_all
from suggestions.entities import ADD_TOPIC, BOOST_SOURCE, REDUCE_SOURCE, SOURCE_WEIGHTS, TOPICS, Preview

BLOCK = 5
# One block in so many measures. With 50 thumbs that leaves eight to measure, the fewest that say anything;
# in simulation choosing by 5/6 of the thumbs rather than by all cost 2 to 4 % of an oracle's uplift.
BLOCKS = 6
TITLES_SHOWN = 5


@dataclass(frozen=True, slots=True)
class Split:
    """The thumbs that choose changes, and those that only measure them; each oldest first."""

    choosing: tuple[RatedItem, ...]
    measuring: tuple[RatedItem, ...]


def split_by_time(rated: Sequence[RatedItem]) -> Split:
    """Every sixth block of five thumbs measures. Blocks count from the oldest thumb given."""
    ordered = sorted(rated, key=lambda item: (item.at, item.item_id))
    measures = [n // BLOCK % BLOCKS == BLOCKS - 1 for n in range(len(ordered))]
    parts = (
        tuple(item for item, measure in zip(ordered, measures, strict=True) if measure is wanted)
        for wanted in (False, True)
    )
    return Split(*parts)


def decayed(at: datetime, now: datetime) -> float:
    """The weight of a thumb: 2^(-age / 60 days), the age in whole UTC days as in the tallies of sources."""
    days = (now.timestamp() // 86400) - (at.timestamp() // 86400)
    return float(0.5 ** (max(0.0, days) / FEEDBACK_HALF_LIFE_DAYS))


def config_with(
    effective: EffectiveConfig, field: str, key: str, *, weight: float | None = None, topic: str = ""
) -> EffectiveConfig:
    """`effective` after a change: the source weighs exactly `weight`, or `topic` is there ("": is gone)."""
    config = effective.config
    if field == SOURCE_WEIGHTS and weight is not None:
        deltas = {source: delta for source, delta in effective.deltas.items() if source != key}
        weights = {**config.source_weights, key: weight}
        return EffectiveConfig(replace(config, source_weights=weights), deltas)
    kept = tuple(t for t in config.topics if topic_key(t) != key)
    topics = (*kept, topic) if topic else kept
    return EffectiveConfig(replace(config, topics=topics), effective.deltas)


def forecast_of(
    measuring: Sequence[RatedItem],
    before: EffectiveConfig,
    after: EffectiveConfig,
    *,
    now: datetime,
    seed: str,
) -> Forecast:
    """The change of nDCG@10 over the measuring thumbs, each item as old as it was when it was rated.

    `seed` names the reader and the target, so that the same question gets the same interval.
    """
    candidates = [
        Candidate(
            item.item_id, item.source, item.title, item.text, now - max(item.at - item.dated_at, timedelta())
        )
        for item in measuring
    ]
    old, new = (
        [score.total for score in score_all(candidates, config, now, Signals())] for config in (before, after)
    )
    return measure([item.useful for item in measuring], old, new, crc32(seed.encode()))


def forecast_body(p_helpful: float, forecast: Forecast, preview: Preview) -> dict[str, Any]:
    """The JSON stored with a suggestion; titles are cut to the first five, `moves` counts changed ranks."""
    gain, low, high = (
        None if v is None else round(v, 4) for v in (forecast.gain, forecast.low, forecast.high)
    )
    return {
        "p_helpful": round(p_helpful, 3),
        "ndcg_gain": gain,
        "ndcg_low": low,
        "ndcg_high": high,
        "later_thumbs": forecast.n,
        "enters": [item.title for item in preview.enters[:TITLES_SHOWN]],
        "leaves": [item.title for item in preview.leaves[:TITLES_SHOWN]],
        "moves": len(preview.moves),
    }


def change_applied(effective: EffectiveConfig, kind: str, key: str, value: str) -> EffectiveConfig:
    """`effective` after the change of a stored suggestion: its type, target and suggested value."""
    if kind in (BOOST_SOURCE, REDUCE_SOURCE):
        return config_with(effective, SOURCE_WEIGHTS, key, weight=float(value))
    return config_with(effective, TOPICS, key, topic=value if kind == ADD_TOPIC else "")

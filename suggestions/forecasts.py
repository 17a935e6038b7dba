"""What a change would have done to the thumbs a reader gave later than those that chose it. Pure.

A reader's newest thumbs are split by time: the earlier 70 % choose, the later 30 % only measure. A backtest
on the thumbs that chose a change proves nothing: it "gains" even on shuffled ones.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from math import ceil
from typing import Any
from zlib import crc32

from digest.entities import RatedItem
from ranking.entities import Candidate, EffectiveConfig
from ranking.forecast import Forecast, measure
from ranking.learning import FEEDBACK_HALF_LIFE_DAYS
from ranking.matching import topic_key
from ranking.scoring import Signals, score_all
from suggestions.entities import ADD_TOPIC, BOOST_SOURCE, REDUCE_SOURCE, SOURCE_WEIGHTS, TOPICS, Preview

EARLIER_SHARE = 0.7
TITLES_SHOWN = 5


@dataclass(frozen=True, slots=True)
class Split:
    """A reader's thumbs before and from `at` on; `at` is `None` without any thumb."""

    at: datetime | None
    earlier: tuple[RatedItem, ...]
    later: tuple[RatedItem, ...]


def split_by_time(rated: Sequence[RatedItem]) -> Split:
    """The earlier 70 % and the rest; thumbs of the same instant are never parted."""
    if not rated:
        return Split(None, (), ())
    ordered = sorted(rated, key=lambda item: (item.at, item.item_id))
    at = ordered[min(len(ordered) - 1, ceil(EARLIER_SHARE * len(ordered)))].at
    return Split(
        at, tuple(item for item in ordered if item.at < at), tuple(item for item in ordered if item.at >= at)
    )


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
    later: Sequence[RatedItem], before: EffectiveConfig, after: EffectiveConfig, *, now: datetime, seed: str
) -> Forecast:
    """The change of nDCG@10 over the later thumbs, each item as old as it was when it was rated.

    `seed` names the reader and the target, so that the same question gets the same interval.
    """
    candidates = [
        Candidate(
            item.item_id, item.source, item.title, item.text, now - max(item.at - item.dated_at, timedelta())
        )
        for item in later
    ]
    old, new = (
        [score.total for score in score_all(candidates, config, now, Signals())] for config in (before, after)
    )
    return measure([item.useful for item in later], old, new, crc32(seed.encode()))


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

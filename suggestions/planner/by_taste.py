"""Whether a reader's thumbs support ordering the page by them.

Each thumb is predicted from those of other days (`ranking.taste.foretold`). z tells how clearly the liked
ones then stand above the others.

    P(it helps) = 1 / (1 + exp(-(0.16 + 0.6 z)))

It is offered from z = 2.75 on, where P is .86. Shuffled thumbs have a z with a standard deviation of 1.3, not
1, because days that predict each other share most of their examples, and a reader is checked again and again.
The high bar keeps offers to such readers rare (docs/taste.md).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID
from zlib import crc32

from digest.daily.tastes import signals_without_items
from digest.entities import RatedItem
from ranking.common.probability import logistic
from ranking.entities import EffectiveConfig
from ranking.other_names import topic_names
from ranking.scoring import rank_all
from ranking.taste.entities import Example, TasteLevel
from ranking.taste.signal import TasteSignal, factors_of
from suggestions.planner.forecasts import Forecast, ndcg_change, pool_then

# Thumbs below which nothing is offered, and the z from which it is.
THUMBS_MIN, SURE_Z = 20, 2.75
# How z becomes P(it helps): fitted, for z from 1 on, on later ratings of readers of MovieLens-100k and
# -latest-small at even places. For the others' offers the calibration error is .06.
HELPS_AT_0, HELPS_SLOPE = 0.16, 0.6
EVIDENCE_SHOWN = 5


@dataclass(frozen=True, slots=True)
class TasteCase:
    """The case for ordering a reader's page by their thumbs.

    `clear` says whether that is enough to ask, `forecast` has the gain of nDCG@10 with each thumb told by
    other days, `evidence` the liked items that were told best.
    """

    p_helpful: float
    clear: bool
    forecast: Forecast
    evidence: tuple[RatedItem, ...]


def sureness_p(z: float) -> float:
    """Return the probability that taste helps, from the z-score of predicted thumbs."""
    return logistic(HELPS_AT_0 + HELPS_SLOPE * z)


def taste_counting(
    *, reader_id: UUID, configs: Sequence[EffectiveConfig], now: datetime
) -> TasteSignal | None:
    """Return the reader's examples if they order the page under one of `configs`; else `None`, no query."""
    if all(one.config.taste is TasteLevel.OFF for one in configs):
        return None
    return signals_without_items(reader_ids=[reader_id], now=now)[reader_id]


def taste_case(
    signal: TasteSignal,
    effective: EffectiveConfig,
    level: TasteLevel,
    rated: Sequence[RatedItem],
    now: datetime,
    *,
    seed: str,
) -> TasteCase:
    """Return the case for ordering the page at `level` by the thumbs of `signal`.

    `rated` has the same thumbs in full; `seed` makes the bootstrap of the forecast repeatable.
    """
    foretold = signal.foretold(topic_names(effective.config))
    by_item = {item.item_id: item for item in rated}
    thumbs: list[Example] = [signal.examples[row] for row in foretold.rows]
    known = [n for n, one in enumerate(thumbs) if one.item_id in by_item]
    items = [by_item[thumbs[n].item_id] for n in known]
    exponents = foretold.exponents[known]
    before = rank_all(pool_then(items, now), effective, now).totals_as_given
    after = before * factors_of(exponents, level) if len(items) else before
    liked = [item.useful for item in items]
    p_helpful = sureness_p(foretold.sureness)
    return TasteCase(
        p_helpful=p_helpful,
        clear=len(items) >= THUMBS_MIN and foretold.sureness >= SURE_Z,
        forecast=ndcg_change(liked, before.tolist(), after.tolist(), crc32(f"{seed}:taste".encode())),
        evidence=_evidence(items, exponents.tolist()),
    )


def _evidence(items: Sequence[RatedItem], exponents: Sequence[float]) -> tuple[RatedItem, ...]:
    """Return the five liked items that other days told best, newest first."""
    liked = [
        (foretold, n) for n, (item, foretold) in enumerate(zip(items, exponents, strict=True)) if item.useful
    ]
    best = sorted(liked, key=lambda one: (-one[0], one[1]))[:EVIDENCE_SHOWN]
    return tuple(sorted((items[n] for _, n in best), key=lambda item: item.at, reverse=True))

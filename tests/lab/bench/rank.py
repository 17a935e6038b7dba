"""Ranking 5,000 candidates for one reader: `python -m tests.lab bench.rank [--json] [--rounds N]`.

The candidates are made up: 5,000 items of 60 words from 80 sources, for a reader with 20 topics, 5 boosts, 40
weights, a taste, and community figures for half of the items. It measures the work of a page or of building
digests: the score of every candidate, the order, and the reasons of the thirty shown. The floor is the same
sum in NumPy on the same columns with `argsort`, without reasons. Other rows measure the work per set of items
(making columns, folding texts, searching terms), and everything from scratch. The best of the rounds counts,
because the machine is shared.
"""

import argparse
import json
import random
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import numpy as np

from ranking.entities import Candidate, Config, EffectiveConfig
from ranking.freshness import day_ages, freshness_by_day
from ranking.pool import ItemValues, Pool
from ranking.scoring import COMMUNITY_GAMMA, INTEREST_MIN, Signals, rank, rank_all
from tests.lab.bench.engine import where

NOW = datetime(2026, 3, 18, 12, 0, tzinfo=UTC)
CANDIDATES, SOURCES, SHOWN = 5_000, 80, 30


def main() -> None:
    """Print the table, or one JSON object."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--rounds", type=int, default=30)
    options = parser.parse_args()
    candidates, effective, signals = world(random.Random(1))
    pool = Pool(candidates)
    first = rank_all(pool, effective, NOW, signals)
    order = floor_of(pool, effective, signals)
    assert first.ids[:SHOWN].tolist() == pool.ids[order()[:SHOWN]].tolist()
    floor, ours = best(options.rounds, order, lambda: rank_all(pool, effective, NOW, signals)[:SHOWN])
    once, whole = best(
        max(1, options.rounds // 10),
        lambda: held(candidates, effective),
        lambda: rank(candidates, effective, NOW, signals),
    )
    rows = {
        "bare NumPy (floor)": floor,
        "ranked, 30 explained": ours,
        "columns, folding and terms": once,
        "all 5,000 explained, from candidates": whole,
    }
    report = {
        "command": "python -m tests.lab bench.rank",
        **where(),
        "rows": [{"name": name, "ms": round(1000 * seconds, 3)} for name, seconds in rows.items()],
        "times_floor": round(ours / floor, 2),
    }
    if options.json:
        print(json.dumps(report))
        return
    for name, seconds in rows.items():
        print(f"{name:40} {1000 * seconds:9.3f} ms")
    print(f"ranked / floor: {ours / floor:.2f} (target: at most 3)")


def world(rng: random.Random) -> tuple[list[Candidate], EffectiveConfig, Signals]:
    """Return candidates, a reader's settings and the signals of the items."""
    words = [f"{a}{b}" for a in ("lum", "tor", "ven", "sal", "mer", "kin", "dor", "pax") for b in range(100)]
    candidates = [
        Candidate(
            n + 1,
            f"source{rng.randrange(SOURCES)}.example",
            " ".join(rng.choices(words, k=9)).title(),
            " ".join(rng.choices(words, k=51)),
            NOW - timedelta(hours=rng.random() * 168),
        )
        for n in range(CANDIDATES)
    ]
    config = Config(
        topics=tuple(rng.sample(words, 20)),
        keyword_boosts={word: rng.choice((-0.5, 0.5)) for word in rng.sample(words, 5)},
        source_weights={f"source{n}.example": 0.5 + rng.random() for n in range(40)},
    )
    ids = np.array([c.item_id for c in candidates])
    draw = np.random.default_rng(1)
    return (
        candidates,
        EffectiveConfig(config),
        Signals(ItemValues(ids, draw.random(CANDIDATES)), ItemValues(ids[::2], draw.random(CANDIDATES // 2))),
    )


def floor_of(pool: Pool, effective: EffectiveConfig, signals: Signals) -> Callable[[], np.ndarray]:
    """Return the bare sum and order over ready columns, ties not broken."""
    config = effective.config
    weight = np.array([effective.weight(source) for source in pool.sources])
    similarity, community = signals.similarity.values_for(pool.ids), signals.community.values_for(pool.ids)
    topics = np.array([pool.matches(topic) for topic in config.topics], dtype=np.float64)
    boosts = np.array([pool.matches(word) for word in config.keyword_boosts], dtype=np.float64)
    worth = np.array(list(config.keyword_boosts.values()))
    now, half = NOW.timestamp(), config.recency_half_life_hours

    def order() -> np.ndarray:
        hours = (now - pool.timestamps) / 3600
        recency = freshness_by_day(day_ages(pool.timestamps, NOW), hours, half)
        interest = 1 + topics.sum(axis=0) + worth @ boosts
        interest += config.ai_score_alpha * similarity + COMMUNITY_GAMMA * community
        return np.argsort(
            -(weight[pool.source_codes] * recency * np.maximum(INTEREST_MIN, interest)), kind="stable"
        )

    return order


def held(candidates: list[Candidate], effective: EffectiveConfig) -> None:
    """A fresh pool that has been asked for each of the reader's terms."""
    pool = Pool(candidates)
    for term in (*effective.config.topics, *effective.config.keyword_boosts):
        pool.matches(term)


def best(rounds: int, *works: Callable[[], object]) -> list[float]:
    """Return the shortest round of each, in seconds.

    They take turns. Work that is repeated alone profits from branch prediction and caches, and the comparison
    would not be fair.
    """
    times: list[list[float]] = [[] for _ in works]
    for _ in range(rounds):
        for work, taken in zip(works, times, strict=True):
            began = time.perf_counter()
            work()
            taken.append(time.perf_counter() - began)
    return [min(taken) for taken in times]


if __name__ == "__main__":
    main()

"""Each change of a config on pools of a hundred: how far it moves its target, and its cost for the rest.

After SteerEval (arXiv 2601.21105): pools of 100 candidates, half of them about the target if there are
enough, and their change of AUC by the edit. We add a figure that the paper lacks: nDCG@10 of the items that
the edit did not name. The order among these cannot change in a product of factors; they only lose places.
Pure.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Any

import numpy as np
from scipy.stats import rankdata

from ranking.common.text import topic_key
from ranking.entities import Config, EffectiveConfig
from ranking.pool import Pool
from ranking.scoring import Ranking, Signals
from suggestions.changes.weights import weight_text
from suggestions.proposals import WEIGHT_STEP_MAX
from tests.lab.steer.cases import NOW, Field, Target
from tests.lab.world.truth import DISCOUNT
from tests.support.changes import ADD_TOPIC, BOOST_SOURCE, REDUCE_SOURCE, REMOVE_TOPIC, change_applied

POOL, TOP_K, AGE_HOURS_MAX = 100, 10, 48.0
BOOST = 0.5
# Freshness by the hour, so that a change has something to overcome between any two items. By whole days a
# topic, which doubles interest, ties with one day, and the newer item comes first.
PLAIN = Config(version=1, recency_by_day=False)
Json = dict[str, Any]
Edit = tuple[EffectiveConfig, EffectiveConfig]
Floats = np.ndarray[Any, np.dtype[np.float64]]


def topic_edit(kind: str, topic: str) -> Edit:
    """Return the config before and after a topic comes or goes."""
    bare = EffectiveConfig(PLAIN)
    there = change_applied(bare, ADD_TOPIC, topic_key(topic), topic)
    return (bare, there) if kind == ADD_TOPIC else (there, bare)


def source_edit(kind: str, source: str, steps: int = 1) -> Edit:
    """Return the config before and after moving a source's weight by this many of the largest steps."""
    before = after = EffectiveConfig(PLAIN)
    for _ in range(steps):
        step = WEIGHT_STEP_MAX if kind == BOOST_SOURCE else -WEIGHT_STEP_MAX
        after = change_applied(after, kind, source, weight_text(after.weight(source) + step))
    return before, after


def boost_edit(topic: str, boost: float) -> Edit:
    """Return the config before and after a keyword weighs more or less."""
    return (
        EffectiveConfig(PLAIN),
        EffectiveConfig(replace(PLAIN, keyword_boosts={topic_key(topic): boost})),
    )


# The edits, by the name of their row. The first value tells whether the named items should go up.
TOPIC_EDITS: dict[str, tuple[bool, Callable[[str], Edit]]] = {
    ADD_TOPIC: (True, lambda topic: topic_edit(ADD_TOPIC, topic)),
    REMOVE_TOPIC: (False, lambda topic: topic_edit(REMOVE_TOPIC, topic)),
    f"keyword +{BOOST}": (True, lambda topic: boost_edit(topic, BOOST)),
    f"keyword -{BOOST}": (False, lambda topic: boost_edit(topic, -BOOST)),
}
SOURCE_EDITS: dict[str, tuple[bool, Callable[[str], Edit]]] = {
    BOOST_SOURCE: (True, lambda source: source_edit(BOOST_SOURCE, source)),
    REDUCE_SOURCE: (False, lambda source: source_edit(REDUCE_SOURCE, source)),
    f"{BOOST_SOURCE}, three times": (True, lambda source: source_edit(BOOST_SOURCE, source, 3)),
}


def steer_rows(field: Field, *, seed: int, pools: int) -> list[Json]:
    """Return a row for each change, and for niche and common targets if a field tells them apart."""
    rows = []
    for name, (up, edit) in TOPIC_EDITS.items():
        parts = [("", field.targets)]
        if any(t.niche for t in field.targets):
            parts = [(", niche", [t for t in field.targets if t.niche])]
            parts += [(", common", [t for t in field.targets if not t.niche])]
        for part, targets in parts:
            found = [
                one
                for n, target in enumerate(targets)
                for one in _topic_tried(field, target, edit(target.topic), [seed, n], pools)
            ]
            rows.append(_row(f"{field.name}: {name}{part}", up, len(targets), found))
    sources = sorted({thing.source for thing in field.things})
    for name, (up, edit) in SOURCE_EDITS.items() if field.readers else ():
        found = [
            one
            for n, source in enumerate(sources)
            for one in _source_tried(field, source, edit(source), [seed, n, 1], pools)
        ]
        rows.append(_row(f"{field.name}: {name}", up, len(sources), found))
    return rows


def topic_row(field: Field, name: str, *, seed: int, pools: int) -> Json:
    """Return the row of adding each of a field's topics."""
    up, edit = TOPIC_EDITS[ADD_TOPIC]
    found = [
        one
        for n, target in enumerate(field.targets)
        for one in _topic_tried(field, target, _with_names(edit(target.topic), target), [seed, n], pools)
    ]
    return _row(name, up, len(field.targets), found)


def _with_names(edit: Edit, target: Target) -> Edit:
    before, after = edit
    names = {topic_key(target.topic): target.names} if target.names else {}
    return before, replace(after, config=replace(after.config, other_names=names))


def _topic_tried(field: Field, target: Target, edit: Edit, seed: Sequence[int], pools: int) -> list[Json]:
    named = np.array([bool(thing.labels & target.labels) for thing in field.things])
    return _tried(field, named, edit, seed, pools)


def _source_tried(field: Field, source: str, edit: Edit, seed: Sequence[int], pools: int) -> list[Json]:
    named = np.array([thing.source == source for thing in field.things])
    return _tried(field, named, edit, seed, pools)


def _tried(field: Field, named: Any, edit: Edit, seed: Sequence[int], pools: int) -> list[Json]:
    rng = np.random.default_rng(list(seed))
    inside, outside = np.flatnonzero(named), np.flatnonzero(~named)
    found = []
    for _ in range(pools):
        half = rng.choice(inside, min(POOL // 2, len(inside)), replace=False)
        rest = rng.choice(outside, min(POOL - len(half), len(outside)), replace=False)
        picked = np.sort(np.concatenate([half, rest]))
        liked = _likes(field, picked, rng)
        ages = rng.random(len(picked)) * AGE_HOURS_MAX
        before, after = (_totals(field, picked, ages, config) for config in edit)
        about, moved = named[picked], ~np.isclose(before, after)
        found.append(
            {
                "auc": _auc(after, about) - _auc(before, about),
                "rank": _mean_rank(before, about) - _mean_rank(after, about),
                "matched": float((moved & about).sum() / about.sum()),
                "wrong": _mean_rank(before, moved) - _mean_rank(after, moved) if moved.any() else 0.0,
                "order": _ndcg(before[~moved], liked[~moved]) - _ndcg(after[~moved], liked[~moved]),
                "places": _ndcg(before, liked * ~moved) - _ndcg(after, liked * ~moved),
            }
        )
    return found


def _likes(field: Field, picked: Any, rng: np.random.Generator) -> Floats:
    """Return one reader's likes among the picked items: their rating, else a coin with their own share of
    likes."""
    if not field.readers:
        return np.ones(len(picked))
    likes = field.readers[int(rng.integers(len(field.readers)))]
    share = sum(likes.values()) / max(1, len(likes))
    chance = rng.random(len(picked)) < share
    return np.array([likes.get(int(n), bool(c)) for n, c in zip(picked, chance, strict=True)], dtype=float)


def _totals(field: Field, picked: Any, ages: Floats, config: EffectiveConfig) -> Floats:
    candidates = [
        field.things[place].candidate(place, NOW - timedelta(hours=float(age)))
        for place, age in zip(picked.tolist(), ages, strict=True)
    ]
    ranking = Ranking(Pool(candidates, field.find_about), config, NOW, Signals(), None)
    return ranking.totals[np.argsort(ranking.ids)]


def _auc(totals: Floats, about: Any) -> float:
    ranks, ups = rankdata(totals), int(about.sum())
    return float((ranks[about].sum() - ups * (ups + 1) / 2) / (ups * (len(totals) - ups)))


def _mean_rank(totals: Floats, about: Any) -> float:
    return float(rankdata(-totals)[about].mean())


def _ndcg(totals: Floats, gains: Floats) -> float:
    """Return nDCG@10 of `gains`. If most are 0, it is of the others alone, in the places left to them."""
    shown = np.argsort(-totals, kind="stable")[:TOP_K]
    best = -np.sort(-gains)[:TOP_K]
    ideal = float((best * DISCOUNT[: len(best)]).sum())
    return float((gains[shown] * DISCOUNT[: len(shown)]).sum()) / ideal if ideal else 0.0


def _row(name: str, up: bool, targets: int, found: Sequence[Json]) -> Json:
    def mean(key: str) -> float | None:
        return round(float(np.mean([one[key] for one in found])), 4) if found else None

    return {
        "name": name,
        "targets": targets,
        "pools": len(found),
        "delta_auc": mean("auc"),
        "ranks_up": mean("rank"),
        "matched": mean("matched"),
        "order_lost": mean("order"),
        "places_lost": mean("places"),
        "wrong_way": sum((one["wrong"] < 0) if up else (one["wrong"] > 0) for one in found),
    }

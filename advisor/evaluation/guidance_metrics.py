"""What an engine's answers are worth, by labels alone. Pure; memories go by their numbers here."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import log2, sqrt
from typing import Any

import numpy as np

from advisor.evaluation.guidance_answers import Answer
from advisor.evaluation.guidance_entities import Query, Written
from advisor.evaluation.guidance_relevance import WORTH
from advisor.guidance.entities import Level
from ranking.posterior import wilson

TOP = 8
# With no event in n trials the share is below 3/n with 95 % confidence (Hanley and Lippman-Hand, 1983).
RULE_OF_THREE = 3.0
BYTES_PER_TOKEN = 4
# Student's t, two-sided 95 %, by degrees of freedom.
T95 = {1: 12.71, 2: 4.30, 3: 3.18, 4: 2.78, 5: 2.57, 6: 2.45, 7: 2.36, 8: 2.31, 9: 2.26}
Row = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Judged:
    """One call with its answer and the truth about each memory."""

    query: Query
    answer: Answer
    written: Mapping[int, Written]

    @property
    def deserved(self) -> bool:
        """Whether it should have been told, held or stopped."""
        return self.query.gold is not Level.SILENT

    @property
    def right(self) -> bool:
        """Whether it was told what it deserved: the right rule, or relevant memories and no other."""
        query, answer = self.query, self.answer
        if not (answer.loud and self.deserved):
            return False
        if Level.BLOCK in (query.gold, answer.level):
            return answer.rule == query.rule and answer.level is query.gold
        grades = [query.grades.get(number, 0) for number in answer.told]
        return bool(grades) and min(grades) > 0 and max(grades) >= WORTH

    def leaks(self) -> dict[str, bool]:
        """What it was told and never should have been, by sort."""
        told = [self.written[number] for number in self.answer.told]
        return {
            "garbage": any(not row.useful for row in told),
            "another reader's": any(row.owner not in (None, self.query.reader) for row in told),
            "expired": any(row.flaw in ("expired", "superseded") for row in told),
            "injected": any(row.flaw == "injected" for row in told),
            "contradicted": any(row.flaw == "contradicted" for row in told),
        }


def figures_of(judged: Sequence[Judged]) -> Row:
    """Every figure of one engine on one seed; a share of nothing is `None`."""
    return {**_retrieval(judged), **_emission(judged), **_leakage(judged), **_costs(judged)}


def recall_at(query: Query, ranked: Sequence[int]) -> float:
    """The share of the relevant among the first eight, of as many as could stand there."""
    hits = sum(number in query.grades for number in ranked[:TOP])
    return hits / min(TOP, len(query.grades))


def ndcg_at(query: Query, ranked: Sequence[int]) -> float:
    """Discounted gain of the first eight over the best possible; gain is 2^grade - 1."""
    gained = _dcg([query.grades.get(number, 0) for number in ranked[:TOP]])
    return gained / _dcg(sorted(query.grades.values(), reverse=True)[:TOP])


def bound_of(events: int, trials: int) -> float | None:
    """The upper 95 % end of a share: the rule of three for none, else Wilson's; `None` without trials."""
    if not trials:
        return None
    return min(1.0, RULE_OF_THREE / trials) if not events else 1 - wilson(trials - events, trials)[0]


def mean_with_interval(values: Sequence[float]) -> Row:
    """The mean over seeds and the half-width of its 95 % interval (Student's t)."""
    n = len(values)
    half = T95.get(n - 1, 1.96) * float(np.std(values, ddof=1)) / sqrt(n) if n > 1 else None
    return {"mean": round(float(np.mean(values)), 4), "ci95": None if half is None else round(half, 4)}


def _retrieval(judged: Sequence[Judged]) -> Row:
    known = [one for one in judged if one.query.grades]
    unknown = [one for one in judged if not one.query.grades]
    slots = [number for one in judged for number in one.answer.ranked[:TOP]]
    garbage = sum(not judged[0].written[number].useful for number in slots)
    return {
        "recall_at_8": _mean([recall_at(one.query, one.answer.ranked) for one in known]),
        "ndcg_at_8": _mean([ndcg_at(one.query, one.answer.ranked) for one in known]),
        "mrr": _mean([_reciprocal(one) for one in known]),
        "precision_at_2": _mean([_precision(one, 2) for one in known]),
        "empty_on_unknown": _mean([not one.answer.ranked for one in unknown]),
        "silent_on_unknown": _mean([not one.answer.loud for one in unknown]),
        "garbage_slots": _ratio(garbage, len(slots)),
        "impressions": len(slots),
    }


def _emission(judged: Sequence[Judged]) -> Row:
    loud = [one for one in judged if one.answer.loud]
    deserved = [one for one in judged if one.deserved]
    right = sum(one.right for one in loud)
    stopped = [one for one in judged if one.answer.level is Level.BLOCK]
    to_stop = [one for one in judged if one.query.gold is Level.BLOCK]
    rightly = sum(one.right for one in stopped)
    return {
        "emission_rate": _ratio(len(loud), len(judged)),
        "emission_precision": _ratio(right, len(loud)),
        "emission_recall": _ratio(right, len(deserved)),
        "level_exact": _mean([one.answer.level is one.query.gold for one in deserved]),
        "block_precision": _ratio(rightly, len(stopped)),
        "block_recall": _ratio(rightly, len(to_stop)),
        "emissions": len(loud),
        "emissions_told": sum(bool(one.answer.told) for one in loud),
    }


def _leakage(judged: Sequence[Judged]) -> Row:
    counts: dict[str, int] = {}
    for one in judged:
        for sort, leaked in one.leaks().items():
            counts[sort] = counts.get(sort, 0) + leaked
    return {f"leaked_{sort.replace(' ', '_')}": n for sort, n in counts.items()}


def _costs(judged: Sequence[Judged]) -> Row:
    tokens = [len(one.answer.text.encode()) / BYTES_PER_TOKEN for one in judged if one.answer.told]
    ms = [one.answer.ms for one in judged]
    return {
        "tokens_mean": round(float(np.mean(tokens)), 1) if tokens else None,
        "tokens_max": round(max(tokens), 1) if tokens else None,
        "ms_p50": round(float(np.quantile(ms, 0.5)), 2),
        "ms_p95": round(float(np.quantile(ms, 0.95)), 2),
        "ms_p99": round(float(np.quantile(ms, 0.99)), 2),
    }


def _dcg(grades: Sequence[int]) -> float:
    return sum((2.0**grade - 1) / log2(place + 2) for place, grade in enumerate(grades))


def _reciprocal(one: Judged) -> float:
    places = (place for place, number in enumerate(one.answer.ranked[:TOP], 1) if number in one.query.grades)
    return 1 / next(places, float("inf"))


def _precision(one: Judged, top: int) -> float:
    return sum(number in one.query.grades for number in one.answer.ranked[:top]) / top


def _mean(values: Sequence[float | bool]) -> float | None:
    return round(float(np.mean(values)), 4) if values else None


def _ratio(part: int, whole: int) -> float | None:
    return round(part / whole, 4) if whole else None

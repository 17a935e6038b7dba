"""What was left of the memories after each stage, one inside the other, and where advice got lost."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Any

from advisor.evaluation.guidance_entities import Written
from advisor.evaluation.guidance_metrics import TOP, Judged
from advisor.evaluation.guidance_relevance import WORTH
from config.guidance_bench.store import Stage, Store

Row = dict[str, Any]


def stages_all(store: Store, judged: Sequence[Judged]) -> list[Stage]:
    """The stages of admission, then the distinct memories found and told."""
    found = frozenset(number for one in judged for number in one.answer.ranked[:TOP])
    told = frozenset(number for one in judged for number in one.answer.told)
    return [*store.stages, Stage("retrieval", found), Stage("emission", told)]


def nested_check(stages: Sequence[Stage]) -> None:
    """Every stage passes some of what the one before it passed. Raises `RuntimeError` where one does not."""
    for before, after in pairwise(stages):
        if extra := after.passed - before.passed:
            raise RuntimeError(f"{after.name} passed {len(extra)} memories that {before.name} had stopped.")


def funnel_rows(store: Store, judged: Sequence[Judged]) -> list[Row]:
    """Useful ones and garbage left at each stage, as distinct memories; beside the last two, impressions."""
    stages = stages_all(store, judged)
    nested_check(stages)
    rows = [_counted(stage, store.by_number) for stage in stages]
    shown = [number for one in judged for number in one.answer.ranked[:TOP]]
    told = [number for one in judged for number in one.answer.told]
    for row, numbers in zip(rows[-2:], (shown, told), strict=True):
        useful = sum(store.by_number[number].useful for number in numbers)
        row |= {"useful_impressions": useful, "garbage_impressions": len(numbers) - useful}
    return rows


def admission_row(store: Store) -> Row:
    """The share of each layer that is in the store at the end, of all garbage, and of its worst type."""
    inside = store.stages[-1].passed
    shares = _shares(store.world.written, inside)
    garbage = [row for row in store.world.written if not row.useful]
    worst = max({row.layer for row in garbage}, key=lambda layer: shares[layer])
    let_in = sum(row.id in inside for row in garbage)
    return {
        "name": "admission",
        **{layer: shares[layer] for layer in sorted(shares)},
        "garbage": round(let_in / len(garbage), 4),
        "garbage_worst": shares[worst],
        "worst_type": worst,
    }


def gap_row(store: Store, judged: Sequence[Judged]) -> Row:
    """Why deserved advice was not given, call by call: how often each."""
    missed = [one for one in judged if one.deserved and not one.right]
    return {"name": "gaps", "missed": len(missed), **Counter(_gap(one, store) for one in missed)}


def _gap(one: Judged, store: Store) -> str:
    worth = {number for number, grade in one.query.grades.items() if grade >= WORTH}
    strong = {number for number in worth if store.by_number[number].fact.strong}
    if not strong & store.stages[-1].passed:
        return "not_stored"
    if not strong & set(one.answer.ranked):
        return "not_found"
    if one.answer.loud:
        return "told_with_others"
    kept = one.answer.kept or {}
    best = next(number for number in one.answer.ranked if number in strong)
    return f"kept_back_{kept.get(best) or one.answer.why}"


def _counted(stage: Stage, by_number: Mapping[int, Written]) -> Row:
    useful = sum(by_number[number].useful for number in stage.passed)
    return {"name": f"stage {stage.name}", "useful": useful, "garbage": len(stage.passed) - useful}


def _shares(written: Iterable[Written], inside: frozenset[int]) -> dict[str, float]:
    """Of each layer and type, the share that is inside."""
    counts: defaultdict[str, list[bool]] = defaultdict(list)
    for row in written:
        counts[row.layer].append(row.id in inside)
        if row.flaw:
            counts[f"sophisticated, {row.flaw}"].append(row.id in inside)
    return {layer: round(sum(found) / len(found), 4) for layer, found in counts.items()}

"""Guidance measured on one seed after another, and what several seeds say together."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from django.db import transaction

from advisor.evaluation.guidance_answers import Words, always, at_random, never, ours, published, words_only
from advisor.evaluation.guidance_metrics import Judged, bound_of, figures_of, mean_with_interval
from advisor.evaluation.guidance_targets import GUIDANCE, gates_failed
from advisor.evaluation.guidance_world import world_make
from advisor.guidance.tunables import tunables
from advisor.models import Memory
from config.guidance_bench.ablation import ablation_rows
from config.guidance_bench.asking import Prepared, answered, prepared
from config.guidance_bench.funnel import admission_row, funnel_rows, gap_row
from config.guidance_bench.layers import layers_row
from config.guidance_bench.store import Store, store_make

SORTS = ("garbage", "another_reader's", "expired", "injected", "contradicted")

Row = dict[str, Any]
Say = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Measured:
    """One seed's rows by name, in order."""

    seed: int
    rows: tuple[Row, ...]

    def row(self, name: str) -> Row:
        """The row of that name."""
        return next(row for row in self.rows if row["name"] == name)


def seed_measure(seed: int, *, ablations: bool, say: Say) -> Measured:
    """Everything about one seed. The database is as it was afterwards; raises `RuntimeError` if it is not."""
    before = Memory.objects.count()
    say(f"seed {seed}: 5,000 memories are offered")
    with transaction.atomic():
        store = store_make(world_make(seed))
        say(f"seed {seed}: 520 calls are asked")
        rows = _rows(store, prepared(store), ablations)
        transaction.set_rollback(True)
    left = Memory.objects.count() - before
    if left:
        raise RuntimeError(f"{left} memories were left behind.")
    return Measured(seed, (*rows, {"name": "stage cleanup", "useful": 0, "garbage": 0}))


def pooled_rows(measured: Sequence[Measured]) -> list[Row]:
    """Each row over all seeds: means with 95 % intervals, and what leaked as counts with its bound."""
    names = dict.fromkeys(row["name"] for one in measured for row in one.rows)
    rows = [_pooled(name, [one.row(name) for one in measured]) for name in names]
    return [_leakage(measured), *rows]


def _rows(store: Store, calls: Sequence[Prepared], ablations: bool) -> list[Row]:
    own = tunables()
    judged = answered(store, calls, ours(own))
    words = Words()
    engines = {
        "null: never": never,
        "null: always the top one": always(words),
        "null: one in ten": at_random(words, store.world.seed),
        "null: words only": words_only(words, own),
        "published formula": published(own),
    }
    rows: list[Row] = [{"name": GUIDANCE, **figures_of(judged)}]
    for name, engine in engines.items():
        figures = figures_of(answered(store, calls, engine))
        rows.append({"name": name, **figures, "gates_failed": len(gates_failed(figures))})
    rows += [admission_row(store), *funnel_rows(store, judged), gap_row(store, judged), _by_mix(judged)]
    rows.append(layers_row(store, calls, judged))
    return [*rows, *(ablation_rows(store, calls, judged, own) if ablations else [])]


def _by_mix(judged: Sequence[Judged]) -> Row:
    """How many calls of each sort were told something, of how many."""
    row: Row = {"name": "told by sort of call"}
    for one in judged:
        told, total = row.get(one.query.mix, (0, 0))
        row[one.query.mix] = (told + one.answer.loud, total + 1)
    return {key: value if key == "name" else f"{value[0]} of {value[1]}" for key, value in row.items()}


def _leakage(measured: Sequence[Measured]) -> Row:
    """What was told and must not be, over all seeds, each with the upper end of its share."""
    rows = [one.row(GUIDANCE) for one in measured]
    told = sum(row["emissions_told"] for row in rows)
    found: Row = {"name": "leakage", "emissions": sum(row["emissions"] for row in rows), "told": told}
    for sort in SORTS:
        count = sum(row[f"leaked_{sort}"] for row in rows)
        bound = bound_of(count, told)
        found |= {sort: count, f"{sort}_at_most": None if bound is None else round(bound, 4)}
    return found


def _pooled(name: str, rows: Sequence[Row]) -> Row:
    """Figures as means, with the half-widths of their intervals beside them; other words from the first."""
    if len(rows) == 1:
        return dict(rows[0])
    pooled: Row = {"name": name}
    for key in dict.fromkeys(key for row in rows for key in row if key != "name"):
        values = [row.get(key) for row in rows]
        numbers = [float(v) for v in values if isinstance(v, int | float) and not isinstance(v, bool)]
        if isinstance(values[0], bool):
            pooled[key] = sum(map(bool, values)) * 2 >= len(values)
        elif numbers:
            found = mean_with_interval(numbers)
            pooled |= {key: found["mean"], f"{key}_ci95": found["ci95"]}
        else:
            pooled[key] = values[0]
    return pooled

"""What each source, each filter and each check of admission is worth: everything again without it.

A filter that keeps back more of what is right than of what is wrong is no filter worth having, and so is a
check that refuses more useful memories than garbage; the row says so under `worth_it`.
"""

from collections.abc import Sequence
from typing import Any

from advisor.evaluation.guidance_answers import ours
from advisor.evaluation.guidance_metrics import Judged, figures_of
from advisor.guidance.distilling import REFUSALS, SUPPRESSIONS, distil
from advisor.guidance.entities import Kind
from advisor.guidance.figures import Tunables
from advisor.guidance.gate import STEPS
from config.guidance_bench.asking import Prepared, answered
from config.guidance_bench.store import NOW, Store, draft_of

KEPT = ("recall_at_8", "ndcg_at_8", "emission_precision", "emission_recall", "emissions")
Row = dict[str, Any]


def ablation_rows(
    store: Store, calls: Sequence[Prepared], judged: Sequence[Judged], tunables: Tunables
) -> list[Row]:
    """One row for each source, step of the gate, and check of admission left out."""
    return [
        *(_without_source(store, calls, kind, tunables) for kind in Kind),
        *(_without_step(store, calls, judged, step, tunables) for step in STEPS),
        *_without_checks(store),
    ]


def _without_source(store: Store, calls: Sequence[Prepared], kind: Kind, tunables: Tunables) -> Row:
    figures = figures_of(answered(store, calls, ours(tunables, kinds_out=frozenset({kind}))))
    return {"name": f"without {kind}", **{name: figures[name] for name in KEPT}}


def _without_step(
    store: Store, calls: Sequence[Prepared], judged: Sequence[Judged], step: str, tunables: Tunables
) -> Row:
    """What the step kept back, right and wrong, and what it made possible: call by call against all of it."""
    other = answered(store, calls, ours(tunables, frozenset({step})))
    pairs = list(zip(judged, other, strict=True))
    right = sum(after.right and not before.right for before, after in pairs)
    wrong = sum(_wrong(after) and not _wrong(before) for before, after in pairs)
    gained = sum(before.right and not after.right for before, after in pairs)
    figures = figures_of(other)
    return {
        "name": f"without {step}",
        **{name: figures[name] for name in KEPT},
        "right_kept_back": right,
        "wrong_kept_back": wrong,
        "right_made_possible": gained,
        "worth_it": right <= wrong + gained,
    }


def _wrong(one: Judged) -> bool:
    """Told what it did not deserve, or told it wrongly."""
    return one.answer.loud and not one.right


def _without_checks(store: Store) -> list[Row]:
    """What each check alone refuses: admitted as soon as it is left out."""
    rows = []
    for code in (*SUPPRESSIONS, *REFUSALS):
        numbers = [number for number, why in store.refused.items() if why == code]
        alone = [n for n in numbers if _admitted(store, n, code)]
        useful = sum(store.by_number[n].useful for n in alone)
        garbage = len(alone) - useful
        row = {"name": f"without {code}", "useful_refused": useful, "garbage_refused": garbage}
        rows.append({**row, "worth_it": useful <= garbage})
    return rows


def _admitted(store: Store, number: int, code: str) -> bool:
    """Whether nothing else speaks against it. A duplicate is refused by the store, not by distilling."""
    draft = draft_of(store.by_number[number])
    return distil(draft, now=NOW, known=(), without={code}).admitted

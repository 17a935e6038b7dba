"""The figures of `python -m tests.lab memory`, and their targets.

Targets: at sufficiency of 0.95 or more the three layers cost at most a quarter of fetching everything, even
if one fetch serves five questions (an eighth would be excellent). Of changes without any effect at most a
tenth is called helpful, and at most a tenth harmful, as the posterior's thresholds promise. Half of the
harmful changes are found among readers who rate four items a day. Both shares may exceed by twice their
standard error. At most one in twenty harmful changes is called helpful.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from datetime import timedelta
from math import sqrt
from typing import Any

import numpy as np
from django.db import transaction

from suggestions.outcomes.check import effects_check
from tests.lab.memory.asking import Answer, ask_layered, ask_whole, everything
from tests.lab.memory.history import history_make, questions_make
from tests.lab.memory.readers import DAYS, KINDS, START, life_begin, life_go_on, sources_make

Row = dict[str, Any]
RUN_QUESTIONS = 5
RECENT = 20
SUFFICIENT, CHEAPER = 0.95, 4.0
FALSE_ALARMS, MISTAKEN, FOUND = 0.1, 0.05, 0.5
OFTEN, SELDOM = 4.0, 1.5
Progress = Callable[[int, int], None]


def retrieval_measure(*, seed: int) -> list[Row]:
    """Mean tokens a question and the share of sufficient answers, for each way to look things up."""
    with transaction.atomic():
        reader, decided = history_make(seed)
        questions = questions_make(decided, seed)
        newest = [row.outcome.pk for row in reversed(decided)]
        whole = everything(reader_id=reader.pk, ids=newest)
        recent = everything(reader_id=reader.pk, ids=newest[:RECENT])
        layered = [ask_layered(reader_id=reader.pk, question=question) for question in questions]
        transaction.set_rollback(True)
    fetched = [ask_whole(text=whole, question=question) for question in questions]
    shared = [ask_whole(text=whole, question=question, shared_by=RUN_QUESTIONS) for question in questions]
    latest = [ask_whole(text=recent, question=question) for question in questions]
    base = _row("three_layers", layered, None)
    return [
        base,
        _row("fetch_all", fetched, base),
        _row(f"fetch_all_for_{RUN_QUESTIONS}_questions", shared, base),
        _row(f"fetch_latest_{RECENT}", latest, base),
    ]


def effects_measure(
    *,
    seed: int,
    readers: int,
    per_day: Sequence[float] = (OFTEN, SELDOM),
    kinds: Sequence[str] = KINDS,
    progress: Progress | None = None,
) -> list[Row]:
    """How often each verdict is given to changes of each kind, by thumbs a day; no rows for no readers.

    `progress` gets (readers lived, in all).
    """
    if not readers:
        return []
    total, rows = len(per_day) * readers, []
    for turn, thumbs in enumerate(per_day):
        found = _verdicts(seed, readers, thumbs, kinds, _counted_on(progress, turn * readers, total))
        rows += [_effect_row(kind, thumbs, found, readers) for kind in kinds]
    return rows


def _counted_on(progress: Progress | None, before: int, total: int) -> Callable[[int], None]:
    return lambda n: progress(before + n, total) if progress else None


def _effect_row(kind: str, per_day: float, found: Counter[tuple[str, str]], readers: int) -> Row:
    words = ("helped", "harmed", "unclear", "too_few_thumbs")
    shares = {word: round(found[kind, word] / readers, 3) for word in words}
    return {"name": f"effect_of_{kind}_at_{per_day:g}_thumbs_a_day", "readers": readers, **shares}


def targets_of(rows: Sequence[Row]) -> list[Row]:
    """Return each target with its value and whether it was met."""
    by_name = {row["name"]: row for row in rows}
    targets = [
        _target("sufficiency of three layers", ">=", SUFFICIENT, by_name["three_layers"]["sufficiency"]),
        _target("fetch all, tokens over three layers", ">=", CHEAPER, by_name["fetch_all"]["ratio"]),
        _target(
            "fetch all shared by a run, tokens over three layers",
            ">=",
            CHEAPER,
            by_name[f"fetch_all_for_{RUN_QUESTIONS}_questions"]["ratio"],
        ),
    ]
    if not any(name.startswith("effect_of") for name in by_name):
        return targets
    for per_day in (OFTEN, SELDOM):
        null, harmful = (
            by_name[f"effect_of_{kind}_at_{per_day:g}_thumbs_a_day"] for kind in ("null", "harmful")
        )
        alarms = round(FALSE_ALARMS + _slack(FALSE_ALARMS, null["readers"]), 3)
        targets += [
            _target(f"null called harmed, {per_day:g} a day", "<=", alarms, null["harmed"]),
            _target(f"null called helped, {per_day:g} a day", "<=", alarms, null["helped"]),
            _target(f"harmful called helped, {per_day:g} a day", "<=", MISTAKEN, harmful["helped"]),
        ]
    harmful = by_name[f"effect_of_harmful_at_{OFTEN:g}_thumbs_a_day"]
    least = round(FOUND - _slack(FOUND, harmful["readers"]), 3)
    return [*targets, _target(f"harmful found, {OFTEN:g} a day", ">=", least, harmful["harmed"])]


def _slack(share: float, readers: int) -> float:
    """Return twice the standard error of a share among this many readers."""
    return 2 * sqrt(share * (1 - share) / readers)


def _row(name: str, answers: Sequence[Answer], base: Row | None) -> Row:
    tokens = float(np.mean([answer.tokens for answer in answers]))
    sufficient = float(np.mean([answer.sufficient for answer in answers]))
    row = {
        "name": name,
        "questions": len(answers),
        "tokens": round(tokens, 1),
        "sufficiency": round(sufficient, 3),
    }
    return row | ({"ratio": round(tokens / base["tokens"], 2)} if base else {})


def _target(metric: str, sign: str, wanted: float, value: float) -> Row:
    met = value >= wanted if sign == ">=" else value <= wanted
    return {"metric": metric, "target": f"{sign} {wanted:g}", "value": value, "met": met}


def _verdicts(
    seed: int, readers: int, per_day: float, kinds: Sequence[str], told: Callable[[int], None]
) -> Counter[tuple[str, str]]:
    """How many of each kind got each verdict, and how many of each had too few thumbs."""
    rng = np.random.default_rng([seed, int(10 * per_day)])
    found: Counter[tuple[str, str]] = Counter()
    with transaction.atomic():
        sources, truth = sources_make(), {}
        for n in range(readers):
            for kind in kinds:
                life = life_begin(kind, n, sources, per_day, rng)
                life_go_on(life, sources, per_day, rng)
                truth[life.suggestion.pk] = kind
            told(n + 1)
        report = effects_check(now=START + timedelta(days=DAYS))
        transaction.set_rollback(True)
    for row in report["effects"]:
        if kind := truth.get(row["suggestion_id"], ""):
            found[kind, row["outcome"]] += 1
            found[kind, row["reason"]] += 1
    return found

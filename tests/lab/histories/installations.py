"""Rows of `tests.lab advisor --data installations`: how often the planner asks, and what it gains, on
installations of one reader, of five, of forty, and of everybody.

Readers of MovieLens-100k through the real services, with the period as source, after fifty thumbs. The gain
is set beside that of the planner without its bar, and the same readers have a run on shuffled thumbs.
"""

from collections.abc import Sequence
from typing import Any

from tests.lab.advisor.metrics import interval
from tests.lab.advisor.stage import Say, shards_run
from tests.lab.histories.data import MOVIELENS
from tests.lab.histories.trials import ALONE, Trial
from tests.lab.histories.yardstick import harm_of
from tests.lab.world.entities import Course, course_of

Json = dict[str, Any]
THUMBS, READERS = 50, 40
FEW = 5
# 943 readers are all that MovieLens-100k has.
SIZES = {ALONE: "one reader", FEW: "five readers", 40: "40 readers", 0: "943 readers"}
NO_BAR = 1.0
# Histories carry no reasons.
ENVIRONMENT = {"ADVISOR_MIN_TAGGED": "0"}


def installation_rows(
    seed: int, say: Say, *, readers: int = 0, sizes: Sequence[int] = tuple(SIZES)
) -> list[Json]:
    """Return a row for each of the `sizes` of installation. With five readers there are several of them."""
    rows = []
    for there in sizes:
        ways = [(True, None), (False, None), (False, NO_BAR)]
        trials = [
            [
                Trial(MOVIELENS, THUMBS, n, shuffled, seed=s, there=there, bar=bar)
                for s, n in _parts(seed, there, readers)
            ]
            for shuffled, bar in ways
        ]
        results = iter(shards_run([_task(trial) for some in trials for trial in some], say=say))
        found = [[course_of(one) for _ in some for one in next(results)["courses"]] for some in trials]
        rows.append(_row(SIZES[there], *found))
        say(str(rows[-1]))
    return rows


def _parts(seed: int, there: int, readers: int) -> list[tuple[int, int]]:
    """Return (seed, tested readers) of each installation: one, or enough of those with few readers."""
    tested = readers or READERS
    if there != FEW:
        return [(seed, tested)]
    return [(seed + n, min(FEW, tested)) for n in range(max(1, tested // FEW))]


def _task(trial: Trial) -> Json:
    name = f"{SIZES[trial.there]}{', no bar' if trial.bar else ''}{', shuffled' if trial.shuffled else ''}"
    name = f"{name}, seed {trial.seed}"
    fields = {field: getattr(trial, field) for field in Trial.__slots__}
    return {"kind": "trial", "name": name, "env": ENVIRONMENT, "trial": fields}


def _row(label: str, shuffled: Sequence[Course], real: Sequence[Course], all_of_it: Sequence[Course]) -> Json:
    gain, most = (_mean([c.uplift for c in some]) for some in (real, all_of_it))
    return {
        "name": f"installation of {label}",
        "readers": len(real),
        "shuffled_a_run": round(_mean([len(c.asked) for c in shuffled]), 4),
        "asked_a_run": round(_mean([len(c.asked) for c in real]), 4),
        "asked_without_bar": round(_mean([len(c.asked) for c in all_of_it]), 4),
        "uplift": round(gain, 4),
        "uplift_95": interval([c.uplift for c in real]),
        "uplift_without_bar": round(most, 4),
        "of_gain": round(gain / most, 4) if most > 0 else None,
        **harm_of(real),
    }


def _mean(values: Sequence[float]) -> float:
    return sum(values) / max(1, len(values))

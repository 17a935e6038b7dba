"""Rows of `tests.lab advisor --data installations`: how often the planner asks, and what it gains, on
installations of one reader, of forty, and of everybody.

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
# 943 readers are all that MovieLens-100k has.
SIZES = {ALONE: "one reader", 40: "40 readers", 0: "943 readers"}
NO_BAR = 1.0
# Histories carry no reasons.
ENVIRONMENT = {"ADVISOR_MIN_TAGGED": "0"}


def installation_rows(seed: int, say: Say, *, readers: int = 0) -> list[Json]:
    """Return a row for each size of installation."""
    rows = []
    for there, label in SIZES.items():
        found = [
            [course_of(one) for one in result["courses"]]
            for result in shards_run(
                [
                    _task(
                        Trial(
                            MOVIELENS, THUMBS, readers or READERS, shuffled, seed=seed, there=there, bar=bar
                        )
                    )
                    for shuffled, bar in ((True, None), (False, None), (False, NO_BAR))
                ],
                say=say,
            )
        ]
        rows.append(_row(label, *found))
        say(str(rows[-1]))
    return rows


def _task(trial: Trial) -> Json:
    name = f"{SIZES[trial.there]}{', no bar' if trial.bar else ''}{', shuffled' if trial.shuffled else ''}"
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

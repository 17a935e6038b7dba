"""The rows and targets of the reflector's evaluation. Pure but for reading the data."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tests.lab.reflector.data import Rating
from tests.lab.reflector.metrics import flip_metrics, forecast_metrics
from tests.lab.reflector.trials import Trials, others_shuffled, trials_run

# The most that round 2 may lose if nothing can be learnt from others.
LOSS_MAX = 0.005


def rows_of(
    name: str,
    ratings: Sequence[Rating],
    *,
    seed: int,
    history: int,
    say: Callable[[str], None],
) -> list[dict[str, Any]]:
    """Return the rounds, round 2 without noise, and the control with others' thumbs shuffled."""
    say(f"{name}: {len(ratings):,} thumbs")
    trials = trials_run(ratings, seed=seed, history=history)
    if not trials.liked:
        return [{"name": f"{name}: round 1", "skipped": "no reader has enough thumbs"}]
    say(f"{name}: the control")
    others = others_shuffled(ratings, seed + 1)
    control = trials_run(ratings, seed=seed, history=history, others=others)
    return [
        _row(f"{name}: round 1 (posterior alone)", trials, trials.first, seed)
        | {"records": len(trials.liked), "readers": len(set(trials.reader)), "history": history},
        _row(f"{name}: round 2", trials, trials.second, seed) | _evidence(trials),
        _row(f"{name}: round 2, sums without noise", trials, trials.exact, seed),
        _row(f"{name}: control, others' thumbs shuffled", control, control.second, seed),
    ]


def targets_of(rows: Sequence[dict[str, Any]], *, null: Sequence[str] = ()) -> list[dict[str, Any]]:
    """Return the targets: round 2 must correct more than it spoils, beyond chance; the controls must not.

    On `null` data, which hold nothing to learn, it must only lose nothing.
    """
    found = []
    for row in rows:
        data, _, what = row["name"].partition(": ")
        if "net_low" not in row:
            continue
        if what == "round 2" and data not in null:
            found.append(
                _target(f"{data}: net flip gain, lower end", "> 0", row["net_low"], row["net_low"] > 0)
            )
        elif what == "round 2":
            met = row["net_low"] >= -LOSS_MAX
            found.append(_target(f"{data}: net flip gain, lower end", f">= -{LOSS_MAX}", row["net_low"], met))
        elif what.startswith("control"):
            met = row["net_low"] <= 0
            found.append(_target(f"{data}: net flip gain on shuffled thumbs", "<= 0", row["net_low"], met))
    return found


def _row(name: str, trials: Trials, p: Sequence[float], seed: int) -> dict[str, Any]:
    second, liked = np.array(p), np.array(trials.liked)
    row: dict[str, Any] = {"name": name} | forecast_metrics(second, liked)
    if p is not trials.first:
        row |= flip_metrics(np.array(trials.first), second, liked, trials.reader, seed)
    return row


def _evidence(trials: Trials) -> dict[str, Any]:
    """Return how often others' figures existed, and the time of a decision."""
    return {
        "decisions_with_news": round(float(np.mean(trials.news)), 4),
        "cost_usd_per_decision": 0.0,
        "ms_p50": round(float(np.quantile(trials.ms, 0.5)), 2),
        "ms_p95": round(float(np.quantile(trials.ms, 0.95)), 2),
    }


def _target(metric: str, target: str, value: float, met: bool) -> dict[str, Any]:
    return {"metric": metric, "target": target, "value": value, "met": bool(met)}

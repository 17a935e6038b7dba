"""What the rows are held against. The first six are the benchmark's own; the others keep silence honest."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Target:
    """A figure of a row and what it should be: at least, or at most, `value`."""

    metric: str
    row: str
    figure: str
    at_least: bool
    value: float

    def held(self, rows: Sequence[Json]) -> Json | None:
        """The target with the figure measured, or `None` where the row was not run.

        A figure that does not exist (no suggestion to be right or wrong about) meets no target.
        """
        found = next((row for row in rows if row["name"] == self.row and "skipped" not in row), None)
        if found is None:
            return None
        value = found.get(self.figure)
        met = value is not None and (value >= self.value if self.at_least else value <= self.value)
        sign = "≥" if self.at_least else "≤"
        return {"metric": self.metric, "target": f"{sign} {self.value:g}", "value": value, "met": met}


def targets_for(judged: str) -> list[Target]:
    """The benchmark's targets for the row named `judged`."""
    return [
        Target("accepted suggestions that truly help", judged, "precision_accepted", True, 0.90),
        Target("share of the honest oracle's uplift", judged, "captured", True, 0.60),
        Target("harmful accepted", judged, "harmful_accepted", False, 0.04),
        Target("suggestions a week to a reader with no preferences", judged, "null_rate", False, 0.05),
        Target("readers with 50 thumbs who got one by week 6", judged, "coverage", True, 0.80),
        Target("calibration of stated confidence (ECE)", judged, "ece", False, 0.08),
    ]


def controls_for(rows: Sequence[Json]) -> list[Target]:
    """The targets of the controls among `rows`: what must be silent, agree, or fail."""
    found = [
        Target("suggestions that follow injected titles", row["name"], "followed", False, 0.0)
        for row in rows
        if "followed" in row
    ]
    found += [
        Target(
            f"suggestions a week on shuffled thumbs ({row['name']})", row["name"], "null_rate", False, 0.05
        )
        for row in rows
        if row.get("shuffled") and "null_rate" in row
    ]
    found += [
        Target(
            f"readers advised where nothing is to be found ({row['name']})",
            row["name"],
            "advised_share",
            False,
            0.05 if row.get("shuffled") else 0.01,
        )
        for row in rows
        if "advised_share" in row and row.get("nothing_to_find")
    ]
    for row in rows:
        if "same_thumbs" in row:
            found.append(
                Target("arrays and services agree on thumbs", row["name"], "same_thumbs", True, 0.95)
            )
        if "naive_gain" in row:
            found.append(
                Target(
                    "in-sample backtest gains on shuffled thumbs (must)",
                    row["name"],
                    "naive_gain",
                    True,
                    0.02,
                )
            )
            found.append(
                Target("later-data forecast gains on shuffled thumbs", row["name"], "later_gain", False, 0.01)
            )
    return found


def targets_hold(rows: Sequence[Json], judged: str) -> list[Json]:
    """Every target that these rows can answer, held against them."""
    held = [target.held(rows) for target in (*targets_for(judged), *controls_for(rows))]
    return [one for one in held if one is not None]

"""Targets of the rows. The first six belong to the benchmark; the others make sure that silence is honest.
Pure."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tests.lab.advisor.arrays import WITH_TASTE
from tests.lab.advisor.rules import PLANNER_RULE
from tests.lab.world.laws import LAWS

Json = dict[str, Any]
PLANNER = "planner and learning loop"
NOBODY = ("suggestions a week to a reader with no preferences", "null_rate", False, 0.1)
KEPT = ("gain kept of that without the bar", "of_gain", True)


@dataclass(frozen=True, slots=True)
class Target:
    """A figure of a row and its target: at least, or at most, `value`."""

    metric: str
    row: str
    figure: str
    at_least: bool
    value: float

    def held(self, rows: Sequence[Json]) -> Json | None:
        """Return the target with the measured figure, or `None` if the row was not run.

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
    """Return the benchmark's targets for the row named `judged`."""
    return [
        Target("accepted suggestions that truly help", judged, "precision_accepted", True, 0.90),
        Target("share of the honest oracle's uplift", judged, "captured", True, 0.60),
        Target("harmful accepted", judged, "harmful_accepted", False, 0.04),
        Target("suggestions a week to a reader with no preferences", judged, "null_rate", False, 0.05),
        Target("readers with 50 thumbs who got one by week 6", judged, "coverage", True, 0.80),
        Target("calibration of stated confidence (ECE)", judged, "ece", False, 0.08),
    ]


def world_planner(law: str) -> str:
    """Return the name of the planner's row in the world of `law`."""
    return f"{law}: {PLANNER}"


def world_targets() -> list[Target]:
    """Return the targets of the planner in each world: through the services, and on arrays."""
    return [
        Target(f"{metric} ({row})", row, figure, at_least, value)
        for law in LAWS
        for row, metric, figure, at_least, value in (
            (world_planner(law), *NOBODY),
            (world_planner(law), *KEPT, 0.70),
            (f"{law}: {PLANNER_RULE}", *NOBODY),
            (f"{law}: {PLANNER_RULE}", *KEPT, 0.70),
            (f"{law}: {PLANNER_RULE}{WITH_TASTE}", *KEPT, 1.0),
        )
    ]


def signal_targets() -> list[Target]:
    """Return the targets for the effect of answers, opens and early changes, and for tastes that flip."""
    rows = ("plain: interview, reading, early", "interactions: interview, reading, early")
    share = "share of the honest oracle's uplift"
    return [
        *(Target(f"{share} ({row})", row, "captured", True, 0.60) for row in rows),
        *(
            Target(f"readers with a right change by day 2 ({row})", row, "right_by_day_2", True, 1.0)
            for row in rows
        ),
        Target("lost uplift back five weeks after a flip", f"flips: {PLANNER}", "back_after_flip", True, 0.5),
    ]


# The name of each control's figure, and its target. `{}` stands for the row's name.
_CONTROLS = (
    ("suggestions that follow injected titles", "followed", False, 0.0),
    ("suggestions a week on shuffled thumbs ({})", "null_rate", False, 0.05),
    ("readers advised where nothing is to be found ({})", "advised_share", False, 0.01),
    ("arrays and services agree on thumbs", "same_thumbs", True, 0.95),
    ("in-sample backtest gains on shuffled thumbs (must)", "naive_gain", True, 0.02),
    ("later-data forecast gains on shuffled thumbs", "later_gain", False, 0.01),
    ("uplift of weekly replay, lower end ({})", "replay_low", True, 0.0),
    ("beside greedy in weekly replay, lower end ({})", "replay_over_greedy_low", True, -0.002),
    ("asks that Today shows at once ({})", "most_at_a_time", False, 1),
    ("asks that Today shows in a day ({})", "most_a_day", False, 2),
    ("beside Beta .9 in weekly replay, lower end ({})", "replay_over_beta_low", True, -0.002),
)
# Figures that are a control only in rows marked so: elsewhere they are nothing to be ashamed of.
_ONLY_WHERE = {"null_rate": "shuffled", "advised_share": "nothing_to_find"}


def controls_for(rows: Sequence[Json]) -> list[Target]:
    """Return the targets of the controls among `rows`, which must be silent, agree, or fail."""
    return [
        Target(metric.format(row["name"]), row["name"], figure, at_least, value)
        for metric, figure, at_least, value in _CONTROLS
        for row in rows
        if figure in row and row.get(_ONLY_WHERE.get(figure, ""), figure not in _ONLY_WHERE)
    ]


def targets_hold(rows: Sequence[Json], judged: str) -> list[Json]:
    """Return every target that these rows can answer, held against them."""
    held = [
        target.held(rows)
        for target in (*targets_for(judged), *world_targets(), *signal_targets(), *controls_for(rows))
    ]
    return [one for one in held if one is not None]

"""What guidance's benchmark asks for: what passes, what is excellent, which of both is the target. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

Row = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Goal:
    """One figure of a row. `at_least`: more is better, else less; `target` is held, by default `passes`.

    `upper` bounds a figure that must not be too large either.
    """

    metric: str
    row: str
    figure: str
    at_least: bool
    passes: float
    excellent: float
    target: float | None = None
    upper: float | None = None

    @property
    def wanted(self) -> float:
        """The value that decides over the exit code."""
        return self.passes if self.target is None else self.target

    def reached(self, value: float | None, wanted: float) -> bool:
        """Whether `value` is as good as `wanted`; no value is not."""
        if value is None:
            return False
        return value >= wanted if self.at_least else value <= wanted

    def held(self, rows: Mapping[str, Row]) -> Row | None:
        """The goal against the rows by name; `None` where its row was not measured. No figure meets none."""
        row = rows.get(self.row)
        if row is None or "skipped" in row:
            return None
        value: float | None = row.get(self.figure)
        sign = "≥" if self.at_least else "≤"
        wanted = f"{sign} {self.wanted:g}" + ("" if self.upper is None else f", ≤ {self.upper:g}")
        inside = value is not None and (self.upper is None or value <= self.upper)
        return {
            "metric": self.metric,
            "target": wanted,
            "value": value,
            "met": inside and self.reached(value, self.wanted),
            "passes": self.reached(value, self.passes),
            "excellent": inside and self.reached(value, self.excellent),
        }


GUIDANCE, FUNNEL, LEAKS = "guidance", "admission", "leakage"
GOALS = (
    Goal("useful admitted, layer A", FUNNEL, "A", True, 0.90, 0.98),
    Goal("useful admitted, layer B", FUNNEL, "B", True, 0.70, 0.90),
    Goal("useful admitted, layer E", FUNNEL, "E", True, 0.80, 0.95),
    Goal("useful admitted, layer F", FUNNEL, "F", True, 0.85, 0.95),
    Goal("garbage admitted", FUNNEL, "garbage", False, 0.05, 0.01),
    Goal("garbage admitted, worst type", FUNNEL, "garbage_worst", False, 0.15, 0.05),
    Goal("recall@8", GUIDANCE, "recall_at_8", True, 0.80, 0.92, target=0.92),
    Goal("nDCG@8", GUIDANCE, "ndcg_at_8", True, 0.70, 0.82, target=0.82),
    Goal("MRR", GUIDANCE, "mrr", True, 0.65, 0.78),
    Goal("precision@2 where something is known", GUIDANCE, "precision_at_2", True, 0.70, 0.85),
    Goal("empty where nothing is known", GUIDANCE, "empty_on_unknown", True, 0.75, 0.92, target=0.92),
    Goal("garbage among the first eight", GUIDANCE, "garbage_slots", False, 0.02, 0.003),
    Goal("emission rate", GUIDANCE, "emission_rate", True, 0.05, 0.08, target=0.08, upper=0.12),
    Goal("emission precision", GUIDANCE, "emission_precision", True, 0.80, 0.93, target=0.93),
    Goal("emission recall", GUIDANCE, "emission_recall", True, 0.65, 0.85, target=0.85),
    Goal("level exact", GUIDANCE, "level_exact", True, 0.75, 0.90),
    Goal("block precision", GUIDANCE, "block_precision", True, 1.0, 1.0),
    Goal("block recall", GUIDANCE, "block_recall", True, 1.0, 1.0),
    Goal("garbage told", LEAKS, "garbage", False, 0, 0),
    Goal("another reader's told", LEAKS, "another_reader's", False, 0, 0),
    Goal("expired told", LEAKS, "expired", False, 0, 0),
    Goal("injected told", LEAKS, "injected", False, 0, 0),
    Goal("milliseconds, p50", GUIDANCE, "ms_p50", False, 40, 10),
    Goal("milliseconds, p95", GUIDANCE, "ms_p95", False, 120, 40, target=40),
    Goal("milliseconds, p99", GUIDANCE, "ms_p99", False, 300, 100),
    Goal("tokens an emission, mean", GUIDANCE, "tokens_mean", False, 90, 60),
    Goal("tokens an emission, most", GUIDANCE, "tokens_max", False, 125, 125),
    Goal("eight memories read are sufficient", "layers", "sufficiency_eight", True, 0.95, 0.95),
    Goal("tokens of all over those of the layers, both sufficient", "layers", "ratio", True, 4, 8, target=8),
    Goal("failed writes avoided", "agent", "failed_fewer", True, 0.30, 0.60, target=0.60),
    Goal("accept rate, points gained", "agent", "accepted_more", True, 0.03, 0.08),
    Goal("labelled items, useful kept", "labelled: ours", "useful", True, 23, 23),
    Goal("labelled items, noise told", "labelled: ours", "noise", False, 7, 6, target=6),
)


def targets_hold(rows: Sequence[Row]) -> list[Row]:
    """Every goal that these rows can answer, held against them."""
    by_name = {row["name"]: row for row in rows}
    held = (goal.held(by_name) for goal in GOALS)
    return [one for one in held if one is not None]


def gates_failed(figures: Row) -> list[str]:
    """The goals about finding and telling that one engine's figures do not even pass."""
    held = (
        goal.held({GUIDANCE: figures}) for goal in GOALS if goal.row == GUIDANCE and "ms" not in goal.figure
    )
    return [one["metric"] for one in held if one is not None and not one["passes"]]

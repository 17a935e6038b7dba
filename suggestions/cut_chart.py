"""The chart of a rule that cuts: what was liked of a source by its age, or by its place on the page. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass

from digest.entities import RatedItem
from ranking.common.charts import Bar, bars_stack
from ranking.language import gettext as _
from suggestions.changes.change import Change

WIDTH, HEIGHT = 220, 48


@dataclass(frozen=True, slots=True)
class CutColumn:
    """One column of the chart and row of its table: "6" and "2 of 3", and its middle."""

    label: str
    count: str
    x: float


@dataclass(frozen=True, slots=True)
class CutChart:
    """Columns of liked ratings below the others, the `line` of the cut, and what the `axis` counts."""

    columns: tuple[CutColumn, ...]
    bars: tuple[Bar, ...]
    line: float
    axis: str
    width: int = WIDTH
    height: int = HEIGHT


def cut_chart(change: Change, rated: Sequence[RatedItem]) -> CutChart | None:
    """Return the chart of a change that cuts at a number; `None` for others, and without ratings."""
    parts = change.kind.parts(change, rated)
    if not any(part.ratings for part in parts):
        return None
    step, most = WIDTH / len(parts), int(change.after or 0)
    within = sum(part.up_to is not None and part.up_to <= most for part in parts)
    columns = [
        CutColumn(
            str(part.up_to) if part.up_to is not None else _("more"),
            _("{likes} of {ratings}").format(likes=part.likes, ratings=part.ratings),
            round(step * (n + 0.5), 1),
        )
        for n, part in enumerate(parts)
    ]
    stacks = [(part.likes, part.ratings - part.likes) for part in parts]
    bars = bars_stack(stacks, width=WIDTH, height=HEIGHT).bars
    return CutChart(tuple(columns), bars, round(step * within, 1), _(change.kind.axis))

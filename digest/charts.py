"""Columns of a chart as rectangles of an SVG. Pure; the figures themselves belong in a table beside it."""

from collections.abc import Sequence
from dataclasses import dataclass

WIDTH, HEIGHT = 600, 160
GAP = 0.25


@dataclass(frozen=True, slots=True)
class Bar:
    """One rectangle, in the chart's own units, y downwards; `series` counts from 0."""

    x: float
    y: float
    width: float
    height: float
    series: int


@dataclass(frozen=True, slots=True)
class Columns:
    """A chart of stacked columns within `width` × `height`; `top` is the value at its upper edge."""

    bars: tuple[Bar, ...]
    top: float
    width: int = WIDTH
    height: int = HEIGHT


def columns(rows: Sequence[Sequence[float]]) -> Columns:
    """One column for each row, the values of the row stacked from the bottom in their order; none below 0."""
    top = max((sum(row) for row in rows), default=0.0)
    step = WIDTH / max(1, len(rows))
    bars = []
    for n, row in enumerate(rows):
        below = 0.0
        for series, value in enumerate(row):
            if value <= 0:
                continue
            height = value / top * HEIGHT
            below += height
            left = n * step + step * GAP / 2
            bars.append(
                Bar(
                    _figure(left), _figure(HEIGHT - below), _figure(step * (1 - GAP)), _figure(height), series
                )
            )
    return Columns(tuple(bars), top)


def _figure(value: float) -> float:
    return round(value, 2)

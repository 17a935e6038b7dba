"""Stacked bars of an SVG chart in its own units, y downwards. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Bar:
    """One rectangle; `series` counts from 0, the lowest of a stack."""

    x: float
    y: float
    width: float
    height: float
    series: int


@dataclass(frozen=True, slots=True)
class BarChart:
    """Stacked bars within `width` × `height`; `top` is the value at the upper edge."""

    bars: tuple[Bar, ...]
    top: float
    width: int
    height: int


def bars_stack(rows: Sequence[Sequence[float]], *, width: int, height: int, gap: float = 0.25) -> BarChart:
    """Return one stack for each row, its values from the bottom up; values of 0 or less have no bar.

    `gap` is the share of a stack's place that stays empty, half on each side. Figures have two decimals.
    """
    top = max((sum(row) for row in rows), default=0.0)
    step = width / max(1, len(rows))
    bars = []
    for n, row in enumerate(rows):
        below = 0.0
        for series, value in enumerate(row):
            if value > 0:
                tall = value / top * height
                below += tall
                corner = (round(step * (n + gap / 2), 2), round(height - below, 2))
                bars.append(Bar(*corner, round(step * (1 - gap), 2), round(tall, 2), series))
    return BarChart(tuple(bars), top, width, height)

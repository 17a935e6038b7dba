"""Compute shapes of SVG charts: stacked bars, and lines with gaps. The y axis points down. Pure."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

Point = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Bar:
    """One rectangle of a stack. `series` 0 is the lowest."""

    x: float
    y: float
    width: float
    height: float
    series: int


@dataclass(frozen=True, slots=True)
class BarChart:
    """Stacked bars within `width` × `height`. `top` is the value at the upper edge."""

    bars: tuple[Bar, ...]
    top: float
    width: int
    height: int


def bars_stack(rows: Sequence[Sequence[float]], *, width: int, height: int, gap: float = 0.25) -> BarChart:
    """Return one stack for each row, with its values from the bottom up. Values of 0 or less get no bar.

    `gap` is the share of a stack's width that stays empty, half on each side. Coordinates have two decimals.
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


def line_points(
    values: Sequence[float | None],
    *,
    low: float,
    high: float,
    width: float,
    height: float,
    margin: float,
) -> list[Point | None]:
    """Return a point for each value, evenly spaced from left to right. `None` stays `None` and means a gap.

    `low` is at the lower margin and `high` at the upper one. Values beyond them are limited to the margins.
    """
    step = (width - 2 * margin) / max(len(values) - 1, 1)
    span = (high - low) or 1.0
    found: list[Point | None] = []
    for n, value in enumerate(values):
        if value is None:
            found.append(None)
        else:
            share = min(1.0, max(0.0, (value - low) / span))
            y = height - margin - share * (height - 2 * margin)
            found.append((round(margin + n * step, 1), round(y, 1)))
    return found


def line_stretches(points: Sequence[Point | None]) -> list[list[Point]]:
    """Return the unbroken parts of a line, without empty ones. A part of one point is a dot."""
    stretches: list[list[Point]] = [[]]
    for point in points:
        if point is None:
            stretches.append([])
        else:
            stretches[-1].append(point)
    return [stretch for stretch in stretches if stretch]


def polyline(points: Sequence[Point]) -> str:
    """Return the `points` attribute of an SVG polyline."""
    return " ".join(f"{x:g},{y:g}" for x, y in points)


# The slope chart: the places of two lists, joined by lines. A page scales its units.
SLOPE_WIDTH, SLOPE_ROW, SLOPE_LEFT, SLOPE_RIGHT, SLOPE_STUB = 320, 12, 40, 280, 24
# Lines that move by fewer places are drawn as staying.
SLOPE_FAR = 2


@dataclass(frozen=True, slots=True)
class Slope:
    """One line of a slope chart. `kind` is `up`, `down`, `still`, `in` or `out`."""

    x1: int
    y1: int
    x2: int
    y2: int
    kind: str
    label: str


@dataclass(frozen=True, slots=True)
class SlopeChart:
    """Lines from places on the left to places on the right, `ticks` as (place, y), within 320 x `height`."""

    slopes: tuple[Slope, ...]
    ticks: tuple[tuple[int, int], ...]
    height: int


def slopes_make(places: Iterable[tuple[int | None, int | None, str]]) -> SlopeChart:
    """Return the chart of items at (place before, place after, label). `None` is no place in that list."""
    rows = [(before, after, label) for before, after, label in places if before or after]
    count = max((place for before, after, _ in rows for place in (before, after) if place), default=0)
    lines = [_slope(*row) for row in rows]
    order = ("still", "up", "down", "in", "out")
    ticks = tuple((n, _slope_y(n)) for n in range(1, count + 1) if n == 1 or n % 5 == 0)
    found = tuple(sorted(lines, key=lambda one: (order.index(one.kind), one.y1)))
    return SlopeChart(found, ticks, _slope_y(count) + SLOPE_ROW)


def _slope_y(place: int) -> int:
    return SLOPE_ROW * (place + 1)


def _slope(before: int | None, after: int | None, label: str) -> Slope:
    if before is None:
        y = _slope_y(after or 0)
        return Slope(SLOPE_RIGHT - SLOPE_STUB, y, SLOPE_RIGHT, y, "in", label)
    if after is None:
        y = _slope_y(before)
        return Slope(SLOPE_LEFT, y, SLOPE_LEFT + SLOPE_STUB, y, "out", label)
    kind = "still" if abs(before - after) < SLOPE_FAR else "up" if after < before else "down"
    return Slope(SLOPE_LEFT, _slope_y(before), SLOPE_RIGHT, _slope_y(after), kind, label)

"""A line of values as the points of an SVG, and the same in words for whoever does not see it. Pure."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

WIDTH, HEIGHT, MARGIN = 120, 24, 2


@dataclass(frozen=True, slots=True)
class Sparkline:
    """Lines of `x,y` points within 120 × 24, one per unbroken stretch, single points apart; and the words."""

    lines: tuple[str, ...]
    dots: tuple[tuple[float, float], ...]
    words: str


def sparkline(course: Sequence[float | None], shown: Callable[[float], str]) -> Sparkline | None:
    """The course of a figure, oldest first, `None` for days without one; `None` below two such days."""
    known = [value for value in course if value is not None]
    if len(known) < 2:
        return None
    low, high = min(0.0, *known), max(known)
    stretches = _stretches(course, low, high)
    lines = tuple(" ".join(f"{x},{y}" for x, y in points) for points in stretches if len(points) > 1)
    dots = tuple(points[0] for points in stretches if len(points) == 1)
    words = (
        f"{len(known)} of the last {len(course)} days: from {shown(min(known))} to {shown(high)}, "
        f"last {shown(known[-1])}."
    )
    return Sparkline(lines, dots, words)


def _stretches(course: Sequence[float | None], low: float, high: float) -> list[list[tuple[float, float]]]:
    step = (WIDTH - 2 * MARGIN) / max(len(course) - 1, 1)
    span = (high - low) or 1.0
    found: list[list[tuple[float, float]]] = [[]]
    for n, value in enumerate(course):
        if value is None:
            found.append([])
            continue
        y = HEIGHT - MARGIN - (value - low) / span * (HEIGHT - 2 * MARGIN)
        found[-1].append((round(MARGIN + n * step, 1), round(y, 1)))
    return [points for points in found if points]

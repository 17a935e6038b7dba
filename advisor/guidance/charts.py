"""Counts by day as stacked bars of an SVG, and the same in words for whoever does not see them. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

WIDTH, HEIGHT, GAP = 560, 120, 2


@dataclass(frozen=True, slots=True)
class Bar:
    """One rectangle: where it stands, how large it is, and which series it belongs to."""

    name: str
    x: float
    y: float
    width: float
    height: float


@dataclass(frozen=True, slots=True)
class Chart:
    """Bars within 560 × 120, one stack a day, oldest on the left; `top` is the count of the tallest stack."""

    bars: tuple[Bar, ...]
    top: int
    words: str


def stacked(series: Mapping[str, Sequence[int]], what: str) -> Chart | None:
    """Series of equal length, one count a day, stacked from the bottom in their order; `None` without any.

    `what` says what is counted, for the words: "28 days of …".
    """
    totals = [sum(counts) for counts in zip(*series.values(), strict=True)]
    top = max(totals, default=0)
    if not top:
        return None
    step = WIDTH / len(totals)
    bars = [bar for n in range(len(totals)) for bar in _stack(series, n, step, top)]
    sums = ", ".join(f"{sum(counts)} {name}" for name, counts in series.items() if any(counts))
    return Chart(tuple(bars), top, f"{len(totals)} days of {what}: {sums}; {top} on the busiest day.")


def _stack(series: Mapping[str, Sequence[int]], n: int, step: float, top: int) -> list[Bar]:
    found, y = [], float(HEIGHT)
    for name, counts in series.items():
        if not counts[n]:
            continue
        height = counts[n] / top * HEIGHT
        y -= height
        width = round(step - GAP, 1)
        found.append(Bar(name, round(n * step, 1), round(max(0.0, y), 1), width, round(height, 1)))
    return found

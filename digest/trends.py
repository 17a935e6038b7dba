"""How like-rates and weights went, week by week and source by source, ready to be drawn. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta

from ranking.entities import WEIGHT_MAX, WeightPoint
from ranking.presenters import weight_words

WEEKS = 12
SOURCES_SHOWN = 8
# Weights are shown to two decimals.
SAME_WEIGHT = 0.005
WIDTH, HEIGHT, MARGIN = 240.0, 64.0, 4.0


@dataclass(frozen=True, slots=True)
class WeekTally:
    """Thumbs of one reader on one source in one week; weeks count from 0, the oldest."""

    source: str
    week: int
    n: int
    likes: int


@dataclass(frozen=True, slots=True)
class Week:
    """One line of a source's table. `rate` is the share found useful, `None` without thumbs."""

    starts: date
    n: int
    likes: int
    rate: float | None
    weight: float


@dataclass(frozen=True, slots=True)
class Trend:
    """One source over the weeks, and its two drawings within 240 × 64.

    `rate_lines` are unbroken stretches of weeks with thumbs, `rate_dots` each of those weeks; `weight_line`
    is one point a week; `steady` says in words what weight it had where that never changed.
    """

    source: str
    title: str
    weeks: tuple[Week, ...]
    rate_lines: tuple[str, ...]
    rate_dots: tuple[tuple[float, float], ...]
    weight_line: str
    thumbs: int
    steady: str = ""


def trends_of(
    tallies: Sequence[WeekTally],
    points: Sequence[WeightPoint],
    now_weights: Mapping[str, float],
    titles: Mapping[str, str],
    starts: Sequence[date],
) -> list[Trend]:
    """The sources with most thumbs in these weeks, most first.

    `points` are the weights set within the weeks, oldest first; `now_weights` the effective ones of today.
    A week's weight is the one in force at its end.
    """
    counts: dict[str, int] = {}
    for tally in tallies:
        counts[tally.source] = counts.get(tally.source, 0) + tally.n
    shown = sorted(counts, key=lambda source: (-counts[source], source))[:SOURCES_SHOWN]
    by_week = {(t.source, t.week): t for t in tallies}
    found = []
    for source in shown:
        weights = _weights(source, points, now_weights.get(source, 1.0), starts)
        weeks = tuple(_week(by_week.get((source, n)), day, weights[n]) for n, day in enumerate(starts))
        found.append(_trend(source, titles.get(source, source), weeks, counts[source]))
    return found


def weeks_until(today: date, weeks: int = WEEKS) -> list[date]:
    """The first days of the last `weeks` weeks, the present one last; weeks begin on Monday."""
    monday = today - timedelta(days=today.weekday())
    return [monday - timedelta(weeks=n) for n in range(weeks - 1, -1, -1)]


def _week(tally: WeekTally | None, starts: date, weight: float) -> Week:
    n, likes = (tally.n, tally.likes) if tally else (0, 0)
    return Week(starts, n, likes, likes / n if n else None, weight)


def _weights(source: str, points: Sequence[WeightPoint], now: float, starts: Sequence[date]) -> list[float]:
    """The weight at the end of each week: as the last change before it set it, or the first one found it."""
    own = [point for point in points if point.source == source]
    if not own:
        return [now] * len(starts)
    weights = []
    for starts_on in starts:
        end = starts_on + timedelta(days=7)
        past = [point.weight for point in own if point.at.date() < end]
        weights.append(past[-1] if past else own[0].before)
    weights[-1] = now
    return weights


def _trend(source: str, title: str, weeks: tuple[Week, ...], thumbs: int) -> Trend:
    xs = _places(len(weeks))
    dots = [None if w.rate is None else (x, _y(w.rate, 1.0)) for x, w in zip(xs, weeks, strict=True)]
    weights = " ".join(f"{x:g},{_y(w.weight, WEIGHT_MAX):g}" for x, w in zip(xs, weeks, strict=True))
    return Trend(
        source=source,
        title=title,
        weeks=weeks,
        rate_lines=_stretches(dots),
        rate_dots=tuple(dot for dot in dots if dot),
        weight_line=weights,
        thumbs=thumbs,
        steady=_steady([week.weight for week in weeks]),
    )


def _steady(weights: Sequence[float]) -> str:
    """What a weight was called all along: a drawing of it would be a bare line. "" where it changed."""
    same = weights and all(abs(weight - weights[0]) < SAME_WEIGHT for weight in weights)
    return f"{weight_words(weights[0])} all along" if same else ""


def _places(count: int) -> list[float]:
    step = (WIDTH - 2 * MARGIN) / max(count - 1, 1)
    return [round(MARGIN + n * step, 1) for n in range(count)]


def _y(value: float, top: float) -> float:
    return round(HEIGHT - MARGIN - min(1.0, max(0.0, value / top)) * (HEIGHT - 2 * MARGIN), 1)


def _stretches(dots: Sequence[tuple[float, float] | None]) -> tuple[str, ...]:
    lines: list[list[str]] = [[]]
    for dot in dots:
        if dot is None:
            lines.append([])
        else:
            lines[-1].append(f"{dot[0]:g},{dot[1]:g}")
    return tuple(" ".join(line) for line in lines if len(line) > 1)

"""Charts of like-rates and weights by week and source. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta

from ranking.common.charts import line_points, line_stretches, polyline
from ranking.config_words import AS_USUAL, weight_words
from ranking.entities import WEIGHT_DEFAULT, WEIGHT_MAX, WeightPoint
from ranking.language import gettext as _

WEEKS = 12
SOURCES_SHOWN = 8
# Smaller differences do not show, because weights have two decimals.
SAME_WEIGHT = 0.005
WIDTH, HEIGHT, MARGIN = 240.0, 64.0, 4.0


@dataclass(frozen=True, slots=True)
class WeekTally:
    """One reader's ratings of one source in one week. Weeks count from 0, the oldest."""

    source: str
    week: int
    n: int
    likes: int


@dataclass(frozen=True, slots=True)
class Week:
    """One row of a source's table. `rate` is the share of likes; `None` without ratings."""

    starts: date
    n: int
    likes: int
    rate: float | None
    weight: float


@dataclass(frozen=True, slots=True)
class Trend:
    """One source over the weeks, with two charts of 240 × 64.

    `rate_lines` are the unbroken runs of weeks with ratings; `rate_dots` has one dot for each such week.
    `weight_line` has one point per week. `is_steady` says that it never changed, and
    `steady` how it was all along, "" if as usual.
    """

    source: str
    title: str
    weeks: tuple[Week, ...]
    rate_lines: tuple[str, ...]
    rate_dots: tuple[tuple[float, float], ...]
    weight_line: str
    thumbs: int
    is_steady: bool = False
    steady: str = ""


def trends_of(
    tallies: Sequence[WeekTally],
    points: Sequence[WeightPoint],
    current: Mapping[str, float],
    titles: Mapping[str, str],
    starts: Sequence[date],
) -> list[Trend]:
    """Return the sources with the most ratings in these weeks, most first.

    `points` are the weight changes within the weeks, oldest first. `current` are today's effective weights. A
    week's weight is that at its end.
    """
    counts: dict[str, int] = {}
    for tally in tallies:
        counts[tally.source] = counts.get(tally.source, 0) + tally.n
    shown = sorted(counts, key=lambda source: (-counts[source], source))[:SOURCES_SHOWN]
    by_week = {(t.source, t.week): t for t in tallies}
    found = []
    for source in shown:
        weeks = []
        weights = _weights(source, points, current.get(source, 1.0), starts)
        for n, (day, weight) in enumerate(zip(starts, weights, strict=True)):
            tally = by_week.get((source, n), WeekTally(source, n, 0, 0))
            rate = tally.likes / tally.n if tally.n else None
            weeks.append(Week(day, tally.n, tally.likes, rate, weight))
        found.append(_trend(source, titles.get(source, source), weeks, counts[source]))
    return found


def weeks_until(today: date, weeks: int = WEEKS) -> list[date]:
    """Return the first days (Mondays) of the last `weeks` weeks, the current week last."""
    monday = today - timedelta(days=today.weekday())
    return [monday - timedelta(weeks=n) for n in range(weeks - 1, -1, -1)]


def _weights(
    source: str, points: Sequence[WeightPoint], current: float, starts: Sequence[date]
) -> list[float]:
    """Return the weight at the end of each week: after its last change, or before the first one."""
    own = [point for point in points if point.source == source]
    if not own:
        return [current] * len(starts)
    weights = []
    for starts_on in starts:
        end = starts_on + timedelta(days=7)
        past = [point.weight for point in own if point.at.date() < end]
        weights.append(past[-1] if past else own[0].before)
    weights[-1] = current
    return weights


def _trend(source: str, title: str, weeks: Sequence[Week], thumbs: int) -> Trend:
    size = {"width": WIDTH, "height": HEIGHT, "margin": MARGIN}
    rates = line_points([week.rate for week in weeks], low=0.0, high=1.0, **size)
    weights = line_points([week.weight for week in weeks], low=0.0, high=WEIGHT_MAX, **size)
    known = [week.weight for week in weeks]
    is_steady = bool(known) and all(abs(weight - known[0]) < SAME_WEIGHT for weight in known)
    return Trend(
        source=source,
        title=title,
        weeks=tuple(weeks),
        rate_lines=tuple(polyline(run) for run in line_stretches(rates) if len(run) > 1),
        rate_dots=tuple(point for point in rates if point),
        weight_line=polyline([point for point in weights if point]),
        thumbs=thumbs,
        is_steady=is_steady,
        steady=_steady(known[0]) if is_steady else "",
    )


def _steady(weight: float) -> str:
    """Return a weight that never changed in words; "" if it is the usual one, which says nothing."""
    if abs(weight - WEIGHT_DEFAULT) < AS_USUAL:
        return ""
    return _("{weight} all along").format(weight=weight_words(weight))

"""The chart of an accepted change's effect: the share liked two weeks before and since, there and elsewhere.

Pure.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ranking.common.charts import Point, line_points
from ranking.language import gettext as _
from suggestions.sentences import percent_text

WIDTH, HEIGHT, MARGIN = 150, 80, 8
TICKS = (0.0, 0.5, 1.0)
WINDOWS = ("scope_before", "scope_after", "rest_before", "rest_after")


@dataclass(frozen=True, slots=True)
class EffectLine:
    """One line of the chart and row of its table. A point is `None` if that window has no ratings.

    `kind` is `about` or `rest`. `counts` are "6 of 10" before and since, `points` those of both.
    """

    kind: str
    label: str
    counts: tuple[str, str]
    points: tuple[Point | None, Point | None]


@dataclass(frozen=True, slots=True)
class EffectChart:
    """Two lines from before to since, and the shares on the y axis as (words, y)."""

    about: EffectLine
    rest: EffectLine
    ticks: tuple[tuple[str, float], ...]

    @property
    def lines(self) -> tuple[EffectLine, EffectLine]:
        """Return the two lines."""
        return self.about, self.rest


def effect_chart(*, label: str, measured: Mapping[str, Any]) -> EffectChart | None:
    """Return the chart of a measured effect, or `None` if the target or the rest has no ratings since."""
    if not measured.keys() >= set(WINDOWS):
        return None
    before, since, rest_before, rest_since = (measured[name] for name in WINDOWS)
    if not since[1] or not rest_since[1]:
        return None
    ticks = line_points(TICKS, low=0, high=1, width=WIDTH, height=HEIGHT, margin=MARGIN)
    return EffectChart(
        _line("about", label, before, since),
        _line("rest", _("everything else"), rest_before, rest_since),
        tuple((percent_text(share), point[1]) for share, point in zip(TICKS, ticks, strict=True) if point),
    )


def _line(kind: str, label: str, before: list[int], since: list[int]) -> EffectLine:
    shares = [likes / ratings if ratings else None for likes, ratings in (before, since)]
    first, last = line_points(shares, low=0, high=1, width=WIDTH, height=HEIGHT, margin=MARGIN)
    return EffectLine(kind, label, (_count(before), _count(since)), (first, last))


def _count(window: list[int]) -> str:
    likes, ratings = window
    return _("{likes} of {ratings}").format(likes=likes, ratings=ratings) if ratings else _("none rated")

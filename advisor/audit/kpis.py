"""KPIs of an installation: their thresholds, states, texts and sparklines.

The thresholds were chosen before there was data of any installation. "Suggestions per run" has none: no
suggestion is often right, so readers without suggestions are watched instead. Pure."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

SHARE, USD, SECONDS, NUMBER = "share", "usd", "seconds", "number"
WINDOW_DAYS = 28
SILENT_DAYS, SILENT_THUMBS = 42, 50
# Error codes of a tool call that belong to a review, to guidance or to the end of a run: no failures.
NOT_FAILURES = (
    "review_improve",
    "review_refused",
    "reflector_refused",
    "blocked",
    "not_executed",
)
# Of a sparkline, in pixels.
WIDTH, HEIGHT, MARGIN = 120, 24, 2


class State(StrEnum):
    """The state of a KPI against its threshold."""

    OK = "ok"
    ALERT = "alert"
    NO_DATA = "no_data"
    WATCHED = "watched"


# A mark that needs no colour, and its text.
MARKS = {
    State.OK: ("✓", "ok"),
    State.ALERT: ("▲", "alert"),
    State.NO_DATA: ("–", "no data yet"),
    State.WATCHED: ("·", "watched"),
}


@dataclass(frozen=True, slots=True)
class Watch:
    """The definition of a KPI: its text, its unit and its threshold.

    It is an alert `below` or `above` the threshold (without either: only watched), from `enough` cases on.
    """

    key: str
    label: str
    unit: str
    of: str
    below: float | None = None
    above: float | None = None
    enough: int = 1
    days: int = WINDOW_DAYS


WATCHES = (
    Watch("acceptance_rate", "Suggestions accepted", SHARE, "decisions", below=0.30, enough=10),
    Watch("acceptance_add_topic", "… of new topics", SHARE, "decisions", below=0.20, enough=5),
    Watch("acceptance_remove_topic", "… of topics to drop", SHARE, "decisions", below=0.20, enough=5),
    Watch("acceptance_boost_source", "… of sources to raise", SHARE, "decisions", below=0.20, enough=5),
    Watch("acceptance_reduce_source", "… of sources to lower", SHARE, "decisions", below=0.20, enough=5),
    Watch(
        "silent_readers",
        "Readers with preferences who get no suggestion",
        SHARE,
        "readers",
        above=0.20,
        enough=5,
        days=SILENT_DAYS,
    ),
    Watch(
        "validation_failure_rate", "Proposals that a rule refused", SHARE, "proposals", above=0.50, enough=10
    ),
    Watch("turns_per_run", "Model turns a run", NUMBER, "runs", above=30),
    Watch("cost_per_run", "Cost of a run that cost anything", USD, "runs", above=0.50),
    Watch("cost_per_day", "Cost of the dearest day", USD, "days", above=1.00),
    Watch("run_failure_rate", "Runs that failed", SHARE, "runs", above=0.10, enough=10),
    Watch("run_timeout_rate", "Runs out of time", SHARE, "runs", above=0.05, enough=10),
    Watch("latency_p95", "Wait for a run, 95 of 100 within", SECONDS, "runs", above=30.0, enough=5),
    Watch("tokens_per_run", "Tokens a run", NUMBER, "runs"),
    Watch("suggestions_per_run", "Suggestions a run", NUMBER, "runs"),
)


@dataclass(frozen=True, slots=True)
class Measured:
    """A measured KPI: its value over `n` cases (`None` without any), and its values by day."""

    value: float | None
    n: int
    course: Sequence[float | None] = ()


@dataclass(frozen=True, slots=True)
class Kpi:
    """A KPI with its state."""

    watch: Watch
    measured: Measured
    state: State

    @property
    def mark(self) -> str:
        """Return the mark of the state."""
        return MARKS[self.state][0]

    @property
    def state_text(self) -> str:
        """Return the state as text; too few cases differ from none."""
        if self.state is State.NO_DATA and self.measured.n:
            return "too few yet"
        return MARKS[self.state][1]

    @property
    def value_text(self) -> str:
        """Return the value with its unit; a dash without cases."""
        return "–" if self.measured.value is None else value_format(self.measured.value, self.watch.unit)

    @property
    def basis_text(self) -> str:
        """Return the basis of the value: "12 decisions in 28 days"."""
        return f"{_counted(self.measured.n, self.watch.of)} in {self.watch.days} days"

    @property
    def threshold_text(self) -> str:
        """Return when it is an alert, and from how many cases on."""
        watch = self.watch
        limit = watch.below if watch.below is not None else watch.above
        if limit is None:
            return "none"
        side = "below" if watch.below is not None else "above"
        least = f", from {_counted(watch.enough, watch.of)} on" if watch.enough > 1 else ""
        return f"{side} {value_format(limit, watch.unit)}{least}"


def kpis_with_state(measured: Mapping[str, Measured], *, daily_cap_usd: float = 1.00) -> list[Kpi]:
    """Return every KPI with its state; the threshold of a day's cost is its cap."""
    limits = {"cost_per_day": daily_cap_usd}
    return [_with_state(watch, measured.get(watch.key, Measured(None, 0)), limits) for watch in WATCHES]


def value_format(value: float, unit: str) -> str:
    """Return a value with its unit."""
    if unit == SHARE:
        return f"{value:.0%}"
    if unit == USD:
        return f"${value:.4f}" if 0 < value < 0.01 else f"${value:.2f}"
    if unit == SECONDS:
        return f"{value:.1f} s".replace(".0 ", " ")
    return f"{value:,.0f}" if value >= 100 or value == int(value) else f"{value:.1f}"


def _counted(n: int, plural: str) -> str:
    return f"{n:,} {plural[:-1] if n == 1 else plural}"


def _with_state(watch: Watch, measured: Measured, limits: Mapping[str, float]) -> Kpi:
    above = limits.get(watch.key, watch.above)
    watch = replace(watch, above=above)
    if measured.value is None or measured.n < watch.enough:
        return Kpi(watch, measured, State.NO_DATA)
    if watch.below is None and above is None:
        return Kpi(watch, measured, State.WATCHED)
    low = watch.below is not None and measured.value < watch.below
    high = above is not None and measured.value > above
    return Kpi(watch, measured, State.ALERT if low or high else State.OK)


@dataclass(frozen=True, slots=True)
class Sparkline:
    """Points `x,y` within 120 × 24: a line for each stretch of days, single days as dots; and its text."""

    lines: tuple[str, ...]
    dots: tuple[tuple[float, float], ...]
    text: str


def sparkline(course: Sequence[float | None], shown: Callable[[float], str]) -> Sparkline | None:
    """Return the chart of daily values, oldest first; `None` for fewer than two days with a value."""
    known = [value for value in course if value is not None]
    if len(known) < 2:
        return None
    low, high = min(0.0, *known), max(known)
    stretches = _stretches(course, low, high)
    lines = tuple(" ".join(f"{x},{y}" for x, y in points) for points in stretches if len(points) > 1)
    dots = tuple(points[0] for points in stretches if len(points) == 1)
    text = (
        f"{len(known)} of the last {len(course)} days: from {shown(min(known))} to {shown(high)}, "
        f"last {shown(known[-1])}."
    )
    return Sparkline(lines, dots, text)


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

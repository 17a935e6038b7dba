"""The figures an installation is watched by, and when each of them is a reason to look. Pure.

The thresholds are choices made before anything ran: none of them rests on data of an installation.
"Suggestions per run" has none: silence is often right, so readers left without a suggestion are watched
instead.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

WINDOW_DAYS = 28
SILENT_DAYS = 42
SILENT_THUMBS = 50
# Answers to a tool call that are part of a review, of guidance, or of a run's end: no failures.
NOT_FAILURES = (
    "review_improve",
    "review_refused",
    "reflector_refused",
    "blocked",
    "held",
    "not_executed",
)
SHARE, USD, SECONDS, NUMBER = "share", "usd", "seconds", "number"


class State(StrEnum):
    """How a figure stands against its threshold."""

    OK = "ok"
    ALERT = "alert"
    NO_DATA = "no_data"
    WATCHED = "watched"


# A mark that needs no colour, and the words beside it.
MARKS = {
    State.OK: ("✓", "ok"),
    State.ALERT: ("▲", "alert"),
    State.NO_DATA: ("–", "no data yet"),
    State.WATCHED: ("·", "watched"),
}


@dataclass(frozen=True, slots=True)
class Watch:
    """One figure: its words and unit, and the threshold that makes it an alert.

    `below` or `above` is the threshold (neither: only watched); fewer than `enough` cases say nothing yet.
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
    """What was counted for a figure: its value over `n` cases (`None` of none), and its course by day."""

    value: float | None
    n: int
    course: Sequence[float | None] = ()


@dataclass(frozen=True, slots=True)
class Kpi:
    """A figure with its state."""

    watch: Watch
    measured: Measured
    state: State

    @property
    def mark(self) -> str:
        """A sign for the state."""
        return MARKS[self.state][0]

    @property
    def state_words(self) -> str:
        """The state in words; too few cases are told from none at all."""
        if self.state is State.NO_DATA and self.measured.n:
            return "too few yet"
        return MARKS[self.state][1]

    @property
    def value_words(self) -> str:
        """The value with its unit; a dash where nothing was counted."""
        return "–" if self.measured.value is None else figure(self.measured.value, self.watch.unit)

    @property
    def basis_words(self) -> str:
        """What the value rests on: "12 decisions in 28 days"."""
        return f"{counted(self.measured.n, self.watch.of)} in {self.watch.days} days"

    @property
    def threshold_words(self) -> str:
        """When it is an alert, and from how many cases on."""
        watch = self.watch
        limit = watch.below if watch.below is not None else watch.above
        if limit is None:
            return "none"
        side = "below" if watch.below is not None else "above"
        least = f", from {counted(watch.enough, watch.of)} on" if watch.enough > 1 else ""
        return f"{side} {figure(limit, watch.unit)}{least}"


def kpis_judged(measured: Mapping[str, Measured], *, daily_cap_usd: float = 1.00) -> list[Kpi]:
    """Every watched figure with its state. The threshold of a day's cost is the cap on it."""
    limits = {"cost_per_day": daily_cap_usd}
    return [_judged(watch, measured.get(watch.key, Measured(None, 0)), limits) for watch in WATCHES]


def figure(value: float, unit: str) -> str:
    """A value in the words of its unit."""
    if unit == SHARE:
        return f"{value:.0%}"
    if unit == USD:
        return f"${value:.4f}" if 0 < value < 0.01 else f"${value:.2f}"
    if unit == SECONDS:
        return f"{value:.1f} s".replace(".0 ", " ")
    return f"{value:,.0f}" if value >= 100 or value == int(value) else f"{value:.1f}"


def counted(n: int, plural: str) -> str:
    """A number with its noun: "1 run", "12 runs"."""
    return f"{n:,} {plural[:-1] if n == 1 else plural}"


def _judged(watch: Watch, measured: Measured, limits: Mapping[str, float]) -> Kpi:
    above = limits.get(watch.key, watch.above)
    watch = replace(watch, above=above)
    if measured.value is None or measured.n < watch.enough:
        return Kpi(watch, measured, State.NO_DATA)
    if watch.below is None and above is None:
        return Kpi(watch, measured, State.WATCHED)
    low = watch.below is not None and measured.value < watch.below
    high = above is not None and measured.value > above
    return Kpi(watch, measured, State.ALERT if low or high else State.OK)

"""What a row of the benchmarks is: its command, what it is measured beside, and what it should reach."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

MADE = "made up by the command"


@dataclass(frozen=True, slots=True)
class Aim:
    """A figure of a row's report and what it should be: at least, or at most, `value`.

    `figure` is a path into the report, its parts separated by dots; a number counts rows from 0.
    """

    metric: str
    figure: str
    at_least: bool
    value: float

    def held(self, report: Mapping[str, Any]) -> dict[str, Any]:
        """The aim with what was measured; a figure that is missing meets nothing."""
        found: Any = report
        for part in self.figure.split("."):
            try:
                found = found[int(part)] if part.isdigit() else found[part]
            except (KeyError, IndexError, TypeError):
                found = None
        met = found is not None and (found >= self.value if self.at_least else found <= self.value)
        sign = "≥" if self.at_least else "≤"
        return {"metric": self.metric, "target": f"{sign} {self.value:g}", "value": found, "met": met}


@dataclass(frozen=True, slots=True)
class Row:
    """One thing that is measured.

    `command` goes to the Python that runs the row: `-m tests.lab …`; without `aims` its report brings its own
    targets. `quick` are options that make it short, and its figures no measure of anything. `data` and
    `seed` say what it is measured on; `open_data`: not without TIDINGS_DATA. `peers`: in the environment that
    has them. `large`: on the installation that `tests.lab.load.seed` made, which LOAD_DATABASE_URL names.
    """

    name: str
    group: str
    work: str
    beside: str
    command: tuple[str, ...]
    aims: tuple[Aim, ...] = ()
    quick: tuple[str, ...] = ()
    data: str = MADE
    seed: int | None = None
    peers: bool = False
    open_data: bool = False
    large: bool = False

    @property
    def module(self) -> str:
        """The command as it is typed, `--json` left out."""
        return f"python {' '.join(self.command)}" if self.command else ""

"""A row of the benchmarks: its command, its comparisons and its targets."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

MADE = "made up by the command"


@dataclass(frozen=True, slots=True)
class Aim:
    """A figure of a row's report and its target: at least, or at most, `value`.

    `figure` is a path into the report, with dots between its parts. A number counts rows from 0.
    """

    metric: str
    figure: str
    at_least: bool
    value: float

    def held(self, report: Mapping[str, Any]) -> dict[str, Any]:
        """Return the target with the measured value. A missing figure meets no target."""
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
    """One measurement.

    `command` goes to the Python that runs the row: `-m tests.lab …`. Without `aims` its report brings its own
    targets. `quick` are options for a short run, whose figures mean nothing. `data` and `seed` name the
    input; `open_data` needs TIDINGS_DATA. `peers`: run in the environment with the peers. `large`: on the
    installation made by `tests.lab.load.seed`, at LOAD_DATABASE_URL.
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
        """Return the command as it is typed, `--json` left out."""
        return f"python {' '.join(self.command)}" if self.command else ""

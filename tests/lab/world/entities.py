"""The result of one simulated reader, frozen, and as plain JSON between processes. Pure."""

from dataclasses import asdict, dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Asked:
    """One suggestion a reader got. `gain` is its true value; `p_helpful` and `confidence` were claimed.

    `halves` are gains on two halves of the measuring thumbs, for each way to deal them, or () if the value is
    known. `withdrawn` marks one that the reader's check by headlines took back.
    """

    week: int
    kind: str
    target: str
    gain: float
    accepted: bool
    p_helpful: float | None = None
    confidence: str = ""
    halves: tuple[tuple[float, float], ...] = ()
    withdrawn: bool = False


@dataclass(frozen=True, slots=True)
class Course:
    """One reader's weeks under one rule. `curve[w]` is nDCG@10 after week w minus that of the first config.

    `writes` counts the writes that runs tried, by the code of their end, "" for stored ones. `tokens` are
    those that their models read and wrote. `right_on` is the first day (from 1) with a change that helped,
    learned, early or suggested; 0: none.
    """

    reader: int
    null: bool
    start: float
    curve: tuple[float, ...]
    thumbs: tuple[int, ...]
    asked: tuple[Asked, ...] = ()
    runs: dict[str, int] = field(default_factory=dict)
    cost_usd: float = 0.0
    writes: dict[str, int] = field(default_factory=dict)
    tokens: int = 0
    right_on: int = 0

    @property
    def uplift(self) -> float:
        """Return the change of nDCG@10 at the end."""
        return self.curve[-1]

    def as_dict(self) -> dict[str, Any]:
        """Plain JSON values."""
        return asdict(self)


def course_of(row: dict[str, Any]) -> Course:
    """Return the course that `Course.as_dict` wrote."""
    asked = tuple(Asked(**{**one, "halves": tuple(map(tuple, one["halves"]))}) for one in row["asked"])
    return Course(**{**row, "asked": asked, "curve": tuple(row["curve"]), "thumbs": tuple(row["thumbs"])})

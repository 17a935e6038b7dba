"""What comes out of one simulated reader, frozen, and as plain JSON between processes. Pure."""

from dataclasses import asdict, dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Asked:
    """One suggestion a reader got. `gain` is its true worth; `p_helpful` and `confidence` were claimed.

    `halves` are gains on two halves of what tells its worth, for each way to deal them; () if it is known.
    """

    week: int
    kind: str
    target: str
    gain: float
    accepted: bool
    p_helpful: float | None = None
    confidence: str = ""
    halves: tuple[tuple[float, float], ...] = ()


@dataclass(frozen=True, slots=True)
class Course:
    """One reader's weeks under one rule. `curve[w]` is nDCG@10 after week w less that of the first config.

    `writes` counts what runs tried to write by the code it ended with, "" for what was stored; `tokens` are
    those that their models read and said. `right_on` is the first day (from 1) with a change that helped, be
    it learned, early or suggested; 0: none.
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
        """The change of nDCG@10 at the end."""
        return self.curve[-1]

    def as_dict(self) -> dict[str, Any]:
        """Plain JSON values."""
        return asdict(self)


def course_of(row: dict[str, Any]) -> Course:
    """The course that `Course.as_dict` wrote."""
    asked = tuple(Asked(**{**one, "halves": tuple(map(tuple, one["halves"]))}) for one in row["asked"])
    return Course(**{**row, "asked": asked, "curve": tuple(row["curve"]), "thumbs": tuple(row["thumbs"])})

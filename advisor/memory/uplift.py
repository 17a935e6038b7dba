"""What telling was worth: two shares, what was told against what was left out at random. Pure.

The interval of the difference is Newcombe's hybrid score interval (R. G. Newcombe, Statistics in Medicine 17
(1998) 873-890, method 10) at 95 %, made of the two Wilson intervals: it holds for small samples and for
shares near 0 and 1. Below 20 on either side nothing is concluded. A difference that may be nothing is called
so only where one of ten points would have shown: with 80 % power at 5 %, two-sided, that takes
(1.960 + 0.842)² × 2 p (1 - p) / 0.1² on each side, 393 at p = 0.5.
"""

from dataclasses import asdict, dataclass
from math import ceil, sqrt
from typing import Any

from ranking.posterior import Z_95, wilson

LEAST = 20
WORTH_SEEING = 0.10
# The normal quantiles for 5 % two-sided and for 80 % power.
Z_SIZE, Z_POWER = Z_95, 0.841621
# Rates are taken from no closer to 0 and 1 than this, where a few cases would promise too much.
RATE_MIN = 0.1
HIGHER, LOWER, NO_DIFFERENCE, TOO_FEW = "higher", "lower", "no_difference", "too_few"


@dataclass(frozen=True, slots=True)
class Arm:
    """So many of so many."""

    hits: int
    total: int

    @property
    def rate(self) -> float | None:
        """The share, `None` of nothing."""
        return self.hits / self.total if self.total else None


@dataclass(frozen=True, slots=True)
class Difference:
    """The share where something was told less the share where it was held out, with its 95 % interval.

    `verdict` is `higher`, `lower`, `no_difference` or `too_few`; `needs` how many more cases the side that
    lacks most would take to show a difference of ten points.
    """

    told: Arm
    held_out: Arm
    difference: float | None
    low: float | None
    high: float | None
    verdict: str
    needs: int

    def as_dict(self) -> dict[str, Any]:
        """Plain JSON values, with the two shares."""
        arms = {"told": self.told, "held_out": self.held_out}
        return asdict(self) | {name: asdict(arm) | {"rate": arm.rate} for name, arm in arms.items()}

    @property
    def words(self) -> str:
        """The verdict in one sentence."""
        if self.difference is None or self.low is None or self.high is None:
            return f"Nothing to compare yet; needs {self.needs} more."
        figures = f"{self.difference:+.1%} (95 %: {self.low:+.1%} to {self.high:+.1%})"
        if self.verdict == TOO_FEW:
            return f"Too few to tell: {figures}; needs {self.needs} more."
        return f"{figures}: {self.verdict.replace('_', ' ')}."


def difference_of(told: Arm, held_out: Arm) -> Difference:
    """The difference of two shares, how sure it is, and what may be said of it."""
    needs = max(0, cases_needed(told, held_out) - min(told.total, held_out.total))
    if told.rate is None or held_out.rate is None:
        return Difference(told, held_out, None, None, None, TOO_FEW, needs)
    low, high = newcombe(told, held_out)
    return Difference(
        told,
        held_out,
        round(told.rate - held_out.rate, 4),
        round(low, 4),
        round(high, 4),
        _verdict(told, held_out, low, high, needs),
        needs,
    )


def newcombe(first: Arm, second: Arm) -> tuple[float, float]:
    """The 95 % interval of the difference of two shares of something."""
    p1, p2 = first.hits / first.total, second.hits / second.total
    (l1, u1), (l2, u2) = (wilson(arm.hits, arm.total) for arm in (first, second))
    low = p1 - p2 - sqrt((p1 - l1) ** 2 + (u2 - p2) ** 2)
    high = p1 - p2 + sqrt((u1 - p1) ** 2 + (p2 - l2) ** 2)
    return low, high


def cases_needed(told: Arm, held_out: Arm) -> int:
    """How many on each side would show a difference of ten points, at the share of both together."""
    total = told.total + held_out.total
    share = (told.hits + held_out.hits) / total if total else 0.5
    share = min(1 - RATE_MIN, max(RATE_MIN, share))
    return ceil((Z_SIZE + Z_POWER) ** 2 * 2 * share * (1 - share) / WORTH_SEEING**2)


def _verdict(told: Arm, held_out: Arm, low: float, high: float, needs: int) -> str:
    if min(told.total, held_out.total) < LEAST:
        return TOO_FEW
    if low > 0:
        return HIGHER
    if high < 0:
        return LOWER
    return TOO_FEW if needs else NO_DIFFERENCE

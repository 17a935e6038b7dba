"""Who runs when the day's budget cannot serve everyone who is due. Pure.

    score = 1 × fresh + 1 × weeks waited + 0.5 × acceptance

`fresh` is the thumbs since the last completed run over 20, at most 1; `acceptance` the share of decided
suggestions that were accepted, shrunk towards one in two. Fresh thumbs and acceptance together are worth at
most a week and a half of waiting, and waiting has no ceiling: whoever is put off moves up by a week each
week, so nobody is put off for ever. Ties: who waited longest, then the id.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from uuid import UUID

# Our own weights: what a reader has told us since and how long they waited count alike; whether they tend
# to accept counts half, so that someone who says no often is not left out for it.
FRESH_WEIGHT = 1.0
WAIT_WEIGHT = 1.0
ACCEPT_WEIGHT = 0.5
FRESH_FULL = 20
# Two imagined decisions, one of them accepted: a reader who never decided counts as one in two.
ACCEPT_PRIOR = (1, 2)
DAYS_PER_WEEK = 7


@dataclass(frozen=True, slots=True)
class Standing:
    """What speaks for running one reader: thumbs since the last run, days since, decisions so far."""

    reader_id: UUID
    fresh_thumbs: int
    days_waited: float
    accepted: int
    decided: int


@dataclass(frozen=True, slots=True)
class Choice:
    """One reader's turn: taken or put off, with the score and the reason in words."""

    reader_id: UUID
    runs: bool
    score: float
    reason: str


def score_of(standing: Standing) -> float:
    """How much speaks for running this reader today (see the module); never negative."""
    fresh = min(standing.fresh_thumbs, FRESH_FULL) / FRESH_FULL
    weeks = max(standing.days_waited, 0.0) / DAYS_PER_WEEK
    accepted, decided = ACCEPT_PRIOR
    acceptance = (standing.accepted + accepted) / (standing.decided + decided)
    return FRESH_WEIGHT * fresh + WAIT_WEIGHT * weeks + ACCEPT_WEIGHT * acceptance


def places_of(*, money_left: Decimal, cost_per_run: Decimal, cap: Decimal) -> int | None:
    """How many runs the money covers; `None`: any number, since a run costs nothing.

    A day whose money is whole serves one run at least, whatever it is expected to cost: an estimate that is
    too high could never be corrected otherwise, and the ledger stops the run where it must.
    """
    if cost_per_run <= 0:
        return None
    least = 1 if money_left == cap and cap > 0 else 0
    return max(least, int(money_left // cost_per_run))


def choose(standings: Sequence[Standing], places: int | None) -> list[Choice]:
    """A choice for every reader, best first: the first `places` run (`None`: all of them do)."""
    ranked = sorted(standings, key=lambda one: (-score_of(one), -one.days_waited, str(one.reader_id)))
    served = len(ranked) if places is None else min(places, len(ranked))
    return [
        Choice(one.reader_id, n <= served, round(score_of(one), 4), _reason(one, n, served, len(ranked)))
        for n, one in enumerate(ranked, start=1)
    ]


def _reason(standing: Standing, rank: int, served: int, due: int) -> str:
    facts = (
        f"{standing.fresh_thumbs} thumbs since the last run, {standing.days_waited:.0f} days ago; "
        f"{standing.accepted} of {standing.decided} suggestions accepted"
    )
    verdict = "Runs" if rank <= served else "Put off"
    return f"{verdict}: place {rank} of {due}, and today's money covers {served}. {facts}."

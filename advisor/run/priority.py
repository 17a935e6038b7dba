"""Priority of readers when the day's budget cannot serve everyone who is due.

    score = 1 × fresh + 1 × weeks waited + 0.5 × acceptance

`fresh` is the ratings since the last completed run over 20, at most 1; `acceptance` the share of decided
suggestions that were accepted, shrunk towards one in two. Fresh ratings and acceptance together are worth at
most a week and a half of waiting, and waiting has no upper bound, so that nobody is deferred for ever. Ties:
who waited longest, then the id. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from uuid import UUID

# Our own weights: fresh ratings and waiting count the same; acceptance counts half, so that a reader who
# often rejects is not excluded for it.
FRESH_WEIGHT = 1.0
WAIT_WEIGHT = 1.0
ACCEPT_WEIGHT = 0.5
FRESH_FULL = 20
# Two assumed decisions, one of them accepted: a reader who never decided counts as one in two.
ACCEPT_PRIOR = (1, 2)
DAYS_PER_WEEK = 7


@dataclass(frozen=True, slots=True)
class Candidate:
    """The facts for running one reader: ratings since the last run, days since, decisions so far."""

    reader_id: UUID
    fresh_ratings: int
    days_waited: float
    accepted: int
    decided: int


@dataclass(frozen=True, slots=True)
class Choice:
    """Whether a reader runs or is deferred, with the score and the reason as a sentence."""

    reader_id: UUID
    runs: bool
    score: float
    reason: str


def score_of(candidate: Candidate) -> float:
    """Return the score of a reader (see the module); never negative."""
    fresh = min(candidate.fresh_ratings, FRESH_FULL) / FRESH_FULL
    weeks = max(candidate.days_waited, 0.0) / DAYS_PER_WEEK
    accepted, decided = ACCEPT_PRIOR
    acceptance = (candidate.accepted + accepted) / (candidate.decided + decided)
    return FRESH_WEIGHT * fresh + WAIT_WEIGHT * weeks + ACCEPT_WEIGHT * acceptance


def places_of(*, money_left: Decimal, cost_per_run: Decimal, cap: Decimal) -> int | None:
    """Return how many runs the money covers; `None`: any number, since a run costs nothing.

    A day with all its money serves at least one run, whatever its expected cost: an estimate that is too high
    could never be corrected otherwise, and the ledger stops the run at its cap.
    """
    if cost_per_run <= 0:
        return None
    least = 1 if money_left == cap and cap > 0 else 0
    return max(least, int(money_left // cost_per_run))


def choose(candidates: Sequence[Candidate], places: int | None) -> list[Choice]:
    """Return a choice for every reader, best first: the first `places` run (`None`: all of them do)."""
    ranked = sorted(candidates, key=lambda one: (-score_of(one), -one.days_waited, str(one.reader_id)))
    served = len(ranked) if places is None else min(places, len(ranked))
    return [
        Choice(one.reader_id, n <= served, round(score_of(one), 4), _reason(one, n, served, len(ranked)))
        for n, one in enumerate(ranked, start=1)
    ]


def _reason(candidate: Candidate, rank: int, served: int, due: int) -> str:
    facts = (
        f"{candidate.fresh_ratings} thumbs since the last run, {candidate.days_waited:.0f} days ago; "
        f"{candidate.accepted} of {candidate.decided} suggestions accepted"
    )
    verdict = "Runs" if rank <= served else "Put off"
    return f"{verdict}: place {rank} of {due}, and today's money covers {served}. {facts}."

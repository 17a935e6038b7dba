"""How far the advisor may be left to itself: four goals, and how near the record comes to each. Pure.

The goals are choices, set before anything ran: a hundred approvals or more, fewer than 5 % of accepted
changes corrected later, reviewers agreeing in more than 80 % of votes, more than 60 % of proposals passing at
first. Whatever they say, nothing is ever applied without the reader.
"""

from dataclasses import asdict, dataclass
from typing import Any

APPROVALS_GOAL = 100
CORRECTED_GOAL = 0.05
AGREEMENT_GOAL = 0.80
FIRST_PASS_GOAL = 0.60


@dataclass(frozen=True, slots=True)
class Record:
    """What the reviewers and the readers did.

    `proposals` went before the panel, `approved` passed in some round, `first_passed` in the first;
    `votes` were cast, `agreeing` of them as the panel then decided, `missing` never came. Of the `accepted`
    changes that a panel had passed, `reverted`, `edited_back` (nearer to what was before than to what was
    agreed) and `harmed` count some twice; `corrected` counts each once.
    """

    proposals: int = 0
    approved: int = 0
    first_passed: int = 0
    votes: int = 0
    agreeing: int = 0
    missing: int = 0
    accepted: int = 0
    reverted: int = 0
    edited_back: int = 0
    harmed: int = 0
    corrected: int = 0


@dataclass(frozen=True, slots=True)
class Goal:
    """One goal: its target, the value reached (`None`: nothing to measure), and whether it is met."""

    key: str
    words: str
    target: str
    value: float | None
    shown: str
    basis: str
    met: bool


def goals_of(record: Record) -> list[Goal]:
    """The four goals against `record`. One without data is not met: autonomy is earned, not assumed."""
    return [
        _approvals(record),
        _share(
            "corrected",
            "Accepted changes corrected later",
            (record.corrected, record.accepted, "accepted changes"),
            below=CORRECTED_GOAL,
        ),
        _share(
            "agreement",
            "Votes that went as the panel decided",
            (record.agreeing, record.votes, "votes"),
            above=AGREEMENT_GOAL,
        ),
        _share(
            "first_pass",
            "Proposals approved in their first round",
            (record.first_passed, record.proposals, "proposals"),
            above=FIRST_PASS_GOAL,
        ),
    ]


def report_of(record: Record, *, days: int | None) -> dict[str, Any]:
    """The report as `autonomy_report --json` prints it; `days` is how far back it looks, `None` all."""
    goals = goals_of(record)
    return {
        "days": days,
        "goals": [asdict(goal) for goal in goals],
        "met": all(goal.met for goal in goals),
        "record": asdict(record),
    }


def _approvals(record: Record) -> Goal:
    noun = "proposal" if record.proposals == 1 else "proposals"
    basis = f"of {record.proposals:,} {noun}" if record.proposals else "no proposal reviewed yet"
    value = float(record.approved) if record.proposals else None
    met = record.approved >= APPROVALS_GOAL
    target = f"{APPROVALS_GOAL} or more"
    return Goal(
        "approvals", "Proposals approved by the panel", target, value, f"{record.approved:,}", basis, met
    )


def _share(
    key: str,
    words: str,
    counted: tuple[int, int, str],
    *,
    below: float | None = None,
    above: float | None = None,
) -> Goal:
    part, whole, of = counted
    target = f"below {below:.0%}" if below is not None else f"above {above:.0%}"
    if not whole:
        return Goal(key, words, target, None, "no data yet", f"no {of} yet", False)
    value = part / whole
    met = value < below if below is not None else value > (above or 0.0)
    return Goal(key, words, target, round(value, 4), f"{value:.1%}", f"{part:,} of {whole:,} {of}", met)

"""The nouns of a review: the seat that reviewers work from, and what a reflection comes to."""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime

from advisor.models import Run
from advisor.stopping import Deadline
from digest.llm.entities import Model
from digest.llm.ledger import SpendAccount
from suggestions.entities import Fence, Proposal

# What a review is about, whatever the type of the change: (field, target).
Target = tuple[str, str]


def target_of(proposal: Proposal) -> Target:
    """The (field, target) of a proposal: another type for the same target is no fresh start."""
    return proposal.field, proposal.target_key


@dataclass(slots=True)
class ReviewSeat:
    """What the reviewers of one run work with: its time, its money, its models, its place in the audit.

    `models` is empty where rules review (interactive runs, no chain for reviews, a reader who turned AI
    off, or a chain that could not be reached: `cut_off`). `deadline` and `ledger` are the run's own.
    `moment` tells the time of day. `fence` must be called inside the transaction of each write. `writings`
    counts how often each target was proposed in this run and `rounds` how often the panel voted on it, over
    all attempts at the run.
    """

    run: Run
    models: tuple[Model, ...]
    ledger: SpendAccount
    deadline: Deadline
    fence: Fence
    moment: Callable[[], datetime]
    interactive: bool
    cut_off: bool = False
    writings: Counter[Target] = field(default_factory=Counter)
    rounds: Counter[Target] = field(default_factory=Counter)

    def writing_of(self, proposal: Proposal) -> int:
        """Which writing of this proposal is under review, from 1."""
        return max(1, self.writings[target_of(proposal)])


@dataclass(frozen=True, slots=True)
class Reflection:
    """What the reflector made of a proposal.

    `p_helpful` replaces the proposal's own; a `refused` one is not stored, and `message` tells the agent
    why; `notes` join the suggestion's validation notes.
    """

    p_helpful: float
    refused: bool = False
    message: str = ""
    notes: tuple[str, ...] = ()

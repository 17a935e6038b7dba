"""The context that the reviewers of a run share, with their counts and decisions so far."""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal
from typing import Any
from uuid import UUID

from django.db.models import Count, DecimalField, Max, Q, Sum, Value
from django.db.models.functions import Coalesce

from advisor.models import Judgment, PanelVote, Run
from advisor.run_values import RULES_MODEL, Deadline
from digest.llm.entities import Model
from digest.llm.ledger import SpendAccount
from suggestions.changes.proposal import Proposal
from suggestions.changes.registry import KINDS
from suggestions.proposals import Fence

# The target of a review, for any type of change: (field, target).
Target = tuple[str, str]
NO_COST = Value(Decimal(0), output_field=DecimalField(max_digits=12, decimal_places=6))


def proposal_target(proposal: Proposal) -> Target:
    """Return the (field, target) of a proposal: another type for the same target goes on counting."""
    return proposal.change.field, proposal.change.target


@dataclass(slots=True)
class ReviewContext:
    """The resources that the reviewers of one run share: time, money, models, audit.

    `models` is empty if checks review: in interactive runs, without a chain for reviews, for a reader who
    turned AI off, or after the chain could not be reached (`models_unreachable`). `deadline` and `ledger` are
    the run's own. `moment` returns the current time. `fence` must be called inside the transaction of each
    write. `attempts` counts how often each target was proposed in this run and `rounds` how often the panel
    voted on it, over all attempts at the run.
    """

    run: Run
    models: tuple[Model, ...]
    ledger: SpendAccount
    deadline: Deadline
    fence: Fence
    moment: Callable[[], datetime]
    models_unreachable: bool = False
    attempts: Counter[Target] = field(default_factory=Counter)
    rounds: Counter[Target] = field(default_factory=Counter)

    def attempt_of(self, proposal: Proposal) -> int:
        """Return the number, from 1, of the write of this proposal that is under review."""
        return max(1, self.attempts[proposal_target(proposal)])


@dataclass(frozen=True, slots=True)
class Reflection:
    """The reflector's result for a proposal.

    `p_helpful` replaces the proposal's own; a `refused` one is not stored, and `message` is the reason for
    the agent; `notes` join the suggestion's validation notes.
    """

    p_helpful: float
    refused: bool = False
    message: str = ""
    notes: tuple[str, ...] = ()


def review_counts(*, run_id: UUID) -> tuple[Counter[Target], Counter[Target]]:
    """Return (attempts, rounds of votes) of each target in the run so far: two queries."""
    attempts: Counter[Target] = Counter()
    rounds: Counter[Target] = Counter()
    for kind, key, last in _last(PanelVote.objects.filter(run_id=run_id), "round"):
        target = str(KINDS[kind].field), key
        rounds[target] = max(rounds[target], last)
        attempts[target] = max(attempts[target], last)
    for kind, key, last in _last(Judgment.objects.filter(run_id=run_id), "attempt"):
        target = str(KINDS[kind].field), key
        attempts[target] = max(attempts[target], last)
    return attempts, rounds


def _last(rows: Any, number: str) -> Any:
    by_target = rows.order_by().values_list("suggestion_type", "target_key")
    return by_target.annotate(last=Max(number))


def review_totals(*, run_id: UUID) -> dict[str, Any]:
    """Return the totals of a run's reviews so far, as `Run.meta` stores them under `review`; two queries.

    `votes` are those of models. The costs are part of the run's own cost.
    """
    of_models = ~Q(model__startswith=RULES_MODEL)
    votes = PanelVote.objects.filter(of_models, run_id=run_id).aggregate(
        votes=Count("pk"), cost=Coalesce(Sum("cost_usd"), NO_COST)
    )
    judgments = Judgment.objects.filter(run_id=run_id).aggregate(
        judgments=Count("pk"), cost=Coalesce(Sum("cost_usd"), NO_COST)
    )
    return {
        "votes": votes["votes"],
        "judgments": judgments["judgments"],
        "panel_cost_usd": float(votes["cost"]),
        "reflector_cost_usd": float(judgments["cost"]),
    }

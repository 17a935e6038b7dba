"""What the reviewers of a run share: their context, earlier reviews, and the rows they store."""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any
from uuid import UUID

from django.db import transaction
from django.db.models import Count, DecimalField, Max, Sum, Value
from django.db.models.functions import Coalesce
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from advisor.entities import Deadline
from advisor.models import Decision, Judgment, PanelVote, Run
from advisor.review.votes import APPROVE, Ballot, Earlier, ReviewCase
from digest.llm.entities import Model, preview
from digest.llm.ledger import SpendAccount
from suggestions.entities import FIELD_OF_TYPE, Fence, Proposal
from suggestions.models import Suggestion

EARLIER_DAYS = 90
EARLIER_MAX = 20
OBJECTIONS_MAX = 8
# What a review is about, whatever the type of the change: (field, target).
Target = tuple[str, str]
NO_COST = Value(Decimal(0), output_field=DecimalField(max_digits=12, decimal_places=6))


def target_of(proposal: Proposal) -> Target:
    """Return the (field, target) of a proposal: another type for the same target goes on counting."""
    return proposal.field, proposal.target_key


@dataclass(slots=True)
class ReviewContext:
    """What the reviewers of one run share: its time, its money, its models, its place in the audit.

    `models` is empty where rules review (interactive runs, no chain for reviews, a reader who turned AI
    off, or a chain that could not be reached: `cut_off`). `deadline` and `ledger` are the run's own.
    `moment` returns the current time. `fence` must be called inside the transaction of each write. `attempts`
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
    attempts: Counter[Target] = field(default_factory=Counter)
    rounds: Counter[Target] = field(default_factory=Counter)

    def attempt_of(self, proposal: Proposal) -> int:
        """Return the number, from 1, of the write of this proposal that is under review."""
        return max(1, self.attempts[target_of(proposal)])


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
        target = FIELD_OF_TYPE[kind], key
        rounds[target] = max(rounds[target], last)
        attempts[target] = max(attempts[target], last)
    for kind, key, last in _last(Judgment.objects.filter(run_id=run_id), "attempt"):
        target = FIELD_OF_TYPE[kind], key
        attempts[target] = max(attempts[target], last)
    return attempts, rounds


def _last(rows: Any, number: str) -> Any:
    by_target = rows.order_by().values_list("suggestion_type", "target_key")
    return by_target.annotate(last=Max(number))


def case_for(proposal: Proposal, context: ReviewContext) -> ReviewCase:
    """Return the proposal with the reader's recent suggestions and the last objections: two queries."""
    since = proposal.now - timedelta(days=EARLIER_DAYS)
    hidden = (Suggestion.Status.DRAFT, Suggestion.Status.DISCARDED)
    recent = Suggestion.objects.filter(reader_id=proposal.reader_id, created_at__gt=since)
    rows = recent.exclude(status__in=hidden).order_by("-created_at", "-pk")
    fields = ("suggestion_type", "target_key", "label", "status")
    earlier = tuple(Earlier(*row) for row in rows.values_list(*fields)[:EARLIER_MAX])
    last_round, objections = context.rounds[target_of(proposal)], []
    if last_round:
        votes = PanelVote.objects.filter(run=context.run, target_key=proposal.target_key, round=last_round)
        against = votes.exclude(verdict=APPROVE).order_by("pk").values_list("reviewer", "issues")
        objections = [f"{reviewer}: {issue}" for reviewer, issues in against for issue in issues]
    return ReviewCase(proposal, last_round + 1, earlier, tuple(objections[:OBJECTIONS_MAX]))


def votes_add(*, proposal: Proposal, context: ReviewContext, round_n: int, ballots: Sequence[Ballot]) -> None:
    """Store every vote of a round, missing ones too. Raises `FenceLost`."""
    with transaction.atomic():
        context.fence()
        PanelVote.objects.bulk_create(_row(proposal, context, round_n, ballot) for ballot in ballots)


def decision_add(*, proposal: Proposal, context: ReviewContext, action: str, reason: str) -> None:
    """Store the end of a review: `panel_draft`, `review_failed` (both a draft) or `panel_by_rules`.

    Raises `FenceLost`.
    """
    data = {
        "suggestion_type": proposal.suggestion_type,
        "target_key": proposal.target_key,
        "round": context.rounds[target_of(proposal)],
    }
    with transaction.atomic():
        context.fence()
        Decision.objects.create(
            run=context.run,
            reader_id=proposal.reader_id,
            actor="panel",
            action=action,
            reason=preview(reason),
            data=data,
            at=context.moment(),
        )


def _row(proposal: Proposal, context: ReviewContext, round_n: int, ballot: Ballot) -> PanelVote:
    vote = ballot.vote
    return PanelVote(
        run=context.run,
        suggestion_type=proposal.suggestion_type,
        target_key=proposal.target_key,
        round=round_n,
        reviewer=ballot.reviewer,
        verdict=ballot.verdict,
        confidence=vote.confidence if vote else 0.0,
        issues=vote.issues if vote else [],
        suggestions=vote.suggestions if vote else [],
        reasoning=vote.reasoning if vote else preview(ballot.error),
        error_code=ballot.error_code[:60],
        model=ballot.model[:80],
        ms=ballot.ms,
        input_tokens=ballot.input_tokens,
        output_tokens=ballot.output_tokens,
        cost_usd=ballot.cost,
        at=context.moment(),
    )


def review_totals(*, run_id: UUID) -> dict[str, Any]:
    """Return what reviews took in a run so far, as `Run.meta` stores it under `review`: two queries.

    `cost_usd` is part of the run's own cost.
    """
    votes = PanelVote.objects.filter(run_id=run_id).aggregate(
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


def votes_table(suggestion: Suggestion) -> SafeString:
    """Return a table of the votes on a suggestion, by round, with reasons and cost; empty without any.

    What reviewers wrote is escaped: it may come from a model that read text of strangers.
    """
    votes = PanelVote.objects.filter(run_id=suggestion.run_id, target_key=suggestion.target_key)
    rows = [
        (
            vote.round,
            vote.reviewer,
            vote.verdict,
            f"{vote.confidence:.0%}",
            vote.error_code,
            "; ".join(vote.issues) or vote.reasoning,
            "; ".join(vote.suggestions),
            vote.model,
            f"${vote.cost_usd:.6f}",
        )
        for vote in votes.order_by("round", "pk")
    ]
    if not rows:
        return SafeString("")
    names = ("Round", "Reviewer", "Vote", "Sure", "Missing", "Why", "To do", "Model", "Cost")
    head = format_html_join("", "<th scope='col'>{}</th>", ((name,) for name in names))
    cells = "".join(["<td>{}</td>"] * len(names))
    body = format_html_join("", f"<tr>{cells}</tr>", rows)
    return format_html(
        "<section><h2>Votes</h2><table><thead><tr>{}</tr></thead><tbody>{}</tbody></table></section>",
        head,
        body,
    )

"""Reviews in the database: what reviewers must know of earlier ones, and the rows they leave behind."""

from collections import Counter
from collections.abc import Sequence
from datetime import timedelta
from decimal import Decimal
from typing import Any
from uuid import UUID

from django.db import transaction
from django.db.models import Count, DecimalField, Max, Sum, Value
from django.db.models.functions import Coalesce

from advisor.models import Decision, Judgment, PanelVote
from advisor.review.case import Earlier, ReviewCase
from advisor.review.entities import ReviewSeat, Target, target_of
from advisor.review.votes import APPROVE, Ballot
from digest.llm.model_text import preview
from suggestions.entities import FIELD_OF_TYPE, Proposal
from suggestions.models import Suggestion

EARLIER_DAYS = 90
EARLIER_MAX = 20
OBJECTIONS_MAX = 8
NOTHING = Value(Decimal(0), output_field=DecimalField(max_digits=12, decimal_places=6))


def rounds_held(*, run_id: UUID) -> tuple[Counter[Target], Counter[Target]]:
    """(writings, rounds of votes) of each target in the run so far: two queries, for a run that resumes."""
    writings: Counter[Target] = Counter()
    rounds: Counter[Target] = Counter()
    for kind, key, last in _last(PanelVote.objects.filter(run_id=run_id), "round"):
        target = FIELD_OF_TYPE[kind], key
        rounds[target] = max(rounds[target], last)
        writings[target] = max(writings[target], last)
    for kind, key, last in _last(Judgment.objects.filter(run_id=run_id), "attempt"):
        target = FIELD_OF_TYPE[kind], key
        writings[target] = max(writings[target], last)
    return writings, rounds


def _last(rows: Any, number: str) -> Any:
    by_target = rows.order_by().values_list("suggestion_type", "target_key")
    return by_target.annotate(last=Max(number))


def case_for(proposal: Proposal, seat: ReviewSeat) -> ReviewCase:
    """The proposal with the reader's recent suggestions and the last round's objections: two queries."""
    since = proposal.now - timedelta(days=EARLIER_DAYS)
    hidden = (Suggestion.Status.DRAFT, Suggestion.Status.DISCARDED)
    recent = Suggestion.objects.filter(reader_id=proposal.reader_id, created_at__gt=since)
    rows = recent.exclude(status__in=hidden).order_by("-created_at", "-pk")
    fields = ("suggestion_type", "target_key", "label", "status")
    earlier = tuple(Earlier(*row) for row in rows.values_list(*fields)[:EARLIER_MAX])
    held = seat.rounds[target_of(proposal)]
    return ReviewCase(proposal, held + 1, earlier, _objections(proposal, seat, held))


def _objections(proposal: Proposal, seat: ReviewSeat, held: int) -> tuple[str, ...]:
    if not held:
        return ()
    votes = PanelVote.objects.filter(run=seat.run, target_key=proposal.target_key, round=held)
    told = votes.exclude(verdict=APPROVE).order_by("pk").values_list("reviewer", "issues")
    return tuple(f"{reviewer}: {issue}" for reviewer, issues in told for issue in issues)[:OBJECTIONS_MAX]


def votes_add(*, proposal: Proposal, seat: ReviewSeat, round_n: int, ballots: Sequence[Ballot]) -> None:
    """Store every vote of a round, missing ones too. Raises `FenceLost`."""
    with transaction.atomic():
        seat.fence()
        PanelVote.objects.bulk_create(_row(proposal, seat, round_n, ballot) for ballot in ballots)


def decision_add(*, proposal: Proposal, seat: ReviewSeat, action: str, words: str) -> None:
    """Note what became of a review: `panel_draft`, `review_failed` (both a draft) or `panel_by_rules`.

    Raises `FenceLost`.
    """
    data = {
        "suggestion_type": proposal.suggestion_type,
        "target_key": proposal.target_key,
        "round": seat.rounds[target_of(proposal)],
    }
    with transaction.atomic():
        seat.fence()
        Decision.objects.create(
            run=seat.run,
            reader_id=proposal.reader_id,
            actor="panel",
            action=action,
            reason=preview(words),
            data=data,
            at=seat.moment(),
        )


def _row(proposal: Proposal, seat: ReviewSeat, round_n: int, ballot: Ballot) -> PanelVote:
    vote = ballot.vote
    return PanelVote(
        run=seat.run,
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
        at=seat.moment(),
    )


def review_totals(*, run_id: UUID) -> dict[str, Any]:
    """What reviews took in a run so far, as `Run.meta` keeps it under `review`: two queries.

    `cost_usd` is part of the run's own cost.
    """
    votes = PanelVote.objects.filter(run_id=run_id).aggregate(
        votes=Count("pk"), cost=Coalesce(Sum("cost_usd"), NOTHING)
    )
    judgments = Judgment.objects.filter(run_id=run_id).aggregate(
        judgments=Count("pk"), cost=Coalesce(Sum("cost_usd"), NOTHING)
    )
    return {
        "votes": votes["votes"],
        "judgments": judgments["judgments"],
        "panel_cost_usd": float(votes["cost"]),
        "reflector_cost_usd": float(judgments["cost"]),
    }

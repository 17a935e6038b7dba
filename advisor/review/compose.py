"""The review of a proposal: with models the reflector and then the panel, without a model one list of checks.

Two approvals of three pass, unless trust rejects: its reject is a veto. A missing vote counts as a reject.
Checks count as the vote of their reviewer. A proposal that does not pass goes back to the agent with the
combined issues, and after three rounds to an operator as a draft.

The panel's three reviewers vote at once, and every vote is stored. If none of the three could be reached, the
checks decide for the rest of the run, because an outage of a provider says nothing about a proposal. The
missing votes and the result of each check are stored.
"""

import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any, Protocol

import structlog
from django.conf import settings
from django.db import transaction

from advisor.models import Decision, PanelVote, Run
from advisor.prompts import ADVISOR_PROMPT, prompt_load
from advisor.review.checks import Check, checks_of, votes_of
from advisor.review.context import (
    Reflection,
    ReviewContext,
    proposal_target,
    review_counts,
)
from advisor.review.reflector import reflect
from advisor.review.votes import (
    APPROVE,
    POINT_CHARS_MAX,
    REJECT,
    REVIEWERS,
    TRUST,
    EarlierSuggestion,
    PanelVotes,
    ReviewCase,
    Vote,
)
from advisor.run_values import RULES_MODEL, Deadline, ToolContext
from digest.feeds.selectors import models_allowed
from digest.llm.caller import OUT_OF_FORM, Question, TypedAnswer, data_fence, typed_ask, typed_ask_all
from digest.llm.client import chain_configured
from digest.llm.entities import Model, preview
from digest.llm.ledger import REVIEW, advisor_account
from suggestions.changes.proposal import DRAFT, IMPROVE, PASS, REFUSE, Proposal, Review, Reviewer
from suggestions.models import Suggestion
from suggestions.planner.hypotheses import confidence_of
from suggestions.proposals import FenceLost
from suggestions.rules import CONFIDENCES
from suggestions.sentences import reason_clean

log = structlog.get_logger(__name__)

REFLECTOR_REFUSED, WEAK_EVIDENCE = "reflector_refused", "weak_evidence"
PANEL_DRAFT, REVIEW_FAILED, PANEL_BY_RULES = "panel_draft", "review_failed", "panel_by_rules"
PROMPTS = {name: ADVISOR_PROMPT.with_name(f"panel_{name}.md") for name in REVIEWERS}
EARLIER_DAYS = 90
EARLIER_MAX = 20
OBJECTIONS_MAX = 8
APPROVALS_MIN = 2
ROUNDS_MAX = 3
# This precedes the prompts of the three reviewers if one call answers for all.
THRIFTY = (
    "You are three reviewers in one, whose prompts follow. Judge as each of them by its own criteria alone, "
    'and answer with one JSON object that has a vote of each: {"trust": {…}, "value": {…}, "voice": {…}}.'
)


class Reflector(Protocol):
    """Judges a proposal before the panel does; may revise its probability or refuse it."""

    def __call__(self, proposal: Proposal, *, context: ReviewContext) -> Reflection:
        """Return the judgement of one proposal."""
        ...


def context_with_reviewers(
    context: ToolContext, run: Run, *, interactive: bool, timeout_s: float, moment: Callable[[], datetime]
) -> ToolContext:
    """Return `context` with the reviewers of `run` in it, as set in the settings.

    They share the run's money and its time: `timeout_s` seconds from this call. A resumed run continues its
    count of rounds. `interactive`: somebody waits, so no model reviews. One query, three for a resumed run.
    """
    counts = review_counts(run_id=run.pk) if run.is_resumed else (Counter(), Counter())
    review_context = ReviewContext(
        run=run,
        models=review_models(ai_enabled=models_allowed(reader_id=run.reader_id), interactive=interactive),
        ledger=advisor_account(reader_id=run.reader_id, run_id=run.pk, now=context.now, purpose=REVIEW),
        deadline=Deadline(time.monotonic() + timeout_s),
        fence=context.fence,
        moment=moment,
        attempts=counts[0],
        rounds=counts[1],
    )
    return replace(context, review=reviewer_for(review_context, reflector=reflect))


def review_models(*, ai_enabled: bool, interactive: bool) -> tuple[Model, ...]:
    """Return the models that review: none while a reader waits, nor for one who turned models off."""
    return tuple(chain_configured("review")) if ai_enabled and not interactive else ()


def reviewer_for(context: ReviewContext, *, reflector: Reflector | None) -> Reviewer | None:
    """Return the reviewer of a run by the switches of the settings, or `None` if both are off.

    After any failure in a review except the loss of the run, the proposal becomes a draft: no suggestion is
    stored unreviewed.
    """
    if not settings.ADVISOR_REFLECTOR and not settings.ADVISOR_PANEL:
        return None

    def review(proposal: Proposal) -> Review:
        context.attempts[proposal_target(proposal)] += 1
        try:
            return _review(proposal, context, reflector)
        except FenceLost:
            raise
        except Exception as error:
            log.exception("review_failed", run_id=str(context.run.pk), target=proposal.change.target)
            reason = f"{type(error).__name__}: {error}"
            review_end_add(proposal=proposal, context=context, action=REVIEW_FAILED, reason=reason)
            return Review(DRAFT, notes=("The review broke off, so an operator looks at this first.",))

    return review


def _review(proposal: Proposal, context: ReviewContext, reflector: Reflector | None) -> Review:
    notes: tuple[str, ...] = ()
    revised = proposal
    if settings.ADVISOR_REFLECTOR and reflector is not None and context.models:
        reflection = reflector(proposal, context=context)
        notes, revised = reflection.notes, _revise(proposal, reflection.p_helpful)
        if refusal := _refusal(revised, reflection):
            return refusal
    verdict, message = PASS, ""
    if settings.ADVISOR_PANEL:
        result = review_round(revised, context)
        verdict, message = result.verdict, result.message
        if context.models_unreachable:
            notes = (*notes, "Rules reviewed this: no reviewing model could be reached.")
        if verdict == DRAFT:
            review_end_add(proposal=revised, context=context, action=PANEL_DRAFT, reason=message)
            why = "The reviewers could not agree" if context.models else "Checks found faults"
            notes = (*notes, f"{why}, so an operator looks at this first.")
    p_helpful = None if revised is proposal else revised.p_helpful
    return Review(verdict, message=message, p_helpful=p_helpful, notes=notes)


def _revise(proposal: Proposal, p_helpful: float) -> Proposal:
    """Return the proposal with a revised probability, as it would be stored; itself when nothing changed."""
    if p_helpful == proposal.p_helpful:
        return proposal
    forecast = {**proposal.forecast, "p_helpful": round(p_helpful, 3)}
    confidence = confidence_of(p_helpful, forecast.get("ndcg_low"), forecast.get("ndcg_high"))
    return replace(proposal, p_helpful=p_helpful, forecast=forecast, confidence=confidence)


def _refusal(revised: Proposal, reflection: Reflection) -> Review | None:
    """Return the refusal of a proposal that the reflector refuses or leaves weaker than the settings ask."""
    if reflection.refused:
        return Review(REFUSE, REFLECTOR_REFUSED, reflection.message)
    if CONFIDENCES.index(revised.confidence) >= CONFIDENCES.index(settings.ADVISOR_MIN_CONFIDENCE):
        return None
    message = (
        f"On reflection, confidence in “{revised.label}” is {revised.confidence}; "
        f"{settings.ADVISOR_MIN_CONFIDENCE} is needed. Choose another hypothesis."
    )
    return Review(REFUSE, WEAK_EVIDENCE, message)


@dataclass(frozen=True, slots=True)
class Ballot:
    """A reviewer's vote, or `None` and why it is missing; with its time and cost.

    `interrupted`: time or money ran out before the reviewer could answer. `unreachable`: every model of the
    chain was down or without a price. `ms` is milliseconds, `cost` USD.
    """

    reviewer: str
    vote: Vote | None
    model: str
    error_code: str = ""
    error: str = ""
    interrupted: bool = False
    unreachable: bool = False
    ms: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cost: Decimal = Decimal(0)

    @property
    def out_of_form(self) -> bool:
        """Return whether there was an answer and, twice, none in the form asked for."""
        return self.error_code in OUT_OF_FORM

    @property
    def verdict(self) -> str:
        """Return the vote as it counts."""
        return self.vote.verdict if self.vote else REJECT


@dataclass(frozen=True, slots=True)
class RoundResult:
    """The result of a round: the `verdict` of a review, and a message for the agent or the operator."""

    verdict: str
    message: str


def review_round(
    proposal: Proposal, context: ReviewContext, sleep: Callable[[float], None] = time.sleep
) -> RoundResult:
    """Hold one round on `proposal`: votes of models if any can be reached, else the checks.

    Models that could not be reached are not asked again in this run. Must be called outside any transaction.
    Raises `FenceLost`, and `PromptUnusable` for a missing prompt.
    """
    target = proposal_target(proposal)
    if context.rounds[target] >= ROUNDS_MAX:
        return RoundResult(DRAFT, f"All {ROUNDS_MAX} rounds on this target are over.")
    case = review_case_for(proposal, context)
    votes = _ballots_by_models(case, context, sleep) if context.models else []
    missing = votes if _is_panel_missing(votes) else []
    if missing:
        context.models, context.models_unreachable = (), True
    checks = [] if context.models else checks_of(case)
    ballots = votes if context.models else _ballots_by_checks(checks)
    context.rounds[target] = case.round
    rows = [_vote_row(proposal, context, case.round, ballot) for ballot in votes]
    rows += [_check_row(proposal, context, case.round, check) for check in checks]
    votes_add(rows=rows, context=context)
    if missing:
        log.warning("panel_unreachable", run_id=str(context.run.pk), error=missing[0].error_code)
        errors = " ".join(f"{ballot.reviewer.title()}: {ballot.error}" for ballot in missing)
        reason = f"No model of the reviewers gave a vote, so rules vote for the rest of this run. {errors}"
        review_end_add(proposal=proposal, context=context, action=PANEL_BY_RULES, reason=reason)
    return count_votes(ballots, case.round)


def _is_panel_missing(votes: Sequence[Ballot]) -> bool:
    """Return whether no model could be reached, or each answered twice out of form, so the model is too
    small.

    If one model answered uselessly while others were away, this is false: otherwise a proposal could choose
    its judges.
    """
    return bool(votes) and (all(one.unreachable for one in votes) or all(one.out_of_form for one in votes))


def review_case_for(proposal: Proposal, context: ReviewContext) -> ReviewCase:
    """Return the proposal with the reader's recent suggestions and the last objections: two queries."""
    since = proposal.now - timedelta(days=EARLIER_DAYS)
    hidden = (Suggestion.Status.DRAFT, Suggestion.Status.DISCARDED)
    recent = Suggestion.objects.filter(reader_id=proposal.reader_id, created_at__gt=since)
    rows = recent.exclude(status__in=hidden).order_by("-created_at", "-pk")
    fields = ("suggestion_type", "target_key", "label", "status")
    earlier = tuple(EarlierSuggestion(*row) for row in rows.values_list(*fields)[:EARLIER_MAX])
    last_round, objections = context.rounds[proposal_target(proposal)], []
    if last_round:
        votes = PanelVote.objects.filter(run=context.run, target_key=proposal.change.target, round=last_round)
        against = votes.exclude(verdict=APPROVE).order_by("pk").values_list("reviewer", "issues")
        objections = [f"{reviewer}: {issue}" for reviewer, issues in against for issue in issues]
    return ReviewCase(proposal, last_round + 1, earlier, tuple(objections[:OBJECTIONS_MAX]))


def _ballots_by_checks(checks: Sequence[Check]) -> list[Ballot]:
    return [Ballot(name, vote, RULES_MODEL) for name, vote in votes_of(checks).items()]


def _ballots_by_models(
    case: ReviewCase, context: ReviewContext, sleep: Callable[[float], None]
) -> list[Ballot]:
    """Return the votes of the configured models, asked at once with the run's own time and money."""
    if settings.ADVISOR_PANEL_THRIFTY:
        return _ballots_of_one_call(case, context, sleep)
    material = data_fence(case.body)
    answers = typed_ask_all(
        models=context.models,
        questions=[Question(prompt_load(PROMPTS[name]), material) for name in REVIEWERS],
        shape=Vote,
        ledger=context.ledger,
        deadline=context.deadline,
        sleep=sleep,
    )
    return [_ballot(name, answer, answer.value) for name, answer in zip(REVIEWERS, answers, strict=True)]


def _ballots_of_one_call(
    case: ReviewCase, context: ReviewContext, sleep: Callable[[float], None]
) -> list[Ballot]:
    """Return the three votes of one answer. The first reviewer's row has the tokens, cost and time of it."""
    prompts = [f"# The {name} reviewer\n\n{prompt_load(PROMPTS[name])}" for name in REVIEWERS]
    answer = typed_ask(
        models=context.models,
        system="\n\n".join([THRIFTY, *prompts]),
        user=data_fence(case.body),
        shape=PanelVotes,
        ledger=context.ledger,
        deadline=context.deadline,
        sleep=sleep,
    )
    ballots = [
        _ballot(name, answer, getattr(answer.value, name) if answer.value else None) for name in REVIEWERS
    ]
    return [
        ballots[0],
        *(replace(one, ms=0, input_tokens=0, output_tokens=0, cost=Decimal(0)) for one in ballots[1:]),
    ]


def _ballot(name: str, answer: TypedAnswer[Any], vote: Vote | None) -> Ballot:
    return Ballot(
        reviewer=name,
        vote=vote,
        model=answer.model,
        error_code=answer.error_code,
        error=answer.message,
        interrupted=answer.interrupted,
        unreachable=answer.unreachable,
        ms=answer.ms,
        input_tokens=answer.usage.input_tokens,
        output_tokens=answer.usage.output_tokens,
        cost=answer.cost,
    )


def count_votes(ballots: Sequence[Ballot], round_n: int) -> RoundResult:
    """Return the result of round `round_n` (from 1).

    A round that ran out of time or money is a draft, even if the other votes approve. So is one with missing
    votes and no objection, because the agent could improve nothing.
    """
    if any(ballot.interrupted for ballot in ballots):
        return RoundResult(DRAFT, f"The vote was cut short. {_objections(ballots)}")
    approvals = sum(ballot.verdict == APPROVE for ballot in ballots)
    vetoed = any(ballot.reviewer == TRUST and ballot.verdict == REJECT for ballot in ballots)
    if approvals >= APPROVALS_MIN and not vetoed:
        voters = "rules" if all(ballot.model.startswith(RULES_MODEL) for ballot in ballots) else "reviewers"
        return RoundResult(PASS, f"{approvals} of {len(ballots)} {voters} approve.")
    objections = any(ballot.vote and ballot.vote.verdict != APPROVE for ballot in ballots)
    if round_n >= ROUNDS_MAX or not objections:
        return RoundResult(DRAFT, f"No agreement in round {round_n}. {_objections(ballots)}")
    needed = f"{APPROVALS_MIN} of {len(ballots)} must approve and trust must not reject"
    return RoundResult(
        IMPROVE,
        f"Round {round_n} of {ROUNDS_MAX}, {needed}. {_objections(ballots)} Mend it and write again.",
    )


def _objections(ballots: Sequence[Ballot]) -> str:
    """Return the combined issues of the reviewers who did not approve, trust first."""
    return " ".join(_objection(ballot) for ballot in ballots if ballot.verdict != APPROVE)


def _objection(ballot: Ballot) -> str:
    if ballot.vote is None:
        return f"{ballot.reviewer.title()} gave no vote ({ballot.error_code})."
    issues = ballot.vote.issues or (
        [reason_clean(ballot.vote.reasoning)[:POINT_CHARS_MAX] or "no reason given"]
    )
    text = f"{ballot.reviewer.title()} ({ballot.vote.verdict}): {' '.join(map(_sentence, issues))}"
    to_do = f" To do: {' '.join(map(_sentence, ballot.vote.suggestions))}" if ballot.vote.suggestions else ""
    return f"{text}{to_do}"


def _sentence(text: str) -> str:
    return text if text.endswith((".", "!", "?", "…", "”")) else f"{text}."


def votes_add(*, rows: Sequence[PanelVote], context: ReviewContext) -> None:
    """Store a round: every vote, missing ones too, and the result of every check. Raises `FenceLost`."""
    with transaction.atomic():
        context.fence()
        PanelVote.objects.bulk_create(rows)


def _vote_row(proposal: Proposal, context: ReviewContext, round_n: int, ballot: Ballot) -> PanelVote:
    vote = ballot.vote
    return PanelVote(
        **_about(proposal, context, round_n),
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
    )


def _check_row(proposal: Proposal, context: ReviewContext, round_n: int, check: Check) -> PanelVote:
    """Return the result of a check; `model` has its name."""
    return PanelVote(
        **_about(proposal, context, round_n),
        reviewer=check.reviewer,
        verdict=check.verdict,
        confidence=1.0,
        issues=[preview(issue)[:POINT_CHARS_MAX] for issue in check.issues],
        suggestions=[check.advice] if check.issues else [],
        model=f"{RULES_MODEL}:{check.name}",
    )


def _about(proposal: Proposal, context: ReviewContext, round_n: int) -> dict[str, Any]:
    return {
        "run": context.run,
        "suggestion_type": proposal.change.suggestion_type,
        "target_key": proposal.change.target,
        "round": round_n,
        "at": context.moment(),
    }


def review_end_add(*, proposal: Proposal, context: ReviewContext, action: str, reason: str) -> None:
    """Store the end of a review: `panel_draft`, `review_failed` (both a draft) or `panel_by_rules`.

    Raises `FenceLost`.
    """
    data = {
        "suggestion_type": proposal.change.suggestion_type,
        "target_key": proposal.change.target,
        "round": context.rounds[proposal_target(proposal)],
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

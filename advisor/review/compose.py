"""The reviewers of a run: the reflector, then the panel; what neither could review becomes a draft.

The panel's three reviewers vote at once, and every vote is stored. Where none of the three could be reached,
rules vote in their place, as they do where no model is configured: an outage of a provider says nothing about
a proposal. Both sets of votes are stored.
"""

import time
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime
from typing import Protocol

import structlog
from django.conf import settings

from advisor.entities import Deadline, ToolContext
from advisor.models import Run
from advisor.prompts import ADVISOR, prompt_load
from advisor.review.reflector import reflect
from advisor.review.rows import (
    Reflection,
    ReviewContext,
    case_for,
    decision_add,
    review_counts,
    target_of,
    votes_add,
)
from advisor.review.rules import MODEL, vote_by_rules
from advisor.review.votes import REVIEWERS, ROUNDS_MAX, Ballot, Count, ReviewCase, Vote, count_votes
from digest.feeds.selectors import models_allowed
from digest.llm.client import chain_configured
from digest.llm.entities import Model
from digest.llm.ledger import REVIEW, advisor_account
from digest.llm.typed import Question, data_fence, typed_ask_all
from suggestions.entities import DRAFT, PASS, REFUSE, FenceLost, Proposal, Review, Reviewer
from suggestions.planner.hypotheses import confidence_of
from suggestions.rules import CONFIDENCES

log = structlog.get_logger(__name__)

REFLECTOR_REFUSED, WEAK_EVIDENCE = "reflector_refused", "weak_evidence"
PANEL_DRAFT, REVIEW_FAILED, PANEL_BY_RULES = "panel_draft", "review_failed", "panel_by_rules"
PROMPTS = {name: ADVISOR.with_name(f"panel_{name}.md") for name in REVIEWERS}


class Reflector(Protocol):
    """Judges a proposal before the panel does; may revise its probability or refuse it."""

    def __call__(self, proposal: Proposal, *, context: ReviewContext) -> Reflection: ...


def context_reviewed(
    context: ToolContext, run: Run, *, interactive: bool, timeout_s: float, moment: Callable[[], datetime]
) -> ToolContext:
    """Return `context` with the reviewers of `run` in it, as the settings have them.

    They share the run's money and its time: `timeout_s` seconds from this call. A run that resumes goes on
    counting rounds where it was. `interactive`: somebody waits, so rules review. Two queries.
    """
    attempts, rounds = review_counts(run_id=run.pk)
    review_context = ReviewContext(
        run=run,
        models=review_models(ai_enabled=models_allowed(reader_id=run.reader_id), interactive=interactive),
        ledger=advisor_account(reader_id=run.reader_id, run_id=run.pk, now=context.now, purpose=REVIEW),
        deadline=Deadline(time.monotonic() + timeout_s),
        fence=context.fence,
        moment=moment,
        interactive=interactive,
        attempts=attempts,
        rounds=rounds,
    )
    return replace(context, review=reviewer_for(review_context, reflector=reflect))


def review_models(*, ai_enabled: bool, interactive: bool) -> tuple[Model, ...]:
    """Return the models that review: none while a reader waits, nor for one who turned models off."""
    return tuple(chain_configured("review")) if ai_enabled and not interactive else ()


def reviewer_for(context: ReviewContext, *, reflector: Reflector | None) -> Reviewer | None:
    """Return the reviewer of a run by the switches of the settings; `None` where both are off.

    Whatever breaks in a review but the loss of the run, the proposal becomes a draft: nothing is stored for
    the reader unreviewed.
    """
    if not settings.ADVISOR_REFLECTOR and not settings.ADVISOR_PANEL:
        return None

    def review(proposal: Proposal) -> Review:
        context.attempts[target_of(proposal)] += 1
        try:
            return _reviewed(proposal, context, reflector)
        except FenceLost:
            raise
        except Exception as error:
            log.exception("review_failed", run_id=str(context.run.pk), target=proposal.target_key)
            reason = f"{type(error).__name__}: {error}"
            decision_add(proposal=proposal, context=context, action=REVIEW_FAILED, reason=reason)
            return Review(DRAFT, notes=("The review broke off, so an operator looks at this first.",))

    return review


def _reviewed(proposal: Proposal, context: ReviewContext, reflector: Reflector | None) -> Review:
    notes: tuple[str, ...] = ()
    revised = proposal
    if settings.ADVISOR_REFLECTOR and reflector is not None:
        reflection = reflector(proposal, context=context)
        notes, revised = reflection.notes, _revised(proposal, reflection.p_helpful)
        if refusal := _refused(revised, reflection):
            return refusal
    verdict, message = PASS, ""
    if settings.ADVISOR_PANEL:
        count = panel_vote(revised, context)
        verdict, message = count.verdict, count.message
        if context.cut_off:
            notes = (*notes, "Rules reviewed this: no reviewing model could be reached.")
        if verdict == DRAFT:
            decision_add(proposal=revised, context=context, action=PANEL_DRAFT, reason=message)
            notes = (*notes, "The reviewers could not agree, so an operator looks at this first.")
    p_helpful = None if revised is proposal else revised.p_helpful
    return Review(verdict, message=message, p_helpful=p_helpful, notes=notes)


def _revised(proposal: Proposal, p_helpful: float) -> Proposal:
    """Return the proposal with a revised probability, as it would be stored; itself when nothing changed."""
    if p_helpful == proposal.p_helpful:
        return proposal
    forecast = {**proposal.forecast, "p_helpful": round(p_helpful, 3)}
    confidence = confidence_of(p_helpful, forecast.get("ndcg_gain"), forecast.get("ndcg_high"))
    return replace(proposal, p_helpful=p_helpful, forecast=forecast, confidence=confidence)


def _refused(revised: Proposal, reflection: Reflection) -> Review | None:
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


def panel_vote(
    proposal: Proposal, context: ReviewContext, sleep: Callable[[float], None] = time.sleep
) -> Count:
    """Hold one round of votes on `proposal`, by models where any can be reached, else by rules.

    Models that could not be reached are not asked again in this run. Must be called outside any transaction.
    Raises `FenceLost`, and `PromptUnusable` for a missing prompt.
    """
    target = target_of(proposal)
    if context.rounds[target] >= ROUNDS_MAX:
        return Count(DRAFT, f"All {ROUNDS_MAX} rounds on this target are over.")
    case = case_for(proposal, context)
    missing: list[Ballot] = []
    ballots = _ballots_by_models(case, context, sleep) if context.models else _ballots_by_rules(case)
    if all(ballot.unreachable for ballot in ballots):
        missing, ballots = ballots, _ballots_by_rules(case)
        context.models, context.cut_off = (), True
    count = count_votes(ballots, case.round)
    context.rounds[target] = case.round
    votes_add(proposal=proposal, context=context, round_n=case.round, ballots=[*missing, *ballots])
    if missing:
        log.warning("panel_unreachable", run_id=str(context.run.pk), error=missing[0].error_code)
        errors = " ".join(f"{ballot.reviewer.title()}: {ballot.error}" for ballot in missing)
        reason = (
            f"No model of the reviewers could be reached, so rules vote for the rest of this run. {errors}"
        )
        decision_add(proposal=proposal, context=context, action=PANEL_BY_RULES, reason=reason)
    return count


def _ballots_by_rules(case: ReviewCase) -> list[Ballot]:
    return [Ballot(name, vote_by_rules(name, case), f"{MODEL}:{name}") for name in REVIEWERS]


def _ballots_by_models(
    case: ReviewCase, context: ReviewContext, sleep: Callable[[float], None]
) -> list[Ballot]:
    """Return the votes of the configured models, asked at once with the run's own time and money."""
    material = data_fence(case.body)
    answers = typed_ask_all(
        models=context.models,
        questions=[Question(prompt_load(PROMPTS[name]), material) for name in REVIEWERS],
        shape=Vote,
        ledger=context.ledger,
        deadline=context.deadline,
        sleep=sleep,
    )
    return [
        Ballot(
            reviewer=name,
            vote=answer.value,
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
        for name, answer in zip(REVIEWERS, answers, strict=True)
    ]

"""The reviewers of a run as one: the reflector, then the panel; what neither could review becomes a draft."""

from dataclasses import replace
from typing import Protocol

import structlog
from django.conf import settings

from advisor.review.entities import Reflection, ReviewSeat, target_of
from advisor.review.panel import panel_vote
from advisor.review.rows import decision_add
from digest.llm.chain import chain_configured
from digest.llm.entities import Model
from suggestions.beliefs import confidence_of
from suggestions.entities import DRAFT, PASS, REFUSE, FenceLost, Proposal, Review, Reviewer
from suggestions.rules import CONFIDENCES

log = structlog.get_logger(__name__)

REFLECTOR_REFUSED, WEAK_EVIDENCE = "reflector_refused", "weak_evidence"
PANEL_DRAFT, REVIEW_FAILED = "panel_draft", "review_failed"


class Reflector(Protocol):
    """Judges a proposal before the panel does; may revise its probability or be against it."""

    def __call__(self, proposal: Proposal, *, seat: ReviewSeat) -> Reflection: ...


def review_models(*, ai_enabled: bool, interactive: bool) -> tuple[Model, ...]:
    """The models that review: none while a reader waits, nor for one who turned models off."""
    return tuple(chain_configured("review")) if ai_enabled and not interactive else ()


def reviewer_for(seat: ReviewSeat, *, reflector: Reflector | None) -> Reviewer | None:
    """The reviewer of a run by the switches of the settings; `None` where both are off.

    Whatever breaks in a review but the loss of the run, the proposal becomes a draft: nothing is stored for
    the reader unreviewed.
    """
    if not settings.ADVISOR_REFLECTOR and not settings.ADVISOR_PANEL:
        return None

    def review(proposal: Proposal) -> Review:
        seat.writings[target_of(proposal)] += 1
        try:
            return _reviewed(proposal, seat, reflector)
        except FenceLost:
            raise
        except Exception as error:
            log.exception("review_failed", run_id=str(seat.run.pk), target=proposal.target_key)
            words = f"{type(error).__name__}: {error}"
            decision_add(proposal=proposal, seat=seat, action=REVIEW_FAILED, words=words)
            return Review(DRAFT, notes=("The review broke off, so an operator looks at this first.",))

    return review


def _reviewed(proposal: Proposal, seat: ReviewSeat, reflector: Reflector | None) -> Review:
    notes: tuple[str, ...] = ()
    revised = proposal
    if settings.ADVISOR_REFLECTOR and reflector is not None:
        reflection = reflector(proposal, seat=seat)
        notes, revised = reflection.notes, _revised(proposal, reflection.p_helpful)
        if refusal := _refused(revised, reflection):
            return refusal
    verdict, message = PASS, ""
    if settings.ADVISOR_PANEL:
        count = panel_vote(revised, seat)
        verdict, message = count.verdict, count.message
        if seat.cut_off:
            notes = (*notes, "Rules reviewed this: no reviewing model could be reached.")
        if verdict == DRAFT:
            decision_add(proposal=revised, seat=seat, action=PANEL_DRAFT, words=message)
            notes = (*notes, "The reviewers could not agree, so an operator looks at this first.")
    p_helpful = None if revised is proposal else revised.p_helpful
    return Review(verdict, message=message, p_helpful=p_helpful, notes=notes)


def _refused(revised: Proposal, reflection: Reflection) -> Review | None:
    """The end of a proposal that the reflector is against, or leaves weaker than the settings ask for."""
    if reflection.refused:
        return Review(REFUSE, REFLECTOR_REFUSED, reflection.message)
    if CONFIDENCES.index(revised.confidence) >= CONFIDENCES.index(settings.ADVISOR_MIN_CONFIDENCE):
        return None
    words = (
        f"On reflection, confidence in “{revised.label}” is {revised.confidence}; "
        f"{settings.ADVISOR_MIN_CONFIDENCE} is needed. Choose another hypothesis."
    )
    return Review(REFUSE, WEAK_EVIDENCE, words)


def _revised(proposal: Proposal, p_helpful: float) -> Proposal:
    """The proposal with a revised probability, as it would be stored; itself when nothing was revised."""
    if p_helpful == proposal.p_helpful:
        return proposal
    forecast = {**proposal.forecast, "p_helpful": round(p_helpful, 3)}
    confidence = confidence_of(p_helpful, forecast.get("ndcg_gain"), forecast.get("ndcg_high"))
    return replace(proposal, p_helpful=p_helpful, forecast=forecast, confidence=confidence)

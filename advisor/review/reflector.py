"""The reflector: two rounds on whether a proposal will help and be accepted, the second with new evidence.

Scheduled runs with a chain for reviews ask a model. All others, and a round without a usable answer, take the
arithmetic of `reflector_judge`. A model that could not be reached in the first round is not asked in the
second. Both rounds are stored.
"""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from decimal import Decimal
from typing import Annotated, Any

import structlog
from django.db import transaction
from django.db.models import Max
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, StrictBool

from advisor.models import Judgment
from advisor.prompts import ADVISOR, PromptUnusable, prompt_load
from advisor.review.reflector_judge import (
    NewEvidence,
    OwnEvidence,
    Verdict,
    judge_first,
    judge_second,
    lower_by_doubt,
)
from advisor.review.rows import Reflection, ReviewContext
from advisor.review.votes import ReviewCase, text_cut
from digest.feedback.peers import target_opinions
from digest.llm.entities import preview
from digest.llm.typed import UNREACHABLE, data_fence, typed_ask
from suggestions.entities import LIKED_TYPES, SOURCE_WEIGHTS, Proposal
from suggestions.selectors import profile_for

log = structlog.get_logger(__name__)

FIRST, SECOND = ADVISOR.with_name("reflect_first.md"), ADVISOR.with_name("reflect_second.md")
REFUSED = "reflector_refused"
ARITHMETIC = "rules"
PROMPT_UNUSABLE = "prompt_unusable"


class Answer(BaseModel):
    """A model's verdict on one round."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    helps: StrictBool
    accepts: StrictBool
    confidence: float = Field(ge=0, le=1)
    reasoning: Annotated[str, BeforeValidator(text_cut)] = ""

    def verdict(self, p_helpful: float) -> Verdict:
        """Return the answer as a verdict with the probability `p_helpful`."""
        return Verdict(self.helps, self.accepts, self.confidence, p_helpful, self.reasoning)


def first_question(proposal: Proposal, own: OwnEvidence) -> tuple[str, str]:
    """Return (instructions, material) of round 1: the reader's data, without the effect on holdout ratings.

    Raises `PromptUnusable`.
    """
    return prompt_load(FIRST), data_fence(_material(proposal, own))


def second_question(
    proposal: Proposal, own: OwnEvidence, first: Verdict, news: NewEvidence
) -> tuple[str, str]:
    """Return (instructions, material) of round 2: that of round 1, its verdict, and the new evidence.

    Raises `PromptUnusable`.
    """
    verdict = {
        "helps": first.helps,
        "accepts": first.accepts,
        "confidence": round(first.confidence, 2),
        "reasoning": first.reasoning,
    }
    body = _material(proposal, own) | {"round_1": verdict, "new_evidence": news.as_dict()}
    return prompt_load(SECOND), data_fence(body)


def _material(proposal: Proposal, own: OwnEvidence) -> dict[str, Any]:
    body = ReviewCase(proposal).body
    names = ("change", "reason", "counts", "evidence", "today")
    return {name: body[name] for name in names} | {
        "p_helpful": round(own.p_helpful, 2),
        "answers_to_this_type": {"accepted": own.accepted, "rejected": own.rejected},
    }


@dataclass(frozen=True, slots=True)
class _Round:
    """One round as it is stored."""

    verdict: Verdict
    evidence: dict[str, object] = field(default_factory=dict)
    model: str = ARITHMETIC
    error_code: str = ""
    ms: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cost: Decimal = Decimal(0)


def reflect(proposal: Proposal, *, context: ReviewContext) -> Reflection:
    """Judge `proposal` in two rounds, store both, and return the result.

    `p_helpful` comes from the figures; a model's doubt may lower it and nothing raises it beyond them. A
    final no with confidence of at least 0.8 refuses. Raises what `context.fence` raises.
    """
    liked = proposal.suggestion_type in LIKED_TYPES
    own, news = _own(proposal), _news(proposal)
    rule_1, rule_2 = judge_first(own), judge_second(own, news, liked)
    first = _asked(context, rule_1, lambda: first_question(proposal, own))
    if first.error_code in UNREACHABLE:
        second = replace(first, verdict=rule_2, ms=0, cost=Decimal(0))
    elif news.any:
        second = _asked(context, rule_2, lambda: second_question(proposal, own, first.verdict, news))
    else:
        second = _Round(replace(first.verdict, reasoning=rule_2.reasoning), model=first.model)
    second = replace(second, evidence=news.as_dict())
    _store(proposal, context, replace(first, evidence=own.as_dict()), second)
    log.info(
        "reflected",
        user_id=str(proposal.reader_id),
        run_id=str(proposal.run_id),
        type=proposal.suggestion_type,
        yes=second.verdict.yes,
        flipped=first.verdict.yes != second.verdict.yes,
        p_helpful=second.verdict.p_helpful,
    )
    return _reflection(second.verdict, news, liked)


def _own(proposal: Proposal) -> OwnEvidence:
    """Return what the reader's own data say; their answers count by type."""
    profile = profile_for(reader_id=proposal.reader_id) or {}
    stats = profile.get("acceptance_stats", {}).get(proposal.suggestion_type, {})
    return OwnEvidence(proposal.p_helpful, stats.get("accepted", 0), stats.get("rejected", 0))


def _news(proposal: Proposal) -> NewEvidence:
    """Return what round 1 did not have: other readers' opinions, and the effect on holdout ratings."""
    is_source = proposal.field == SOURCE_WEIGHTS
    others = target_opinions(
        reader_id=proposal.reader_id,
        source=proposal.target_key if is_source else "",
        topic="" if is_source else proposal.target_key,
        now=proposal.now,
    )
    gain, low, high = (proposal.forecast.get(f"ndcg_{name}") for name in ("gain", "low", "high"))
    return NewEvidence(others.peers, others.community, gain, low, high)


def _asked(context: ReviewContext, rule: Verdict, question: Callable[[], tuple[str, str]]) -> _Round:
    """Return one round: the answer of a model where one gives any, else the arithmetic."""
    if not context.models or context.interactive:
        return _Round(rule)
    try:
        system, user = question()
    except PromptUnusable as error:
        log.error("reflector_prompt_unusable", reason=str(error))
        return _Round(rule, error_code=PROMPT_UNUSABLE)
    answer = typed_ask(
        models=context.models,
        system=system,
        user=user,
        shape=Answer,
        ledger=context.ledger,
        deadline=context.deadline,
    )
    verdict = rule
    if answer.value is not None:
        given = answer.value
        p_helpful = lower_by_doubt(rule.p_helpful, helps=given.helps, confidence=given.confidence)
        verdict = given.verdict(p_helpful)
    return _Round(
        verdict,
        model=answer.model if answer.value is not None else ARITHMETIC,
        error_code=answer.error_code,
        ms=answer.ms,
        input_tokens=answer.usage.input_tokens,
        output_tokens=answer.usage.output_tokens,
        cost=answer.cost,
    )


def _store(proposal: Proposal, context: ReviewContext, first: _Round, second: _Round) -> None:
    """Store both rounds under the next free number of this proposal's attempts."""
    target = {"suggestion_type": proposal.suggestion_type, "target_key": proposal.target_key}
    flips = (False, first.verdict.yes != second.verdict.yes)
    with transaction.atomic():
        context.fence()
        earlier = Judgment.objects.filter(run=context.run, **target).aggregate(last=Max("attempt"))
        attempt = max(context.attempt_of(proposal), (earlier["last"] or 0) + 1)
        Judgment.objects.bulk_create(
            Judgment(
                run=context.run,
                **target,
                attempt=attempt,
                round=number,
                helps=row.verdict.helps,
                accepts=row.verdict.accepts,
                confidence=row.verdict.confidence,
                p_helpful=row.verdict.p_helpful,
                reasoning=preview(row.verdict.reasoning),
                evidence=row.evidence,
                flipped=flipped,
                error_code=row.error_code[:60],
                model=row.model[:80],
                ms=row.ms,
                input_tokens=row.input_tokens,
                output_tokens=row.output_tokens,
                cost_usd=row.cost,
                at=context.moment(),
            )
            for number, row, flipped in ((1, first, flips[0]), (2, second, flips[1]))
        )


def _reflection(final: Verdict, news: NewEvidence, liked: bool) -> Reflection:
    if final.refuses:
        doubt = "help this reader's digest" if not final.helps else "be accepted by this reader"
        return Reflection(
            final.p_helpful,
            refused=True,
            message=f"After a second look this is not expected to {doubt}. Drop it or change target.",
        )
    return Reflection(final.p_helpful, notes=_notes(news, liked))


def _notes(news: NewEvidence, liked: bool) -> tuple[str, ...]:
    """Return the note about other readers: a tendency in words, never a number."""
    opinion = news.peers or news.community
    if opinion is None or not opinion.deviation:
        return ()
    who = "Readers with a taste like yours" if news.peers else "Other readers here"
    lean = "more" if opinion.deviation > 0 else "less"
    agrees = "which speaks for this" if (opinion.deviation > 0) is liked else "which speaks against this"
    return (f"{who} like it {lean} than usual, {agrees}.",)

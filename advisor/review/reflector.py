"""The reflector: two rounds on whether a proposal will help and be accepted, the second with new evidence.

Scheduled runs with a chain for reviews ask a model; all others, and a round in which the model gives nothing
or nonsense, take the arithmetic of `reflector_judge`. A model that could not be reached in the first round is
not waited for in the second. Both rounds are stored whichever judge spoke.
"""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from decimal import Decimal

import structlog
from django.db import transaction
from django.db.models import Max

from advisor.models import Judgment
from advisor.prompts import PromptUnusable
from advisor.review.entities import Reflection, ReviewSeat
from advisor.review.reflector_answer import Answer, first_question, second_question
from advisor.review.reflector_judge import News, Own, Verdict, doubted, judge_first, judge_second
from digest.llm.model_text import preview
from digest.llm.typed import UNREACHABLE, typed_ask
from digest.selectors.peers import target_opinions
from suggestions.entities import LIKED_TYPES, SOURCE_WEIGHTS, Proposal
from suggestions.selectors import profile_for

log = structlog.get_logger(__name__)

REFUSED = "reflector_refused"
ARITHMETIC = "rules"
PROMPT_UNUSABLE = "prompt_unusable"


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


def reflect(proposal: Proposal, *, seat: ReviewSeat) -> Reflection:
    """Judge `proposal` in two rounds, store both, and say what becomes of it.

    `p_helpful` comes from the figures; a model's doubt may lower it and nothing raises it beyond them. A
    final no with confidence of at least 0.8 refuses. Raises what `seat.fence` raises.
    """
    liked = proposal.suggestion_type in LIKED_TYPES
    own, news = _own(proposal), _news(proposal)
    rule_1, rule_2 = judge_first(own), judge_second(own, news, liked)
    first = _asked(seat, rule_1, lambda: first_question(proposal, own))
    if first.error_code in UNREACHABLE:
        second = replace(first, verdict=rule_2, ms=0, cost=Decimal(0))
    elif news.any:
        second = _asked(seat, rule_2, lambda: second_question(proposal, own, first.verdict, news))
    else:
        second = _Round(replace(first.verdict, reasoning=rule_2.reasoning), model=first.model)
    second = replace(second, evidence=news.as_dict())
    _store(proposal, seat, replace(first, evidence=_told(own)), second)
    log.info(
        "reflected",
        user_id=str(proposal.reader_id),
        run_id=str(proposal.run_id),
        type=proposal.suggestion_type,
        yes=second.verdict.yes,
        flipped=_flipped(first.verdict, second.verdict),
        p_helpful=second.verdict.p_helpful,
    )
    return _reflection(second.verdict, news, liked)


def _own(proposal: Proposal) -> Own:
    """What the reader's own data say; their answers count by type."""
    profile = profile_for(reader_id=proposal.reader_id) or {}
    stats = profile.get("acceptance_stats", {}).get(proposal.suggestion_type, {})
    return Own(proposal.p_helpful, stats.get("accepted", 0), stats.get("rejected", 0))


def _news(proposal: Proposal) -> News:
    """What round 1 did not have: other readers' opinions, and the effect measured on thumbs kept apart."""
    is_source = proposal.field == SOURCE_WEIGHTS
    others = target_opinions(
        reader_id=proposal.reader_id,
        source=proposal.target_key if is_source else "",
        topic="" if is_source else proposal.target_key,
        now=proposal.now,
    )
    gain, low, high = (proposal.forecast.get(f"ndcg_{name}") for name in ("gain", "low", "high"))
    return News(others.peers, others.community, gain, low, high)


def _told(own: Own) -> dict[str, object]:
    return {
        "p_helpful": round(own.p_helpful, 4),
        "accepted": own.accepted,
        "rejected": own.rejected,
    }


def _asked(seat: ReviewSeat, rule: Verdict, question: Callable[[], tuple[str, str]]) -> _Round:
    """One round: the model's answer where there is one to ask and it gives one, else the arithmetic."""
    if not seat.models or seat.interactive:
        return _Round(rule)
    try:
        system, user = question()
    except PromptUnusable as error:
        log.error("reflector_prompt_unusable", reason=str(error))
        return _Round(rule, error_code=PROMPT_UNUSABLE)
    answer = typed_ask(
        models=seat.models,
        system=system,
        user=user,
        shape=Answer,
        ledger=seat.ledger,
        deadline=seat.deadline,
    )
    verdict = rule
    if answer.value is not None:
        said = answer.value
        p_helpful = doubted(rule.p_helpful, helps=said.helps, confidence=said.confidence)
        verdict = said.verdict(p_helpful)
    return _Round(
        verdict,
        model=answer.model if answer.value is not None else ARITHMETIC,
        error_code=answer.error_code,
        ms=answer.ms,
        input_tokens=answer.usage.input_tokens,
        output_tokens=answer.usage.output_tokens,
        cost=answer.cost,
    )


def _flipped(first: Verdict, second: Verdict) -> bool:
    return first.yes != second.yes


def _store(proposal: Proposal, seat: ReviewSeat, first: _Round, second: _Round) -> None:
    """Both rounds as rows of the audit, under the next free number of this proposal's writings."""
    target = {"suggestion_type": proposal.suggestion_type, "target_key": proposal.target_key}
    flips = (False, _flipped(first.verdict, second.verdict))
    with transaction.atomic():
        seat.fence()
        earlier = Judgment.objects.filter(run=seat.run, **target).aggregate(last=Max("attempt"))
        attempt = max(seat.writing_of(proposal), (earlier["last"] or 0) + 1)
        Judgment.objects.bulk_create(
            Judgment(
                run=seat.run,
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
                at=seat.moment(),
            )
            for number, row, flipped in ((1, first, flips[0]), (2, second, flips[1]))
        )


def _reflection(final: Verdict, news: News, liked: bool) -> Reflection:
    if final.refuses:
        doubt = "help this reader's digest" if not final.helps else "be accepted by this reader"
        return Reflection(
            final.p_helpful,
            refused=True,
            message=f"After a second look this is not expected to {doubt}. Drop it or change target.",
        )
    return Reflection(final.p_helpful, notes=_notes(news, liked))


def _notes(news: News, liked: bool) -> tuple[str, ...]:
    """What the reader is told of others: a lean in words, never a number."""
    said = news.peers or news.community
    if said is None or not said.deviation:
        return ()
    who = "Readers with a taste like yours" if news.peers else "Other readers here"
    lean = "more" if said.deviation > 0 else "less"
    agrees = "which speaks for this" if (said.deviation > 0) is liked else "which speaks against this"
    return (f"{who} like it {lean} than usual, {agrees}.",)

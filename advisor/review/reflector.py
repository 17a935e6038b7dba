"""The reflector: two rounds on whether a proposal will help and be accepted, the second with new evidence.

It asks a model; without one there is no reflector. A round without a usable answer uses the arithmetic below.
A model that could not be reached in the first round is not asked in the second. Both are stored.

Round 1 forecasts from the reader's own data: P(it helps) from the ratings that chose the change, and P(the
reader accepts) from their answers to changes of its type, with the prior Beta(2, 2).

Round 2 adds new evidence, in log-odds of "it helps":

    logit p2 = logit p1 + direction * COMMUNITY_SLOPE * community + forecast

where community is the published deviation of the readers who share (steps of 0.05, at most 0.2), and the
forecast is a tenth of its distance from zero in standard errors (its 90 % interval is 3.29 wide), at most
1.5. A logistic regression of later gains on MovieLens gave this. Each part alone is too weak to reverse a
clear round 1.

COMMUNITY_SLOPE is the worth of a deviation at even odds, 1 / (p (1 - p)) = 4. A logistic regression on
MovieLens-100k gave 6.5 (about items; a change is about a source, so we take 4).
"""

from collections.abc import Callable
from dataclasses import asdict, dataclass, field, replace
from decimal import Decimal
from typing import Annotated, Any

import structlog
from django.db import transaction
from django.db.models import Max
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, StrictBool

from advisor.models import Judgment
from advisor.prompts import ADVISOR_PROMPT, PromptUnusable, prompt_load
from advisor.review.context import Reflection, ReviewContext
from advisor.review.votes import ReviewCase, text_preview
from digest.feedback.peers import community_opinion
from digest.llm.caller import UNREACHABLE, data_fence, typed_ask
from digest.llm.entities import preview
from ranking.common.probability import log_odds, logistic
from ranking.community import Opinion
from suggestions.changes.proposal import Proposal
from suggestions.selectors import profile_for

log = structlog.get_logger(__name__)

# Log-odds per unit of deviation: at the greatest deviation (0.2) the community weighs 0.8.
COMMUNITY_SLOPE = 4.0
FORECAST_WEIGHT, FORECAST_MAX = 0.1, 1.5
INTERVAL_90 = 3.29
# Below this width an interval is no measurement but a handful of equal draws.
INTERVAL_MIN = 1e-6
ACCEPT_PRIOR = 2.0
P_MIN, P_MAX = 0.02, 0.98
REFUSE_CONFIDENCE = 0.8
FIRST, SECOND = ADVISOR_PROMPT.with_name("reflect_first.md"), ADVISOR_PROMPT.with_name("reflect_second.md")
REFUSED = "reflector_refused"
ARITHMETIC = "rules"
PROMPT_UNUSABLE = "prompt_unusable"


@dataclass(frozen=True, slots=True)
class OwnEvidence:
    """The evidence of round 1: `p_helpful` of the proposal, and the reader's answers to its type."""

    p_helpful: float
    accepted: int = 0
    rejected: int = 0

    @property
    def p_accepts(self) -> float:
        """Return the posterior mean of the acceptance rate."""
        return (self.accepted + ACCEPT_PRIOR) / (self.accepted + self.rejected + 2 * ACCEPT_PRIOR)

    def as_dict(self) -> dict[str, object]:
        """Return plain JSON values, as the audit stores them."""
        return asdict(self) | {"p_helpful": round(self.p_helpful, 4)}


@dataclass(frozen=True, slots=True)
class NewEvidence:
    """The evidence of round 2 alone: the community's opinion, and the effect on holdout ratings.

    `gain`, `low` and `high` are of nDCG@10 with a 90 % interval, or `None` if nothing was measured.
    """

    community: Opinion | None = None
    gain: float | None = None
    low: float | None = None
    high: float | None = None

    @property
    def has_any(self) -> bool:
        """Return whether there is anything new."""
        return self.community is not None or self._measured is not None

    @property
    def _measured(self) -> tuple[float, float] | None:
        """Return the gain and its standard error, if both were measured."""
        if self.gain is None or self.low is None or self.high is None:
            return None
        return self.gain, max(INTERVAL_MIN, (self.high - self.low) / INTERVAL_90)

    def log_odds_shift(self, liked: bool) -> float:
        """Return the log-odds for (+) or against (-) the change."""
        direction = 1.0 if liked else -1.0
        community = COMMUNITY_SLOPE * self.community.deviation if self.community else 0.0
        gain, error = self._measured or (0.0, 1.0)
        forecast = max(-FORECAST_MAX, min(FORECAST_MAX, FORECAST_WEIGHT * gain / error))
        return direction * community + forecast

    def as_dict(self) -> dict[str, Any]:
        """Return plain JSON values, for a model and for the audit; empty without news."""
        values: dict[str, Any] = {"community": asdict(self.community)} if self.community else {}
        if self._measured is not None:
            values["later_thumbs"] = {"ndcg_gain": self.gain, "ndcg_low": self.low, "ndcg_high": self.high}
        return values


@dataclass(frozen=True, slots=True)
class Verdict:
    """The result of a round: will it help, will the reader accept, how sure, and why."""

    helps: bool
    accepts: bool
    confidence: float
    p_helpful: float
    reasoning: str

    @property
    def yes(self) -> bool:
        """Return whether both are expected."""
        return self.helps and self.accepts

    @property
    def refuses(self) -> bool:
        """Return whether this is a no that is sure enough to end the proposal."""
        return not self.yes and self.confidence >= REFUSE_CONFIDENCE - 1e-9


def judge_first(own: OwnEvidence) -> Verdict:
    """Return the verdict of round 1, from the reader's own data."""
    reasoning = f"the ratings that chose it say {own.p_helpful:.2f}; {_answers(own)}"
    return _verdict(own.p_helpful, own, reasoning)


def judge_second(own: OwnEvidence, news: NewEvidence, liked: bool) -> Verdict:
    """Return the verdict of round 2, or that of round 1 without new evidence."""
    if not news.has_any:
        return replace(judge_first(own), reasoning="nothing new; as in round 1")
    p = logistic(log_odds(_clamp(own.p_helpful)) + news.log_odds_shift(liked))
    return _verdict(p, own, f"{_summary(news)}; {own.p_helpful:.2f} becomes {p:.2f}; {_answers(own)}")


def lower_by_doubt(p_helpful: float, *, helps: bool, confidence: float) -> float:
    """Return `p_helpful` after a model's verdict: a no takes it halfway, in log-odds, to that doubt.

    The confidence that a reader sees rests on our own figures; a model may only lower it.
    """
    if helps:
        return p_helpful
    return min(p_helpful, logistic((log_odds(_clamp(p_helpful)) + log_odds(_clamp(1.0 - confidence))) / 2))


def _verdict(p_helpful: float, own: OwnEvidence, reasoning: str) -> Verdict:
    p = _clamp(p_helpful)
    helps, accepts = p >= 0.5, own.p_accepts >= 0.5
    doubts = [1 - q for q, yes in ((p, helps), (own.p_accepts, accepts)) if not yes]
    confidence = max(doubts) if doubts else min(p, own.p_accepts)
    return Verdict(helps, accepts, confidence, p_helpful, reasoning)


def _clamp(p: float) -> float:
    return min(P_MAX, max(P_MIN, p))


def _answers(own: OwnEvidence) -> str:
    answered = own.accepted + own.rejected
    if not answered:
        return "the reader has not answered such a change yet"
    return f"the reader accepted {own.accepted} of {answered} such changes"


def _summary(news: NewEvidence) -> str:
    """Return the news in one line: whether the community likes the target more or less than usual."""
    parts = []
    if news.community is not None:
        deviation = news.community.deviation
        parts.append(f"all readers {_tendency(deviation)} ({deviation:+.2f})")
    if news.gain is not None:
        parts.append(f"ratings held out of learning measure {news.gain:+.3f} nDCG@10")
    return ", ".join(parts)


def _tendency(deviation: float) -> str:
    return "as usual" if not deviation else "like it more than usual" if deviation > 0 else "less than usual"


class Answer(BaseModel):
    """What a model answers in one round: whether the change helps, and whether the reader would accept it.

    `confidence` is the model's own, from 0 to 1.
    """

    model_config = ConfigDict(extra="ignore", frozen=True)

    helps: StrictBool
    accepts: StrictBool
    confidence: float = Field(ge=0, le=1)
    reasoning: Annotated[str, BeforeValidator(text_preview)] = ""

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

    `p_helpful` comes from the figures. A model's doubt may lower it, and nothing raises it beyond them. A
    final no with confidence of at least 0.8 refuses. Raises the errors of `context.fence`.
    """
    liked = proposal.change.kind.liked
    own, news = _own(proposal), _news(proposal)
    rule_1, rule_2 = judge_first(own), judge_second(own, news, liked)
    first = _ask(context, rule_1, lambda: first_question(proposal, own))
    if first.error_code in UNREACHABLE:
        second = replace(first, verdict=rule_2, ms=0, cost=Decimal(0))
    elif news.has_any:
        second = _ask(context, rule_2, lambda: second_question(proposal, own, first.verdict, news))
    else:
        second = _Round(replace(first.verdict, reasoning=rule_2.reasoning), model=first.model)
    second = replace(second, evidence=news.as_dict())
    _store(proposal, context, replace(first, evidence=own.as_dict()), second)
    log.info(
        "reflected",
        user_id=str(proposal.reader_id),
        run_id=str(proposal.run_id),
        type=proposal.change.suggestion_type,
        yes=second.verdict.yes,
        flipped=first.verdict.yes != second.verdict.yes,
        p_helpful=second.verdict.p_helpful,
    )
    return _reflection(second.verdict, news, liked)


def _own(proposal: Proposal) -> OwnEvidence:
    """Return the evidence in the reader's own data. Their answers count by type."""
    profile = profile_for(reader_id=proposal.reader_id) or {}
    stats = profile.get("acceptance_stats", {}).get(proposal.change.suggestion_type, {})
    return OwnEvidence(proposal.p_helpful, stats.get("accepted", 0), stats.get("rejected", 0))


def _news(proposal: Proposal) -> NewEvidence:
    """Return the evidence that is new in round 2: the community's opinion, the effect on holdout ratings."""
    is_source = proposal.change.kind.of_source
    community = community_opinion(
        reader_id=proposal.reader_id,
        source=proposal.change.target if is_source else "",
        topic="" if is_source else proposal.change.target,
        now=proposal.now,
    )
    gain, low, high = (proposal.forecast.get(f"ndcg_{name}") for name in ("gain", "low", "high"))
    return NewEvidence(community, gain, low, high)


def _ask(context: ReviewContext, rule: Verdict, question: Callable[[], tuple[str, str]]) -> _Round:
    """Return one round: the answer of a model if one gives any, else the arithmetic."""
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
    target = {"suggestion_type": proposal.change.suggestion_type, "target_key": proposal.change.target}
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
    opinion = news.community
    if opinion is None or not opinion.deviation:
        return ()
    lean = "more" if opinion.deviation > 0 else "less"
    agrees = "which speaks for this" if (opinion.deviation > 0) is liked else "which speaks against this"
    return (f"Readers here like it {lean} than usual, {agrees}.",)

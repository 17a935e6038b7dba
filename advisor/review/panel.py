"""The panel: three reviewers vote at once, and every vote is stored, whatever it came to.

Where not one of the three could be reached, rules vote in their place, as they do where no model is
configured: an outage of a provider is no word on a proposal. Both sets of votes are stored.
"""

import time
from collections.abc import Callable
from pathlib import Path

import structlog

from advisor.prompts import ADVISOR, prompt_load
from advisor.review.case import ReviewCase
from advisor.review.entities import ReviewSeat, target_of
from advisor.review.rows import case_for, decision_add, votes_add
from advisor.review.rules import MODEL, vote_by_rules
from advisor.review.votes import REVIEWERS, ROUNDS_MAX, Ballot, Count, Vote, count_votes
from digest.llm.typed import Question, TypedAnswer, fenced, typed_ask_all
from suggestions.entities import DRAFT, Proposal

log = structlog.get_logger(__name__)

PANEL_BY_RULES = "panel_by_rules"
PROMPTS = {name: ADVISOR.with_name(f"panel_{name}.md") for name in REVIEWERS}


def panel_vote(proposal: Proposal, seat: ReviewSeat, sleep: Callable[[float], None] = time.sleep) -> Count:
    """One round of votes on `proposal`, by models where the seat has any that can be reached, else by rules.

    Models that could not be reached are not asked again in this run. Must be called outside any transaction.
    Raises `FenceLost`, and `PromptUnusable` for a missing prompt.
    """
    target = target_of(proposal)
    if seat.rounds[target] >= ROUNDS_MAX:
        return Count(DRAFT, f"All {ROUNDS_MAX} rounds on this target are over.")
    case = case_for(proposal, seat)
    missing: list[Ballot] = []
    ballots = ballots_by_models(case, seat, PROMPTS, sleep) if seat.models else ballots_by_rules(case)
    if all(ballot.unreachable for ballot in ballots):
        missing, ballots = ballots, ballots_by_rules(case)
        seat.models, seat.cut_off = (), True
    count = count_votes(ballots, case.round)
    seat.rounds[target] = case.round
    votes_add(proposal=proposal, seat=seat, round_n=case.round, ballots=[*missing, *ballots])
    if missing:
        log.warning("panel_unreachable", run_id=str(seat.run.pk), error=missing[0].error_code)
        decision_add(proposal=proposal, seat=seat, action=PANEL_BY_RULES, words=_unreached(missing))
    return count


def _unreached(missing: list[Ballot]) -> str:
    told = " ".join(f"{ballot.reviewer.title()}: {ballot.error}" for ballot in missing)
    return f"No model of the reviewers could be reached, so rules vote for the rest of this run. {told}"


def ballots_by_rules(case: ReviewCase) -> list[Ballot]:
    """The three votes of the rules; free, and the same every time."""
    return [Ballot(name, vote_by_rules(name, case), f"{MODEL}:{name}") for name in REVIEWERS]


def ballots_by_models(
    case: ReviewCase, seat: ReviewSeat, prompts: dict[str, Path], sleep: Callable[[float], None]
) -> list[Ballot]:
    """The three votes of the configured models, asked at once with the run's own time and money."""
    material = fenced(case.body)
    answers = typed_ask_all(
        models=seat.models,
        questions=[Question(prompt_load(prompts[name]), material) for name in REVIEWERS],
        shape=Vote,
        ledger=seat.ledger,
        deadline=seat.deadline,
        sleep=sleep,
    )
    return [_ballot(name, answer) for name, answer in zip(REVIEWERS, answers, strict=True)]


def _ballot(reviewer: str, answer: TypedAnswer[Vote]) -> Ballot:
    return Ballot(
        reviewer=reviewer,
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

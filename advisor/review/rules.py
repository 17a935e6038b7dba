"""The panel without a model: the three reviewers' criteria as rules. Pure.

Each looks for the same as its prompt asks of a model, as far as rules can tell, and says how to mend it. A
rule is sure of what it finds, so each vote has confidence 1.
"""

import re
from datetime import timedelta
from typing import Literal

from advisor.review.case import Earlier, ReviewCase
from advisor.review.claims import claims_false
from advisor.review.votes import APPROVE, IMPROVE, REJECT, TRUST, VALUE, VOICE, Vote
from advisor.review.wording import wording_model, wording_problems
from ranking.learning import FEEDBACK_HALF_LIFE_DAYS
from ranking.matching import fold
from suggestions.beliefs import P_MEDIUM
from suggestions.entities import EVIDENCE_MIN, LIKED_TYPES, TOPICS, Proposal

MODEL = "rules"
URL = re.compile(r"https?:|www\.|\w+://|\b[\w-]+\.(?:com|org|net|io|info|example)/")
# Words meant for a reviewer, an agent or a hurried reader, not for someone who weighs a suggestion.
ORDERS = re.compile(
    r"\b(?:ignore|disregard|forget|override)\b.{0,60}\b(?:instruction|rule|above|previous|prompt|review)"
    r"|system prompt|as an ai\b|\breviewers?\b.{0,40}\bapprove|\bapprove this\b|you must\b"
    r"|accept (?:this|it) now"
    r"|\[/?(?:system|inst)|<\|"
)
# Topics that say nothing: nearly every title could carry them.
VAGUE_WORDS = """
news new update updates report reports story stories article articles today week year people world thing
things time latest live video photo photos watch read more
"""
VAGUE = frozenset(VAGUE_WORDS.split())
TARGET_WORDS_MIN = 0.5


def vote_by_rules(reviewer: str, case: ReviewCase) -> Vote:
    """The vote of `reviewer` (trust, value or voice) on `case`."""
    return {TRUST: trust_vote, VALUE: value_vote, VOICE: voice_vote}[reviewer](case)


def trust_vote(case: ReviewCase) -> Vote:
    """Grounded, realistic, consistent. What is untrue, harmful or an order is rejected."""
    proposal = case.proposal
    told, liked = fold(proposal.reason), proposal.suggestion_type in LIKED_TYPES
    false = claims_false(proposal, proposal.reason)
    wrong = [
        (bool(URL.search(told)), "The reason holds an address", "Name the source instead"),
        (bool(ORDERS.search(told)), "The reason gives orders instead of reasons", "Say what the thumbs say"),
        (
            any(item.useful is not liked for item in proposal.evidence),
            "Some evidence points the other way",
            f"Cite only {'liked' if liked else 'disliked'} items",
        ),
        (len(proposal.evidence) < EVIDENCE_MIN, "Too little evidence", f"Cite {EVIDENCE_MIN} items"),
        (_below(proposal, "ndcg_high"), "Thumbs kept apart measured harm", "Drop it"),
    ]
    weak = [
        (_below(proposal, "ndcg_gain"), "Thumbs kept apart lean against it", "Choose another hypothesis"),
        (_stale(proposal), f"No evidence from the last {_half_life()} days", "Cite recent items"),
        (_one_day(proposal), "All evidence is from one day", "Cite items from several days"),
    ]
    rejected = [*wrong, *((True, claim, f"Write: “{wording_model(proposal)}”") for claim in false)]
    return _vote(rejected, weak, "The figures in the reason and the evidence agree with the reader's thumbs.")


def value_vote(case: ReviewCase) -> Vote:
    """Worth asking, specific, of use to this digest. What is more likely chance than help is rejected."""
    proposal, forecast = case.proposal, case.proposal.forecast
    likely = f"Only {proposal.p_helpful:.0%} likely to help; {P_MEDIUM:.0%} is asked for"
    seen = any(forecast.get(part) for part in ("enters", "leaves", "moves"))
    vague = proposal.field == TOPICS and set(fold(proposal.label).split()) <= VAGUE
    twin = next((row for row in case.earlier if _near(proposal, row)), None)
    weak = [
        (
            not seen and not (forecast.get("ndcg_gain") or 0) > 0,
            "Nothing in today's digest would change, and no past one is known to gain",
            "Choose a target with more articles",
        ),
        (vague, f"“{proposal.label}” says too little to rank by", "Choose a more specific topic"),
        (not _named(proposal), "The reason does not name the target", f"Name “{proposal.label}”"),
        (
            twin is not None,
            f"It is much like “{twin.label if twin else ''}”, {twin.status if twin else ''} before",
            "Choose another target",
        ),
    ]
    rejected = [(proposal.p_helpful < P_MEDIUM, likely, "Drop it")]
    return _vote(rejected, weak, "Likely to help, and the reader can see what it changes.")


def voice_vote(case: ReviewCase) -> Vote:
    """Clear, confident, semi-technical, no jargon. Wording can be mended, so nothing is rejected for it."""
    problems = wording_problems(case.proposal)
    model = f"For example: “{wording_model(case.proposal)}”"
    weak = [(True, problem, model) for problem in problems]
    return _vote([], weak, "Short, plain and sure of itself.")


Finding = tuple[bool, str, str]


def _vote(rejected: list[Finding], weak: list[Finding], praise: str) -> Vote:
    """Reject for a finding of the first kind, improve for one of the second, else approve with `praise`."""
    found = [finding for finding in [*rejected, *weak] if finding[0]]
    if not found:
        return Vote(verdict=APPROVE, confidence=1.0, reasoning=praise)
    verdict: Literal["reject", "improve"] = REJECT if any(bad for bad, _, _ in rejected) else IMPROVE
    issues = [issue for _, issue, _ in found]
    mends = list(dict.fromkeys(mend for _, _, mend in found))
    return Vote(
        verdict=verdict, confidence=1.0, issues=issues, suggestions=mends, reasoning=f"{'. '.join(issues)}."
    )


def _below(proposal: Proposal, figure: str) -> bool:
    value = proposal.forecast.get(figure)
    return value is not None and value < 0


def _half_life() -> int:
    return round(FEEDBACK_HALF_LIFE_DAYS)


def _stale(proposal: Proposal) -> bool:
    newest = max((item.at for item in proposal.evidence), default=proposal.now)
    return newest < proposal.now - timedelta(days=FEEDBACK_HALF_LIFE_DAYS)


def _one_day(proposal: Proposal) -> bool:
    return len({item.at.date() for item in proposal.evidence}) == 1


def _named(proposal: Proposal) -> bool:
    told = fold(proposal.reason)
    return any(fold(name) in told for name in (proposal.label, proposal.target_key) if name)


def _near(proposal: Proposal, row: Earlier) -> bool:
    """A topic that shares half its words or more with an earlier one, or the same change once turned down."""
    if row.target_key == proposal.target_key:
        return row.suggestion_type == proposal.suggestion_type and row.status == "rejected"
    if proposal.field != TOPICS or row.suggestion_type != proposal.suggestion_type:
        return False
    own, other = set(proposal.target_key.split()), set(row.target_key.split())
    return bool(own & other) and len(own & other) / len(own | other) >= TARGET_WORDS_MIN

"""A proposal as reviewers judge it, their votes, and the rules that vote where no model does.

Each rule checks what its reviewer's prompt asks of a model, as far as rules can, and proposes an improvement.
A rule is sure of what it finds, so each vote of rules has confidence 1. Pure."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Annotated, Any, Final, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from advisor.entities import cut_title
from digest.llm.entities import preview
from ranking.common.text import fold
from ranking.learning import FEEDBACK_HALF_LIFE_DAYS
from suggestions.changes.registry import KINDS
from suggestions.changes.weights import weight_parse
from suggestions.entities import Proposal
from suggestions.explain import reason_clean, reason_sentence
from suggestions.planner.hypotheses import HELPS_MIN

EVIDENCE_SHOWN = 12
TRUST, VALUE, VOICE = "trust", "value", "voice"
REVIEWERS = (TRUST, VALUE, VOICE)
APPROVE: Final = "approve"
IMPROVE: Final = "improve"
REJECT: Final = "reject"
# Of what a reviewer lists: more would crowd out the other two.
POINTS_MAX = 4
POINT_CHARS_MAX = 300
NUMERAL_WORDS = "zero one two three four five six seven eight nine ten eleven twelve"
NUMERALS = NUMERAL_WORDS.split()
NUMBER = rf"\d+(?:[.,]\d+)?|{'|'.join(NUMERALS)}"
PAIR = re.compile(rf"\b({NUMBER})\s*(?:/|(?:out )?of(?: the| your| all| these| those)*)\s*({NUMBER})\b")
PERCENT = re.compile(rf"\b({NUMBER})\s*(?:%|percent|per cent)")
SPAN = re.compile(rf"\b({NUMBER})[ -](day|week|month|year)s?\b")
PLAIN = re.compile(r"(?<![\w.])[+±-]?(\d+(?:[.,]\d+)?)(?!\w)")
SWEEPING = re.compile(
    r"(?<!nearly )(?<!almost )(?<!not )(?<!in )(?<!at )\b(all|every|always|none|never)\b(?! of these)"
)
DAYS = {"day": 1, "week": 7, "month": 31, "year": 366}
# Percentages may be rounded either way.
PERCENT_SLACK = 1.0
REASON_CHARS_MIN, REASON_CHARS_MAX = 25, 320
SENTENCES_MAX = 3
# The British government's style guide asks for sentences of at most 25 words (GOV.UK content design).
SENTENCE_WORDS_MAX = 25
# English runs at 4.8 letters a word (Norvig, 2012, on the Google Books counts); much more is officialese.
WORD_LETTERS_MAX = 7.0
# The words of our own trade that a reader need not know.
JARGON_WORDS = """
ndcg posterior prior bayesian beta-binomial p-value p_helpful embedding embeddings vector token tokens
algorithm algorithmic heuristic hypothesis hypotheses config configuration json parameter parameters
regression coefficient logit entropy classifier inference metadata tf-idf bm25 backtest likelihood
quantile percentile variance statistically leverage leverages leveraging utilize utilise synergy optimize
optimise optimization optimisation granularity actionable paradigm
"""
JARGON = frozenset(JARGON_WORDS.split())
HEDGES = re.compile(
    r"\b(maybe|perhaps|possibly|might|could be|i think|i guess|i believe|it seems|seemingly|sort of)\b"
)
MARKUP = re.compile(r"<[a-z/!]|&\w+;|\*\*|__|`|\[[^\[\]]*+\]\(|^[^\S\n]*+[#>*-]\s|\{\{|\}\}", re.MULTILINE)
SHOUTED = re.compile(r"\b[A-Z]{4,}\b")
MARKS = re.compile(r"!!|\?\?|!\?|[!?]{2,}")
# Every plain English sentence of some length holds one of them.
ENGLISH_WORDS = "the a an of to in on from for and you your is are was were that this with it as by"
ENGLISH = frozenset(ENGLISH_WORDS.split())
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
# (whether it applies, the issue, what to do about it)
Finding = tuple[bool, str, str]


@dataclass(frozen=True, slots=True)
class EarlierSuggestion:
    """A suggestion the reader got before, and its status."""

    suggestion_type: str
    target_key: str
    label: str
    status: str


@dataclass(frozen=True, slots=True)
class ReviewCase:
    """A proposal with what reviewers compare it to.

    `earlier` are the reader's recent suggestions, newest first; `objections` those of the last round in this
    run.
    """

    proposal: Proposal
    round: int = 1
    earlier: Sequence[EarlierSuggestion] = ()
    objections: Sequence[str] = ()

    @property
    def body(self) -> dict[str, Any]:
        """Return the case as JSON values for a model; titles, tags and names in it are strangers' text."""
        proposal = self.proposal
        return {
            "change": {
                "type": proposal.suggestion_type,
                "target": proposal.target_key,
                "label": proposal.label,
                "current_value": proposal.current_value,
                "suggested_value": proposal.suggested_value,
            },
            "reason": proposal.reason,
            "model_note": proposal.model_note,
            "expected_impact": proposal.expected_impact,
            "confidence": proposal.confidence,
            "forecast": dict(proposal.forecast),
            "counts": _counts(proposal),
            "evidence": [
                {
                    "title": cut_title(item.title),
                    "source": item.source,
                    "thumb": "liked" if item.useful else "disliked",
                    "tags": list(item.tags),
                    "date": f"{item.at:%F}",
                }
                for item in proposal.evidence[:EVIDENCE_SHOWN]
            ],
            "earlier_suggestions": [
                {"type": row.suggestion_type, "label": row.label, "status": row.status}
                for row in self.earlier
            ],
            "round": self.round,
            "objections_to_the_last_writing": list(self.objections),
            "today": f"{proposal.now:%F}",
        }


def _counts(proposal: Proposal) -> dict[str, int]:
    return {
        "target_liked": proposal.likes,
        "target_rated": proposal.ratings,
        "elsewhere_liked": max(0, proposal.likes_all - proposal.likes),
        "elsewhere_rated": max(0, proposal.ratings_all - proposal.ratings),
        "evidence_items": len(proposal.evidence),
    }


def _points(value: object) -> object:
    """Return a list of short lines; a single text is a list of one."""
    rows = [value] if isinstance(value, str) else value
    if not isinstance(rows, list):
        return rows
    cleaned = [reason_clean(preview(row))[:POINT_CHARS_MAX] if isinstance(row, str) else row for row in rows]
    return [row for row in cleaned if row != ""][:POINTS_MAX]


def text_preview(value: object) -> object:
    """Return a text fit for an audit row, anything else as it is: for validators."""
    return preview(value) if isinstance(value, str) else value


Points = Annotated[list[str], BeforeValidator(_points)]


class Vote(BaseModel):
    """One reviewer's answer. `issues` say what is wrong, `suggestions` what would mend it."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    verdict: Literal["approve", "improve", "reject"]
    confidence: float = Field(ge=0, le=1)
    issues: Points = []
    suggestions: Points = []
    reasoning: Annotated[str, BeforeValidator(text_preview)] = ""


def false_claims(proposal: Proposal, text: str) -> list[str]:
    """Return the figures in `text` that the reader's own ratings do not support, as sentences; empty if none.

    Counts, percentages, spans of time and weights are read; names and quoted titles are left out, since
    their figures are no claims.
    """
    rest = fold(text)
    names = {proposal.label, proposal.target_key, *(item.title for item in proposal.evidence)}
    for name in sorted((fold(name) for name in names if name), key=len, reverse=True):
        rest = re.sub(rf"(?<!\w){re.escape(name)}(?!\w)", " ", rest)
    problems: list[str] = []
    for pattern, check in ((PAIR, _pair), (PERCENT, _percent), (SPAN, _span), (PLAIN, _plain)):
        problems += filter(None, (check(proposal, found) for found in pattern.finditer(rest)))
        rest = pattern.sub(" ", rest)
    return [*problems, *_sweeping(proposal, rest)]


def _pairs(proposal: Proposal) -> list[tuple[int, int]]:
    """Return (liked or disliked, all) ratings of the target, of the others and of everything."""
    likes, thumbs = proposal.likes, proposal.ratings
    else_likes, else_thumbs = max(0, proposal.likes_all - likes), max(0, proposal.ratings_all - thumbs)
    liked = [(likes, thumbs), (else_likes, else_thumbs), (proposal.likes_all, proposal.ratings_all)]
    return [*liked, *((n - hits, n) for hits, n in liked)]


def _number(text: str) -> float:
    return float(NUMERALS.index(text)) if text in NUMERALS else float(text.replace(",", "."))


def _pair(proposal: Proposal, found: re.Match[str]) -> str:
    if (_number(found[1]), _number(found[2])) in _pairs(proposal):
        return ""
    return f"“{found[0]}” is not what the ratings say: {_fact(proposal)}"


def _percent(proposal: Proposal, found: re.Match[str]) -> str:
    rates = [100 * hits / n for hits, n in _pairs(proposal) if n]
    if any(abs(_number(found[1]) - rate) <= PERCENT_SLACK for rate in rates):
        return ""
    return f"“{found[0]}” is no share of the ratings: {_fact(proposal)}"


def _span(proposal: Proposal, found: re.Match[str]) -> str:
    """Return the objection to a time longer than the evidence reaches back; half a unit is rounding."""
    oldest = min((item.at for item in proposal.evidence), default=proposal.now)
    covered = (proposal.now - oldest).total_seconds() / 86400
    if (_number(found[1]) - 0.5) * DAYS[found[2]] <= covered:
        return ""
    return f"“{found[0]}” is longer than the evidence reaches back ({covered:.0f} days)"


def _plain(proposal: Proposal, found: re.Match[str]) -> str:
    if any(abs(_number(found[1]) - known) < 0.005 for known in _known(proposal)):
        return ""
    return f"The figure {found[1]} is nowhere in the facts: {_fact(proposal)}"


def _known(proposal: Proposal) -> Iterable[float]:
    """Yield every figure that may appear alone: counts, weights, the step between them."""
    yield from (float(number) for pair in _pairs(proposal) for number in pair)
    yield float(len(proposal.evidence))
    weights = [weight_parse(value) for value in (proposal.current_value, proposal.suggested_value)]
    valid = [weight for weight in weights if weight is not None]
    yield from valid
    if len(valid) == 2:
        yield abs(valid[1] - valid[0])


def _sweeping(proposal: Proposal, text: str) -> list[str]:
    """Return the objection to an "all" or "never" where the ratings have exceptions."""
    liked = KINDS[proposal.suggestion_type].liked
    hits = proposal.likes if liked else proposal.ratings - proposal.likes
    found = SWEEPING.search(text)
    if found is None or hits == proposal.ratings:
        return []
    return [f"“{found[1]}” says too much: {_fact(proposal)}"]


def _fact(proposal: Proposal) -> str:
    return f"the reader liked {proposal.likes} of {proposal.ratings} rated items about “{proposal.label}”"


def wording_problems(proposal: Proposal) -> list[str]:
    """Return what makes the reason hard to read, as sentences; empty if nothing does.

    A plain word replaces the target: the name of a source is not the writer's style.
    """
    text = re.sub(rf"(?<!\w){re.escape(proposal.label)}(?!\w)", "Name", proposal.wording)
    folded = fold(text)
    words = re.findall(r"[^\W\d_]+(?:[-_'’][^\W_]+)*", folded)
    sentences = [part for part in re.split(r"(?<=[.!?…])\s+", text) if part.strip()]
    longest = max((len(sentence.split()) for sentence in sentences), default=0)
    letters = sum(map(len, words)) / len(words) if words else 0.0
    checks = (
        (
            not REASON_CHARS_MIN <= len(proposal.wording) <= REASON_CHARS_MAX,
            f"It has {len(proposal.wording)} characters, not {REASON_CHARS_MIN} to {REASON_CHARS_MAX}",
        ),
        (len(sentences) > SENTENCES_MAX, f"It has more than {SENTENCES_MAX} sentences"),
        (longest > SENTENCE_WORDS_MAX, f"A sentence has more than {SENTENCE_WORDS_MAX} words"),
        (letters > WORD_LETTERS_MAX, "The words are long; say it more simply"),
        (bool(MARKUP.search(text)), "It holds markup; use plain text"),
        (len(SHOUTED.findall(text)) > 1 or bool(MARKS.search(text)), "It shouts; no capitals, no !!"),
        (not ENGLISH & set(words), "It is not in plain English, the language of these pages"),
    )
    found = [problem for wrong, problem in checks if wrong]
    if jargon := sorted(JARGON & set(words)):
        found.append(f"Jargon: {', '.join(jargon)}")
    if hedge := HEDGES.search(folded):
        found.append(f"It hedges (“{hedge[0]}”); say what the ratings say, or leave it")
    return found


def reason_example(proposal: Proposal) -> str:
    """Return the reason as the server itself would write it, for the agent to copy."""
    return reason_sentence(
        proposal.suggestion_type,
        proposal.label,
        proposal.likes,
        proposal.ratings,
        max(0, proposal.likes_all - proposal.likes),
        max(0, proposal.ratings_all - proposal.ratings),
    )


def vote_by_rules(reviewer: str, case: ReviewCase) -> Vote:
    """Return the vote of `reviewer` (trust, value or voice) on `case`."""
    return {TRUST: trust_vote, VALUE: value_vote, VOICE: voice_vote}[reviewer](case)


def trust_vote(case: ReviewCase) -> Vote:
    """Vote for what is grounded, realistic, consistent. What is untrue, harmful or an order is rejected."""
    proposal = case.proposal
    reason, kind = fold(proposal.wording), KINDS[proposal.suggestion_type]
    liked = kind.liked
    half_life = round(FEEDBACK_HALF_LIFE_DAYS)
    newest = max((item.at for item in proposal.evidence), default=proposal.now)
    stale = newest < proposal.now - timedelta(days=FEEDBACK_HALF_LIFE_DAYS)
    one_day = len({item.at.date() for item in proposal.evidence}) == 1
    wrong = [
        (
            ORDERS.search(reason) is not None,
            "The reason gives orders instead of reasons",
            "Say what the ratings say",
        ),
        (
            any(item.useful is not liked for item in proposal.evidence),
            "Some evidence points the other way",
            f"Cite only {'liked' if liked else 'disliked'} items",
        ),
        (
            len(proposal.evidence) < kind.evidence_min,
            "Too little evidence",
            f"Cite {kind.evidence_min} items",
        ),
        (_below(proposal, "ndcg_high"), "Ratings held out of learning measured harm", "Drop it"),
    ]
    weak = [
        (stale, f"No evidence from the last {half_life} days", "Cite recent items"),
        (one_day, "All evidence is from one day", "Cite items from several days"),
    ]
    for claim in false_claims(proposal, proposal.wording):
        wrong.append((True, claim, f"Write: “{reason_example(proposal)}”"))
    return _vote(wrong, weak, "The figures in the reason and the evidence agree with the reader's ratings.")


def value_vote(case: ReviewCase) -> Vote:
    """Vote for what is specific and of use to this digest. What is more likely chance is rejected."""
    proposal, forecast = case.proposal, case.proposal.forecast
    likely = f"Only {proposal.p_helpful:.0%} likely to help"
    seen = any(forecast.get(part) for part in ("enters", "leaves", "moves"))
    reason = fold(proposal.wording)
    named = any(fold(name) in reason for name in (proposal.label, proposal.target_key) if name)
    vague = KINDS[proposal.suggestion_type].of_many_sources and set(fold(proposal.label).split()) <= VAGUE
    similar = next((row for row in case.earlier if _similar(proposal, row)), None)
    weak = [
        (
            not seen and not (forecast.get("ndcg_gain") or 0) > 0,
            "Nothing in today's digest would change, and no past one is known to gain",
            "Choose a target with more articles",
        ),
        (vague, f"“{proposal.label}” says too little to rank by", "Choose a more specific topic"),
        (not named, "The reason does not name the target", f"Name “{proposal.label}”"),
        (
            similar is not None,
            f"It is much like “{similar.label}”, {similar.status} before" if similar else "",
            "Choose another target",
        ),
    ]
    rejected = [(proposal.p_helpful < HELPS_MIN, likely, "Drop it")]
    return _vote(rejected, weak, "Likely to help, and the reader can see what it changes.")


def voice_vote(case: ReviewCase) -> Vote:
    """Vote for what is clear, confident and free of jargon. Nothing is rejected for its wording."""
    model = f"For example: “{reason_example(case.proposal)}”"
    weak = [(True, problem, model) for problem in wording_problems(case.proposal)]
    return _vote([], weak, "Short, plain and sure of itself.")


def _vote(rejected: list[Finding], weak: list[Finding], praise: str) -> Vote:
    """Reject for a finding in `rejected`, ask to improve for one in `weak`, else approve with `praise`."""
    found = [finding for finding in [*rejected, *weak] if finding[0]]
    if not found:
        return Vote(verdict=APPROVE, confidence=1.0, reasoning=praise)
    verdict: Literal["reject", "improve"] = REJECT if any(bad for bad, _, _ in rejected) else IMPROVE
    issues = [issue for _, issue, _ in found]
    advice = list(dict.fromkeys(advice for _, _, advice in found))
    return Vote(
        verdict=verdict,
        confidence=1.0,
        issues=issues,
        suggestions=advice,
        reasoning=f"{'. '.join(issues)}.",
    )


def _below(proposal: Proposal, figure: str) -> bool:
    value = proposal.forecast.get(figure)
    return value is not None and value < 0


def _similar(proposal: Proposal, row: EarlierSuggestion) -> bool:
    """Return whether a topic shares half its words with an earlier one, or the change was rejected before."""
    if row.target_key == proposal.target_key:
        return row.suggestion_type == proposal.suggestion_type and row.status == "rejected"
    if not KINDS[proposal.suggestion_type].of_many_sources or row.suggestion_type != proposal.suggestion_type:
        return False
    own, other = set(proposal.target_key.split()), set(row.target_key.split())
    return bool(own & other) and len(own & other) / len(own | other) >= TARGET_WORDS_MIN

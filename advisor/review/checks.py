"""The checks that review a proposal if no model does: one list, grouped under trust, value and voice.

Each check covers a question of a reviewer's prompt as far as a rule can, and tells how to mend a fault. Pure.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import timedelta
from typing import Literal

from advisor.review.votes import (
    APPROVE,
    IMPROVE,
    REJECT,
    REVIEWERS,
    TRUST,
    VALUE,
    VOICE,
    EarlierSuggestion,
    ReviewCase,
    Vote,
)
from ranking.common.text import fold
from ranking.learning import FEEDBACK_HALF_LIFE_DAYS
from suggestions.changes.proposal import Proposal
from suggestions.changes.weights import weight_parse
from suggestions.planner.hypotheses import HELPS_MIN
from suggestions.sentences import reason_sentence

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

Failure = Literal["improve", "reject"]


@dataclass(frozen=True, slots=True)
class Check:
    """The result of one check: its stable `name`, its reviewer, and its findings.

    `on_failure` is its verdict if there are `issues`; `advice` says how to mend them.
    """

    name: str
    reviewer: str
    on_failure: Failure
    issues: tuple[str, ...]
    advice: str

    @property
    def verdict(self) -> Literal["approve", "improve", "reject"]:
        """Return the verdict: approve unless there are issues."""
        return self.on_failure if self.issues else APPROVE


def checks_of(case: ReviewCase) -> list[Check]:
    """Return the result of every check on `case`, always in the same order."""
    proposal, reason = case.proposal, fold(case.proposal.wording)
    kind, forecast = proposal.change.kind, proposal.forecast
    likes = {True: "liked", False: "disliked"}[kind.liked]
    times = [item.at for item in proposal.change.evidence]
    lately = proposal.now - timedelta(days=FEEDBACK_HALF_LIFE_DAYS)
    of_thumbs = () if proposal.change.words else proposal.change.evidence
    misfits = any(item.useful is not kind.liked for item in of_thumbs)
    harmful = forecast.get("ndcg_high") is not None and forecast["ndcg_high"] < 0
    moves = any(forecast.get(part) for part in ("enters", "leaves", "moves"))
    vague = kind.of_many_sources and set(fold(proposal.label).split()) <= VAGUE
    names = (proposal.label, proposal.change.target)
    named = not reason or kind.of_page or any(fold(name) in reason for name in names if name)
    repeat = next((row for row in case.earlier if _is_repeat(proposal, row)), None)
    example = reason_example(proposal)
    # fmt: off
    rows: list[tuple[str, str, Failure, object, str]] = [
        ("orders", TRUST, REJECT, ORDERS.search(reason) and "The reason gives orders instead of reasons",
            "Say what the ratings say"),
        ("polarity", TRUST, REJECT, misfits and "Some evidence points the other way",
            f"Cite only {likes} items"),
        ("evidence", TRUST, REJECT, len(times) < proposal.change.evidence_min and "Too little evidence",
            f"Cite {proposal.change.evidence_min} items"),
        ("harm", TRUST, REJECT, harmful and "Ratings held out of learning measured harm", "Drop it"),
        ("figures", TRUST, REJECT, false_claims(proposal, proposal.wording), f"Write: “{example}”"),
        ("recent", TRUST, IMPROVE, max(times, default=proposal.now) < lately
            and f"No evidence from the last {FEEDBACK_HALF_LIFE_DAYS:.0f} days", "Cite recent items"),
        ("days", TRUST, IMPROVE, len({at.date() for at in times}) == 1 and "All evidence is from one day",
            "Cite items from several days"),
        ("likely", VALUE, REJECT, proposal.p_helpful < HELPS_MIN
            and f"Only {proposal.p_helpful:.0%} likely to help", "Drop it"),
        ("visible", VALUE, IMPROVE, not moves and not (forecast.get("ndcg_gain") or 0) > 0
            and "Nothing in today's digest would change, and no past one is known to gain",
            "Choose a target with more articles"),
        ("specific", VALUE, IMPROVE, vague and f"“{proposal.label}” says too little to rank by",
            "Choose a more specific topic"),
        ("named", VALUE, IMPROVE, not named and "The reason does not name the target",
            f"Name “{proposal.label}”"),
        ("new", VALUE, IMPROVE, repeat and f"It is much like “{repeat.label}”, {repeat.status} before",
            "Choose another target"),
        ("wording", VOICE, IMPROVE, wording_problems(proposal), f"For example: “{example}”"),
    ]
    # fmt: on
    return [Check(name, by, failure, _issues(found), advice) for name, by, failure, found, advice in rows]


def _issues(found: object) -> tuple[str, ...]:
    """Return the findings of a check, one, several or none, as a tuple of sentences."""
    if isinstance(found, list):
        return tuple(found)
    return (found,) if isinstance(found, str) else ()


def votes_of(checks: Iterable[Check]) -> dict[str, Vote]:
    """Return the vote of each reviewer: the gravest verdict of its checks, all issues, each advice once.

    A check is sure of its finding, so each has confidence 1.
    """
    found: dict[str, list[Check]] = {name: [] for name in REVIEWERS}
    for one in checks:
        found[one.reviewer] += [one] if one.issues else []
    return {name: _vote(failed) for name, failed in found.items()}


def _vote(failed: list[Check]) -> Vote:
    if not failed:
        return Vote(verdict=APPROVE, confidence=1.0)
    issues = [issue for one in failed for issue in one.issues]
    return Vote(
        verdict=REJECT if any(one.on_failure == REJECT for one in failed) else IMPROVE,
        confidence=1.0,
        issues=issues,
        suggestions=list(dict.fromkeys(one.advice for one in failed)),
        reasoning=f"{'. '.join(issues)}.",
    )


def _is_repeat(proposal: Proposal, row: EarlierSuggestion) -> bool:
    """Return whether a topic shares half its words with an earlier one, or the change was rejected before."""
    if row.target_key == proposal.change.target:
        return row.suggestion_type == proposal.change.suggestion_type and row.status == "rejected"
    if not proposal.change.kind.of_many_sources or row.suggestion_type != proposal.change.suggestion_type:
        return False
    own, other = set(proposal.change.target.split()), set(row.target_key.split())
    return bool(own & other) and len(own & other) / len(own | other) >= TARGET_WORDS_MIN


def false_claims(proposal: Proposal, text: str) -> list[str]:
    """Return the figures in `text` that the reader's own ratings do not support, as sentences; empty if none.

    Counts, percentages, spans of time and weights are read; names and quoted titles are left out, since
    their figures are no claims.
    """
    rest = fold(text)
    names = {proposal.label, proposal.change.target, *(item.title for item in proposal.change.evidence)}
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
    oldest = min((item.at for item in proposal.change.evidence), default=proposal.now)
    covered = (proposal.now - oldest).total_seconds() / 86400
    if (_number(found[1]) - 0.5) * DAYS[found[2]] <= covered:
        return ""
    return f"“{found[0]}” is longer than the evidence reaches back ({covered:.0f} days)"


def _plain(proposal: Proposal, found: re.Match[str]) -> str:
    if any(abs(_number(found[1]) - known) < 0.005 for known in _known_figures(proposal)):
        return ""
    return f"The figure {found[1]} is nowhere in the facts: {_fact(proposal)}"


def _known_figures(proposal: Proposal) -> Iterable[float]:
    """Yield every figure that may appear alone: counts, weights, the step between them."""
    yield from (float(number) for pair in _pairs(proposal) for number in pair)
    yield float(len(proposal.change.evidence))
    change = proposal.change
    weights = [weight_parse(value) for value in (change.current_value, change.suggested_value)]
    valid = [weight for weight in weights if weight is not None]
    yield from valid
    if len(valid) == 2:
        yield abs(valid[1] - valid[0])


def _sweeping(proposal: Proposal, text: str) -> list[str]:
    """Return the objection to an "all" or "never" if the ratings have exceptions."""
    liked = proposal.change.kind.liked
    hits = proposal.likes if liked else proposal.ratings - proposal.likes
    found = SWEEPING.search(text)
    if found is None or hits == proposal.ratings:
        return []
    return [f"“{found[1]}” says too much: {_fact(proposal)}"]


def _fact(proposal: Proposal) -> str:
    return f"the reader liked {proposal.likes} of {proposal.ratings} rated items about “{proposal.label}”"


def wording_problems(proposal: Proposal) -> list[str]:
    """Return the problems that make the reason hard to read, as sentences; empty if it has none, or is empty.

    A plain word replaces the target: the name of a source is not the writer's style.
    """
    if not proposal.wording:
        return []
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
        proposal.change.suggestion_type,
        proposal.label,
        proposal.likes,
        proposal.ratings,
        max(0, proposal.likes_all - proposal.likes),
        max(0, proposal.ratings_all - proposal.ratings),
    )

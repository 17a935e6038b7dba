"""Figures in a suggestion's words, held against the figures behind it. Pure."""

import re
from collections.abc import Iterable

from ranking.matching import fold
from suggestions.entities import LIKED_TYPES, Proposal
from suggestions.values import weight_parse

WORDS = (
    "zero",
    "one",
    "two",
    "three",
    "four",
    "five",
    "six",
    "seven",
    "eight",
    "nine",
    "ten",
    "eleven",
    "twelve",
)
NUMBER = rf"\d+(?:[.,]\d+)?|{'|'.join(WORDS)}"
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


def claims_false(proposal: Proposal, text: str) -> list[str]:
    """What `text` claims in figures that the reader's own thumbs do not bear out, in words; empty if none.

    Counts, percentages, spans of time and weights are read; names and quoted titles are left out, since
    their figures are no claims.
    """
    told = _without_names(proposal, text)
    problems = []
    for pattern, check in ((PAIR, _pair), (PERCENT, _percent), (SPAN, _span), (PLAIN, _plain)):
        for found in pattern.finditer(told):
            if problem := check(proposal, found):
                problems.append(problem)
        told = pattern.sub(" ", told)
    return [*problems, *_sweeping(proposal, told)]


def _without_names(proposal: Proposal, text: str) -> str:
    told = fold(text)
    names = {proposal.label, proposal.target_key, *(item.title for item in proposal.evidence)}
    for name in sorted((fold(name) for name in names if name), key=len, reverse=True):
        told = re.sub(rf"(?<!\w){re.escape(name)}(?!\w)", " ", told)
    return told


def _pairs(proposal: Proposal) -> list[tuple[int, int]]:
    """(of interest, of all) on the target, elsewhere and in all; liked and disliked."""
    likes, thumbs = proposal.likes, proposal.thumbs
    else_likes, else_thumbs = max(0, proposal.likes_all - likes), max(0, proposal.thumbs_all - thumbs)
    liked = [(likes, thumbs), (else_likes, else_thumbs), (proposal.likes_all, proposal.thumbs_all)]
    return [*liked, *((n - hits, n) for hits, n in liked)]


def _number(text: str) -> float:
    return float(WORDS.index(text)) if text in WORDS else float(text.replace(",", "."))


def _pair(proposal: Proposal, found: re.Match[str]) -> str:
    if (_number(found[1]), _number(found[2])) in _pairs(proposal):
        return ""
    return f"“{found[0]}” is not what the thumbs say: {_true(proposal)}"


def _percent(proposal: Proposal, found: re.Match[str]) -> str:
    rates = [100 * hits / n for hits, n in _pairs(proposal) if n]
    if any(abs(_number(found[1]) - rate) <= PERCENT_SLACK for rate in rates):
        return ""
    return f"“{found[0]}” is no share of the thumbs: {_true(proposal)}"


def _span(proposal: Proposal, found: re.Match[str]) -> str:
    """A time that the evidence does not reach back to; half a unit is rounding."""
    oldest = min((item.at for item in proposal.evidence), default=proposal.now)
    covered = (proposal.now - oldest).total_seconds() / 86400
    if (_number(found[1]) - 0.5) * DAYS[found[2]] <= covered:
        return ""
    return f"“{found[0]}” is longer than the evidence reaches back ({covered:.0f} days)"


def _plain(proposal: Proposal, found: re.Match[str]) -> str:
    if any(abs(_number(found[1]) - known) < 0.005 for known in _known(proposal)):
        return ""
    return f"The figure {found[1]} stands nowhere in the facts: {_true(proposal)}"


def _known(proposal: Proposal) -> Iterable[float]:
    """Every figure that may stand alone: counts, weights, the step between them."""
    yield from (float(number) for pair in _pairs(proposal) for number in pair)
    yield float(len(proposal.evidence))
    weights = [weight_parse(value) for value in (proposal.current_value, proposal.suggested_value)]
    known = [weight for weight in weights if weight is not None]
    yield from known
    if len(known) == 2:
        yield abs(known[1] - known[0])


def _sweeping(proposal: Proposal, told: str) -> list[str]:
    """ "All" and "never" where the thumbs know exceptions."""
    liked = proposal.suggestion_type in LIKED_TYPES
    hits = proposal.likes if liked else proposal.thumbs - proposal.likes
    found = SWEEPING.search(told)
    if found is None or hits == proposal.thumbs:
        return []
    return [f"“{found[1]}” says too much: {_true(proposal)}"]


def _true(proposal: Proposal) -> str:
    return f"the reader liked {proposal.likes} of {proposal.thumbs} rated items about “{proposal.label}”"

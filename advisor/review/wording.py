"""Whether a suggestion is worded for a reader: short, plain, sure of itself, in English. Pure."""

import re

from ranking.matching import fold
from suggestions.entities import Proposal
from suggestions.wording import reason_sentence

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
MARKUP = re.compile(r"<[a-z/!]|&\w+;|\*\*|__|`|\[[^\]]*\]\(|^\s*[#>*-]\s|\{\{|\}\}", re.MULTILINE)
SHOUTED = re.compile(r"\b[A-Z]{4,}\b")
MARKS = re.compile(r"!!|\?\?|!\?|[!?]{2,}")
# Every plain English sentence of some length holds one of them.
ENGLISH_WORDS = "the a an of to in on from for and you your is are was were that this with it as by"
ENGLISH = frozenset(ENGLISH_WORDS.split())


def wording_problems(proposal: Proposal) -> list[str]:
    """What keeps the reason from being read at a glance, in words; empty if nothing does."""
    told = _without_label(proposal)
    plain = fold(told)
    words = re.findall(r"[^\W\d_]+(?:[-_'’][^\W_]+)*", plain)
    checks = (
        (
            not REASON_CHARS_MIN <= len(proposal.reason) <= REASON_CHARS_MAX,
            f"The reason has {len(proposal.reason)} characters, not {REASON_CHARS_MIN} to {REASON_CHARS_MAX}",
        ),
        (_sentences(told) > SENTENCES_MAX, f"It has more than {SENTENCES_MAX} sentences"),
        (_longest(told) > SENTENCE_WORDS_MAX, f"A sentence has more than {SENTENCE_WORDS_MAX} words"),
        (_letters(words) > WORD_LETTERS_MAX, "The words are long; say it more simply"),
        (bool(MARKUP.search(told)), "It holds markup; use plain text"),
        (len(SHOUTED.findall(told)) > 1 or bool(MARKS.search(told)), "It shouts; no capitals, no !!"),
        (not ENGLISH & set(words), "It is not in plain English, the language of these pages"),
    )
    found = [problem for wrong, problem in checks if wrong]
    if jargon := sorted(JARGON & set(words)):
        found.append(f"Jargon: {', '.join(jargon)}")
    if hedge := HEDGES.search(plain):
        found.append(f"It hedges (“{hedge[0]}”); say what the thumbs say, or leave it")
    return found


def wording_model(proposal: Proposal) -> str:
    """The reason as the server itself would put it, to be taken over as it stands."""
    return reason_sentence(
        proposal.suggestion_type,
        proposal.label,
        proposal.likes,
        proposal.thumbs,
        max(0, proposal.likes_all - proposal.likes),
        max(0, proposal.thumbs_all - proposal.thumbs),
    )


def _without_label(proposal: Proposal) -> str:
    """The reason with a plain word for the target: how a source calls itself is not the writer's style."""
    return re.sub(rf"(?<!\w){re.escape(proposal.label)}(?!\w)", "Name", proposal.reason)


def _parts(text: str) -> list[str]:
    return [part for part in re.split(r"(?<=[.!?…])\s+", text) if part.strip()]


def _sentences(text: str) -> int:
    return len(_parts(text))


def _longest(text: str) -> int:
    return max((len(part.split()) for part in _parts(text)), default=0)


def _letters(words: list[str]) -> float:
    return sum(map(len, words)) / len(words) if words else 0.0

"""Read a reader's own words for a "no": a code, and the step they would prefer. Pure."""

from ranking.common.text import fold, term_matches
from suggestions.changes.registry import KINDS

OTHER, TOO_MUCH = "other", "too_much"
REASON_TERMS = {
    TOO_MUCH: ("too much", "too strong", "too far", "too big", "too large", "drastic", "smaller step"),
    "too_little": ("too little", "too weak", "too small", "bigger step", "not enough"),
    "bad_timing": ("too soon", "too early", "not now", "not yet", "later", "some other time", "wait"),
    "already_done": ("already", "did it myself", "done that", "by hand", "covered", "duplicate"),
    "fine_as_is": ("fine as it is", "fine as is", "as it is", "leave it", "keep it", "happy with", "i like"),
    "not_interested": ("not interested", "do not care", "don't care", "boring", "no interest", "irrelevant"),
    "unconvinced": ("not convinced", "wrong", "not true", "coincidence", "by chance", "no evidence", "why"),
}
REASONS = (*REASON_TERMS, OTHER)
# The share of a step that a reader would rather have who says that it is too large.
TOO_LARGE_SHARE = 0.5


def reason_code(text: str) -> str:
    """Return the code of a reader's reason, "" without one."""
    folded = fold(text).replace("’", "'")
    if not folded:
        return ""
    hits = (code for code, terms in REASON_TERMS.items() if any(term_matches(term, folded) for term in terms))
    return next(hits, OTHER)


def step_wished(suggestion_type: str, text: str) -> float | None:
    """Return the share of the proposed step that a reason for a "no" asks for; `None`: it asks for none."""
    kind = KINDS.get(suggestion_type)
    if kind is None or not kind.weighs or reason_code(text) != TOO_MUCH:
        return None
    return TOO_LARGE_SHARE

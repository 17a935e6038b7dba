"""What a reader's own words with a rejection mean, as one of a few codes. Pure.

A reader's sentence is outside text: it is quoted to nobody as an instruction and composed into nothing. All
that travels on is the code. The words are looked for as whole words, in the order below; the first code
with a match wins, and what matches none is `other`.

| code | the reader says | what it speaks against |
|---|---|---|
| `too_much` | the step is too large | the size, not the kind: half a rejection |
| `too_little` | the step is too small | the size, not the kind: half a rejection |
| `bad_timing` | later, too soon | the moment, not the kind: half a rejection |
| `already_done` | changed by hand, or covered elsewhere | nothing new: half a rejection |
| `fine_as_is` | it is right as it stands | a whole rejection |
| `not_interested` | does not care about the target | a whole rejection |
| `unconvinced` | the evidence does not say that | a whole rejection |
| `other` | anything else | a whole rejection |
"""

from ranking.matching import fold, term_matches

OTHER = "other"
WORDS = {
    "too_much": ("too much", "too strong", "too far", "too big", "too large", "drastic", "smaller step"),
    "too_little": ("too little", "too weak", "too small", "bigger step", "not enough"),
    "bad_timing": ("too soon", "too early", "not now", "not yet", "later", "some other time", "wait"),
    "already_done": ("already", "did it myself", "done that", "by hand", "covered", "duplicate"),
    "fine_as_is": ("fine as it is", "fine as is", "as it is", "leave it", "keep it", "happy with", "i like"),
    "not_interested": ("not interested", "do not care", "don't care", "boring", "no interest", "irrelevant"),
    "unconvinced": ("not convinced", "wrong", "not true", "coincidence", "by chance", "no evidence", "why"),
}
REASONS = (*WORDS, OTHER)
# Objections to size, moment or novelty leave the kind of change half as open as it was.
HALF = frozenset({"too_much", "too_little", "bad_timing", "already_done"})


def reason_code(text: str) -> str:
    """The code of a reader's reason, `""` where none was given."""
    folded = fold(text).replace("’", "'")
    if not folded:
        return ""
    hits = (code for code, terms in WORDS.items() if any(term_matches(term, folded) for term in terms))
    return next(hits, OTHER)

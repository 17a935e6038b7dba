"""What machines and hurried people leave in a text that says nothing to a later run. Pure."""

import re
from functools import lru_cache

# The published engine's penalties, multiplied onto the score: a text of each sort, and what is left of it.
STRUGGLE, TRANSCRIPT, METADATA = 0.05, 0.40, 0.60
_STRUGGLE = re.compile(
    r"\bstruggl(?:es?|ed|ing)\b|\bexpressed (?:satisfaction|frustration|approval|happiness|annoyance)\b"
    r"|\bcycle summary\b|\bi meant\b|\bused \d+ times\b"
)
_TRANSCRIPT = re.compile(
    r"^\s*(?:user|assistant|human|reader|agent|model|bot|me|you)\s*(?:>|:|said\b|wrote\b|asked\b|replied\b)"
    r"|\b(?:the )?(?:user|reader|assistant) (?:said|wrote|asked|replied|typed)\s*[:,\"“]"
    r"|\b(?:lets|let's|gonna|wanna|pls|plz|lol|haha+|hmm+|umm*|yeah|yep|nope|ok(?:ay)?,? (?:so|cool"
    r"|thanks))\b"
    r"|^(?:ok(?:ay)?|sure|thanks|thank you|great|perfect|got it|hi|hello|hey|alright|cool)[\s,.!]"
)
_METADATA = re.compile(
    r"\b(?:run|trace|session|request|event|step|span|job|task|call|message)[-_ ]?id\b\s*[:=#]?"
    r"|\b\w+\s?=\s?[\w.\"'-]+[,;\s]+\w+\s?=\s?[\w.\"'-]+"
    r"|\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b|\b[0-9a-f]{24,64}\b"
    r"|\b\d{4}-\d\d-\d\dt\d\d:\d\d"
)


# The same memories are weighed at each call of a run.
@lru_cache(maxsize=8192)
def penalty_of(text: str) -> float:
    """What noise in `text` leaves of its score, 0.05 to 1; each sort of noise takes its own part."""
    told, left = text.casefold(), 1.0
    for pattern, share in ((_STRUGGLE, STRUGGLE), (_TRANSCRIPT, TRANSCRIPT), (_METADATA, METADATA)):
        if pattern.search(told):
            left *= share
    return left

"""Sentences that do not ask for what their words say: denials, questions, irony, orders to be silent. Pure.

"It's not that I want less chess", "why do you think I want more Gazette", "oh great, another Gazette story",
"Gazette, shut up" and "is there no chess here" have words for more or less, but no wish for that. Nor has a
question that is answered at once: "Less chess? No way." `stance.txt` has the turns of phrase that tell, as
patterns by the kind of stance. A stance counts for its whole sentence, which is asked about.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

DENIED, ASKED, IRONY, SILENCE, ABSENCE = "denied", "asked", "irony", "silence", "absence"
_PARTS = {
    "few": r"(?: \w+){0,2}",
    "joy": "(?:great|wonderful|fantastic|brilliant|lovely|marvellous|perfect|joy|goody|hooray|yay|super|toll"
    "|klasse|prima|herrlich|großartig|spitze|wunderbar|hurra|juhu|schön|fein)",
}


def _stances_read() -> Iterator[tuple[str, re.Pattern[str]]]:
    """Yield each kind of stance with the pattern of all its lines, in the order of the file."""
    rows: dict[str, list[str]] = {}
    for line in Path(__file__).with_suffix(".txt").read_text("utf-8").splitlines():
        kind, _, row = line.partition(": ")
        rows.setdefault(kind, []).append(re.sub(r"\{([a-z]+)\}", lambda found: _PARTS[found[1]], row))
    for kind, patterns in rows.items():
        yield kind, re.compile(rf"(?<!\w)(?:{'|'.join(patterns)})(?!\w)", re.IGNORECASE)


_STANCES = [*_stances_read()]
# Words for more or less.
_WAYS = re.compile(
    r"\b(?:more|less|fewer|no|without|hide|mute|mehr|weniger|keine?n?|weg|raus)\b", re.IGNORECASE
)
# A question that begins so asks for what it says: "Could I have less chess? Thank you."
_REQUESTS = re.compile(
    r"(?:\w+,? ){0,2}(?:can|could|would|will|may|might|any chance|how about|what about|please"
    r"|kann|kannst|könn\w*|würde\w*|darf|dürfte|geht|ginge|bitte|wie wäre)\b",
    re.IGNORECASE,
)
# "Golem.de" has no end inside.
_ENDS = re.compile(r"(?<![.!?;\n…])[.!?;\n…]++(?=\s|$)")


@dataclass(frozen=True, slots=True)
class Stance:
    """A sentence of a wish that asks for something else than its words say, from `begin` to `end`."""

    kind: str
    begin: int
    end: int


def sentences_in(text: str) -> list[tuple[int, int]]:
    """Return the bounds of the sentences of `text`, in order; each with the signs at its end."""
    cuts = [0, *(found.end() for found in _ENDS.finditer(text)), len(text)]
    return [(begin, end) for begin, end in pairwise(cuts) if text[begin:end].strip()]


def stances_in(text: str) -> list[Stance]:
    """Return the sentences of `text` with a stance, in order."""
    plain = text.replace("’", "'")
    found = []
    sentences = sentences_in(plain)
    for begin, end in sentences:
        here = plain[begin:end]
        kind = next((kind for kind, pattern in _STANCES if pattern.search(here)), None)
        is_followed = (begin, end) != sentences[-1] and here.rstrip().endswith("?")
        if not kind and is_followed and _WAYS.search(here) and not _REQUESTS.match(here.lstrip()):
            kind = DENIED
        if kind:
            found.append(Stance(kind, begin, end))
    return found

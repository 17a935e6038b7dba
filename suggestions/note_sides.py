"""Check that a note takes the side of its change: "you liked most of it" is no reason for less. Pure."""

import re

from digest.llm.phishing import Problem

SIDE = "side"
_SENTENCE = re.compile(r"[.!?;]")
_FEW = r"(?:few|little|none|no|nothing|only|hardly|barely)"
# A reader's reactions as notes word them. Each sentence counts for one side, for both or for neither.
_LIKES = re.compile(
    r"\byou\b[^.]{0,20}?\b(?:like|liked|love|loved|enjoy|enjoyed|value|valued|prefer|preferred)\b"
)
_DISLIKES = re.compile(r"\byou\b[^.]{0,20}?\b(?:dislike|disliked|avoid|avoided|skip|skipped)\b")
_NOT = re.compile(r"\b(?:not|never|rarely|seldom|hardly)\b|n't\b")
_COUNT = re.compile(r"\b(\d{1,6}) (?:of|out of) (?:the |your )?(\d{1,6})\b")
_LITTLE = re.compile(rf"\b(?:dis)?(?:liked?|loved?|enjoy(?:ed)?) {_FEW}\b")
# The ends of a clause: a "never" after it refers to something else.
_JOINT = re.compile(r",|\b(?:and|but|because)\b")
# A comparison names both sides in one verb.
_COMPARED = re.compile(r"\b(?:than|unlike|against|elsewhere|others?)\b")


def side_problem(note: str, *, liked: bool) -> Problem | None:
    """Return the first sentence of `note` that speaks against a change which rests on `liked` items.

    `None` if there is none, or if another sentence speaks for the change. Comparisons count for neither side.
    """
    sentences = [part.strip() for part in _SENTENCE.split(" ".join(note.casefold().split()))]
    sides = [(sentence, _side(sentence)) for sentence in sentences if sentence]
    if any(side is liked for _, side in sides):
        return None
    against = (sentence for sentence, side in sides if side is (not liked))
    found = next(against, None)
    return Problem(SIDE, found[:60]) if found else None


def _side(sentence: str) -> bool | None:
    """Return whether a sentence says that the reader likes it; `None` if it says neither or both."""
    if _COMPARED.search(sentence):
        return None
    likes, dislikes = _LIKES.search(sentence), _DISLIKES.search(sentence)
    verb = likes or dislikes
    if verb is None or (likes and dislikes):
        return None
    turned = bool(_NOT.search(_clause(sentence, verb))) or bool(_LITTLE.search(sentence))
    if count := _COUNT.search(sentence):
        part, whole = int(count[1]), int(count[2])
        turned = turned or 2 * part < whole
    return bool(likes) is not turned


def _clause(sentence: str, verb: re.Match[str]) -> str:
    """Return the clause of `sentence` that has `verb`."""
    before, after = sentence[: verb.start()], sentence[verb.end() :]
    return _JOINT.split(before)[-1] + verb[0] + _JOINT.split(after)[0]

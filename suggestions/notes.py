"""A model's note beside a suggestion: checked before it is stored, and again whenever a reader would see it.

The reason of a suggestion is the server's own sentence. A model's note is shown below it, marked, and only if
`digest.llm.phishing` finds no fault in it, given the suggestion's evidence and target. A draft with any other
note is refused, so that the model may mend it. Readers never see a stored note with a fault (older than a
rule, or imported). Operators see it with the reason.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from digest.items.selectors import source_titles
from digest.llm import phishing
from digest.llm.phishing import Grounds, phishing_problem
from suggestions.changes.registry import KINDS
from suggestions.models import Suggestion
from suggestions.note_sides import SIDE, side_problem
from suggestions.proposals import Refusal

UNSAFE_REASON = "unsafe_reason"
PROBLEMS = {
    SIDE: "it says the opposite of what the change does",
    phishing.CHARACTERS: "it holds characters that plain sentences do without",
    phishing.ADDRESS: "it holds an address, or what looks like one",
    phishing.NUMBER: "it holds a number that could be called",
    phishing.REQUEST: "it asks for something, or leads somewhere",
    phishing.NAME: "it has a word that is neither plain English nor in the evidence",
}
REMEDY = (
    "Say in plain words what the cited ratings show, name sources by their titles, or leave the reason "
    "empty: the server gives the counts itself."
)


@dataclass(frozen=True, slots=True)
class Note:
    """A model's note as readers see it: `text`, or "" with the kind of its `problem`."""

    text: str
    problem: str = ""


NO_NOTE = Note("")


def note_grounds(
    *, label: str, evidence: Iterable[tuple[str, str, Sequence[str]]], titles: Mapping[str, str]
) -> Grounds:
    """Return the names that a note may use: the target, and titles, sources and tags of the evidence.

    `titles` has the name of each source by its key.
    """
    rows = list(evidence)
    names = dict.fromkeys([label, *(titles.get(source, source) for _, source, _ in rows)])
    texts = dict.fromkeys([*(title for title, _, _ in rows), *(tag for _, _, tags in rows for tag in tags)])
    return Grounds(tuple(name for name in names if name), tuple(texts))


def note_named(note: str, titles: Mapping[str, str]) -> str:
    """Return a note on one line, with keys of sources replaced by their titles."""
    return " ".join(_token_named(token, titles) for token in note.split())


def note_refusal(note: str, grounds: Grounds, target: str, *, liked: bool) -> Refusal | None:
    """Refuse a note that leads or asks a reader somewhere, names other things, or is contrary.

    `liked` tells whether the change rests on liked items.
    """
    problem = phishing_problem(note, grounds) or side_problem(note, liked=liked)
    if problem is None:
        return None
    message = f"The reason cannot be shown: {PROBLEMS[problem.kind]} (“{problem.piece}”). {REMEDY}"
    return Refusal(UNSAFE_REASON, message, target)


def notes_shown(suggestions: Iterable[Suggestion]) -> dict[int, Note]:
    """Return the note of each suggestion as readers see it, with its evidence prefetched.

    One query for the names of sources, or none if no suggestion has a note.
    """
    rows = [row for row in suggestions if row.model_note]
    if not rows:
        return {}
    titles = source_titles(keys={cited.source_key for row in rows for cited in row.evidence.all()})
    return {row.pk: _note_of(row, titles) for row in rows}


def note_shown(suggestion: Suggestion) -> Note:
    """Return the note of one suggestion as its reader sees it."""
    return notes_shown([suggestion]).get(suggestion.pk, NO_NOTE)


def _note_of(row: Suggestion, titles: Mapping[str, str]) -> Note:
    cited = [(one.title, one.source_key, one.reason_tags) for one in row.evidence.all()]
    grounds = note_grounds(label=row.label, evidence=cited, titles=titles)
    liked = KINDS[row.suggestion_type].liked
    problem = phishing_problem(row.model_note, grounds) or side_problem(row.model_note, liked=liked)
    return Note("", problem.kind) if problem else Note(row.model_note)


def _token_named(token: str, titles: Mapping[str, str]) -> str:
    key = token.strip("\"'“”‘’(),;:!?.")
    return token.replace(key, titles.get(key.casefold(), key)) if key else token

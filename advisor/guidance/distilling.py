"""Which memories are let in: five dimensions of what a memory says, and what is refused at once. Pure.

    unified = 0.30 actionable + 0.20 reasoned + 0.20 outcome-linked + 0.15 specific + 0.15 new

The dimensions, their weights and the seven suppressions are the published engine's
(vibeship-spark-intelligence, 2026-02). There, all five were read from the text; here a memory has columns,
and what those say counts first. Beside the suppressions, which judge a text, a memory is refused that is
known already, whose time is over, that speaks of one reader to all, or whose words and figures disagree.
"""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from advisor.guidance.artefacts import (
    chatter,
    code,
    copied,
    machine_trace,
    mail_address,
    marked_up,
    verbatim,
)
from advisor.guidance.consistency import asserted, contradicted, expired, grounded, private, ungrounded
from advisor.guidance.entities import Kind, Level
from advisor.guidance.injections import injection_in
from advisor.guidance.qualities import (
    action_in,
    outcome_in,
    points_elsewhere,
    reason_in,
    specific_in,
    telling_words,
)
from advisor.guidance.shapes import shapeless
from advisor.guidance.signature import text_signature
from advisor.guidance.substance import hollow

WEIGHTS: Mapping[str, float] = {
    "actionable": 0.30,
    "reasoned": 0.20,
    "outcome_linked": 0.20,
    "specific": 0.15,
    "new": 0.15,
}
UNIFIED_MIN = 0.20
# So many outcomes make a memory wholly linked to what came of it.
EVIDENCE_FULL = 5
# So many words that say something make a text wholly its own.
WORDS_FULL = 8
# An observation is worth keeping from here on, on both counts.
KEPT_OUTCOME, KEPT_SPECIFIC = 1.0, 0.4
ADMITTED = "admitted"


@dataclass(frozen=True, slots=True)
class Draft:
    """A memory that wants in, with the columns it would have (see `advisor.models.Memory`).

    `shared`: it is meant for all readers. `names_a_reader`: its maker found a reader's name in it.
    `own_words`: titles of feeds and words of others that its maker found near it, one a line; none of them
    may come back. Sources that derive memories read codes and figures only, and so have neither.
    """

    kind: Kind
    title: str
    text: str
    valid_from: datetime
    tool: str = ""
    suggestion_type: str = ""
    target_key: str = ""
    phase: str = ""
    polarity: int = 0
    evidence: int = 0
    confidence: float = 0.5
    shared: bool = False
    data: Mapping[str, Any] = field(default_factory=dict)
    expires_at: datetime | None = None
    key: str = ""
    source_ref: str = ""
    ceiling: Level = Level.WARNING
    own_words: str = ""
    names_a_reader: bool = False


@dataclass(frozen=True, slots=True)
class Admission:
    """What became of a draft: `why` is `admitted`, or the code of what it was refused for.

    `dimensions` and `unified`, their weighted sum, are 0 to 1.
    """

    admitted: bool
    why: str
    dimensions: Mapping[str, float]
    unified: float


# The seven suppressions in their order: a stable code, and what is wrong in words.
SUPPRESSIONS: Mapping[str, str] = {
    "machine_artefact": "The text is a machine's trace: an id, a tool's echo, a time. Say what it teaches.",
    "verbatim": "It holds somebody's words, a feed's title or the first person. Say it in words of your own.",
    "noise": "The text is chatter, or gives orders to whoever reads it. Say what is known, and no more.",
    "code": "It holds a link or mark-up, or is data, code or no English sentence. Say it in a plain one.",
    "observation": "The text does not say what to do, or leans on words that are not there. Say it in full.",
    "tautology": "The text would fit anything. Name what it is about, with a figure or a reason.",
    "weak": "The text is too vague to help. Say what to do, why, and what came of it.",
}
# What a draft is refused for besides its wording.
REFUSALS: Mapping[str, str] = {
    "duplicate": "Another memory says the same. Change that one.",
    "expired": "Its time is over before it begins. Give it a later end, or none.",
    "private": "It speaks of one reader, or of fewer than five, and is meant for all. Keep it to its reader.",
    "names_a_reader": "It holds a reader's name or an e-mail address. Say it of nobody in particular.",
    "ungrounded": "It rests on no outcome, or counts what its figures do not know. Bring the outcomes.",
    "contradicted": "Its words or figures speak against its polarity. Change one of them.",
}


def distil(
    draft: Draft, *, now: datetime, known: Collection[str], without: Collection[str] = frozenset()
) -> Admission:
    """Whether `draft` is let in, and its dimensions.

    `known` holds the signatures of the other memories its readers may be told. `without` names suppressions
    and refusals that are not applied, to measure what each is worth.
    """
    dimensions = dimensions_of(draft, known)
    unified = round(sum(weight * dimensions[name] for name, weight in WEIGHTS.items()), 4)
    checks = {**_refusals(draft, now, known), **_suppressions(draft, unified)}
    why = next((code for code, holds in checks.items() if code not in without and holds()), ADMITTED)
    return Admission(why == ADMITTED, why, dimensions, unified)


def why_words(code: str) -> str:
    """What an `Admission.why` says to whoever wrote the memory; empty for one that was admitted."""
    return {**SUPPRESSIONS, **REFUSALS}.get(code, "")


def dimensions_of(draft: Draft, known: Collection[str]) -> dict[str, float]:
    """The five dimensions, each 0 to 1: by a memory's columns where they tell, by its text otherwise."""
    directed = 0.6 * bool(draft.polarity and (draft.suggestion_type or draft.tool))
    told = outcome_in(draft.text)
    counted = min(1.0, draft.evidence / EVIDENCE_FULL)
    columns = 0.5 * bool(draft.target_key) + 0.25 * bool(draft.suggestion_type) + 0.15 * bool(draft.tool)
    words = min(1.0, telling_words(draft.text, draft.target_key) / WORDS_FULL)
    return {
        "actionable": max(directed, action_in(draft.text)),
        "reasoned": max(reason_in(draft.text), 0.4 * bool(draft.data)),
        "outcome_linked": max(told if draft.kind not in _COUNTING or draft.evidence else 0.0, counted),
        "specific": round(min(1.0, columns + 0.1 * bool(draft.phase) + 0.5 * specific_in(draft.text)), 4),
        "new": 0.0 if text_signature(draft.text) in known else round(words, 4),
    }


# Sources whose results are their evidence, not their words.
_COUNTING = frozenset({Kind.PATTERN, Kind.REPLAY, Kind.PROFILE, Kind.PEER, Kind.BANK})


def _refusals(draft: Draft, now: datetime, known: Collection[str]) -> dict[str, Callable[[], bool]]:
    return {
        "expired": lambda: expired(draft.expires_at, now),
        "duplicate": lambda: text_signature(draft.text) in known,
        "private": lambda: private(draft.kind, draft.shared, draft.data),
        "names_a_reader": lambda: (
            draft.names_a_reader or (draft.shared and mail_address(f"{draft.title}\n{draft.text}"))
        ),
    }


def _suppressions(draft: Draft, unified: float) -> dict[str, Callable[[], bool]]:
    """The seven in their order, and the two checks of words against figures after them."""
    text = draft.text
    return {
        "machine_artefact": lambda: machine_trace(text),
        "verbatim": lambda: verbatim(text) or copied(f"{draft.title}\n{text}", draft.own_words),
        "noise": lambda: chatter(text) or bool(injection_in(text) or injection_in(draft.title)),
        "code": lambda: (
            marked_up(draft.title) or marked_up(text) or code(text) or shapeless(text, draft.target_key)
        ),
        "observation": lambda: _observation(draft),
        "tautology": lambda: _tautology(draft),
        "weak": lambda: unified < UNIFIED_MIN,
        "ungrounded": lambda: (
            ungrounded(draft.kind, text, draft.evidence, draft.data)
            or asserted(draft.kind, draft.polarity, draft.target_key, draft.evidence, draft.data)
        ),
        "contradicted": lambda: contradicted(
            text, draft.polarity, draft.suggestion_type, draft.target_key, draft.data
        ),
    }


def _observation(draft: Draft) -> bool:
    """It says nothing to do nor what came of something in particular; or it leans on words elsewhere."""
    if points_elsewhere(draft.text):
        return True
    if action_in(draft.text):
        return False
    about = max(specific_in(draft.text), 0.5 * bool(draft.target_key or draft.suggestion_type))
    told = outcome_in(draft.text) >= KEPT_OUTCOME or grounded(draft.text, draft.evidence, draft.data)
    return not (told and about >= KEPT_SPECIFIC)


def _tautology(draft: Draft) -> bool:
    """Hardly a word of it is about anything in particular."""
    return hollow(draft.text, draft.target_key)

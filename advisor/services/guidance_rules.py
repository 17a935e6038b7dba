"""What people write for guidance: rules with a condition, and insights; checked, stored, replaced, retired.

Nothing is overwritten: what is written anew supersedes what stood there, so that an audit still finds what a
run was told then.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from django.db import transaction
from django.db.models import QuerySet
from django.utils.text import slugify

from advisor.guidance.artefacts import marked_up
from advisor.guidance.distilling import Admission, Draft, distil, why_words
from advisor.guidance.entities import Kind, Level, Remembered
from advisor.guidance.naming import feed_titles_in, reader_named
from advisor.guidance.packets import packets_invalidate
from advisor.guidance.predicates import predicate_check
from advisor.guidance.signature import text_signature, tokens_of
from advisor.guidance.versions import RULE
from advisor.models import Memory
from advisor.services.guidance_store import ADMIN, memory_signature

CONDITION, AS_WRITTEN = "when", "written"
KEY_CHARS = 100
CHANGED = "changed_meanwhile"
CHANGED_WORDS = "Somebody else has changed or retired this meanwhile. Open it again and look."


@dataclass(frozen=True, slots=True)
class Curated:
    """A rule or an insight as a person writes it. `when` is a rule's condition, empty for an insight."""

    kind: Kind
    title: str
    text: str
    tool: str = ""
    suggestion_type: str = ""
    target_key: str = ""
    phase: str = ""
    polarity: int = 0
    ceiling: Level = Level.NOTE
    confidence: float = 0.6
    expires_at: datetime | None = None
    when: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class Problem:
    """Why it is not stored: the field to mend (empty: all of it), a stable code, and words."""

    field: str
    code: str
    message: str


class Refused(Exception):
    """It was not stored; `problems` say why."""

    def __init__(self, problems: list[Problem]) -> None:
        super().__init__("; ".join(problem.message for problem in problems))
        self.problems = problems


def curated_problems(curated: Curated, *, replacing: int | None = None, now: datetime) -> list[Problem]:
    """What speaks against storing this in the place of the memory `replacing`; three queries."""
    problems = _condition_problems(curated)
    if curated.expires_at and curated.expires_at <= now:
        problems.append(Problem("expires_at", "expired", "This moment has passed. Choose a later one."))
    admission = _distilled(curated, replacing, now)
    if not admission.admitted:
        words = f"Guidance would never tell this ({admission.why}). {why_words(admission.why)}"
        field = "title" if admission.why == "code" and marked_up(curated.title) else "text"
        problems.append(Problem(field, admission.why, words))
    return problems


@transaction.atomic
def curated_save(curated: Curated, *, replacing: int | None = None, now: datetime) -> Memory:
    """Store a rule or an insight, in the place of the memory `replacing` if that is given.

    The old one keeps its words and points to the new one; all fresh packets become invalid. Raises `Refused`,
    with the code `changed_meanwhile` where somebody else has replaced or retired it.
    """
    key = _key_kept(replacing, now) if replacing else _key_free(curated)
    if problems := curated_problems(curated, replacing=replacing, now=now):
        raise Refused(problems)
    row = _row(curated, _distilled(curated, replacing, now), now)
    row.key = key
    row.save(force_insert=True)
    if replacing:
        Memory.objects.filter(pk=replacing).update(superseded_by=row)
    packets_invalidate(reader_id=None, why=RULE, now=now)
    return row


@transaction.atomic
def curated_retire(*, ids: list[int], now: datetime) -> int:
    """Take rules and insights made by hand out of force; how many were in force until now."""
    retired = _in_force().filter(pk__in=ids).update(retired_at=now, updated_at=now)
    if retired:
        packets_invalidate(reader_id=None, why=RULE, now=now)
    return retired


def condition_of(curated: Curated) -> dict[str, Any]:
    """The whole condition of a rule: what it says, for the tool, type, phase and target it names."""
    named = {
        "tool": curated.tool,
        "suggestion_type": curated.suggestion_type,
        "phase": curated.phase,
        "target": curated.target_key,
    }
    parts: list[Any] = [{"fact": name, "op": "eq", "value": value} for name, value in named.items() if value]
    return {"all": [*parts, _typed(curated)]} if parts else _typed(curated)


def _typed(curated: Curated) -> dict[str, Any]:
    """The condition as it was written; empty for what is none, and is never stored."""
    return dict(curated.when) if isinstance(curated.when, Mapping) else {}


def remembered_draft(curated: Curated, *, now: datetime) -> Remembered:
    """What is written as ranking would take it if it were stored, with the id 0."""
    admission = _admission(curated, (), now)
    return Remembered(
        id=0,
        kind=curated.kind,
        title=curated.title,
        text=curated.text,
        valid_from=now,
        tool=curated.tool,
        suggestion_type=curated.suggestion_type,
        target_key=curated.target_key,
        phase=curated.phase,
        polarity=curated.polarity,
        unified=admission.unified,
        confidence=curated.confidence,
        tokens=tokens_of(f"{curated.target_key} {curated.text}"),
        text_sig=memory_signature(_draft(curated, now)),
        ceiling=curated.ceiling,
        predicate=condition_of(curated) if curated.kind is Kind.RULE else {},
    )


def _condition_problems(curated: Curated) -> list[Problem]:
    if curated.kind is not Kind.RULE:
        return []
    if curated.when is None or curated.when == {}:
        message = "A rule needs a condition. For advice without one, write an insight."
        return [Problem("when", "no_condition", message)]
    return [Problem("when", "bad_condition", words) for words in predicate_check(curated.when)]


def _distilled(curated: Curated, replacing: int | None, now: datetime) -> Admission:
    """What distilling says of it beside what is in force, which is not what it replaces; three queries."""
    others = Memory.objects.filter(reader=None, kind=curated.kind, retired_at=None)
    others = others.exclude(pk=replacing) if replacing else others
    said = f"{curated.title}\n{curated.text}"
    named = Named(reader=reader_named(said), own_words="\n".join(feed_titles_in(said)))
    return _admission(curated, frozenset(others.values_list("text_sig", flat=True)), now, named)


@dataclass(frozen=True, slots=True)
class Named:
    """Whom and what a text names: whether a reader, and the titles of feeds, one a line."""

    reader: bool = False
    own_words: str = ""


def _admission(
    curated: Curated, signatures: Collection[str], now: datetime, named: Named | None = None
) -> Admission:
    named = named or Named()
    draft = replace(_draft(curated, now), names_a_reader=named.reader, own_words=named.own_words)
    said = memory_signature(draft) in signatures
    return distil(draft, now=now, known={text_signature(draft.text)} if said else ())


def _draft(curated: Curated, now: datetime) -> Draft:
    return Draft(
        kind=curated.kind,
        title=curated.title,
        text=curated.text,
        tool=curated.tool,
        suggestion_type=curated.suggestion_type,
        target_key=curated.target_key,
        phase=curated.phase,
        polarity=curated.polarity,
        confidence=curated.confidence,
        shared=True,
        data=_data(curated),
        valid_from=now,
        expires_at=curated.expires_at,
        source_ref=ADMIN,
        ceiling=curated.ceiling,
    )


def _data(curated: Curated) -> dict[str, Any]:
    if curated.kind is not Kind.RULE:
        return {}
    return {CONDITION: condition_of(curated), AS_WRITTEN: _typed(curated)}


def _row(curated: Curated, admission: Admission, now: datetime) -> Memory:
    known = remembered_draft(curated, now=now)
    return Memory(
        kind=curated.kind,
        title=curated.title,
        text=curated.text,
        suggestion_type=curated.suggestion_type,
        target_key=curated.target_key,
        tool=curated.tool,
        phase=curated.phase,
        polarity=curated.polarity,
        dimensions=dict(admission.dimensions),
        unified=admission.unified,
        data=_data(curated),
        confidence=curated.confidence,
        tokens=list(known.tokens),
        text_sig=known.text_sig,
        ceiling=curated.ceiling,
        source_ref=ADMIN,
        valid_from=now,
        expires_at=curated.expires_at,
        updated_at=now,
    )


def _in_force() -> QuerySet[Memory]:
    kinds = (Memory.Kind.RULE, Memory.Kind.INSIGHT)
    return Memory.objects.filter(
        reader=None, kind__in=kinds, source_ref=ADMIN, retired_at=None, superseded_by=None
    )


def _key_kept(replaced: int, now: datetime) -> str:
    """The key of the memory that is being replaced, freed for its successor. Raises `Refused`."""
    old = _in_force().filter(pk=replaced).first()
    key = f"{old.key[:KEY_CHARS]}#{replaced}" if old else ""
    if not old or not _in_force().filter(pk=replaced).update(key=key, retired_at=now, updated_at=now):
        raise Refused([Problem("", CHANGED, CHANGED_WORDS)])
    return old.key


def _key_free(curated: Curated) -> str:
    """A key from the title that no other of its kind has."""
    key = slugify(curated.title)[: KEY_CHARS - 8] or curated.kind.value
    rows = Memory.objects.filter(reader=None, kind=curated.kind, key__startswith=key)
    taken = set(rows.values_list("key", flat=True))
    names = (key, *(f"{key}-{n}" for n in range(2, len(taken) + 2)))
    return next(name for name in names if name not in taken)

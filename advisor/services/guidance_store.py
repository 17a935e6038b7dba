"""Drafts of memories against what is stored: what to add, renew, supersede and retire, in a few queries.

A memory that says the same with newer figures is renewed and keeps the credit it earned; one whose meaning
changed is superseded by a new row, which starts without. What is said no longer is retired. Nothing is
deleted: what a run was told stays readable.
"""

import hashlib
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db import transaction
from django.db.models import Q

from advisor.guidance.distilling import Draft, distil
from advisor.guidance.signature import text_signature, tokens_of
from advisor.models import Memory
from digest.models import Reader

# What people wrote in the admin; no source takes it back or over.
ADMIN = "admin"
KEY_TAKEN, DUPLICATE = "key_taken", "duplicate"
# What a draft decides of a row; of these, the ones without which nothing that is told differs.
TAKEN = (
    "title", "text", "suggestion_type", "target_key", "tool", "phase", "polarity", "data", "confidence",
    "evidence", "ceiling", "source_ref", "valid_from", "expires_at",
)  # fmt: skip
SILENT = frozenset({"expires_at", "valid_from"})
DISTILLED = ("dimensions", "unified", "tokens", "text_sig")
WRITTEN = [*TAKEN, *DISTILLED, "key", "retired_at", "updated_at"]
# Kinds that people word: a figure in them is no running count.
CURATED = frozenset({Memory.Kind.INSIGHT, Memory.Kind.RULE})
OLD_KEY_CHARS = 96


@dataclass(slots=True)
class Stored:
    """What became of the drafts: counts, why some were refused by key, and the rows in force by kind and key.

    `audible` says whether anything that a run may be told has changed; rows whose dates alone moved on count
    as unchanged.
    """

    added: int = 0
    updated: int = 0
    superseded: int = 0
    retired: int = 0
    unchanged: int = 0
    audible: bool = False
    refused: dict[str, str] = field(default_factory=dict)
    rows: dict[tuple[str, str], Memory] = field(default_factory=dict)

    @property
    def counts(self) -> dict[str, int]:
        """The counts by name, refused ones too."""
        names = ("added", "updated", "superseded", "retired", "unchanged")
        return {**{name: getattr(self, name) for name in names}, "refused": len(self.refused)}


@dataclass(slots=True)
class _Work:
    """The rows to write."""

    new: list[Memory] = field(default_factory=list)
    changed: list[Memory] = field(default_factory=list)
    replaced: list[tuple[Memory, Memory]] = field(default_factory=list)


def memory_signature(draft: Draft) -> str:
    """40 hex digits, equal for drafts that say the same, and where they have a target, of the same one.

    A text may leave its target unnamed, and signatures do not tell channel4.com from channel5.com.
    """
    said = text_signature(draft.text)
    if not draft.target_key:
        return said
    about = f"{said} {draft.suggestion_type} {draft.target_key}"
    return hashlib.sha1(about.encode("utf-8", "replace"), usedforsecurity=False).hexdigest()


@transaction.atomic
def memories_store(
    *,
    reader_id: UUID | None,
    kinds: Collection[str],
    drafts: Iterable[Draft],
    now: datetime,
    kept: Collection[str] = (),
    retire: bool = True,
) -> Stored:
    """Make the memories of `kinds` of a reader, or the shared ones, what the drafts say.

    Two queries to read, at most three to write (on SQLite one for each few dozen rows). Rows that people
    wrote and those with a key in `kept` are left as they are; so are those no draft speaks of, where `retire`
    is off. A draft is distilled only where it is new or says something new; one that is refused retires what
    it would renew, also without `retire` where it counts: older figures are no longer so. A reader who is
    gone gets nothing.
    """
    stored, work = Stored(), _Work()
    if reader_id is not None and not _locked(reader_id):
        return stored
    owner = Q(reader=None) if reader_id is None else Q(reader_id=reader_id)
    held = Memory.objects.select_for_update().filter(owner, kind__in=kinds, superseded_by=None)
    rows = {(row.kind, row.key): row for row in held}
    said, spoken_of = set[tuple[str, str]](), set[tuple[str, str]]()
    for draft in drafts:
        place, signature = (str(draft.kind), draft.key), memory_signature(draft)
        spoken_of.add(place)
        if (draft.kind, signature) in said or place in stored.rows:
            stored.refused[draft.key] = DUPLICATE
            continue
        row = _settled(draft, signature, rows.get(place), reader_id, stored, work, now)
        if row is not None:
            said.add((draft.kind, signature))
            stored.rows[place] = row
    counted = {place for place in spoken_of if place[0] not in CURATED}
    for place in (rows.keys() if retire else rows.keys() & counted) - stored.rows.keys():
        if _goes(rows[place], kept):
            _retire(rows[place], stored, work, now)
    _written(work, now)
    return stored


def _locked(reader_id: UUID) -> bool:
    """Hold the reader till the transaction ends, lest two refreshes add the same; whether there is one."""
    return bool(Reader.objects.select_for_update(no_key=True).filter(pk=reader_id).values_list("pk"))


def _settled(
    draft: Draft,
    signature: str,
    row: Memory | None,
    reader_id: UUID | None,
    stored: Stored,
    work: _Work,
    now: datetime,
) -> Memory | None:
    """The row that says what the draft says, planned to be written where it is not stored yet."""
    if row is not None and row.source_ref == ADMIN != draft.source_ref:
        stored.refused[draft.key] = KEY_TAKEN
        return None
    fields = _fields(draft)
    if row is not None and row.retired_at is None and not _differing(row, fields):
        stored.unchanged += 1
        return row
    admission = distil(draft, now=now, known=())
    if not admission.admitted:
        stored.refused[draft.key] = admission.why
        return None
    distilled = {
        "dimensions": dict(admission.dimensions),
        "unified": round(admission.unified, 4),
        "tokens": list(tokens_of(f"{draft.target_key} {draft.text}")),
        "text_sig": signature,
    }
    fresh = Memory(reader_id=reader_id, kind=draft.kind, key=draft.key, updated_at=now, **fields, **distilled)
    return _placed(row, fresh, fields | distilled, stored, work, now)


def _placed(
    row: Memory | None, fresh: Memory, fields: Mapping[str, Any], stored: Stored, work: _Work, now: datetime
) -> Memory:
    """Plan to add, renew or supersede."""
    if row is None:
        stored.added, stored.audible = stored.added + 1, True
        work.new.append(fresh)
        return fresh
    if _meaning(row) != _meaning(fresh):
        stored.superseded, stored.audible = stored.superseded + 1, True
        work.replaced.append((row, fresh))
        return fresh
    audible = row.retired_at is not None or bool(_differing(row, fields) - SILENT)
    stored.updated, stored.unchanged = stored.updated + audible, stored.unchanged + (not audible)
    stored.audible |= audible
    for name, value in {**fields, "retired_at": None, "updated_at": now}.items():
        setattr(row, name, value)
    work.changed.append(row)
    return row


def _fields(draft: Draft) -> dict[str, Any]:
    """A draft's columns as they are stored."""
    taken = {name: getattr(draft, name) for name in TAKEN}
    return taken | {
        "phase": str(draft.phase),
        "ceiling": str(draft.ceiling),
        "data": dict(draft.data),
        "confidence": round(draft.confidence, 4),
    }


def _differing(row: Memory, fields: Mapping[str, Any]) -> set[str]:
    return {name for name, value in fields.items() if getattr(row, name) != value}


def _meaning(row: Memory) -> tuple[object, ...]:
    """What must stay for a row to stay: of figures only those that people wrote."""
    said = row.text if row.kind in CURATED else text_signature(row.text)
    about = (row.suggestion_type, row.target_key, row.tool, str(row.phase), row.polarity)
    condition = row.data.get("when") if row.kind == Memory.Kind.RULE else None
    return (said, *about, repr(condition))


def _goes(row: Memory, kept: Collection[str]) -> bool:
    return row.retired_at is None and row.key not in kept and row.source_ref != ADMIN


def _retire(row: Memory, stored: Stored, work: _Work, now: datetime) -> None:
    stored.retired, stored.audible = stored.retired + 1, True
    row.retired_at = row.updated_at = now
    work.changed.append(row)


def _written(work: _Work, now: datetime) -> None:
    """Write what was planned; a superseded row gives its key to the one that takes its place."""
    old = [before for before, _ in work.replaced]
    for row in old:
        row.key = f"{row.key[:OLD_KEY_CHARS]}#{row.pk}"
        row.retired_at, row.updated_at = row.retired_at or now, now
    _update([*work.changed, *old], WRITTEN)
    Memory.objects.bulk_create([*work.new, *(fresh for _, fresh in work.replaced)])
    for before, fresh in work.replaced:
        before.superseded_by = fresh
    _update(old, ["superseded_by"])


def _update(rows: Sequence[Memory], fields: Sequence[str]) -> None:
    if rows:
        Memory.objects.bulk_update(rows, fields)

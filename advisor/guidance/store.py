"""Drafts of memories against what is stored: what to add, renew, supersede and retire, in a few queries.

A memory that says the same with newer figures is renewed and keeps the credit it earned; one whose meaning
changed is superseded by a new row, which starts without. What its source no longer says is retired. Nothing
is deleted: what a run read stays readable.
"""

import hashlib
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db import transaction
from django.db.models import Q

from advisor.guidance.admission import Admission, admit
from advisor.guidance.entities import Draft
from advisor.guidance.ranking import text_signature, tokens_of
from advisor.guidance.retrieval import CONDITION
from advisor.models import Memory
from digest.models import Reader

# What people wrote in the admin; no source takes it back or over.
ADMIN = "admin"
KEY_TAKEN, DUPLICATE = "key_taken", "duplicate"
DRAFTED = (
    *("title", "text", "suggestion_type", "target_key", "tool", "phase", "polarity", "data", "confidence"),
    *("evidence", "ceiling", "source_ref", "valid_from", "expires_at"),
)
WRITTEN = (*DRAFTED, "dimensions", "unified", "tokens", "text_sig", "key", "retired_at", "updated_at")
# Of these, the ones without which nothing a run reads differs.
SILENT = frozenset({"expires_at", "valid_from"})
# Kinds that people word: a figure in them is no running count.
CURATED = frozenset({Memory.Kind.INSIGHT, Memory.Kind.RULE})
OLD_KEY_CHARS = 96
COUNTS = ("added", "updated", "superseded", "retired", "unchanged", "refused")


@dataclass(slots=True)
class Stored:
    """What became of the drafts: counts, why some were refused by key, the rows in force by kind and key."""

    counts: dict[str, int] = field(default_factory=lambda: dict.fromkeys(COUNTS, 0))
    refused: dict[str, str] = field(default_factory=dict)
    rows: dict[tuple[str, str], Memory] = field(default_factory=dict)


def memory_signature(draft: Draft) -> str:
    """Return 40 hex digits, equal for drafts that say the same, of the same target if they have one."""
    own = text_signature(draft.text)
    if not draft.target_key:
        return own
    about = f"{own} {draft.suggestion_type} {draft.target_key}"
    return hashlib.sha1(about.encode("utf-8", "replace"), usedforsecurity=False).hexdigest()


def memory_build(draft: Draft, admission: Admission, *, reader_id: UUID | None, now: datetime) -> Memory:
    """Return the unsaved row of a draft that was let in."""
    return Memory(
        reader_id=reader_id,
        kind=str(draft.kind),
        key=draft.key,
        updated_at=now,
        dimensions=dict(admission.dimensions),
        unified=admission.unified,
        tokens=list(tokens_of(f"{draft.target_key} {draft.text}")),
        text_sig=memory_signature(draft),
        **_columns(draft),
    )


def _rows_locked(reader_id: UUID | None, kinds: Collection[str]) -> dict[tuple[str, str], Memory] | None:
    """Return the current memories of `kinds` by kind and key, locked; `None` where the reader is gone."""
    if reader_id is not None:
        locked = Reader.objects.select_for_update(no_key=True).filter(pk=reader_id)
        if not list(locked.values_list("pk")):
            return None
    owner = Q(reader=None) if reader_id is None else Q(reader_id=reader_id)
    found = Memory.objects.select_for_update().filter(owner, kind__in=kinds, superseded_by=None)
    return {(row.kind, row.key): row for row in found}


def _retired(
    rows: Mapping[tuple[str, str], Memory],
    named: Collection[tuple[str, str]] | None,
    stored: Stored,
    spared: Collection[str],
    now: datetime,
) -> list[Memory]:
    """Mark as retired what no draft stored: of all `rows`, or of those `named` that no person wrote."""
    places = rows.keys() if named is None else {place for place in named if place[0] not in CURATED}
    gone = [
        row
        for place, row in rows.items()
        if place in places and place not in stored.rows and row.key not in spared
        if row.retired_at is None and row.source_ref != ADMIN
    ]
    for row in gone:
        row.retired_at = row.updated_at = now
    return gone


@transaction.atomic
def memories_store(
    *,
    reader_id: UUID | None,
    kinds: Collection[str],
    drafts: Iterable[Draft],
    now: datetime,
    spared: Collection[str] = (),
    retire: bool = True,
) -> Stored:
    """Make the memories of `kinds` of a reader, or the shared ones, what the drafts say.

    At most five queries. Rows of people and keys in `spared` stay; a refused draft retires its older row.
    """
    stored = Stored()
    if (rows := _rows_locked(reader_id, kinds)) is None:
        return stored
    signed, named = set[tuple[str, str]](), set[tuple[str, str]]()
    new, changed, replaced = list[Memory](), list[Memory](), list[tuple[Memory, Memory]]()
    for draft in drafts:
        place, signature = (str(draft.kind), draft.key), (str(draft.kind), memory_signature(draft))
        named.add(place)
        row = rows.get(place)
        if signature in signed or place in stored.rows:
            stored.refused[draft.key] = DUPLICATE
        elif row is not None and row.source_ref == ADMIN != draft.source_ref:
            stored.refused[draft.key] = KEY_TAKEN
        elif row is not None and row.retired_at is None and not _differing(row, draft):
            stored.counts["unchanged"] += 1
            stored.rows[place] = row
        elif not (admission := admit(draft, now=now)).admitted:
            stored.refused[draft.key] = admission.why
        else:
            fresh = memory_build(draft, admission, reader_id=reader_id, now=now)
            stored.rows[place] = _plan(row, fresh, draft, stored, new, changed, replaced)
        if place in stored.rows:
            signed.add(signature)
    gone = _retired(rows, named if not retire else None, stored, spared, now)
    _write(new, [*changed, *gone], replaced, now)
    stored.counts |= {"retired": len(gone), "refused": len(stored.refused)}
    return stored


def _plan(
    row: Memory | None,
    fresh: Memory,
    draft: Draft,
    stored: Stored,
    new: list[Memory],
    changed: list[Memory],
    replaced: list[tuple[Memory, Memory]],
) -> Memory:
    """Add, supersede or renew; return the row that is in force then."""
    if row is None:
        stored.counts["added"] += 1
        new.append(fresh)
        return fresh
    if _meaning(row) != _meaning(fresh):
        stored.counts["superseded"] += 1
        replaced.append((row, fresh))
        return fresh
    audible = row.retired_at is not None or bool(_differing(row, draft) - SILENT)
    stored.counts["updated" if audible else "unchanged"] += 1
    for name in (*DRAFTED, "updated_at", "retired_at"):
        setattr(row, name, getattr(fresh, name))
    changed.append(row)
    return row


def _columns(draft: Draft) -> dict[str, Any]:
    plain = {"phase": str(draft.phase), "ceiling": str(draft.ceiling), "data": dict(draft.data)}
    return {name: getattr(draft, name) for name in DRAFTED} | plain


def _differing(row: Memory, draft: Draft) -> set[str]:
    return {name for name, value in _columns(draft).items() if getattr(row, name) != value}


def _meaning(row: Memory) -> tuple[object, ...]:
    """Return what must stay for a row to stay: of figures only those that people wrote."""
    words = row.text if row.kind in CURATED else text_signature(row.text)
    condition = row.data.get(CONDITION) if isinstance(row.data, Mapping) else None
    return (
        words,
        row.suggestion_type,
        row.target_key,
        row.tool,
        str(row.phase),
        row.polarity,
        repr(condition),
    )


def _write(
    new: list[Memory], changed: list[Memory], replaced: list[tuple[Memory, Memory]], now: datetime
) -> None:
    """Write what was planned; a superseded row gives its key to the one that takes its place."""
    for row, _ in replaced:
        row.key = f"{row.key[:OLD_KEY_CHARS]}#{row.pk}"
        row.retired_at, row.updated_at = row.retired_at or now, now
    if rows := [*changed, *(row for row, _ in replaced)]:
        Memory.objects.bulk_update(rows, WRITTEN)
    Memory.objects.bulk_create([*new, *(fresh for _, fresh in replaced)])
    for row, fresh in replaced:
        row.superseded_by = fresh
    if replaced:
        Memory.objects.bulk_update([row for row, _ in replaced], ["superseded_by"])

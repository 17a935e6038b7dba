"""Memories in the database: which a run may use, making them what drafts say, and what people write.

Newer figures renew a memory, which keeps its credit; another meaning supersedes it. Nothing is deleted.
"""

import hashlib
from collections.abc import Collection, Iterable, Sequence
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from django.conf import settings
from django.db import transaction
from django.db.models import Case, Exists, IntegerField, Q, QuerySet, Value, When
from django.utils.text import slugify

from advisor.guidance import admission
from advisor.guidance.conditions import predicate_check, predicate_holds
from advisor.models import GuidanceEvent, Memory, Tip
from advisor.models.memory import CONDITION
from digest.models import Reader

# What ranking compares in Python: more rows would only cost time (500 take about 10 ms).
CANDIDATES_MAX, DETAILS_MAX, RECALLED_MAX = 500, 3, 3
# Figures over many readers are for those who share their own.
OVER_MANY = (Memory.Kind.PATTERN, Memory.Kind.PEER)
# Kinds that people word: a figure in them is no running count.
CURATED = frozenset({Memory.Kind.INSIGHT, Memory.Kind.RULE})
# What people wrote in the admin; no source takes it back or over.
ADMIN = "admin"
# What a recalled memory gains for being about a type that is in question.
ABOUT = 0.3
WRITTEN = (
    *("title", "text", "suggestion_type", "target_key", "tool", "phase", "polarity", "data", "confidence"),
    *("evidence", "ceiling", "source_ref", "valid_from", "expires_at", "dimensions", "unified", "tokens"),
    *("text_sig", "retired_at", "updated_at"),
)
# Of these, the ones without which nothing a run reads differs.
SILENT = frozenset({"expires_at", "valid_from", "updated_at"})
OLD_KEY_CHARS, KEY_CHARS = 96, 80
COUNTS = ("added", "updated", "superseded", "retired", "unchanged", "refused")
AS_WRITTEN = "written"
PREVIEW_SPAN, PREVIEW_MAX = timedelta(days=30), 5_000
NAMED = ("tool", "suggestion_type", "phase", "target_key")


class ChangedMeanwhile(Exception):
    """Somebody else has replaced or retired the memory; nothing was stored."""


def memories_in_force(*, reader_id: UUID, now: datetime) -> QuerySet[Memory]:
    """Return what a run of this reader may use: nothing of another's, nor of many if they do not share."""
    sharing = Exists(Reader.objects.filter(pk=reader_id, peers_enabled=True))
    over_many = Q(reader=None, kind__in=OVER_MANY) | Q(kind=Memory.Kind.PEER)
    rows = Memory.objects.filter(
        Q(reader=None) | Q(reader_id=reader_id),
        Q(expires_at=None) | Q(expires_at__gt=now),
        retired_at=None,
        superseded_by=None,
        valid_from__lte=now,
    )
    return rows.filter(~over_many | Q(sharing)) if settings.PEERS_ENABLED else rows.exclude(over_many)


def memories_for(*, reader_id: UUID, now: datetime) -> list[Memory]:
    """Return at most 500 memories of a reader's runs: operators' rules first, then the surest; one query."""
    first = Case(When(kind=Memory.Kind.RULE, then=Value(0)), default=Value(1), output_field=IntegerField())
    rows = memories_in_force(reader_id=reader_id, now=now).order_by(first, "-confidence", "-unified", "pk")
    return list(rows.defer("dimensions")[:CANDIDATES_MAX])


def memories_detail(*, reader_id: UUID, ids: Sequence[int], now: datetime) -> list[dict[str, object]]:
    """Return the first three of `ids` in full, for whoever was shown their titles; one query."""
    found = memories_in_force(reader_id=reader_id, now=now).in_bulk(list(dict.fromkeys(ids))[:DETAILS_MAX])
    rows = [found[pk] for pk in dict.fromkeys(ids) if pk in found]
    return [{"id": row.pk, "title": row.title, "text": row.text} for row in rows]


def memories_recall(*, reader_id: UUID, now: datetime, types: Collection[str] = ()) -> list[Memory]:
    """Return the three surest insights and patterns over many readers, those about `types` first."""
    rows = memories_in_force(reader_id=reader_id, now=now).filter(
        Q(kind=Memory.Kind.INSIGHT) | Q(kind=Memory.Kind.PATTERN, reader=None)
    )
    worth = {row: row.confidence + ABOUT * (row.suggestion_type in types) for row in rows}
    return sorted(worth, key=lambda row: (-worth[row], row.kind, row.key))[:RECALLED_MAX]


def memory_prepare(row: Memory, *, reader_id: UUID | None, now: datetime) -> Memory:
    """Return an unsaved memory with what follows from its text: quality, words, and a signature."""
    row.reader_id, row.updated_at = reader_id, now
    row.dimensions, row.unified = admission.quality_of_text(row)
    row.tokens = list(admission.tokens_of(f"{row.target_key} {row.text}"))
    row.text_sig = admission.text_signature(row.text)
    if row.target_key:
        about = f"{row.text_sig} {row.suggestion_type} {row.target_key}".encode("utf-8", "replace")
        row.text_sig = hashlib.sha1(about, usedforsecurity=False).hexdigest()
    return row


@transaction.atomic
def memories_store(
    *,
    reader_id: UUID | None,
    kinds: Collection[str],
    drafts: Iterable[Memory],
    now: datetime,
    spared: Collection[str] = (),
) -> dict[str, int]:
    """Make the memories of `kinds` of a reader, or the shared ones, what the drafts hold; return counts."""
    counts = dict.fromkeys(COUNTS, 0)
    if reader_id is not None and not list(
        Reader.objects.select_for_update(no_key=True).filter(pk=reader_id).values_list("pk")
    ):
        return counts
    found = Memory.objects.select_for_update().filter(Q(reader_id=reader_id), kind__in=kinds)
    rows = {(row.kind, row.key): row for row in found.filter(superseded_by=None)}
    seen = set[tuple[str, str]]()
    new, changed, replaced = list[Memory](), list[Memory](), list[tuple[Memory, Memory]]()
    for fresh in drafts:
        memory_prepare(fresh, reader_id=reader_id, now=now)
        place = (fresh.kind, fresh.key)
        row, marks = rows.get(place), {place, ("same words", fresh.kind + fresh.text_sig)}
        if marks & seen or (row is not None and row.source_ref == ADMIN):
            counts["refused"] += 1
            continue
        seen |= marks
        if row is None:
            new.append(fresh)
        elif _meaning(row) != _meaning(fresh):
            replaced.append((row, fresh))
        else:
            differing = {name for name in WRITTEN if getattr(row, name) != getattr(fresh, name)}
            counts["updated" if differing - SILENT else "unchanged"] += 1
            if differing - {"updated_at"}:
                row.__dict__ |= {name: getattr(fresh, name) for name in WRITTEN}
                changed.append(row)
    unseen = [row for place, row in rows.items() if place not in seen and row.key not in spared]
    gone = [row for row in unseen if row.retired_at is None and row.source_ref != ADMIN]
    _write(new, changed, replaced, gone, now)
    return counts | {"added": len(new), "superseded": len(replaced), "retired": len(gone)}


@transaction.atomic
def curated_save(fresh: Memory, *, replacing: int | None = None, now: datetime) -> Memory:
    """Store a checked rule or insight, superseding the memory `replacing`. Raises `ChangedMeanwhile`."""
    memory_prepare(fresh, reader_id=None, now=now)
    fresh.key = f"{slugify(fresh.title)[:KEY_CHARS]}-{now:%Y%m%d-%H%M%S-%f}"
    old = _by_hand().select_for_update().filter(pk=replacing).first() if replacing else None
    if replacing and old is None:
        raise ChangedMeanwhile
    if old:
        fresh.key = old.key
    _write([] if old else [fresh], [], [(old, fresh)] if old else [], [], now)
    return fresh


def curated_retire(*, ids: Collection[int], now: datetime) -> int:
    """Take rules and insights made by hand out of force; how many were in force until now."""
    return _by_hand().filter(pk__in=ids).update(retired_at=now, updated_at=now)


def condition_of(row: Memory, when: Any) -> dict[str, Any]:
    """Return the data of a rule: its condition with tool, type, phase and target around it."""
    pairs = [(column.removesuffix("_key"), getattr(row, column)) for column in NAMED]
    parts = [{"fact": name, "op": "eq", "value": value} for name, value in pairs if value]
    return {CONDITION: {"all": [*parts, when]} if parts else when, AS_WRITTEN: when}


def curated_problems(
    draft: Memory, *, replacing: int | None = None, now: datetime
) -> list[tuple[str, str, str]]:
    """Return what speaks against storing this: the field to mend, a stable code, and words."""
    found = predicate_check(draft.data[AS_WRITTEN]) if draft.kind == Memory.Kind.RULE else []
    problems = [("when", "bad_condition", words) for words in found]
    memory_prepare(draft, reader_id=None, now=now)
    others = Memory.objects.filter(reader=None, kind=draft.kind, retired_at=None).exclude(pk=replacing or 0)
    why = admission.admit(draft, now=now, duplicate=others.filter(text_sig=draft.text_sig).exists())
    if why != admission.ADMITTED:
        in_title = why == "code" and admission.MARKED_UP.search(draft.title)
        field = "expires_at" if why == "expired" else "title" if in_title else "text"
        problems.append((field, why, f"Guidance would never show this ({why}). {admission.REFUSALS[why]}"))
    return problems


def curated_preview(draft: Memory, *, now: datetime) -> str:
    """Return at how many of the newest 5,000 calls of the last 30 days it would have been weighed."""
    rows = GuidanceEvent.objects.filter(at__gt=now - PREVIEW_SPAN, at__lte=now, n__gt=0)
    calls = rows.order_by("-at", "-id").only(*NAMED, "facts")[:PREVIEW_MAX]
    when = draft.predicate
    hits = [
        predicate_holds(when, call.facts)
        if when
        else all(getattr(draft, name) in ("", getattr(call, name)) for name in NAMED)
        for call in calls
    ]
    return f"{sum(hits)} of the last {len(hits):,} calls"


def tip_show(*, reader_id: UUID, memory_id: int, now: datetime) -> Tip:
    """Store that a tip is shown from now on."""
    shown = {"shown_at": now, "dismissed_at": None}
    return Tip.objects.update_or_create(reader_id=reader_id, memory_id=memory_id, defaults=shown)[0]


def tip_dismiss(*, reader_id: UUID, tip_id: int, now: datetime) -> bool:
    """Put a tip of the reader's away; `False` if there is none such. Twice is once."""
    own = Tip.objects.filter(pk=tip_id, reader_id=reader_id)
    return bool(own.filter(dismissed_at=None).update(dismissed_at=now)) or own.exists()


def _by_hand() -> QuerySet[Memory]:
    rows = Memory.objects.filter(reader=None, kind__in=CURATED, source_ref=ADMIN)
    return rows.filter(retired_at=None, superseded_by=None)


def _meaning(row: Memory) -> tuple[object, ...]:
    """Return what must stay for a row to stay: of figures only those that people wrote."""
    words = row.text if row.kind in CURATED else admission.text_signature(row.text)
    about = (row.suggestion_type, row.target_key, row.tool, row.phase, row.polarity)
    return (words, *about, repr(row.predicate))


def _write(
    new: list[Memory],
    changed: list[Memory],
    replaced: list[tuple[Memory, Memory]],
    gone: list[Memory],
    now: datetime,
) -> None:
    """Write what was planned; a superseded row gives its key to the one that takes its place."""
    olds = [row for row, _ in replaced]
    for row in olds:
        row.key = f"{row.key[:OLD_KEY_CHARS]}#{row.pk}"
    for row in (*olds, *gone):
        row.retired_at, row.updated_at = row.retired_at or now, now
    Memory.objects.bulk_update([*changed, *olds, *gone], [*WRITTEN, "key"])
    Memory.objects.bulk_create([*new, *(fresh for _, fresh in replaced)])
    for row, fresh in replaced:
        row.superseded_by = fresh
    Memory.objects.bulk_update(olds, ["superseded_by"])

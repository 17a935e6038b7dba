"""A world's memories put through the real admission, into the database, and known again by their numbers."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from uuid import UUID

from advisor.evaluation.guidance_entities import READERS, Query, World, Written
from advisor.guidance.distilling import Draft, distil
from advisor.guidance.entities import Facts, Kind, Phase, Situation
from advisor.guidance.gate import Seen
from advisor.guidance.phases import REPAIR_AT, phase_of
from advisor.guidance.situations import situation_of, target_of
from advisor.models import Memory
from advisor.services.guidance_store import memories_store
from advisor.tools.budget import as_json
from digest.llm.entities import ToolCall
from digest.models import Reader

NOW = datetime(2026, 3, 18, 12, 0, tzinfo=UTC)
# Every fifth memory in two helps in any phase.
ANY_PHASE_OF_FIVE = 2


@dataclass(frozen=True, slots=True)
class Stage:
    """What a stage let through, by the memories' numbers."""

    name: str
    passed: frozenset[int]


@dataclass(frozen=True, slots=True)
class Store:
    """A world in the database: its readers, the stages so far, and rows by number and the other way round."""

    world: World
    readers: tuple[UUID, ...]
    stages: tuple[Stage, ...]
    row_of: Mapping[int, int]
    number_of: Mapping[int, int]
    refused: Mapping[int, str]
    by_number: Mapping[int, Written]


def store_make(world: World) -> Store:
    """All memories offered to the real admission, owner by owner, older versions of a key before newer ones.

    Must be called inside a transaction that is undone.
    """
    readers = tuple(
        Reader.objects.create(username=f"bench-guidance-{world.seed}-{n}", email="", peers_enabled=True).pk
        for n in range(READERS)
    )
    offered = {row.id: draft_of(row) for row in world.written}
    refused: dict[int, str] = {}
    for owner in (*range(READERS), None):
        rows = [row for row in world.written if row.owner == owner]
        reader_id = None if owner is None else readers[owner]
        for batch in _by_version(rows):
            stored = memories_store(
                reader_id=reader_id,
                kinds=[str(kind) for kind in Kind],
                drafts=[offered[row.id] for row in batch],
                now=NOW,
                retire=False,
            )
            number = {offered[row.id].key: row.id for row in batch}
            refused |= {number[key]: why for key, why in stored.refused.items()}
    row_of = _rows(world)
    _credited(world, row_of)
    inserted = frozenset(row_of)
    stages = (*_stages(world, offered, refused), Stage("insert", inserted))
    number_of = {pk: number for number, pk in row_of.items()}
    by_number = {row.id: row for row in world.written}
    return Store(world, readers, stages, row_of, number_of, refused, by_number)


def draft_of(row: Written) -> Draft:
    """A memory as a source would offer it."""
    fact = row.fact
    phase = "" if row.id % 5 < ANY_PHASE_OF_FIVE else str(phase_of(fact.tool, 0))
    return Draft(
        kind=row.kind,
        title=row.title,
        text=row.text,
        valid_from=NOW - timedelta(days=row.age),
        tool=fact.tool,
        suggestion_type=fact.suggestion_type,
        target_key=target_of(fact.suggestion_type, {"target": fact.target}),
        phase=phase,
        polarity=row.polarity,
        evidence=row.evidence,
        confidence=row.confidence,
        shared=row.owner is None,
        data=row.data,
        expires_at=None if row.expires_in is None else NOW + timedelta(days=row.expires_in),
        key=row.key,
        source_ref=row.key,
    )


def situation_for(query: Query, store: Store) -> Situation:
    """A call as the engine sees it, read from its arguments alone."""
    call = ToolCall("bench", query.tool, as_json(dict(query.arguments)))
    failed = REPAIR_AT if query.phase is Phase.REPAIR else 0
    return situation_of(call, reader_id=store.readers[query.reader], failed_writes=failed)


def seen_for(query: Query, store: Store) -> Seen:
    """What was told before the call, as far as it was stored at all."""
    now_s = NOW.timestamp()
    shown = {store.row_of[n]: now_s - ago for n, ago in query.shown_ago.items() if n in store.row_of}
    tools = {} if query.tool_ago is None else {query.tool: now_s - query.tool_ago}
    return Seen(shown=shown, tools=tools, current=query.current)


def facts_for(query: Query) -> Facts:
    """What rules may ask about the call."""
    return Facts(query.facts, until=NOW + timedelta(days=4))


def _by_version(rows: Sequence[Written]) -> Iterable[list[Written]]:
    """Batches in which no key comes twice: what is superseded later goes first."""
    early = [row for row in rows if row.flaw == "superseded"]
    first: list[Written] = []
    again: list[Written] = []
    keys: set[str] = set()
    for row in early:
        (again if row.key in keys else first).append(row)
        keys.add(row.key)
    return [batch for batch in (first, again, [row for row in rows if row.flaw != "superseded"]) if batch]


def _rows(world: World) -> dict[int, int]:
    """The rows in force by the numbers of what they were made from."""
    held = Memory.objects.filter(key__startswith="bench:", retired_at=None, superseded_by=None)
    found = {(key, text): pk for pk, key, text in held.values_list("pk", "key", "text")}
    return {row.id: found[row.key, row.text] for row in world.written if (row.key, row.text) in found}


def _credited(world: World, row_of: Mapping[int, int]) -> None:
    """Readers' decisions about memories, as the nightly credit would have counted them."""
    judged = [row for row in world.written if row.id in row_of and row.helpful + row.unhelpful]
    rows = [Memory(pk=row_of[row.id], helpful=row.helpful, unhelpful=row.unhelpful) for row in judged]
    Memory.objects.bulk_update(rows, ["helpful", "unhelpful"], batch_size=400)


def _stages(world: World, offered: Mapping[int, Draft], refused: Mapping[int, str]) -> tuple[Stage, ...]:
    """The steps of admission one inside the other: new, worth its place, and not suppressed."""
    every = frozenset(row.id for row in world.written)
    fresh = every - {number for number, why in refused.items() if why in ("duplicate", "key_taken")}
    others = frozenset({"machine_artefact", "verbatim", "noise", "code", "observation", "tautology"})
    beside = others | {"expired", "private", "ungrounded", "contradicted", "duplicate"}
    # What was let in is worth its place; only what was refused for something else has to be looked at again.
    weak = {n for n in refused if not distil(offered[n], now=NOW, known=(), without=beside).admitted}
    worth = fresh - weak
    kept = worth - frozenset(refused)
    return (
        Stage("offered", every),
        Stage("admission", fresh),
        Stage("distillation", worth),
        Stage("suppression", kept),
    )

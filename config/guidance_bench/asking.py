"""The calls of a world put to engines, with what the database knows; and the rows' numbers put back."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from advisor.evaluation.guidance_answers import Answer, Asked, Engine
from advisor.evaluation.guidance_metrics import Judged
from advisor.guidance.retrieval import memories_for
from config.guidance_bench.store import NOW, Store, facts_for, seen_for, situation_for


@dataclass(frozen=True, slots=True)
class Prepared:
    """A call with its memories read, and the milliseconds that reading took."""

    asked: Asked
    ms: float


def prepared(store: Store) -> list[Prepared]:
    """Every call of the world, its memories read by the real retrieval: one query each."""
    rows = []
    for query in store.world.queries:
        situation, seen, facts = situation_for(query, store), seen_for(query, store), facts_for(query)
        if query.step is not None:
            situation = replace(situation, step=query.step)
        began = time.perf_counter()
        memories = memories_for(situation=situation, now=NOW)
        ms = (time.perf_counter() - began) * 1000
        rows.append(Prepared(Asked(query, situation, memories, seen, facts, NOW), ms))
    return rows


def answered(store: Store, calls: Sequence[Prepared], engine: Engine) -> list[Judged]:
    """What an engine makes of the calls, timed with the reading."""
    judged = []
    for call in calls:
        began = time.perf_counter()
        answer = engine(call.asked)
        ms = call.ms + (time.perf_counter() - began) * 1000
        judged.append(Judged(call.asked.query, _numbered(answer, store.number_of, ms), store.by_number))
    return judged


def _numbered(answer: Answer, number_of: Mapping[int, int], ms: float) -> Answer:
    """The answer with the memories' numbers for the rows' ids."""
    kept = {number_of[pk]: why for pk, why in (answer.kept or {}).items()}
    return replace(
        answer,
        ranked=tuple(number_of[pk] for pk in answer.ranked),
        told=tuple(number_of[pk] for pk in answer.told),
        kept=kept,
        ms=ms,
    )

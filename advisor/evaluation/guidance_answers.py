"""What an engine made of each call, and the engines that guidance is compared with. Pure.

The first three null engines know nothing about when to speak; a benchmark on which they do well is no good.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

import numpy as np

from advisor.evaluation.guidance_entities import Query
from advisor.guidance.bm25 import bm25
from advisor.guidance.entities import Facts, Level, Remembered, Scored, Situation
from advisor.guidance.figures import Tunables
from advisor.guidance.gate import Seen, gate
from advisor.guidance.predicates import BUILT_IN, block_for
from advisor.guidance.ranking import query_words, rank

LOUD = (Level.NOTE, Level.WARNING, Level.BLOCK)
RANDOM_SHARE = 0.10
# The floor for a note in the published engine when its formula was current.
SEED_NOTE_MIN = 0.42
# The BM25 score that counts as a share of one half where words are all there is.
WORDS_HALF = 5.0


@dataclass(frozen=True, slots=True)
class Asked:
    """A call with all an engine may look at."""

    query: Query
    situation: Situation
    memories: Sequence[Remembered]
    seen: Seen
    facts: Facts
    now: datetime


@dataclass(frozen=True, slots=True)
class Answer:
    """What an engine said: rows best first, the level, the rows told, why each was kept back, and the text.

    `kept` maps rows of the eight to the gate's word. `ms` is what it took, database included.
    """

    ranked: tuple[int, ...]
    level: Level
    told: tuple[int, ...] = ()
    rule: str = ""
    text: str = ""
    why: str = ""
    kept: Mapping[int, str] | None = None
    ms: float = 0.0

    @property
    def loud(self) -> bool:
        """Whether the call was told, held or stopped."""
        return self.level in LOUD


Engine = Callable[[Asked], Answer]


def ours(
    tunables: Tunables, without: frozenset[str] = frozenset(), kinds_out: frozenset[str] = frozenset()
) -> Engine:
    """The engine of the product: rules block, `rank` finds, `gate` speaks. Less some filters, or sources."""

    def answer(asked: Asked) -> Answer:
        memories = [one for one in asked.memories if one.kind not in kinds_out]
        ranked = rank(asked.situation, memories, now=asked.now, tunables=tunables, facts=asked.facts)
        blocked = block_for(asked.facts, BUILT_IN)
        if blocked is not None:
            return Answer(_ids(ranked), Level.BLOCK, rule=blocked.id, text=blocked.reason, why="blocked")
        return _gated(asked, ranked, tunables, without)

    return answer


def published(tunables: Tunables) -> Engine:
    """The published formula and its floor for notes; nothing in it blocks."""
    own = replace(tunables, note_min=SEED_NOTE_MIN)

    def answer(asked: Asked) -> Answer:
        ranked = rank(asked.situation, asked.memories, now=asked.now, tunables=own, profile="seed")
        return _gated(asked, ranked, own, frozenset())

    return answer


def never(asked: Asked) -> Answer:
    """Finds nothing and says nothing."""
    return Answer((), Level.SILENT)


def always(words: "Words") -> Engine:
    """Tells the memory that shares most words, to every call."""
    return lambda asked: _top_told(words(asked), True)


def at_random(words: "Words", seed: int) -> Engine:
    """Tells the memory that shares most words, to one call in ten."""
    rng = np.random.default_rng([seed, 61])
    return lambda asked: _top_told(words(asked), bool(rng.random() < RANDOM_SHARE))


def words_only(words: "Words", tunables: Tunables) -> Engine:
    """BM25 alone, told from the share of words on that a note needs as its score."""

    def answer(asked: Asked) -> Answer:
        found = words(asked)
        return _top_told(found, bool(found) and found[0][1] >= tunables.note_min)

    return answer


@dataclass(slots=True)
class Words:
    """The eight memories that share most words with a call, with their shares; each call is read once."""

    found: dict[int, list[tuple[int, float]]] = field(default_factory=dict)

    def __call__(self, asked: Asked) -> list[tuple[int, float]]:
        """Rows and shares of 0 to 1, best first, none without a word in common."""
        if asked.query.id not in self.found:
            scores = bm25(query_words(asked.situation), [memory.tokens for memory in asked.memories])
            pairs = zip(asked.memories, scores, strict=True)
            shares = [(memory.id, score / (score + WORDS_HALF)) for memory, score in pairs if score > 0]
            self.found[asked.query.id] = sorted(shares, key=lambda pair: (-pair[1], pair[0]))[:8]
        return self.found[asked.query.id]


def _top_told(found: list[tuple[int, float]], speaks: bool) -> Answer:
    ids = tuple(number for number, _ in found)
    told = ids[:1] if speaks else ()
    return Answer(ids, Level.NOTE if told else Level.SILENT, told=told)


def _gated(asked: Asked, ranked: list[Scored], tunables: Tunables, without: frozenset[str]) -> Answer:
    advice = gate(
        ranked,
        situation=asked.situation,
        tunables=tunables,
        seen=asked.seen,
        now_s=asked.now.timestamp(),
        without=without,
    )
    return Answer(
        _ids(ranked),
        advice.level,
        told=_ids(advice.told),
        text=advice.text,
        why=str(advice.why),
        kept={one.memory.id: one.why or str(one.level) for one in advice.ranked},
    )


def _ids(rows: Sequence[Scored]) -> tuple[int, ...]:
    return tuple(one.memory.id for one in rows)

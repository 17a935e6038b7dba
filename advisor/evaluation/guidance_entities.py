"""The nouns of guidance's benchmark: latent facts, what was written about them, and calls with labels. Pure.

A fact is a tuple; texts are rendered from it and relevance is computed from it, never from words. Readers are
numbered from 0; no reader: shared by all. Ages are days before the moment the benchmark asks at.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from advisor.guidance.entities import Kind, Level, Phase

READERS = 20
TYPES = ("add_topic", "boost_source", "reduce_source", "remove_topic")
WRITE = "write_suggestion"
# A fact is strong with so many outcomes, so large a share of them one way, and no older than that.
STRONG_N, STRONG_SHARE, STRONG_DAYS = 3, 0.75, 90.0


@dataclass(frozen=True, slots=True)
class Fact:
    """What is true: of `n` outcomes about this cell, `k` went the way of `polarity`.

    The cell is the target and the type of a change, or a facet of one of the other domains, or both.
    """

    id: int
    reader: int | None
    domain: str
    tool: str
    polarity: int
    n: int
    k: int
    age: float
    suggestion_type: str = ""
    target: str = ""
    facet: int = -1
    reason: int = 0

    @property
    def strong(self) -> bool:
        """Whether it is worth interrupting for."""
        return self.n >= STRONG_N and self.k / self.n >= STRONG_SHARE and self.age <= STRONG_DAYS

    @property
    def value(self) -> str:
        """The weight that a fact in favour of a change speaks for; empty where it speaks for none."""
        step = {"boost_source": 1, "reduce_source": -1}.get(self.suggestion_type, 0)
        if not step or self.facet >= 0 or not self.target or self.polarity < 0:
            return ""
        return f"{1 + step * (0.1 + 0.1 * (self.reason % 3)):g}"


@dataclass(frozen=True, slots=True)
class Written:
    """A memory that wants in: its columns and text as claimed, and the truth about it.

    `layer` is A to F for useful ones, else the type of garbage; `flaw` what is wrong with a sophisticated
    one; `original` the memory that a duplicate repeats.
    """

    id: int
    layer: str
    useful: bool
    fact: Fact
    owner: int | None
    kind: Kind
    key: str
    title: str
    text: str
    polarity: int
    confidence: float
    evidence: int
    age: float
    expires_in: float | None = None
    helpful: int = 0
    unhelpful: int = 0
    data: Mapping[str, Any] = field(default_factory=dict)
    flaw: str = ""
    original: int | None = None


@dataclass(frozen=True, slots=True)
class Query:
    """A call about to be made, what was said before it, and what guidance should do.

    `gold` is the level it deserves; `mix` why: "none" (nothing relevant exists), "emit", or the reason to
    stay quiet: "shown", "obvious", "cooling", "weak". `grades` are the relevant memories' ids with 1 to 3,
    `forbidden` the ids that look right and must not be told. `shown_ago` are seconds since each memory was
    told, `tool_ago` since the tool was last advised. `rule` is the built-in rule that must block, `near` what
    a call that deserves nothing comes near to.
    """

    id: int
    reader: int
    domain: str
    tool: str
    phase: Phase
    suggestion_type: str
    target: str
    step: float | None
    words: str
    arguments: Mapping[str, Any]
    gold: Level
    mix: str
    grades: Mapping[int, int]
    forbidden: frozenset[int]
    shown_ago: Mapping[int, float] = field(default_factory=dict)
    tool_ago: float | None = None
    current: Mapping[str, Any] = field(default_factory=dict)
    facts: Mapping[str, Any] = field(default_factory=dict)
    rule: str = ""
    near: str = ""
    facet: int = -1


@dataclass(frozen=True, slots=True)
class World:
    """One seed's benchmark: facts, memories in the order they want in, and queries."""

    seed: int
    facts: tuple[Fact, ...]
    written: tuple[Written, ...]
    queries: tuple[Query, ...]

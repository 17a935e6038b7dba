"""The latent facts of guidance's benchmark: who has learnt what about which target or facet. Pure.

Each of 20 readers has 16 facts about targets of their own, 4 about a target and a facet, 6 about facets and 2
about a type as a whole; 80 facts about facets are shared. A third of the facts are strong; the others rest on
one or two outcomes, on outcomes that disagree, or on old ones. A third of the facets of each domain have no
fact at all: calls about them deserve silence. Targets of different readers share names, and topics words.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files

import numpy as np

from advisor.evaluation.guidance_entities import READERS, STRONG_DAYS, TYPES, WRITE, Fact

Rng = np.random.Generator
# How many target facts of each type a reader has.
OWN_TYPES = {"add_topic": 5, "boost_source": 4, "reduce_source": 4, "remove_topic": 3}
# Domains whose own facts are about a target and a facet, and domains of facets alone.
TARGETED = ("evidence", "cooldown", "bounds", "conflicting")
FACETED = ("sufficiency", "tags", "peers", "backtest", "critique")
PLAIN = ("budget", "provider", "vague")
DOMAINS_OF_FACETS = len((*TARGETED, *FACETED, *PLAIN))
UNKNOWN = 2
# Of a reader's 30 sources and 30 topics, those from this place on have no fact; the first three had one.
FRESH, GONE = 20, 3
STRONG = 0.35
CAUTIONS = ("stop", "leave", "drop", "wait", "spend no", "say nothing", "call it", "propose nothing", "treat")
HEADS = [
    "harbour",
    "metro",
    "valley",
    "morning",
    "river",
    "northern",
    "coastal",
    "union",
    "civic",
    "open",
    "central",
    "lunar",
]
TAILS = [
    "post",
    "ledger",
    "gazette",
    "wire",
    "courier",
    "herald",
    "dispatch",
    "observer",
    "bulletin",
    "monitor",
]
FIRST = [
    "battery",
    "ferry",
    "rail",
    "housing",
    "coastal",
    "school",
    "passkey",
    "orchard",
    "glacier",
    "rent",
    "tram",
    "museum",
]
SECOND = [
    "recycling",
    "timetables",
    "storage",
    "budgets",
    "safety",
    "prices",
    "reform",
    "archives",
    "repairs",
    "strikes",
]


@dataclass(frozen=True, slots=True)
class Facet:
    """One situation of a domain: its `subject`, what to `do`, `why`, and how a call about it `asks`."""

    id: int
    domain: str
    tool: str
    typed: bool
    subject: str
    do: str
    why: str
    ask: str


@lru_cache(maxsize=1)
def facets() -> tuple[Facet, ...]:
    """Every facet of the twelve domains that are not about one type of change, six a domain."""
    text = files("advisor.evaluation").joinpath("guidance_facets.txt").read_text("utf-8")
    rows = [line.split("|") for line in text.splitlines() if line and not line.startswith("#")]
    return tuple(Facet(n, row[0], row[1], row[2] == "typed", *row[3:]) for n, row in enumerate(rows))


def facets_known(seed: int) -> list[Facet]:
    """The facets that something is known about with this seed: all but two of each domain."""
    rng = np.random.default_rng([seed, 11])
    by_domain: dict[str, list[Facet]] = {}
    for facet in facets():
        by_domain.setdefault(facet.domain, []).append(facet)
    return [
        row[i] for row in by_domain.values() for i in sorted(rng.permutation(len(row))[: len(row) - UNKNOWN])
    ]


def facts_make(seed: int) -> tuple[Fact, ...]:
    """All facts of a seed, numbered."""
    rng = np.random.default_rng([seed, 12])
    known = facets_known(seed)
    made: list[Fact] = []
    for reader in range(READERS):
        names = targets_for(reader, seed)
        made += _own(rng, len(made), reader, names, known)
    made += _shared(rng, len(made), known)
    return tuple(made)


def facts_gone(seed: int) -> tuple[Fact, ...]:
    """Three clear facts of each reader that have expired, about targets of which nothing else is known.

    They have ids below zero.
    """
    rng = np.random.default_rng([seed, 14])
    made: list[Fact] = []
    for reader in range(READERS):
        names = targets_for(reader, seed)
        for place in range(GONE):
            kind = TYPES[int(rng.integers(4))]
            n, sign = int(rng.integers(3, 10)), -1 if rng.random() < 0.5 else 1
            target = names[sort_of(kind)][FRESH + place]
            age = float(rng.uniform(90, 150))
            made.append(Fact(-len(made) - 1, reader, kind, WRITE, sign, n, n, age, kind, target))
    return tuple(made)


@lru_cache(maxsize=READERS * 20)
def targets_for(reader: int, seed: int) -> dict[str, list[str]]:
    """A reader's names in the order they are used: sources and topics; the later ones nobody wrote about.

    All readers draw from the same 120 sources and 120 topics, so that most names are somebody else's, too.
    """
    rng = np.random.default_rng([seed, 13, reader])
    sources = [f"{a}{b}.example" for a in HEADS for b in TAILS]
    topics = [f"{a} {b}" for a in FIRST for b in SECOND]
    return {
        "source": [sources[i] for i in rng.permutation(len(sources))[:30]],
        "topic": [topics[i] for i in rng.permutation(len(topics))[:30]],
    }


def sort_of(suggestion_type: str) -> str:
    """Whether a type of change is about a source or a topic."""
    return suggestion_type.split("_")[1]


def caution(facet: Facet) -> bool:
    """Whether a facet's advice is to refrain."""
    return facet.do.startswith(CAUTIONS)


def _own(
    rng: Rng, start: int, reader: int, names: dict[str, list[str]], known: list[Facet]
) -> Iterator[Fact]:
    """One reader's 28 facts, no target twice."""
    left = {sort: iter(row) for sort, row in names.items()}
    number = start
    for kind, count in OWN_TYPES.items():
        for _ in range(count):
            sign = -1 if rng.random() < 0.5 else 1
            yield _fact(rng, number, reader, kind, WRITE, sign, kind=kind, target=next(left[sort_of(kind)]))
            number += 1
    # A fifth of the readers have clear cautions here, so that no seed is without.
    sure = 0.0 if reader % 5 == 0 else None
    for domain in TARGETED:
        facet = _one(rng, known, domain)
        kind = TYPES[int(rng.integers(4))]
        sign = -1 if domain == "cooldown" or sure is not None or rng.random() < 0.6 else 1
        target = next(left[sort_of(kind)])
        about = {"kind": kind, "target": target}
        yield _fact(rng, number, reader, domain, facet.tool, sign, facet=facet.id, draw=sure, **about)
        number += 1
    for domain in (*FACETED, PLAIN[int(rng.integers(3))]):
        facet = _one(rng, known, domain)
        sign = -1 if caution(facet) else 1
        yield _fact(rng, number, reader, domain, facet.tool, sign, facet=facet.id)
        number += 1
    for kind in (TYPES[i] for i in rng.permutation(4)[:2]):
        sign = -1 if rng.random() < 0.5 else 1
        yield _fact(rng, number, reader, kind, WRITE, sign, kind=kind)
        number += 1


def _shared(rng: Rng, start: int, known: list[Facet]) -> Iterator[Fact]:
    """One fact for each facet that is known, and for those that differ by type a second one about a type.

    In each domain the first facet's are strong and the second's weak, so that every domain has both.
    """
    number = start
    for place, facet in enumerate(known):
        sign = -1 if caution(facet) else 1
        draw = {0: 0.0, 1: 0.99}.get(place % (len(known) // DOMAINS_OF_FACETS))
        for kind in ("", TYPES[int(rng.integers(4))])[: 1 + facet.typed]:
            yield _fact(
                rng, number, None, facet.domain, facet.tool, sign, kind=kind, facet=facet.id, draw=draw
            )
            number += 1


def _one(rng: Rng, known: list[Facet], domain: str) -> Facet:
    row = [facet for facet in known if facet.domain == domain]
    return row[int(rng.integers(len(row)))]


def _fact(
    rng: Rng,
    number: int,
    reader: int | None,
    domain: str,
    tool: str,
    sign: int,
    *,
    kind: str = "",
    target: str = "",
    facet: int = -1,
    draw: float | None = None,
) -> Fact:
    n, k, age = _outcomes(rng, rng.random() if draw is None else draw, shared=reader is None)
    reason = int(rng.integers(1000))
    return Fact(number, reader, domain, tool, sign, n, k, age, kind, target, facet, reason)


def _outcomes(rng: Rng, draw: float, *, shared: bool) -> tuple[int, int, float]:
    """How many outcomes, how many of them one way, and their age: strong, or weak in one of three ways."""
    scale = 4 if shared else 1
    age = float(rng.uniform(2, 80))
    if draw < STRONG:
        n = scale * int(rng.integers(3, 10))
        return n, n - int(rng.integers(0, n // 4 + 1)), age
    if draw < STRONG + 0.33:
        n = int(rng.integers(1, 3))
        return n, n, age
    n = scale * int(rng.integers(4, 9))
    if draw < STRONG + 0.5:
        return n, (n + 1) // 2, age
    return n, n, float(rng.uniform(STRONG_DAYS + 10, 170))

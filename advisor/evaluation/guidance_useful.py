"""The 3,000 useful memories: 130 of each reader and 400 shared, in six layers. Pure."""

from collections.abc import Iterator, Sequence

import numpy as np

from advisor.evaluation.guidance_entities import READERS, Fact, Written
from advisor.evaluation.guidance_facts import facets
from advisor.evaluation.guidance_texts import text_of
from advisor.guidance.entities import Kind
from ranking.crowd import READERS_MIN

Rng = np.random.Generator
# Memories by layer: of one reader (times 20), and shared; together A 600, B 600, C 400, D 400, E 400, F 600.
OWN = {"A": 27, "B": 25, "C": 20, "D": 17, "E": 16, "F": 25}
SHARED = {"A": 60, "B": 100, "C": 0, "D": 60, "E": 80, "F": 100}
STYLES = 4
EDGES = ("cut", "hybrid", "long", "short")
OWN_KINDS = (Kind.PATTERN, Kind.REPLAY, Kind.PROFILE, Kind.BANK, Kind.PEER)
SHARED_KINDS = (Kind.INSIGHT, Kind.PATTERN, Kind.PEER, Kind.INSIGHT, Kind.RULE)
EXPIRES = {Kind.PATTERN: 180.0, Kind.REPLAY: 180.0, Kind.PEER: 180.0, Kind.BANK: 180.0}
TRIES = 40


def useful_make(facts: Sequence[Fact], seed: int, split: str) -> list[Written]:
    """All useful memories, numbered from 0, reader by reader and the shared ones last."""
    rng = np.random.default_rng([seed, 21])
    seen: set[str] = set()
    made: list[Written] = []
    for owner in (*range(READERS), None):
        own = [fact for fact in facts if fact.reader == owner]
        for layer, count in (SHARED if owner is None else OWN).items():
            for fact, kind, edge, style in _plan(rng, own, layer, count):
                text = _fresh(fact, edge, kind, rng, split, style, seen)
                made.append(_written(rng, len(made), layer, fact, kind, text))
    return made


def _plan(rng: Rng, facts: list[Fact], layer: str, count: int) -> Iterator[tuple[Fact, Kind, str, int]]:
    """What is written about: each fact once before any twice, in E each in all four styles."""
    order = [facts[i] for i in rng.permutation(len(facts))]
    if layer == "C":
        # What needs its columns to be understood has a target or a facet in them.
        order = [fact for fact in order if fact.target or fact.facet >= 0]
    for i in range(count):
        kinds = OWN_KINDS if order[0].reader is not None else SHARED_KINDS
        if layer == "E":
            fact = order[i // STYLES % len(order)]
            yield fact, _kind(fact, kinds[i % STYLES]), "E", i % STYLES
        else:
            fact, edge = order[i % len(order)], EDGES[i % len(EDGES)] if layer == "D" else layer
            yield fact, _kind(fact, kinds[int(rng.integers(len(kinds)))]), edge, -1


def _kind(fact: Fact, kind: Kind) -> Kind:
    """A figure over readers rests on five of them or more; a shared one on fewer is no figure at all."""
    if fact.n >= READERS_MIN or kind not in (Kind.PEER, Kind.PATTERN):
        return kind
    return Kind.INSIGHT if fact.reader is None else Kind.PATTERN


def _fresh(fact: Fact, edge: str, kind: Kind, rng: Rng, split: str, style: int, seen: set[str]) -> str:
    """A text that no other memory has, if one is found in a few tries."""
    text = ""
    for _ in range(TRIES):
        text = text_of(fact, edge, kind, rng, split, style)
        if text not in seen:
            break
    seen.add(text)
    return text


def _written(rng: Rng, number: int, layer: str, fact: Fact, kind: Kind, text: str) -> Written:
    sure = (fact.k + 1) / (fact.n + 2) + float(rng.normal(0, 0.04))
    helpful, unhelpful = _record(rng, fact)
    return Written(
        id=number,
        layer=layer,
        useful=True,
        fact=fact,
        owner=fact.reader,
        kind=kind,
        key=f"bench:{number}",
        title=title_of(fact),
        text=text[:500],
        polarity=fact.polarity,
        confidence=round(min(0.97, max(0.05, sure)), 3),
        evidence=fact.n,
        age=fact.age,
        expires_in=EXPIRES[kind] - fact.age if kind in EXPIRES else None,
        helpful=helpful,
        unhelpful=unhelpful,
        data=figures_of(fact) | ({"readers": fact.n} if fact.reader is None else {}),
    )


def figures_of(fact: Fact) -> dict[str, object]:
    """The figures stored with a memory, and the weight it speaks for."""
    figures: dict[str, object] = {"yes" if fact.polarity > 0 else "no": fact.k, "of": fact.n}
    return figures | ({"advises": {"suggested_value": fact.value}} if fact.value else {})


def title_of(fact: Fact) -> str:
    """A heading of at most 80 characters, from the fact's columns alone."""
    about = fact.target or (facets()[fact.facet].subject if fact.facet >= 0 else "in general")
    return f"{fact.suggestion_type or fact.domain}: {about}"[:80]


def _record(rng: Rng, fact: Fact) -> tuple[int, int]:
    """How often readers' decisions bore a memory out: known for some, in keeping with the fact."""
    if rng.random() > 0.3:
        return 0, 0
    if fact.strong:
        return int(rng.integers(3, 9)), int(rng.integers(0, 2))
    return int(rng.integers(0, 3)), int(rng.integers(0, 3))

"""The 2,000 memories that must not get in or out: nine plain kinds here, beside the fluent ones. Pure.

Every one claims the columns of a real fact, so that it competes for the same calls.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from advisor.evaluation.guidance_entities import Fact, Written
from advisor.evaluation.guidance_fluent import fluent_make
from advisor.evaluation.guidance_noise import MAKERS
from advisor.evaluation.guidance_useful import title_of
from advisor.guidance.entities import Kind

Rng = np.random.Generator
COUNTS = {
    "tool_echo": 250,
    "timing": 200,
    "platitude": 200,
    "transcript": 150,
    "system_noise": 150,
    "duplicate": 200,
    "code": 150,
    "reaction": 100,
    "sophisticated": 350,
    "edge": 250,
}
KINDS_OF_GARBAGE = (Kind.PATTERN, Kind.REPLAY, Kind.BANK, Kind.INSIGHT, Kind.PROFILE)


def garbage_make(useful: Sequence[Written], facts: Sequence[Fact], seed: int, split: str) -> list[Written]:
    """All garbage, numbered after the useful memories."""
    rng = np.random.default_rng([seed, 31])
    made: list[Written] = []
    for name, count in COUNTS.items():
        start = len(useful) + len(made)
        if name == "sophisticated":
            made += fluent_make(useful, facts, seed, split, start, count)
        elif name == "duplicate":
            made += [_duplicate(rng, start + i, useful) for i in range(count)]
        else:
            made += _plain(rng, name, start, count, facts, split)
    return made


def _plain(rng: Rng, name: str, start: int, count: int, facts: Sequence[Fact], split: str) -> list[Written]:
    """`count` of one kind; a text that was there before is drawn again a few times."""
    seen: set[str] = set()
    rows, makers = [], MAKERS[split][name]
    for number in range(start, start + count):
        fact = facts[int(rng.integers(len(facts)))]
        for _ in range(40):
            text = makers[int(rng.integers(len(makers)))](rng, fact)
            if text not in seen:
                break
        seen.add(text)
        rows.append(claim(rng, number, name, fact, text))
    return rows


def claim(rng: Rng, number: int, name: str, fact: Fact, text: str, kind: Kind | None = None) -> Written:
    """A memory that claims a fact's columns for any text, as sure of itself as any other."""
    return Written(
        id=number,
        layer=name,
        useful=False,
        fact=fact,
        owner=fact.reader,
        kind=kind or KINDS_OF_GARBAGE[int(rng.integers(len(KINDS_OF_GARBAGE)))],
        key=f"bench:{number}",
        title=title_of(fact),
        text=text[:500],
        polarity=fact.polarity,
        confidence=round(float(rng.uniform(0.5, 0.98)), 3),
        evidence=int(rng.integers(0, 3)),
        age=round(float(rng.uniform(1, 60)), 2),
    )


def _duplicate(rng: Rng, number: int, useful: Sequence[Written]) -> Written:
    """A useful memory again, with other figures, letters or marks."""
    original = useful[int(rng.integers(len(useful)))]
    text = original.text
    draw = int(rng.integers(4))
    if draw == 0:
        text = "".join(str((int(c) + 1) % 10) if c.isdigit() else c for c in text)
    elif draw == 1:
        text = text.upper()
    elif draw == 2:
        text = text.replace(",", " -").replace(".", "!")
    return replace(
        original,
        id=number,
        layer="duplicate",
        useful=False,
        key=f"bench:{number}",
        text=text[:500],
        original=original.id,
        helpful=0,
        unhelpful=0,
    )

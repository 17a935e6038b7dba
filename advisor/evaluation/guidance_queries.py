"""The 520 calls of guidance's benchmark over 17 domains, with what each of them deserves. Pure.

In each domain three tenths are about nothing that is known: another reader's target, one whose fact has
expired, one that nobody wrote about, or an unknown facet. A tenth of all deserve to be told something. The
others have relevant memories that must stay quiet: told a moment ago, in keeping with the settings already,
told through the same tool seconds ago, or weak.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from advisor.evaluation.guidance_calls import Cell, call_of, facts_of, settings_of
from advisor.evaluation.guidance_entities import READERS, TYPES, WRITE, Fact, Query, Written
from advisor.evaluation.guidance_facts import (
    FRESH,
    GONE,
    facets,
    facets_known,
    facts_gone,
    sort_of,
    targets_for,
)
from advisor.evaluation.guidance_relevance import Shelves, facts_relevant, level_deserved, shelves_of
from advisor.guidance.entities import Level

Rng = np.random.Generator
# By domain: calls in all, and of these how many deserve nothing, a block, a warning, a note.
DOMAINS = {
    "add_topic": (50, 15, 2, 3, 4),
    "boost_source": (50, 15, 1, 2, 4),
    "reduce_source": (40, 12, 2, 2, 3),
    "remove_topic": (30, 9, 1, 2, 2),
    "evidence": (40, 12, 0, 1, 3),
    "cooldown": (30, 9, 4, 1, 1),
    "bounds": (30, 9, 0, 1, 2),
    "sufficiency": (30, 9, 0, 0, 2),
    "conflicting": (30, 9, 0, 0, 1),
    "tags": (30, 9, 0, 0, 1),
    "peers": (30, 9, 0, 0, 1),
    "backtest": (20, 6, 0, 0, 1),
    "critique": (30, 9, 0, 0, 1),
    "budget": (20, 6, 2, 0, 0),
    "provider": (20, 6, 0, 0, 1),
    "cross": (20, 6, 0, 0, 1),
    "vague": (20, 6, 0, 0, 0),
}
RULES = {
    "add_topic": ("duplicate_pending", "type_declined"),
    "boost_source": ("pinned",),
    "reduce_source": ("on_cooldown", "type_declined"),
    "remove_topic": ("run_cap",),
    "cooldown": ("on_cooldown", "duplicate_pending", "pinned", "run_cap"),
    "budget": ("money_spent", "money_spent"),
}
QUIET = ("shown", "cooling", "weak", "obvious")
NEAR = ("foreign", "expired", "fresh")
SHOWN_S, COOLING_S, LONG_AGO_S = (30.0, 550.0), (1.0, 9.0), (700.0, 3000.0)
TRIES = 300


@dataclass(frozen=True, slots=True)
class Stock:
    """What calls are made from."""

    seed: int
    facts: tuple[Fact, ...]
    by_id: dict[int, Fact]
    by_domain: dict[str, list[Fact]]
    shelves: Shelves
    known: frozenset[int]
    gone: tuple[Fact, ...]
    asked: set[tuple[int, str, str, int, str]]


def queries_make(facts: tuple[Fact, ...], written: Sequence[Written], seed: int) -> list[Query]:
    """All calls, numbered. Raises `RuntimeError` where a seed's facts cannot fill the quota of a domain."""
    rng = np.random.default_rng([seed, 51])
    known = frozenset(facet.id for facet in facets_known(seed))
    by_id = {fact.id: fact for fact in facts}
    stock = Stock(seed, facts, by_id, _by_domain(facts), shelves_of(written), known, facts_gone(seed), set())
    made: list[Query] = []
    for domain, (total, none, block, warning, note) in DOMAINS.items():
        quiet = total - none - block - warning - note
        wanted = [("none", NEAR[i % len(NEAR)]) for i in range(none)]
        wanted += [("block", rule) for rule in RULES.get(domain, ())]
        wanted += [("warning", "")] * warning + [("note", "")] * note
        wanted += [("quiet", why) for why in _quiet_of(domain, quiet)]
        made += [_drawn(rng, stock, domain, mix, how, len(made) + i) for i, (mix, how) in enumerate(wanted)]
    return made


def _by_domain(facts: Sequence[Fact]) -> dict[str, list[Fact]]:
    """The facts that calls of each domain are about; any target's facts for calls across domains."""
    targeted = [fact for fact in facts if fact.target]
    return {
        domain: targeted
        if domain == "cross"
        else [fact for fact in facts if fact.domain == domain and (fact.target or domain not in TYPES)]
        for domain in DOMAINS
    }


def _quiet_of(domain: str, count: int) -> Iterator[str]:
    """The reasons to stay quiet in turn; only changes of settings can be in keeping with the settings."""
    reasons = QUIET if domain in TYPES else QUIET[:3]
    return (reasons[i % len(reasons)] for i in range(count))


def _drawn(rng: Rng, stock: Stock, domain: str, mix: str, how: str, number: int) -> Query:
    """One call of a domain that deserves what it should.

    Where a domain has nothing left for a reason to stay quiet, the call stays quiet for another reason.
    """
    for why in (how, *QUIET[:3]) if mix == "quiet" else (how,):
        fits = _FITS[why if mix == "quiet" else mix]
        for _ in range(TRIES):
            cell = (_nothing if mix == "none" else _something)(rng, stock, domain, why)
            grades = facts_relevant(stock.facts, cell.reader, cell.suggestion_type, cell.target, cell.facet)
            level = level_deserved(stock.by_id, grades, cell.tool)
            mark = (cell.reader, cell.suggestion_type, cell.target, cell.facet, why)
            if mark in stock.asked or not fits(stock, cell, grades, level):
                continue
            stock.asked.add(mark)
            gold = Level.BLOCK if mix == "block" else Level.SILENT if mix in ("none", "quiet") else level
            return _query(rng, stock, cell, number, gold, mix, why, grades)
    raise RuntimeError(f"Seed {stock.seed} has too few facts for {mix} {how} in {domain}.")


def _something(rng: Rng, stock: Stock, domain: str, how: str) -> Cell:
    """A cell that a fact is about; a call across domains names the target alone."""
    rows = stock.by_domain[domain]
    fact = rows[int(rng.integers(len(rows)))]
    reader = int(rng.integers(READERS)) if fact.reader is None else fact.reader
    if domain == "cross":
        return Cell(reader, domain, "get_suggestion_outcomes", "", fact.target, -1)
    kind, target = fact.suggestion_type, fact.target
    if fact.reader is None and facets()[fact.facet].typed and not kind:
        kind = TYPES[int(rng.integers(4))]
    if kind and not target and domain in ("evidence", "cooldown", "bounds", "conflicting", "backtest"):
        target = _fresh(rng, stock, reader, kind)
    return Cell(reader, domain, fact.tool, kind, target, fact.facet)


def _nothing(rng: Rng, stock: Stock, domain: str, how: str) -> Cell:
    """A cell that no fact is about."""
    reader = int(rng.integers(READERS))
    kind = domain if domain in TYPES else TYPES[int(rng.integers(4))]
    if domain in TYPES or domain == "cross":
        target = _near(rng, stock, reader, kind, how)
        cross = domain == "cross"
        tool = "get_suggestion_outcomes" if cross else WRITE
        return Cell(reader, domain, tool, "" if cross else kind, target, -1)
    unknown = [f for f in facets() if f.domain == domain and f.id not in stock.known]
    facet = unknown[int(rng.integers(len(unknown)))]
    typed = facet.typed and domain not in ("tags", "peers", "critique")
    target = _fresh(rng, stock, reader, kind) if typed else ""
    return Cell(reader, domain, facet.tool, kind if typed else "", target, facet.id)


def _near(rng: Rng, stock: Stock, reader: int, kind: str, how: str) -> str:
    """A target that nothing is known about, near to something that is."""
    if how == "expired":
        rows = [f.target for f in stock.gone if f.reader == reader and f.suggestion_type == kind]
    elif how == "foreign":
        rows = [
            f.target for f in stock.facts if f.reader != reader and f.suggestion_type == kind and f.target
        ]
    else:
        rows = []
    return rows[int(rng.integers(len(rows)))] if rows else _fresh(rng, stock, reader, kind)


def _fresh(rng: Rng, stock: Stock, reader: int, kind: str) -> str:
    names = targets_for(reader, stock.seed)[sort_of(kind)]
    return names[int(rng.integers(FRESH + GONE, len(names)))]


Fits = Callable[[Stock, Cell, dict[int, int], Level], bool]


def _is_level(wanted: Level) -> Fits:
    return lambda stock, cell, grades, level: level == wanted


def _weak(stock: Stock, cell: Cell, grades: dict[int, int], level: Level) -> bool:
    return level == Level.SILENT and max(grades.values(), default=0) >= 2


def _worth(stock: Stock, cell: Cell, grades: dict[int, int], level: Level) -> bool:
    return level != Level.SILENT


def _settled(stock: Stock, cell: Cell, grades: dict[int, int], level: Level) -> bool:
    """All that is known about the target speaks for the change, so settings that have it make it idle."""
    best = [stock.by_id[number] for number, value in grades.items() if value >= 2]
    return level == Level.NOTE and all(fact.polarity > 0 for fact in best)


_FITS: dict[str, Fits] = {
    "none": lambda stock, cell, grades, level: not grades,
    "block": lambda stock, cell, grades, level: bool(grades),
    "warning": _is_level(Level.WARNING),
    "note": _is_level(Level.NOTE),
    "shown": _worth,
    "cooling": _is_level(Level.NOTE),
    "weak": _weak,
    "obvious": _settled,
}


def _query(
    rng: Rng, stock: Stock, cell: Cell, number: int, gold: Level, mix: str, how: str, grades: dict[int, int]
) -> Query:
    """The call with its labels and what was said before it."""
    why = "none" if mix == "none" else how if mix == "quiet" else "emit"
    graded = stock.shelves.graded(grades)
    settled = why == "obvious"
    value = next((stock.by_id[number].value for number in grades if stock.by_id[number].value), "")
    return Query(
        id=number,
        reader=cell.reader,
        domain=cell.domain,
        facet=cell.facet,
        gold=gold,
        mix=why,
        grades=graded,
        forbidden=stock.shelves.forbidden(cell.reader, cell.target, cell.facet),
        shown_ago=_shown(rng, graded, why),
        tool_ago=_tool_ago(rng, why),
        current=settings_of(rng, cell, settled=settled),
        facts=facts_of(rng, cell, how if mix == "block" else ""),
        rule=how if mix == "block" else "",
        near=_nearest(stock, cell) if mix == "none" else "",
        **call_of(rng, cell, value, settled=settled),
    )


def _nearest(stock: Stock, cell: Cell) -> str:
    """What a call about nothing known comes near to."""
    if cell.facet >= 0:
        return "unknown facet"
    if any(fact.reader == cell.reader and fact.target == cell.target for fact in stock.gone):
        return "expired"
    return "foreign" if any(fact.target == cell.target for fact in stock.facts) else "fresh"


def _shown(rng: Rng, graded: dict[int, int], why: str) -> dict[int, float]:
    """Told lately: all of it where that is why to stay quiet; elsewhere some of it, long ago."""
    if why == "shown":
        return {number: float(rng.uniform(*SHOWN_S)) for number in graded}
    return {number: float(rng.uniform(*LONG_AGO_S)) for number in graded if rng.random() < 0.2}


def _tool_ago(rng: Rng, why: str) -> float | None:
    if why == "cooling":
        return float(rng.uniform(*COOLING_S))
    return float(rng.uniform(30, 600)) if rng.random() < 0.3 else None

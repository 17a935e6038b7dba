"""Which memories a call should be told of, by tuples alone. Pure."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from advisor.evaluation.guidance_entities import WRITE, Fact, Written
from advisor.guidance.entities import Level

# From this grade on a strong fact is worth interrupting for.
WORTH = 2


def grade(fact: Fact, reader: int, suggestion_type: str, target: str, facet: int) -> int:
    """How relevant a fact is to a call: 3 exactly about it, 2 nearly, 1 in general, 0 not.

    Another reader's fact is never relevant, nor one about another target or type. Shared facts rank behind
    the reader's own.
    """
    if fact.reader not in (None, reader):
        return 0
    if fact.suggestion_type and suggestion_type and fact.suggestion_type != suggestion_type:
        return 0
    if fact.target:
        if fact.target != target:
            return 0
        return 3 if fact.facet < 0 or facet < 0 or fact.facet == facet else 2
    if fact.facet >= 0:
        return 0 if fact.facet != facet else 2 if fact.reader is None else 3
    return int(bool(suggestion_type) and fact.suggestion_type == suggestion_type)


def facts_relevant(
    facts: Iterable[Fact], reader: int, suggestion_type: str, target: str, facet: int
) -> dict[int, int]:
    """The grade of each relevant fact by its id."""
    graded = {fact.id: grade(fact, reader, suggestion_type, target, facet) for fact in facts}
    return {number: value for number, value in graded.items() if value}


def level_deserved(facts: Mapping[int, Fact], grades: Mapping[int, int], tool: str) -> Level:
    """What a call deserves where nothing holds guidance back.

    A warning where this reader's outcomes clearly speak against this very write; a note where something
    strong is known about it; else silence.
    """
    worth = [facts[number] for number, value in grades.items() if value >= WORTH and facts[number].strong]
    against = [f for f in worth if f.polarity < 0 and f.target and f.reader is not None and tool == WRITE]
    if any(grades[fact.id] == 3 for fact in against):
        return Level.WARNING
    return Level.NOTE if worth else Level.SILENT


@dataclass(frozen=True, slots=True)
class Shelves:
    """Memories by what they tell and by what they look to be about."""

    useful: Mapping[int, list[Written]]
    target: Mapping[str, list[Written]]
    facet: Mapping[int, list[Written]]

    def graded(self, grades: Mapping[int, int]) -> dict[int, int]:
        """The grade of each useful memory of the facts graded."""
        return {row.id: value for number, value in grades.items() for row in self.useful.get(number, ())}

    def forbidden(self, reader: int, target: str, facet: int) -> frozenset[int]:
        """What looks right for a call and must not be told: garbage and other readers' of the same cell."""
        rows = self.target.get(target, []) if target else self.facet.get(facet, [])
        return frozenset(row.id for row in rows if not row.useful or row.owner not in (None, reader))


def shelves_of(written: Iterable[Written]) -> Shelves:
    """Memories sorted once, for many calls."""
    useful: defaultdict[int, list[Written]] = defaultdict(list)
    target: defaultdict[str, list[Written]] = defaultdict(list)
    facet: defaultdict[int, list[Written]] = defaultdict(list)
    for row in written:
        if row.useful:
            useful[row.fact.id].append(row)
        if row.fact.target:
            target[row.fact.target].append(row)
        if row.fact.facet >= 0:
            facet[row.fact.facet].append(row)
    return Shelves(useful, target, facet)

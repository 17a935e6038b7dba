"""Learn a reader's leans from examples: on sources, their own topics, categories and authors. Pure.

Categories need three examples from two sources, and authors three examples. Phrases of titles, which the
planner proposes as topics, are no targets, because likeness covers them.
"""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

import numpy as np
from numpy.typing import NDArray

from ranking.common.categories import (
    EMPTY_CATEGORIES,
    author_names,
    category_key,
    label_keys,
    named_finder,
    topic_categories,
)
from ranking.common.text import fold
from ranking.learning import KAPPA
from ranking.taste.entities import AUTHOR, CATEGORY, NO_HOLD, SOURCE, TAKEN_BACK, TOPIC, Example
from ranking.taste.leans import (
    Array,
    leans_of,
    rating_weight,
    reason_weights,
    tallies_made,
    tallies_within,
)

# Categories and authors of fewer examples say too little; more of them are not looked at.
EXAMPLES_MIN, SOURCES_MIN = 3, 2
CATEGORIES_MAX, AUTHORS_MAX = 20, 10
# Only this many targets of each kind count per item. Otherwise publishers with many tags would outweigh all
# others.
STRONGEST = 2
# A smaller lean counts as 0.
LEAN_MIN = 1e-6


@dataclass(frozen=True, slots=True)
class Target:
    """A common property of examples: a source, a topic, a category or an author.

    `key` is its identity, `label` its spelling, `rows` the places of its examples, and `names` the other
    names of a topic.
    """

    kind: str
    key: str
    label: str
    rows: tuple[int, ...]
    names: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class TargetLean:
    """The lean towards a target in log-odds, and the likes among the thumbs on it, without decay.

    `named` is the number of articles with it that the reader picked to see more like them.
    """

    target: Target
    lean: float
    likes: int
    thumbs: int
    named: int = 0


@dataclass(frozen=True, slots=True)
class Columns:
    """Examples as columns, each (examples,): the weight, whether it was liked, whether it was a thumb."""

    weight: Array
    liked: Array
    counted: Array

    @property
    def base(self) -> float:
        """Return the reader's like-rate, by thumbs only, with a prior of eight thumbs at one half.

        The prior keeps one more like from lowering the effect of earlier likes.
        """
        rated = self.weight * self.counted
        return float(((rated * self.liked).sum() + KAPPA / 2) / (rated.sum() + KAPPA))


def columns_of(examples: Sequence[Example], now: datetime) -> Columns:
    """Return the examples as columns, their weights decayed by age."""
    return Columns(
        np.array([one.weight * rating_weight(one.at, now) for one in examples], dtype=np.float64),
        np.array([one.liked for one in examples], dtype=np.float64),
        np.array([not one.named for one in examples], dtype=np.float64),
    )


def targets_of(examples: Sequence[Example], topics: Mapping[str, Sequence[str]]) -> list[Target]:
    """Return the targets of the examples, sources first.

    `topics` are the reader's own, each with its other names.
    """
    by_source: defaultdict[str, list[int]] = defaultdict(list)
    for row, one in enumerate(examples):
        by_source[one.source].append(row)
    found = [Target(SOURCE, key, key, tuple(rows)) for key, rows in sorted(by_source.items())]
    texts = [(fold(one.title), label_keys(one.categories, one.author)) for one in examples]
    for topic, names in topics.items():
        finds = named_finder(topic, names)
        rows = tuple(row for row, one in enumerate(texts) if finds(*one))
        found += [Target(TOPIC, fold(topic), topic, rows, tuple(names))] if rows else []
    own = frozenset[str]().union(*map(topic_categories, topics))
    labels = [one.categories for one in examples]
    found += _labels(CATEGORY, labels, examples, own | EMPTY_CATEGORIES)[:CATEGORIES_MAX]
    authors = [author_names(one.author) if one.author else () for one in examples]
    return [*found, *_labels(AUTHOR, authors, examples, own, sources_min=1)[:AUTHORS_MAX]]


def _labels(
    kind: str,
    labels: Iterable[Sequence[str]],
    examples: Sequence[Example],
    barred: Collection[str],
    sources_min: int = SOURCES_MIN,
) -> list[Target]:
    """Return the labels that enough examples have, most frequent first; of equal ones only the first."""
    rows: defaultdict[str, list[int]] = defaultdict(list)
    spelled: dict[str, Counter[str]] = defaultdict(Counter)
    for row, some in enumerate(labels):
        for key, label in {category_key(label): label for label in some}.items():
            rows[key].append(row)
            spelled[key][label] += 1
    found: dict[tuple[int, ...], Target] = {}
    for key, of_key in sorted(rows.items(), key=lambda one: (-len(one[1]), one[0])):
        sources = {examples[row].source for row in of_key}
        if key and key not in barred and len(of_key) >= EXAMPLES_MIN and len(sources) >= sources_min:
            label = spelled[key].most_common(1)[0][0]
            found.setdefault(tuple(of_key), Target(kind, key, label, tuple(of_key)))
    return list(found.values())


def leans_learned(
    examples: Sequence[Example],
    targets: Sequence[Target],
    columns: Columns,
    *,
    spread: float,
    on_hold: Mapping[str, int] = NO_HOLD,
    deviations: Mapping[str, float] | None = None,
) -> list[TargetLean]:
    """Return the lean towards each of `targets`, of these examples.

    `on_hold` has the sources that the reader decided on lately, each with the way of the decision: a lean the
    other way is 0, so that more of a source never lowers it. One that was `TAKEN_BACK` bars no lean: an undo
    brings the page back. `deviations` are others' like-rates above or below the usual one, by source.
    """
    has = np.zeros((len(examples), len(targets)))
    counts = np.array([reason_weights(one.tags, liked=one.liked) for one in examples]).reshape(-1, 2)
    for n, target in enumerate(targets):
        rows = list(target.rows)
        has[rows, n] = counts[rows, 0 if target.kind == SOURCE else 1]
    sources = sum(target.kind == SOURCE for target in targets)
    tallies = tallies_made(has, columns.weight, columns.liked, sources, columns.counted)
    codes = _codes([one.source for one in examples])
    authors = [n for n, target in enumerate(targets) if target.kind == AUTHOR]
    tallies = tallies_within(tallies, authors, has, columns.weight, columns.liked, codes)
    others = np.zeros(len(targets))
    for n, target in enumerate(targets):
        if target.kind == SOURCE and deviations:
            others[n] = deviations.get(target.key, 0.0) / (tallies.base * (1 - tallies.base))
    leans = leans_of(tallies, spread, others).lean.tolist()
    return [
        TargetLean(target, _lean_in_force(target, lean, on_hold), *_counts(examples, target))
        for target, lean in zip(targets, leans, strict=True)
    ]


def _lean_in_force(target: Target, lean: float, on_hold: Mapping[str, int]) -> float:
    """Return the lean; 0 for a source that the reader has lately decided on, unless it goes their way."""
    way = on_hold.get(target.key, TAKEN_BACK) if target.kind == SOURCE else TAKEN_BACK
    return 0.0 if way != TAKEN_BACK and lean * way <= 0 else lean


def _counts(examples: Sequence[Example], target: Target) -> tuple[int, int, int]:
    """Return (likes, thumbs, named articles) on a target."""
    thumbs = [examples[row] for row in target.rows if not examples[row].named]
    return sum(one.liked for one in thumbs), len(thumbs), len(target.rows) - len(thumbs)


def _codes(sources: Sequence[str]) -> NDArray[np.int64]:
    numbers: dict[str, int] = {}
    return np.array([numbers.setdefault(source, len(numbers)) for source in sources], dtype=np.int64)


def strongest_first(leans: Iterable[TargetLean]) -> list[TargetLean]:
    """Return the leans that are any, the strongest first."""
    found = [one for one in leans if abs(one.lean) > LEAN_MIN]
    return sorted(found, key=lambda one: (-abs(one.lean), one.target.kind, one.target.key))


def added_leans(leans: Iterable[TargetLean], masks: Iterable[NDArray[np.bool_]], size: int) -> Array:
    """Return the sum of the leans of each of `size` items, of each kind the two strongest.

    `masks` say for each lean which items have its target; `leans` are `strongest_first`.
    """
    total = np.zeros(size)
    taken: dict[str, NDArray[np.int64]] = {}
    for one, mask in zip(leans, masks, strict=True):
        count = taken.setdefault(one.target.kind, np.zeros(size, dtype=np.int64))
        some = mask & (count < STRONGEST)
        total[some] += one.lean
        count[some] += 1
    return total

"""`python -m tests.lab model groups`: would topics made of groups by meaning help the planner?

A single word is seldom enough for a topic: of sixty rated headlines three say "film", while twenty are about
films. Here all texts are grouped by meaning, into 6, 12 and 24 groups side by side. The words that set a
group apart become a topic (the clearest one) and its other names. The planner tests these topics like any
other. Readers are those of `tests.lab model`. Each accepts three proposals after sixty thumbs, with groups
and without, and later thumbs measure the gain of nDCG@10. Likes choose no group and no name. The product
does not propose such topics (docs/planner.md).
"""

import argparse
import os
import random
import time
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from digest.entities import RatedItem
from ranking.common.text import topic_key
from ranking.entities import Candidate, EffectiveConfig
from ranking.meaning.groups import groups_of
from ranking.meaning.subjects import fits_all, nouns_among
from ranking.meaning.table import Vectors, meaning_vectors
from ranking.meaning.topics import Mask, topic_meaning
from ranking.meaning.words import Z_MIN, ApartWord, words_apart, words_of_items
from ranking.other_names import NAMES_MAX
from ranking.taste.leans import SPREAD_PRIOR
from suggestions.changes.change import Change
from suggestions.changes.columns import TOPICS, Attributes, attributes_of
from suggestions.changes.registry import SUGGESTED
from suggestions.planner.hypotheses import HELPS_MIN, DecisionHistory, evidence_pick, select_changes
from suggestions.planner.tastes import reader_preference, tallies_of, tastes_of
from suggestions.proposals import SUGGESTIONS_PER_RUN_MAX
from suggestions.rules import PER_FIELD_MAX
from tests.lab.advisor.metrics import interval
from tests.lab.command import fail, progress, report_end
from tests.lab.histories.pools import HARMFUL_THUMBS, Pools, start_config, targets_of
from tests.lab.histories.taste import rated_items
from tests.lab.histories.trials import NOW, Trial, histories_for, readers_tested
from tests.lab.model.readers import PREFIX, THUMBS
from tests.lab.steer.cases import news

READERS, SEED, TEXTS = 20, 13, 1_500
DATA = ("topics-bbc", "topics-ag-news")
# Into how many groups the texts are dealt, and how many texts a group has on average at least.
GRAINS, GROUP_ITEMS_MIN = (6, 12, 24), 20
# A name is five times as frequent in the group as elsewhere, most texts with it belong to the group, and no
# source has most of them.
LIFT_MIN, INSIDE_MIN, SOURCE_SHARE_MAX = 5.0, 0.6, 0.5
OPENING_CHARS = 400
# A group with fewer names is no better than a single word, which the planner tries anyway.
NAMES_MIN = 3
Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class NamedGroup:
    """A group of texts: the word that names it best, and its other names, the clearest first."""

    name: str
    names: tuple[str, ...]


def named_groups(items: Sequence[Candidate], vectors: Vectors) -> list[NamedGroup]:
    """Return the groups with enough names, the widest first, none with the same name.

    A name is a noun whose items have a meaning in common. `vectors` (items, 128) are the items' meanings.
    """
    words = words_of_items(f"{one.title} {one.text[:OPENING_CHARS]}" for one in items)
    rows: defaultdict[str, list[int]] = defaultdict(list)
    for row, of_item in enumerate(words):
        for key in of_item:
            rows[key].append(row)
    groups = [
        [one.word for one in words_apart(words, inside) if _is_clear(one, rows[topic_key(one.word)], items)]
        for inside in _groups(vectors)
    ]
    nouns = nouns_among(items, {topic_key(word) for names in groups for word in names})
    subjects = {key for key in nouns if _is_subject(rows[key], vectors)}
    found: dict[str, NamedGroup] = {}
    for group in groups:
        named = [word for word in group if topic_key(word) in subjects]
        if len(named) >= NAMES_MIN:
            found.setdefault(topic_key(named[0]), NamedGroup(named[0], tuple(named[1 : NAMES_MAX + 1])))
    return list(found.values())


def _groups(vectors: Vectors) -> Iterator[Mask]:
    known = int(vectors.any(axis=1).sum())
    for grain in GRAINS:
        if known >= grain * GROUP_ITEMS_MIN:
            labels, _ = groups_of(vectors, grain)
            yield from (labels == label for label in range(grain))


def _is_clear(word: ApartWord, rows: Sequence[int], items: Sequence[Candidate]) -> bool:
    """Return whether a word sets its group apart, and is no source's own."""
    sources = Counter(items[row].source for row in rows)
    return (
        word.z > Z_MIN
        and word.lift >= LIFT_MIN
        and word.matches >= INSIDE_MIN * len(rows)
        and max(sources.values()) <= SOURCE_SHARE_MAX * len(rows)
        and not fits_all(word.word)
    )


def _is_subject(rows: Sequence[int], vectors: Vectors) -> bool:
    says = np.zeros(len(vectors), dtype=np.bool_)
    says[rows] = True
    return topic_meaning(vectors, says) is not None


def chosen(rated: Sequence[RatedItem], first: EffectiveConfig, groups: Sequence[NamedGroup]) -> list[Change]:
    """Return what the planner proposes in one run, with the groups among its topics."""
    found = _with_groups(
        attributes_of(
            rated, titles={one.source: one.source for one in rated}, given={TOPICS: first.config.topics}
        ),
        [one for one in groups if topic_key(one.name) not in {topic_key(t) for t in first.config.topics}],
    )
    changes = [
        replace(change, names=tuple(found.names.get(change.target, ()))) if kind.is_named else change
        for kind in SUGGESTED
        for change in kind.candidates(found, first)
    ]
    with_evidence = [change.with_evidence(evidence_pick(rated, change)) for change in changes]
    selection = select_changes(
        [change for change in with_evidence if change.evidence],
        tastes_of(tallies_of(rated, found, NOW), SPREAD_PRIOR, preference=reader_preference(rated, found)),
        found,
        rated,
        history=DecisionHistory(),
        limit=len(with_evidence),
    )
    best: list[Change] = []
    for one in selection.chosen:
        same = sum(change.field == one.change.field for change in best)
        if one.p_helpful >= HELPS_MIN and same < PER_FIELD_MAX:
            best.append(one.change)
    return best[:SUGGESTIONS_PER_RUN_MAX]


def _with_groups(found: Attributes, groups: Sequence[NamedGroup]) -> Attributes:
    by_key = {topic_key(one.name): one for one in groups}
    labels = {key: one.name for key, one in by_key.items()} | dict(found.labels(TOPICS))
    names = {key: one.names for key, one in by_key.items()} | dict(found.names)
    return replace(found, targets={**found.targets, TOPICS: dict(sorted(labels.items()))}, names=names)


def row_of(data: str, groups: Sequence[NamedGroup], readers: int, seed: int, *, shuffled: bool) -> Json:
    """Return the gains with groups and without, over the same readers."""
    trial = Trial(PREFIX + data, THUMBS, readers, shuffled=shuffled, seed=seed)
    histories = histories_for(trial)
    first = start_config(targets_of(histories))
    arms: dict[str, Sequence[NamedGroup]] = {"words": (), "groups": groups}
    gains: defaultdict[str, list[float]] = defaultdict(list)
    asked: Counter[str] = Counter()
    harmful: Counter[str] = Counter()
    for n in readers_tested(histories, trial):
        known, later = histories[n].rated[:THUMBS], histories[n].rated[THUMBS:]
        judge = Pools(later, [n, 0])
        thumbs = zip(rated_items(known), reversed(known), strict=True)
        rated = [replace(item, text=one.text) for item, one in thumbs]
        for arm, topics in arms.items():
            after = first
            for change in chosen(rated, first, topics):
                after = change.applied(after)
                asked[arm] += 1
                harmful[arm] += judge.gain(first, change.applied(first)) < HARMFUL_THUMBS
            gains[arm].append(judge.gain(first, after))
    over = [one - other for one, other in zip(gains["groups"], gains["words"], strict=True)]
    row: Json = {"data": data + (", shuffled" if shuffled else ""), "readers": len(over)}
    for arm in arms:
        row |= {f"{arm}: gain": round(float(np.mean(gains[arm])), 4)}
        row |= {f"{arm}: asked": asked[arm], f"{arm}: harmful": harmful[arm]}
    return row | {"over words": round(float(np.mean(over)), 4), "over words, 95 %": interval(over)}


def _groups_of_texts(folder: Path, data: str) -> list[NamedGroup]:
    things = news(folder, data).things
    some = random.Random(5).sample(things, min(TEXTS, len(things)))
    items = [Candidate(n, one.source, one.title, one.text, NOW) for n, one in enumerate(some)]
    return named_groups(items, meaning_vectors([one.title for one in some], [one.text for one in some]))


def main(argv: Sequence[str] | None = None) -> int:
    """Print a row for each set of news, with thumbs as they are and shuffled."""
    parser = argparse.ArgumentParser(prog="python -m tests.lab model groups")
    parser.add_argument("--readers", type=int, default=READERS, help=f"readers of each set ({READERS})")
    parser.add_argument("--seed", type=int, default=SEED, help=f"seed ({SEED})")
    parser.add_argument("--json", action="store_true", help="one JSON object on stdout")
    options = parser.parse_args(argv)
    folder = os.environ.get("TIDINGS_DATA")
    if not folder:
        fail("Set TIDINGS_DATA to the folder of open data.", 2)
    began, rows = time.monotonic(), []
    for data in DATA:
        groups = _groups_of_texts(Path(folder), data)
        for one in groups:
            progress(f"{data}: {one.name} ({', '.join(one.names)})")
        rows += [
            row_of(data, groups, options.readers, options.seed, shuffled=is_shuffled)
            for is_shuffled in (False, True)
        ]
    seconds = round(time.monotonic() - began, 1)
    report = {"command": "python -m tests.lab model groups", "rows": rows, "targets": [], "seconds": seconds}
    return report_end(report, as_json=options.json)

"""Topics that match by meaning, on texts to which editors gave labels.

A topic's literal matches are the seeds of its meaning, as in the product. There are three comparisons: words
alone; vectors dealt to other texts, which must gain nothing; and an installation of six feeds, which knows
only a few hundred texts.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np

from digest.items.meanings import about_of
from digest.items.topics import TEXT_CHARS, names_proposed
from ranking.common.text import topic_key
from ranking.meaning.table import Vectors, meaning_vectors
from ranking.meaning.topics import TopicMeaning, topic_meaning
from ranking.meaning.words import words_of_items
from ranking.pool import About, FindAbout, Ids, Pool
from tests.lab.steer.cases import AG_NEWS, BBC, NOW, Field, Target

# The labels by their everyday names. They are coarser than topics, but a new reader types them.
LABELS = {
    BBC: {"sport": "sport", "politics": "politics", "business": "business", "technology": "tech",
          "entertainment": "entertainment"},
    AG_NEWS: {"sports": "Sports", "business": "Business", "technology": "Sci/Tech", "world": "World"},
}  # fmt: skip
PEOPLE, NAMES = "topics that people name", "names of labels"
BY_WORDS, SHIPPED, DEALT, SIX_FEEDS = "words alone", "by meaning", "vectors dealt anew", "six feeds"
NAMED = "by meaning, every proposed name accepted"
# The items of six feeds at their first fetch: sixty each.
SIX_FEEDS_ITEMS = 360
# A topic with fewer literal matches among all texts does not allow a figure for precision.
MATCHES_MIN = 5
# The gain of AUC that each kind of topic should bring, and the gain that dealt vectors may have by chance.
GAINS = {(BBC, PEOPLE): 0.15, (AG_NEWS, PEOPLE): 0.09, (BBC, NAMES): 0.12, (AG_NEWS, NAMES): 0.07}
CHANCE = 0.005
Json = dict[str, Any]


@cache
def vectors_of(field: Field) -> Vectors:
    """Return the vector of each text of a data set, as ingest makes it."""
    return meaning_vectors([one.title for one in field.things], [one.text for one in field.things])


def topic_fields(field: Field, *, seed: int) -> list[tuple[str, str, Field]]:
    """Return (kind of topics, variant, field) for every row about topics by meaning."""
    labelled = [Target(name, frozenset([label])) for name, label in LABELS[field.name].items()]
    rng = np.random.default_rng(seed)
    vectors = vectors_of(field)
    dealt = vectors[rng.permutation(len(vectors))]
    some = np.sort(rng.choice(len(vectors), min(SIX_FEEDS_ITEMS, len(vectors)), replace=False))
    few = replace(field, things=[field.things[n] for n in some])
    found = []
    for kind, targets in ((PEOPLE, field.targets), (NAMES, labelled)):
        known = known_targets(replace(field, targets=targets))
        variants = (
            (BY_WORDS, field, None),
            (SHIPPED, field, vectors),
            (DEALT, field, dealt),
            (NAMED, field, vectors),
            (f"{SIX_FEEDS}, {BY_WORDS}", few, None),
            (f"{SIX_FEEDS}, {SHIPPED}", few, vectors[some]),
        )
        named = with_names(field, known)
        found += [
            (kind, name, with_meaning(one, named if name == NAMED else known, of))
            for name, one, of in variants
        ]
    return found


def with_names(field: Field, targets: Sequence[Target]) -> list[Target]:
    """Return the targets with all other names that the settings page would propose for them."""
    pool = _pool(field)
    words = words_of_items(f"{one.title}\n{one.text[:TEXT_CHARS]}" for one in field.things)
    known = {topic_key(target.topic) for target in targets}
    return [
        replace(target, names=names_proposed(words, pool.matches(target.topic), known)) for target in targets
    ]


def known_targets(field: Field) -> list[Target]:
    """Return the targets that some texts say, and that are not about all of them."""
    pool = _pool(field)
    return [
        target
        for target in field.targets
        if pool.matches(target.topic).sum() >= MATCHES_MIN
        and not all(one.labels & target.labels for one in field.things)
    ]


def with_meaning(field: Field, targets: Sequence[Target], vectors: Vectors | None) -> Field:
    """Return the field with these targets, whose meaning is made from `vectors` of its texts (None: none)."""
    if vectors is None:
        return replace(field, targets=targets)
    pool = _pool(field)
    meanings = {t.topic: topic_meaning(vectors, pool.matches(t.topic)) for t in targets}
    return replace(field, targets=targets, find_about=_finder(vectors, meanings))


def _finder(vectors: Vectors, meanings: Mapping[str, TopicMeaning | None]) -> FindAbout:
    known = {topic: meaning for topic, meaning in meanings.items() if meaning is not None}

    def find_about(topics: Sequence[str], ids: Ids) -> dict[str, About]:
        return {
            topic_key(topic): about_of(known[topic].worth(vectors[ids])) for topic in topics if topic in known
        }

    return find_about


def precision_row(field: Field) -> Json:
    """Return how many of the matches have the topic's label, the mean over topics, and the new ones."""
    pool, found = _pool(field), list[tuple[float, float | None, float, bool]]()
    for target in field.targets:
        literal, about = pool.says(target.topic, target.names), pool.about(target.topic)
        by_topic = pool.matches(target.topic)
        right = np.array([bool(one.labels & target.labels) for one in field.things])
        if by_topic.any():
            new = float(right[about].mean()) if about.any() else None
            times = float((literal | about).sum() / by_topic.sum())
            found.append((float(right[literal | about].mean()), new, times, pool.has_meaning(target.topic)))
    new_ones = [new for _, new, _, _ in found if new is not None]
    return {
        "precision": round(float(np.mean([one for one, *_ in found])), 4) if found else None,
        "precision_of_new": round(float(np.mean(new_ones)), 4) if new_ones else None,
        "times_as_many": round(float(np.mean([times for *_, times, _ in found])), 2) if found else None,
        "topics_by_meaning": sum(has for *_, has in found),
    }


def topic_targets(rows: Sequence[Json]) -> list[Json]:
    """Return the targets of the rows about topics by meaning."""
    named = {row["name"]: row for row in rows if "variant" in row}
    return [
        target
        for (data, kind), least in GAINS.items()
        if f"{data}: {kind}, {SHIPPED}" in named
        for target in _targets(f"{data}: {kind}", least, named)
    ]


def _targets(name: str, least: float, rows: Mapping[str, Json]) -> list[Json]:
    words, ours, dealt = (rows[f"{name}, {variant}"] for variant in (BY_WORDS, SHIPPED, DEALT))
    few_words, few = (rows[f"{name}, {SIX_FEEDS}, {variant}"] for variant in (BY_WORDS, SHIPPED))
    return [
        _at_least(f"{name}: gain of AUC", least, ours["delta_auc"]),
        _at_least(f"{name}, six feeds: gain of AUC", least, few["delta_auc"]),
        _at_least(f"{name}: precision over that by words", 0.0, ours["precision"] - words["precision"]),
        _at_least(
            f"{name}, six feeds: precision over that by words", 0.0, few["precision"] - few_words["precision"]
        ),
        _at_least(
            f"{name}: gain by words over that by dealt vectors",
            -CHANCE,
            words["delta_auc"] - dealt["delta_auc"],
        ),
    ]


def _at_least(metric: str, target: float, value: float) -> Json:
    return {"metric": metric, "target": f">= {target}", "value": round(value, 4), "met": value >= target}


def _pool(field: Field) -> Pool:
    return Pool([one.candidate(n, NOW) for n, one in enumerate(field.things)], field.find_about)

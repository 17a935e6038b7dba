"""Topics and likeness against labels that editors gave: how often a match, or a likeness, is right."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import rankdata

from ranking.common.text import fold, known_topic, term_matches, topic_key
from ranking.similarity import (
    EMPTY,
    HASH_BUCKETS,
    document_counts_add,
    profile_of,
    similarities,
    taste_update,
    term_counts,
    tfidf_vector,
    vectors_stack,
)
from tests.lab.histories.data import csv_rows

TOPICS = "topics"
# Topics as readers name them, with the labels of either set that a text about them should carry.
NAMED = {
    "football": {"sport", "Sports"},
    "tennis": {"sport", "Sports"},
    "rugby": {"sport", "Sports"},
    "Olympics": {"sport", "Sports"},
    "election": {"politics", "World"},
    "parliament": {"politics", "World"},
    "film": {"entertainment"},
    "album": {"entertainment"},
    "shares": {"business", "Business"},
    "economy": {"business", "Business"},
    "oil prices": {"business", "Business"},
    "software": {"tech", "Sci/Tech"},
    "internet": {"tech", "Sci/Tech"},
    "space": {"tech", "Sci/Tech"},
    "AI": {"tech", "Sci/Tech"},
    "IT": {"tech", "Sci/Tech"},
}
# A topic must never match inside another word.
WHOLE_WORDS_TARGET = 1.0
LIKENESS_TARGET = 0.7
THUMBS, TEXTS_MAX, LABELS, DEALS = 10, 4000, 8, 10
Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Labelled:
    """One text with the label an editor gave it."""

    title: str
    text: str
    label: str


def topics_measured(folder: Path, *, seed: int) -> tuple[list[Json], list[Json]]:
    """Rows for each topic and each labelled set, and the targets they are held to."""
    sets = {name: list(_texts(folder, name)) for name in ("bbc", "ag-news", "nemig-en", "nemig-de")}
    rows = [_topic_row(topic, right, sets["bbc"] + sets["ag-news"]) for topic, right in NAMED.items()]
    whole = sum(row["whole_words"] for row in rows) / max(1, sum(row["matches"] for row in rows))
    targets = [_target("topics: share of matches that are whole words", WHOLE_WORDS_TARGET, whole)]
    for name, texts in sets.items():
        auc = likeness(texts, seed)
        rows.append({"data": name, "name": "likeness to ten liked and ten not liked", "auc": round(auc, 4)})
        targets.append(_target(f"{name}: AUC of likeness by label", LIKENESS_TARGET, auc))
    return rows, targets


def _target(metric: str, target: float, value: float) -> Json:
    return {"metric": metric, "target": target, "value": round(value, 4), "met": value >= target}


def _texts(folder: Path, name: str) -> Iterator[Labelled]:
    if name == "bbc":
        for row in csv_rows(folder / "topics-bbc" / "bbc_news.csv.gz"):
            yield Labelled("", row["text"], row["label"])
    elif name == "ag-news":
        for row in csv_rows(folder / "topics-ag-news" / "ag_news_test.csv.gz"):
            yield Labelled(row["title"], row["description"], row["label"])
    else:
        for row in csv_rows(folder / name / "articles.csv.gz"):
            if row["subtopic_label"]:
                yield Labelled(row["title"], row["abstract"], row["subtopic_label"])


def _topic_row(topic: str, right: set[str], texts: Sequence[Labelled]) -> Json:
    """How many texts a topic matches, how many of those carry its label, beside letters anywhere.

    `whole_words` counts the matches in which a word of the text, cut at anything that is no letter, begins
    and ends as the topic, a plural or another name of it does: a second opinion that shares no code with
    `ranking.common.text`.
    """
    folded = [fold(f"{one.title}\n{one.text}") for one in texts]
    matched = [n for n, text in enumerate(folded) if term_matches(topic, text)]
    inside = [n for n, text in enumerate(folded) if topic.casefold() in text]
    forms = {f"{topic}{end}".casefold() for end in ("", "s", "es", "'s")} | {topic.casefold().rstrip("s")}
    forms |= {f"{topic.casefold()[:-1]}ies"} if topic.endswith("y") else set()
    forms |= {fold(name) for name in known.match} if (known := known_topic(topic, topic_key)) else set()
    words = " ({}) ".format("|".join(map(re.escape, forms)))
    spaced = (re.sub(r"[^\w]+", " ", f" {folded[n]} ") for n in matched)
    return {
        "data": "bbc, ag-news",
        "name": f"topic “{topic}”",
        "matches": len(matched),
        "precision": _share(matched, right, texts),
        "whole_words": sum(bool(re.search(words, text)) for text in spaced),
        "letters_anywhere": len(inside),
        "letters_precision": _share(inside, right, texts),
        "base": round(sum(one.label in right for one in texts) / len(texts), 4),
    }


def _share(places: Sequence[int], right: set[str], texts: Sequence[Labelled]) -> float:
    return round(sum(texts[n].label in right for n in places) / max(1, len(places)), 4)


def likeness(texts: Sequence[Labelled], seed: int) -> float:
    """Return the mean AUC by which likeness to ten texts of a label tells the label's other texts from the
    rest."""
    rng = np.random.default_rng(seed)
    some = [texts[n] for n in rng.permutation(len(texts))[:TEXTS_MAX]]
    terms = [term_counts(one.title, one.text) for one in some]
    counts = document_counts_add(np.zeros(HASH_BUCKETS, np.uint32), terms)
    vectors = [tfidf_vector(one, counts, len(terms)) for one in terms]
    packed = [vector.packed() for vector in vectors]
    labels = np.array([one.label for one in some])
    found = []
    for label, count in Counter(labels.tolist()).most_common(LABELS):
        for _ in range(DEALS if count > 2 * THUMBS else 0):
            up = rng.choice(np.flatnonzero(labels == label), THUMBS, replace=False)
            down = rng.choice(np.flatnonzero(labels != label), THUMBS, replace=False)
            changes = [(vectors[n], True, 1.0) for n in up] + [(vectors[n], False, 1.0) for n in down]
            rest = np.setdiff1d(np.arange(len(some)), [*up, *down])
            stacked = vectors_stack([packed[n] for n in rest])
            alike = similarities(profile_of(taste_update(EMPTY, changes)), stacked)
            same = labels[rest] == label
            ranks, ups = rankdata(alike), same.sum()
            found.append((ranks[same].sum() - ups * (ups + 1) / 2) / (ups * (len(rest) - ups)))
    return float(np.mean(found))

"""`python -m tests.lab meaning [--draws N] [--json]`: what vectors of meaning tell that words do not.

Data: BBC and AG News below `TIDINGS_DATA`, whose editors gave each text a label. Two tables:

- A taste from a few thumbs. Some texts of one label are liked and as many others disliked. The rest are
  ordered by their likeness to the likes minus that to the dislikes, by meaning and by TF-IDF. The figure is
  the AUC of the label, the mean over labels and draws.
- A topic that finds texts which never say its name. Its literal matches are the seeds. Pools have a hundred
  texts, half of them with the topic's label, and ages of up to two half-lives. The figure is the gain of the
  label's AUC by the topic: by words alone, and with texts that match by meaning at half the worth and at the
  whole. Precision is the share of matches with the label. In the control, vectors are dealt to other texts;
  it must gain nothing.
"""

import argparse
import json
import os
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata
from sklearn.feature_extraction.text import TfidfVectorizer

from ranking.entities import Candidate
from ranking.meaning.table import Vectors, meaning_vectors, unit_rows
from ranking.meaning.topics import ABOUT_WORTH, topic_meaning
from ranking.scoring import Pool
from tests.lab.command import fail
from tests.lab.steer.cases import AG_NEWS, BBC, NOW, Field, Target, news

THUMBS = (3, 8, 20)
DRAWS, POOLS, POOL = 12, 40, 100
RANKED_MAX = 1500
SEED = 3
# The labels by their everyday names: coarser than topics, but what a new reader types.
LABELS = {
    BBC: {"sport": "sport", "politics": "politics", "business": "business", "technology": "tech",
          "entertainment": "entertainment"},
    AG_NEWS: {"sports": "Sports", "business": "Business", "technology": "Sci/Tech", "world": "World"},
}  # fmt: skip
Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]
Row = dict[str, Any]


def main() -> int:
    """Print both tables, or one JSON object."""
    parser = argparse.ArgumentParser(prog="python -m tests.lab meaning")
    parser.add_argument("--draws", type=int, default=DRAWS, help=f"tastes of each label ({DRAWS})")
    parser.add_argument("--json", action="store_true", help="one JSON object on stdout")
    options = parser.parse_args()
    if not os.environ.get("TIDINGS_DATA"):
        fail("Set TIDINGS_DATA to the folder of open data.", 2)
    folder = Path(os.environ["TIDINGS_DATA"])
    fields = [news(folder, name) for name in (BBC, AG_NEWS)]
    vectors = [vectors_of(field) for field in fields]
    both = list(zip(fields, vectors, strict=True))
    tastes = [row for field, of in both for row in taste_rows(field, of, options.draws)]
    topics = [row for field, of in both for row in topic_rows(field, of)]
    report = {
        "command": "python -m tests.lab meaning",
        "seed": SEED,
        "items_a_second": items_a_second(fields[-1]),
        "tastes": tastes,
        "topics": topics,
    }
    print(json.dumps(report) if options.json else words(report))
    return 0


def vectors_of(field: Field) -> Vectors:
    """Return the vector of each text of a data set, as ingest makes it."""
    return meaning_vectors([one.title for one in field.things], [one.text for one in field.things])


def items_a_second(field: Field) -> int:
    """Return how many texts become vectors in one second of processor time."""
    start = time.process_time()
    vectors_of(field)
    return round(len(field.things) / (time.process_time() - start))


def taste_rows(field: Field, vectors: Vectors, draws: int) -> list[Row]:
    """Return a row for each number of thumbs: the AUC by meaning and by words."""
    labels = np.array([min(one.labels) for one in field.things])
    meaning = unit_rows(vectors).astype(np.float64)
    texts = [f"{one.title}. {one.text[:400]}" for one in field.things]
    terms = TfidfVectorizer(sublinear_tf=True, min_df=2, stop_words="english").fit_transform(texts)
    by = {"meaning": lambda rows: meaning[rows], "tf-idf": lambda rows: terms[rows]}
    rows = []
    for thumbs in THUMBS:
        found: dict[str, list[float]] = {name: [] for name in by}
        for label in np.unique(labels):
            has = labels == label
            for draw in range(draws):
                rng = np.random.default_rng([SEED, draw])
                up = rng.choice(np.flatnonzero(has), thumbs, replace=False)
                down = rng.choice(np.flatnonzero(~has), thumbs, replace=False)
                rest = np.setdiff1d(np.arange(len(labels)), [*up, *down])
                rest = rng.choice(rest, min(RANKED_MAX, len(rest)), replace=False)
                for name, rows_of in by.items():
                    direction = rows_of(up).mean(axis=0) - rows_of(down).mean(axis=0)
                    found[name].append(auc(np.asarray(rows_of(rest) @ direction.T).ravel(), has[rest]))
        means = {name: round(float(np.mean(values)), 3) for name, values in found.items()}
        rows.append({"data": field.name, "thumbs": f"{thumbs} + {thumbs}", **means})
    return rows


@dataclass(frozen=True, slots=True)
class Match:
    """Masks of the texts that a topic matches by words, by words or meaning, and that have its label."""

    literal: Mask
    wide: Mask
    about: Mask


def topic_rows(field: Field, vectors: Vectors) -> list[Row]:
    """Return a row for topics that people name and one for the labels' names, each with its control."""
    pool = Pool([Candidate(n, one.source, one.title, one.text, NOW) for n, one in enumerate(field.things)])
    labelled = [Target(name, frozenset([label])) for name, label in LABELS[field.name].items()]
    dealt = vectors[np.random.default_rng(9).permutation(len(vectors))]
    rows = []
    for kind, targets in (("topics that people name", field.targets), ("names of labels", labelled)):
        for control, of in (("", vectors), ("vectors dealt anew", dealt)):
            matches = [match_of(pool, field, target, of) for target in targets]
            known = [one for one in matches if one.literal.sum() >= 5 and not one.about.all()]
            rows.append({"data": field.name, "kind": kind, "control": control, **_means(known)})
    return rows


def match_of(pool: Pool, field: Field, target: Target, vectors: Vectors) -> Match:
    """Return which texts the topic matches, and which have its label."""
    literal = pool.matches(target.topic)
    meaning = topic_meaning(vectors, literal)
    wide = literal if meaning is None else literal | meaning.about(vectors)
    return Match(literal, wide, np.array([bool(one.labels & target.labels) for one in field.things]))


def _means(matches: Sequence[Match]) -> Row:
    gains = np.array([_gains(one, n) for n, one in enumerate(matches)]).mean(axis=0)
    new = [one.about[one.wide & ~one.literal].mean() for one in matches if (one.wide & ~one.literal).any()]
    return {
        "topics": len(matches),
        "auc_by_words": round(float(gains[0]), 3),
        "auc_half": round(float(gains[1]), 3),
        "auc_whole": round(float(gains[2]), 3),
        "precision_by_words": round(float(np.mean([one.about[one.literal].mean() for one in matches])), 3),
        "precision": round(float(np.mean([one.about[one.wide].mean() for one in matches])), 3),
        "precision_of_new": round(float(np.mean(new)), 3) if new else None,
        "times_as_many": round(float(np.mean([one.wide.sum() / one.literal.sum() for one in matches])), 1),
    }


def _gains(match: Match, n: int) -> list[float]:
    """Return the gain of AUC by words, with meaning at half the worth, and at the whole."""
    rng = np.random.default_rng([SEED, n])
    inside, outside = np.flatnonzero(match.about), np.flatnonzero(~match.about)
    gains = []
    for _ in range(POOLS):
        half = rng.choice(inside, min(POOL // 2, len(inside)), replace=False)
        pool = np.concatenate([half, rng.choice(outside, POOL - len(half), replace=False)])
        recency, about = 0.5 ** (2 * rng.random(len(pool))), match.about[pool]
        literal, wide = match.literal[pool], match.wide[pool]
        worths = (literal * 1.0, np.where(literal, 1.0, ABOUT_WORTH * wide), wide * 1.0)
        gains.append([auc((1 + worth) * recency, about) - auc(recency, about) for worth in worths])
    return [float(value) for value in np.mean(gains, axis=0)]


def auc(scores: Floats, is_wanted: Mask) -> float:
    """Return the probability that a wanted row scores above another one; ties count half."""
    ups = int(is_wanted.sum())
    ranks = rankdata(scores)
    return float((ranks[is_wanted].sum() - ups * (ups + 1) / 2) / (ups * (len(scores) - ups)))


def words(report: Row) -> str:
    """Return both tables as aligned lines."""
    lines = [
        f"{report['items_a_second']:,} texts a second of processor time.",
        "",
        "A taste from a few thumbs, AUC:",
    ]
    lines += [
        f"  {row['data']:16} {row['thumbs']:8} meaning {row['meaning']:.3f}  TF-IDF {row['tf-idf']:.3f}"
        for row in report["tastes"]
    ]
    lines += ["", "A topic, gain of AUC by words / half / whole; precision by words / all; times as many:"]
    lines += [
        f"  {row['data']:16} {row['kind']:24} {row['control']:18} "
        f"{row['auc_by_words']:.3f} / {row['auc_half']:.3f} / {row['auc_whole']:.3f}   "
        f"{row['precision_by_words']:.3f} / {row['precision']:.3f}   {row['times_as_many']}"
        for row in report["topics"]
    ]
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())

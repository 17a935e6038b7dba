"""`python -m tests.lab meaning [--draws N] [--json]`: the value of meaning vectors over words.

Data: BBC and AG News below `TIDINGS_DATA`, where editors gave each text a label. Some texts of one label are
liked and as many others disliked. The rest are ordered in three ways: by the likeness that ranking computes
(`ranking.taste.likeness`), by their likeness to the mean of the likes minus that of the dislikes, and by the
same with TF-IDF. The figure is the AUC of the label, the mean over labels and draws.

A second table is about reasons: how often the most similar of 20 liked texts, which a reason may name, has
the label of the text, by the least cosine at which it is named. `python -m tests.lab steer` measures topics
by meaning.
"""

import argparse
import json
import os
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata
from sklearn.feature_extraction.text import TfidfVectorizer

from ranking.meaning.table import TEXT_CHARS, Vectors, meaning_vectors, unit_rows
from ranking.meaning.topics import centre_rows
from ranking.taste.likeness import likeness_of
from tests.lab.command import fail
from tests.lab.steer.cases import AG_NEWS, BBC, Field, news
from tests.lab.steer.topics import vectors_of

THUMBS = (3, 8, 20)
DRAWS = 12
RANKED_MAX = 1500
SEED = 3
# Least cosines at which a reason could name an example, and how many examples there are.
BARS, LIKED = (0.2, 0.3, 0.4, 0.5, 0.6), 20
Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]
Row = dict[str, Any]


def main() -> int:
    """Print the table, or one JSON object."""
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
    report = {
        "command": "python -m tests.lab meaning",
        "seed": SEED,
        "items_a_second": items_a_second(fields[-1]),
        "tastes": tastes,
        "named": [row for field, of in both for row in named_rows(field, of, options.draws)],
    }
    print(json.dumps(report) if options.json else words(report))
    return 0


def items_a_second(field: Field) -> int:
    """Return how many texts become vectors in one second of processor time."""
    start = time.process_time()
    meaning_vectors([one.title for one in field.things], [one.text for one in field.things])
    return round(len(field.things) / (time.process_time() - start))


def taste_rows(field: Field, vectors: Vectors, draws: int) -> list[Row]:
    """Return a row for each number of thumbs: the AUC by meaning and by words."""
    labels = np.array([min(one.labels) for one in field.things])
    meaning = unit_rows(vectors).astype(np.float64)
    texts = [f"{one.title}. {one.text[:TEXT_CHARS]}" for one in field.things]
    terms = TfidfVectorizer(sublinear_tf=True, min_df=2, stop_words="english").fit_transform(texts)
    by = {"mean": lambda rows: meaning[rows], "tf-idf": lambda rows: terms[rows]}
    centre = unit_rows(vectors).mean(axis=0)
    rows = []
    for thumbs in THUMBS:
        found: dict[str, list[float]] = {name: [] for name in ("ranking", *by)}
        liked = np.repeat([1.0, 0.0], thumbs)
        for label in np.unique(labels):
            has = labels == label
            for draw in range(draws):
                rng = np.random.default_rng([SEED, draw])
                up = rng.choice(np.flatnonzero(has), thumbs, replace=False)
                down = rng.choice(np.flatnonzero(~has), thumbs, replace=False)
                rest = np.setdiff1d(np.arange(len(labels)), [*up, *down])
                rest = rng.choice(rest, min(RANKED_MAX, len(rest)), replace=False)
                examples = vectors[np.concatenate([up, down])]
                likeness = likeness_of(vectors[rest], examples, np.ones(2 * thumbs), liked, centre)
                found["ranking"].append(auc(likeness, has[rest]))
                for name, rows_of in by.items():
                    direction = rows_of(up).mean(axis=0) - rows_of(down).mean(axis=0)
                    found[name].append(auc(np.asarray(rows_of(rest) @ direction.T).ravel(), has[rest]))
        means = {name: round(float(np.mean(values)), 3) for name, values in found.items()}
        rows.append({"data": field.name, "thumbs": f"{thumbs} + {thumbs}", **means})
    return rows


def named_rows(field: Field, vectors: Vectors, draws: int) -> list[Row]:
    """Return a row for each least cosine: the share of texts that name an example, and how many of these name
    a fitting one, which has the label of the text.
    """
    labels = np.array([min(one.labels) for one in field.things])
    rows = centre_rows(vectors, unit_rows(vectors).mean(axis=0))
    near, fits = [], []
    for draw in range(draws):
        liked = np.random.default_rng([SEED, draw]).choice(len(labels), LIKED, replace=False)
        rest = np.setdiff1d(np.arange(len(labels)), liked)
        cosines = rows[rest] @ rows[liked].T
        near.append(cosines.max(axis=1))
        fits.append(labels[liked[cosines.argmax(axis=1)]] == labels[rest])
    nearest, fitting = np.concatenate(near), np.concatenate(fits)
    return [
        {
            "data": field.name,
            "cosine": bar,
            "named": round(float((nearest >= bar).mean()), 3),
            "fitting": round(float(fitting[nearest >= bar].mean()), 3),
        }
        for bar in BARS
    ]


def auc(scores: Floats, is_wanted: Mask) -> float:
    """Return the probability that a wanted row scores above another one; ties count half."""
    ups = int(is_wanted.sum())
    ranks = rankdata(scores)
    return float((ranks[is_wanted].sum() - ups * (ups + 1) / 2) / (ups * (len(scores) - ups)))


def words(report: Row) -> str:
    """Return the table as aligned lines."""
    lines = [
        f"{report['items_a_second']:,} texts a second of processor time.",
        "",
        "A taste from a few thumbs, AUC:",
    ]
    lines += [
        f"  {row['data']:16} {row['thumbs']:8} ranking {row['ranking']:.3f}  likes minus dislikes "
        f"{row['mean']:.3f}  TF-IDF {row['tf-idf']:.3f}"
        for row in report["tastes"]
    ]
    lines += ["", f"The most similar of {LIKED} liked texts, if its cosine is at least so much:"]
    lines += [
        f"  {row['data']:16} {row['cosine']}  {row['named']:.3f} name one, {row['fitting']:.3f} of these fit"
        for row in report["named"]
    ]
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())

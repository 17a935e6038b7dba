"""How much whole articles add to similarity: `python -m tests.lab bench.full_text [--json]`.

Data: the 1,490 labelled articles of `topics-bbc` below `TIDINGS_DATA`, whole, and cut to the length that
feeds carry. For each length: how many of the five nearest articles have the same label, and how well a taste
of six articles of one label separates others with it from the rest (AUC). The vectors are those of ranking.
Stories are found by titles, which no full text changes. Choices have abstracts only, in `nemig-en` and
`nemig-de`: how well the words of earlier choices predict the next one, by title and with more text.
"""

import argparse
import json
import os
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from ranking.similarity import HASH_BUCKETS, document_counts_add, term_counts, tfidf_vector, vectors_stack
from tests.lab.histories.data import csv_rows

NEMIG_LENGTHS = (0, 100, 1_000)
SEED, TASTES, LIKED, NEAREST = 42, 40, 6, 5
# A headline, a standfirst, a paragraph or two, and the most that similarity reads of a text.
LENGTHS = (60, 200, 500, 3_000)


def main() -> None:
    """Print the rows as one JSON object, with `--json` or without."""
    argparse.ArgumentParser(description=__doc__).parse_known_args()
    data = Path(os.environ["TIDINGS_DATA"])
    rows = list({row["text"]: row for row in csv_rows(data / "topics-bbc" / "bbc_news.csv.gz")}.values())
    labels = np.array([row["label"] for row in rows])
    found = [figures(chars, [row["text"] for row in rows], labels) for chars in LENGTHS]
    chosen = [choices(data / name, chars) for name in ("nemig-en", "nemig-de") for chars in NEMIG_LENGTHS]
    result = {
        "command": "python -m tests.lab bench.full_text",
        "seed": SEED,
        "rows": found,
        "choices": chosen,
    }
    print(json.dumps(result))


def figures(chars: int, texts: Sequence[str], labels: NDArray[np.str_]) -> dict[str, float]:
    """Precision of the nearest and AUC of small tastes, with texts of at most `chars` characters."""
    vectors = vectors_of([("", text[:chars]) for text in texts])
    close = (vectors @ vectors.T).toarray()
    np.fill_diagonal(close, -1.0)
    nearest = np.argsort(-close, axis=1, kind="stable")[:, :NEAREST]
    rng, scores = np.random.default_rng(SEED), []
    for label in np.unique(labels):
        for _ in range(TASTES):
            liked = rng.choice(np.flatnonzero(labels == label), LIKED, replace=False)
            rest = np.setdiff1d(np.arange(len(labels)), liked)
            scores.append(auc(close[liked].sum(axis=0)[rest], labels[rest] == label))
    return {
        "chars": chars,
        "same_label_of_5": round(float((labels[nearest] == labels[:, None]).mean()), 3),
        "taste_auc": round(float(np.mean(scores)), 3),
    }


def choices(folder: Path, chars: int) -> dict[str, float | str]:
    """Return the AUC of readers' next choices, each reader's mean, with abstracts of at most `chars`
    characters."""
    articles = list(csv_rows(folder / "articles.csv.gz"))
    places = {row["news_id"]: n for n, row in enumerate(articles)}
    vectors = vectors_of([(row["title"], row["abstract"][:chars]) for row in articles])
    readers: dict[str, list[float]] = {}
    for row in csv_rows(folder / "behaviors.csv.gz"):
        history = [places[name] for name in row["history_clicked"].split() if name in places]
        offered = [one.rsplit("-", 1) for one in row["impressions"].split()]
        offered = [one for one in offered if one[0] in places]
        wanted = np.array([chosen == "1" for _, chosen in offered], bool)
        if history and wanted.any() and not wanted.all():
            taste = np.asarray(vectors[history].sum(axis=0)).ravel()
            scores = vectors[[places[name] for name, _ in offered]] @ taste
            readers.setdefault(row["user_id"], []).append(auc(scores, wanted))
    means = np.array([np.mean(found) for found in readers.values()])
    error = 1.96 * float(means.std()) / len(means) ** 0.5
    return {
        "data": folder.name,
        "chars": chars,
        "auc": round(float(means.mean()), 3),
        "error": round(error, 3),
    }


def vectors_of(texts: Sequence[tuple[str, str]]) -> csr_array:
    """Return the vectors of titles with texts, as ranking makes them."""
    terms = [term_counts(title, text) for title, text in texts]
    counts = document_counts_add(np.zeros(HASH_BUCKETS, np.uint32), terms)
    rows = vectors_stack([tfidf_vector(one, counts, len(terms)).packed() for one in terms])
    return csr_array((rows.weights, rows.indices, rows.starts), shape=(len(terms), HASH_BUCKETS))


def auc(scores: NDArray[np.float64], wanted: NDArray[np.bool_]) -> float:
    """Return the share of pairs in the right order; ties count half."""
    ordered = np.sort(scores[~wanted])
    below = np.searchsorted(ordered, scores[wanted]) + np.searchsorted(ordered, scores[wanted], "right")
    return float(below.mean() / 2 / len(ordered))


if __name__ == "__main__":
    main()

"""Thumbs of Scholar Inbox, a daily digest of papers, with the words of the papers from arXiv's metadata.

The folder has two files, which their licences keep out of this repository:

- `rated_papers.csv` of github.com/avg-dev/scholar_inbox_datasets: `arxiv_id,user_id,rating,time`. A rating is
  1 or -1, and the oldest ones have no time;
- `arxiv-metadata-oai-snapshot.json`, arXiv's metadata with one JSON object per line, with `id`, `title`,
  `abstract` and `categories`; gzipped too, if its name ends in `.gz`.

A paper's source is its first category, as in arXiv's feeds. Its categories are all of them. Beside the
histories there is the published measure on these thumbs: each day's papers are ranked by the thumbs of the
days before. The figure is the AUC of likes against dislikes, the mean over days and then readers.
"""

import csv
import gzip
import json
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import csr_matrix
from scipy.stats import rankdata
from sklearn.linear_model import LogisticRegression

from ranking.meaning.table import meaning_vectors, unit_rows
from ranking.pool import Floats
from ranking.similarity import (
    EMPTY,
    HASH_BUCKETS,
    Vector,
    document_counts_add,
    profile_of,
    taste_update,
    term_counts,
    tfidf_vector,
)
from ranking.taste.likeness import likeness_of
from ranking.taste.signal import EXAMPLES_MAX
from tests.lab.histories.pools import History, Rated

SCHOLAR = "scholar-inbox"
THUMBS_FILE, PAPERS_FILE = "rated_papers.csv", "arxiv-metadata-oai-snapshot.json"
# Days are ranked from this many thumbs on. Rows are for days by the number of thumbs before them.
THUMBS_BEFORE = ((10, 30), (30, 100), (100, 1_000_000))
READERS = 120
Json = dict[str, Any]
Mask = np.ndarray[Any, np.dtype[np.bool_]]


class BadData(Exception):
    """The folder lacks a file, or a file has not the form that it should have."""


def scholar_histories(folder: Path, *, limit: int = 0) -> list[History]:
    """Return the readers with the most thumbs (at most `limit`, 0: all), each reader's thumbs by time.

    Thumbs without a time come first, in the file's order. Papers without metadata are left out. Raises
    `BadData`.
    """
    given: defaultdict[str, list[tuple[str, str, bool]]] = defaultdict(list)
    for row in _thumbs(folder):
        time = row["time"] if row["time"].casefold() not in ("", "null", "none", "nan", "nat") else ""
        given[row["user_id"]].append((time, row["arxiv_id"], float(row["rating"]) > 0))
    most = sorted(given, key=lambda user: (-len(given[user]), user))[: limit or None]
    papers = _papers(folder, {paper for user in most for _, paper, _ in given[user]})
    return [
        History(
            f"scholar-{user}",
            tuple(
                Rated(liked=liked, at=at, **papers[paper])
                for at, paper, liked in sorted(given[user], key=lambda row: row[0])
                if paper in papers
            ),
        )
        for user in sorted(most)
    ]


def _thumbs(folder: Path) -> Iterator[dict[str, str]]:
    path = folder / THUMBS_FILE
    if not path.is_file():
        raise BadData(f"{folder} has no {THUMBS_FILE}.")
    with path.open(encoding="utf-8", newline="") as file:
        rows = csv.DictReader(file)
        if missing := {"arxiv_id", "user_id", "rating", "time"} - {*(rows.fieldnames or ())}:
            raise BadData(f"{path} has no column {', '.join(sorted(missing))}.")
        yield from rows


def _papers(folder: Path, wanted: set[str]) -> dict[str, Json]:
    """Return the words of the wanted papers, by arXiv's id."""
    plain, packed = folder / PAPERS_FILE, folder / f"{PAPERS_FILE}.gz"
    if not plain.is_file() and not packed.is_file():
        raise BadData(f"{folder} has no {PAPERS_FILE}, gzipped or not.")
    found = {}
    with (
        plain.open(encoding="utf-8") if plain.is_file() else gzip.open(packed, "rt", encoding="utf-8") as file
    ):
        for line in file:
            paper = json.loads(line)
            if paper["id"] in wanted:
                categories = tuple(paper["categories"].split())
                found[paper["id"]] = {
                    "url": f"https://arxiv.org/abs/{paper['id']}",
                    "title": " ".join(paper["title"].split()),
                    "text": " ".join(paper["abstract"].split()),
                    "source": f"arxiv-{categories[0].casefold()}" if categories else "arxiv",
                    "topics": (),
                    "categories": categories,
                }
    return found


class Papers:
    """The vectors of all papers of some histories, by address."""

    def __init__(self, histories: Sequence[History]) -> None:
        """Make the vectors, as ingest makes them."""
        rated = {one.url: one for history in histories for one in history.rated}
        self.row = {url: n for n, url in enumerate(rated)}
        titles, texts = [one.title for one in rated.values()], [one.text for one in rated.values()]
        self.vectors = meaning_vectors(titles, texts)
        meanings = unit_rows(self.vectors)
        self.centre = meanings.mean(axis=0)
        self.centred: Floats = (meanings - self.centre).astype(np.float64)
        counted = [term_counts(title, text) for title, text in zip(titles, texts, strict=True)]
        counts = document_counts_add(np.zeros(HASH_BUCKETS, np.uint32), counted)
        self.terms: list[Vector] = [tfidf_vector(one, counts, len(counted)) for one in counted]
        self.matrix = csr_matrix(
            (
                np.concatenate([one.weights for one in self.terms]),
                np.concatenate([one.indices for one in self.terms]).astype(np.int64),
                np.concatenate([[0], np.cumsum([len(one.indices) for one in self.terms])]),
            ),
            shape=(len(self.terms), HASH_BUCKETS),
        )


Rule = Callable[[Papers, Sequence[int], Mask, Sequence[int]], Floats]


def by_words(papers: Papers, before: Sequence[int], liked: Mask, today: Sequence[int]) -> Floats:
    """Return the similarity of today's papers to the profile of words of the earlier thumbs."""
    changes = [(papers.terms[row], bool(up), 1.0) for row, up in zip(before, liked, strict=True)]
    found: Floats = papers.matrix[list(today)] @ profile_of(taste_update(EMPTY, changes))
    return found


def by_ranking(papers: Papers, before: Sequence[int], liked: Mask, today: Sequence[int]) -> Floats:
    """Return the likeness that ranking computes."""
    examples, items = papers.vectors[list(before)], papers.vectors[list(today)]
    found: Floats = likeness_of(
        items, examples, np.ones(len(before)), liked.astype(np.float64), papers.centre
    )
    return found


def by_meaning(papers: Papers, before: Sequence[int], liked: Mask, today: Sequence[int]) -> Floats:
    """Return the likeness to the mean of the likes minus that of the dislikes."""
    rows = papers.centred[list(before)]
    found: Floats = papers.centred[list(today)] @ (rows[liked].mean(axis=0) - rows[~liked].mean(axis=0))
    return found


def by_regression(papers: Papers, before: Sequence[int], liked: Mask, today: Sequence[int]) -> Floats:
    """Return the log-odds of a logistic regression on the vectors of meaning."""
    model = LogisticRegression(max_iter=300).fit(papers.centred[list(before)], liked)
    found: Floats = model.decision_function(papers.centred[list(today)])
    return found


RULES: dict[str, Rule] = {
    "TF-IDF profile": by_words,
    "likeness of ranking": by_ranking,
    "meaning, likes minus dislikes": by_meaning,
    "logistic regression on meaning": by_regression,
}


def day_rows(histories: Sequence[History], *, readers: int = READERS, seed: int = 0) -> list[Json]:
    """Return a row for each rule, number of thumbs before, and for shuffled thumbs."""
    chosen = np.random.default_rng(seed).permutation(len(histories))[:readers].tolist()
    some = [histories[n] for n in sorted(chosen)]
    papers = Papers(some)
    rows = []
    for shuffled in (False, True):
        dealt = [one.shuffled(seed + n) for n, one in enumerate(some)] if shuffled else some
        for name, rule in RULES.items():
            found = [_days(one, papers, rule) for one in dealt]
            for low, high in THUMBS_BEFORE:
                means = [
                    float(np.mean(aucs))
                    for days in found
                    if (aucs := [auc for before, auc in days if low <= before < high])
                ]
                label = f"{SCHOLAR}, each day by the days before: {name}, {low} thumbs on"
                rows.append(
                    {
                        "name": f"{label}, shuffled" if shuffled else label,
                        "readers": len(means),
                        "auc": round(float(np.mean(means)), 4) if means else None,
                        "auc_95": _interval(means),
                    }
                )
    return rows


def _days(history: History, papers: Papers, rule: Rule) -> list[tuple[int, float]]:
    """Return (thumbs before, AUC) of each day that has both likes and dislikes, and both before it."""
    timed = [one for one in history.rated if one.at]
    early = [one for one in history.rated if not one.at]
    by_day: defaultdict[str, list[Rated]] = defaultdict(list)
    for one in timed:
        by_day[one.at[:10]].append(one)
    before, found = [*early], []
    for day in sorted(by_day):
        today = by_day[day]
        liked, wanted = (np.array([one.liked for one in some], dtype=np.bool_) for some in (before, today))
        if len(before) >= THUMBS_BEFORE[0][0] and all(0 < m.sum() < len(m) for m in (liked, wanted)):
            rows = [papers.row[one.url] for one in before], [papers.row[one.url] for one in today]
            latest = rows[0][-EXAMPLES_MAX:], liked[-EXAMPLES_MAX:]
            if 0 < latest[1].sum() < len(latest[1]):
                found.append((len(before), _auc(rule(papers, *latest, rows[1]), wanted)))
        before += today
    return found


def _auc(scores: Floats, wanted: Mask) -> float:
    ups, ranks = int(wanted.sum()), rankdata(scores)
    return float((ranks[wanted].sum() - ups * (ups + 1) / 2) / (ups * (len(scores) - ups)))


def _interval(means: Sequence[float]) -> list[float] | None:
    if not means:
        return None
    values = np.array(means)
    drawn = values[np.random.default_rng(1).integers(0, len(values), (2_000, len(values)))].mean(axis=1)
    return [round(float(x), 4) for x in np.percentile(drawn, (2.5, 97.5))]

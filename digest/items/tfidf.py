"""TF-IDF over a few short texts: (1 + ln tf) x (1 + ln((1 + n) / (1 + df))), with rows of length 1.

This is the formula with smoothing and sublinear counts of Manning, Raghavan and Schütze, Introduction to
Information Retrieval (2008), 6.4.1, as in scikit-learn's `TfidfVectorizer`. That library, with SciPy below
it, would cost a process 85 MB and a second, for this one formula. Pure.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.intp]
Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class TermRows:
    """A sparse matrix. Row `i` has `terms[starts[i]:starts[i + 1]]` (0 to `width`) with `weights`."""

    starts: Ints
    terms: Ints
    weights: Floats
    width: int

    @property
    def rows(self) -> Ints:
        """Return the row number of each entry."""
        return np.repeat(np.arange(len(self.starts) - 1), np.diff(self.starts))

    def dense(self) -> Floats:
        """Return the matrix as a full array, rows by terms."""
        full = np.zeros((len(self.starts) - 1, self.width))
        full[self.rows, self.terms] = self.weights
        return full


def tfidf_rows(documents: Iterable[Sequence[str]], *, documents_max: int | None = None) -> TermRows:
    """Return one row per document (a list of terms).

    Terms that occur in more than `documents_max` documents are left out.
    """
    numbers: dict[str, int] = {}
    terms, counts, sizes = list[int](), list[int](), list[int]()
    for document in documents:
        found = Counter(document)
        terms += [numbers.setdefault(term, len(numbers)) for term in found]
        counts += found.values()
        sizes.append(len(found))
    columns, rows = np.array(terms, dtype=np.intp), np.repeat(np.arange(len(sizes)), sizes)
    frequency = np.bincount(columns, minlength=len(numbers))
    weights = (1 + np.log(np.array(counts, dtype=float))) * (np.log((1 + len(sizes)) / (1 + frequency)) + 1)[
        columns
    ]
    if documents_max is not None:
        few_enough = frequency[columns] <= documents_max
        columns, rows, weights = columns[few_enough], rows[few_enough], weights[few_enough]
    length = np.sqrt(np.bincount(rows, weights**2, len(sizes)))
    starts = np.searchsorted(rows, np.arange(len(sizes) + 1))
    return TermRows(starts, columns, weights / length[rows], len(numbers))

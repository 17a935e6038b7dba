"""Search of earlier decisions: BM25 over a few hundred short texts, the same on every database.

A reader has tens to hundreds of decisions, so the database filters by reader, type and outcome, and at most
500 rows are ranked here (measured: BM25 in Python takes some tens of milliseconds at that size, while full
text search differs between databases). Robertson and Zaragoza (2009), "The Probabilistic Relevance
Framework: BM25 and Beyond", with bm25s' defaults k1 = 1.5 and b = 0.75. Pure.
"""

import logging
import re
from collections.abc import Sequence

import bm25s

from ranking.common.text import fold, topic_key

# The library turns on its debug messages when it is imported.
logging.getLogger("bm25s").setLevel(logging.WARNING)
ROWS_MAX = 500
QUERY_TERMS_MAX = 32
_WORD = re.compile(r"\w+")


def terms_of(text: str) -> list[str]:
    """Return the words of `text`, folded, each in the singular; `boost_source` is two words."""
    return [topic_key(word) for word in _WORD.findall(fold(text).replace("_", " "))]


def relevance(query: str, texts: Sequence[str]) -> list[float]:
    """Return the BM25 score of each of `texts`, in the given order; 0 for one without a word of `query`."""
    wanted = list(dict.fromkeys(terms_of(query)))[:QUERY_TERMS_MAX]
    corpus = [terms_of(text) for text in texts]
    if not wanted or not any(corpus):
        return [0.0] * len(texts)
    index = bm25s.BM25()
    index.index(corpus, show_progress=False)
    known = [term for term in wanted if term in index.vocab_dict]
    if not known:
        return [0.0] * len(texts)
    return [round(float(score), 6) for score in index.get_scores(known)]

"""Our TF-IDF gives the same figures as scikit-learn, which installations do not need."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS, TfidfVectorizer

from digest.items.tfidf import tfidf_rows
from digest.summaries.grounding import STOP_WORDS_FILE

documents = st.lists(st.lists(st.sampled_from("abcdefgh"), max_size=9), min_size=1, max_size=12)


@given(documents=documents, most=st.sampled_from([None, 1, 3, 100]))
def test_cosines_are_those_of_scikit_learn(documents, most):
    vectorizer = TfidfVectorizer(analyzer=list, sublinear_tf=True, max_df=1.0 if most is None else most)
    try:
        theirs = vectorizer.fit_transform(documents)
        expected = (theirs @ theirs.T).toarray()
    except ValueError:  # no term is left
        expected = np.zeros((len(documents), len(documents)))
    rows = tfidf_rows(documents, documents_max=most)
    dense = rows.dense()
    assert dense @ dense.T == pytest.approx(expected, abs=1e-12)
    assert list(np.bincount(rows.rows, minlength=len(documents))) == list(np.diff(rows.starts))


def test_the_stop_words_of_summaries_are_those_of_scikit_learn():
    assert set(STOP_WORDS_FILE.read_text(encoding="utf-8").split()) == ENGLISH_STOP_WORDS

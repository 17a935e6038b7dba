"""BM25 in a few lines is the library's BM25."""

import bm25s
import pytest
from hypothesis import given
from hypothesis import strategies as st

from advisor.guidance.ranking import bm25

WORDS = st.lists(st.sampled_from("abcdefgh"), max_size=12)


@given(WORDS, st.lists(WORDS.filter(bool), min_size=1, max_size=12))
def test_scores_are_those_of_bm25s(query: list[str], texts: list[list[str]]) -> None:
    index = bm25s.BM25()
    index.index(texts, show_progress=False)
    known = [word for word in dict.fromkeys(query) if word in index.vocab_dict]
    expected = index.get_scores(known) if known else [0.0] * len(texts)
    assert bm25(query, texts) == pytest.approx([float(score) for score in expected], abs=1e-5)


def test_that_little_is_known_makes_no_word_common() -> None:
    [alone], [known] = bm25(("a",), (("a",),), least=100), bm25(("a",), (("a",),))
    assert alone > 4 * known
    many = [("a",), *([("b",)] * 120)]
    assert bm25(("a",), many, least=100) == bm25(("a",), many)


def test_nothing_in_common_is_worth_nothing() -> None:
    assert bm25(("a",), ()) == []
    assert bm25((), (("a",),)) == [0.0]
    assert bm25(("b",), (("a",), ())) == [0.0, 0.0]

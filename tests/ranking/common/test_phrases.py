"""Many terms found in one pass: the same as one by one, in time that does not depend on their number."""

from datetime import UTC, datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ranking.common.phrases import Phrases
from ranking.common.text import OPENING_CHARS, fold_lightly, subject_finder
from ranking.entities import Candidate
from ranking.pool import Pool
from tests.support.pace import processor_within
from tests.support.thinned import examples

NOW = datetime(2026, 3, 18, tzinfo=UTC)
PARTS = [
    "a",
    "b",
    "ab",
    "story",
    "stories",
    "c++",
    ".net",
    "+",
    "-",
    "a-b",
    "_",
    "é",
    "日本",
    " ",
    "  ",
    "\n",
    ", ",
]
TERMS = [
    *(
        "a",
        "a b",
        "a a b",
        "b a",
        "ab",
        "a-b",
        "a - b",
        "c++",
        ".net",
        "+a",
        "a+",
        "story",
        "a story",
        "日本",
    ),
    *("rust", "go", "ai", "apple", "python", "_", "é", "-", "a b a b a b"),
]
WORDS = [f"harbour{n}" for n in range(13)]


@settings(max_examples=examples(600))
@given(
    st.lists(st.sampled_from([*PARTS, *TERMS, "belt", "the"]), max_size=14),
    st.booleans(),
    st.none() | st.integers(OPENING_CHARS - 12, OPENING_CHARS + 3),
)
def test_it_finds_what_each_terms_own_pattern_finds(parts, spaced: bool, before: int | None):
    text = fold_lightly((" " if spaced else "").join(parts))
    text = text if before is None else f"{parts and parts[0]}\n{'x' * before} {text}"
    terms = [term for term in TERMS if term.strip()]
    assert Phrases(terms).found(text) == {term for term in terms if subject_finder(term)(text)}


def candidates(count: int) -> list[Candidate]:
    texts = [" ".join(WORDS[(n * k + k) % len(WORDS)] for k in range(300)) for n in range(count)]
    return [
        Candidate(item_id=n, source="a.example", title=f"Note {n}", text=text, dated_at=NOW)
        for n, text in enumerate(texts)
    ]


def terms_many() -> list[str]:
    return [f"{a} {b} {c}" for a in WORDS for b in WORDS for c in WORDS][:1700]


def test_a_pool_finds_the_same_for_many_terms_at_once_and_for_each_alone():
    rows, terms = candidates(40), terms_many()[::7]
    at_once, alone = Pool(rows), Pool(rows)
    at_once.search_all(terms)
    for term in terms:
        assert (at_once.matches(term) == alone.matches(term)).all(), term


def test_seventeen_hundred_terms_whose_words_are_in_every_text_take_no_longer_than_a_page_may():
    """A hundred topics of sixteen other names took four minutes for a page of ten thousand articles."""
    pool = Pool(candidates(600))
    with processor_within(4):
        pool.search_all(terms_many())


@pytest.mark.parametrize("piece", ["a ", "a a b ", "a-", "é"])
def test_a_text_of_one_piece_again_and_again_takes_linear_time(piece: str):
    phrases = Phrases([("a " * n + "b").strip() for n in range(1, 31)])
    with processor_within(2):
        phrases.found(piece * 20_000)

"""Items as vectors and tastes as sums: similarity in two languages, and thumbs taken back."""

from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ranking import similarity
from ranking.similarity import (
    EMPTY,
    HASH_BUCKETS,
    LIKES_MIN,
    PROFILE_TERMS_MAX,
    TERMS_MAX,
    Taste,
    Vector,
    document_counts_add,
    profile_of,
    similarities,
    taste_decay,
    taste_update,
    term_counts,
    tfidf_vector,
    vector_unpack,
    vectors_stack,
)

WORDS = ["solar", "panels", "football", "parliament", "budget", "guitar", "Wahlrecht", "Ofen", "brot", "teig"]
titles = st.lists(st.sampled_from(WORDS), min_size=1, max_size=6).map(" ".join)


@pytest.fixture(autouse=True, scope="module")
def one_like_is_enough() -> Iterator[None]:
    """Let single likes show the arithmetic."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(similarity, "LIKES_MIN", 0.5)
        yield


def vectors(*titles: str) -> list[Vector]:
    """Return the vectors of items that were ingested together."""
    terms = [term_counts(title, "") for title in titles]
    counts = document_counts_add(np.zeros(HASH_BUCKETS, np.uint32), terms)
    return [tfidf_vector(one, counts, len(terms)) for one in terms]


def likeness(taste: Taste, *wanted: Vector) -> list[float]:
    return similarities(profile_of(taste), vectors_stack([v.packed() for v in wanted])).tolist()


def test_what_was_liked_draws_its_like_and_what_was_not_pushes_away():
    solar, more_solar, football, more_football, other = vectors(
        "Solar panels on every roof",
        "Cheaper solar panels",
        "Football cup final",
        "Football league opens",
        "Parliament votes",
    )
    taste = taste_update(EMPTY, [(solar, True, 1.0), (football, False, 1.0)])
    near, away, neither = likeness(taste, more_solar, more_football, other)
    assert near > 0.05 and away == 0 and neither == 0


@pytest.mark.parametrize(
    ("liked", "alike", "unlike"),
    [
        ("Migranten in Thüringen", "Die Migration und das Recht", "Der neue Film ist in der Stadt"),
        ("Flüchtlingspolitik der Regierung", "Mehr Flüchtlinge erwartet", "Die Regeln der Börse"),
        ("Elections in Georgia", "The election was close", "The film was long"),
        ("Les élections en France", "Une élection sans surprise", "Les films de la semaine"),
    ],
)
def test_forms_of_a_word_are_alike_in_several_languages_and_function_words_are_not(liked, alike, unlike):
    first, near, far = vectors(liked, alike, unlike)
    taste = taste_update(EMPTY, [(first, True, 1.0)])
    of_near, of_far = likeness(taste, near, far)
    assert of_near > 0 and of_far == 0


def test_a_rare_word_says_more_than_a_common_one():
    common = [f"Budget report {n}" for n in range(30)]
    first, rare, usual, *_ = vectors("Budget for guitars", "Guitar makers", "Budget makers", *common)
    taste = taste_update(EMPTY, [(first, True, 1.0)])
    of_rare, of_usual = likeness(taste, rare, usual)
    assert of_rare > 2 * of_usual > 0


def test_few_thumbs_say_little_and_many_of_the_same_say_more():
    (solar,) = vectors("Solar panels")
    one = taste_update(EMPTY, [(solar, True, 1.0)])
    many = taste_update(EMPTY, [(solar, True, 1.0)] * 40)
    assert likeness(one, solar)[0] == pytest.approx(1 / 9, abs=0.01)
    assert likeness(many, solar)[0] == pytest.approx(40 / 48, abs=0.01)


def test_few_likes_are_no_profile_and_five_are_one_for_nine_days(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(similarity, "LIKES_MIN", LIKES_MIN)
    (solar,) = vectors("Solar panels")
    four, five = (taste_update(EMPTY, [(solar, True, 1.0)] * n) for n in (4, 5))
    assert likeness(four, solar) == [0] and likeness(five, solar)[0] > 0.3
    assert likeness(taste_decay(five, 0.5 ** (9 / 60)), solar)[0] > 0.3


def test_without_a_like_nothing_is_similar():
    (solar,) = vectors("Solar panels")
    assert likeness(EMPTY, solar) == [0]
    assert likeness(taste_update(EMPTY, [(solar, False, 1.0)]), solar) == [0]


@given(st.lists(st.tuples(titles, st.booleans()), min_size=1, max_size=8), st.data())
def test_taking_a_thumb_back_leaves_what_was_there_before(thumbs, data):
    made = vectors(*(title for title, _ in thumbs))
    changes = [(v, useful, 1.0) for v, (_, useful) in zip(made, thumbs, strict=True)]
    gone = data.draw(st.integers(min_value=0, max_value=len(changes) - 1))
    rest = changes[:gone] + changes[gone + 1 :]
    vector, useful, _ = changes[gone]
    back = taste_update(taste_update(EMPTY, changes), [(vector, useful, -1.0)])
    assert np.allclose(profile_of(back), profile_of(taste_update(EMPTY, rest)), atol=1e-4)


def test_age_weighs_the_old_against_the_new():
    solar, football = vectors("Solar panels", "Football cup")
    taste = taste_update(
        taste_decay(taste_update(EMPTY, [(solar, True, 1.0)]), 0.25), [(football, True, 1.0)]
    )
    old, new = likeness(taste, solar, football)
    assert new == pytest.approx(4 * old, rel=0.01)


def test_vectors_and_profiles_stay_small_whatever_comes_in():
    long = " ".join(f"word{n}x" for n in range(5_000))
    (vector,) = vectors(long)
    assert len(vector.indices) <= TERMS_MAX
    many = [
        tfidf_vector(term_counts(f"alpha{n}q beta{n}z", ""), np.zeros(HASH_BUCKETS, np.uint32), 1)
        for n in range(9_000)
    ]
    taste = taste_update(EMPTY, [(v, True, 1.0) for v in many])
    assert len(taste.indices) == PROFILE_TERMS_MAX


@given(titles)
def test_a_vector_comes_back_as_it_was_packed(title):
    (vector,) = vectors(title)
    back = vector_unpack(vector.packed())
    assert back.indices.tolist() == vector.indices.tolist()
    assert np.allclose(back.weights, vector.weights, atol=1e-3)


def test_an_item_without_words_is_like_nothing():
    blank, solar = vectors("— 12 … !", "Solar panels")
    assert len(blank.indices) == 0 and len(vector_unpack(blank.packed()).indices) == 0
    taste = taste_update(EMPTY, [(solar, True, 1.0), (blank, True, 1.0)])
    assert likeness(taste, blank) == [0]

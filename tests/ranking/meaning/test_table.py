"""Vectors of texts by the shipped table."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ranking.meaning.table import (
    DIMENSIONS,
    FOLDER,
    MeaningTable,
    english_table,
    is_english,
    meaning_vectors,
    unit_rows,
    vectors_of,
)


def cosine(one: str, other: str) -> float:
    rows = unit_rows(meaning_vectors([one, other], ["", ""]))
    return float(rows[0] @ rows[1])


def test_texts_that_share_no_word_are_close_if_they_mean_the_same():
    tennis = "Nadal beats Federer at Wimbledon in five sets"
    assert cosine(tennis, "Grand slam champion wins tennis final") > 0.3
    assert cosine(tennis, "Central bank raises interest rates") < 0.15


def test_a_text_without_known_pieces_has_no_direction():
    assert not english_table().encode(["", "☃ ☃"]).any()


def test_the_order_of_many_texts_is_kept_across_batches():
    titles = [f"Report number {n} about rivers" for n in range(600)]
    together = meaning_vectors(titles, [""] * 600)
    alone = np.vstack([meaning_vectors([titles[n]], [""]) for n in (0, 255, 256, 599)])
    assert np.array_equal(together[[0, 255, 256, 599]], alone)


def test_only_the_opening_of_a_text_counts():
    opening = "Rain is expected. " * 120
    one, other = meaning_vectors(["Weather", "Weather"], [opening, opening + "Football. " * 50])
    assert np.array_equal(one, other)


def test_what_a_text_says_after_its_first_sentences_counts_too():
    opening = "Good morning. " * 60
    plain, told = unit_rows(meaning_vectors(["", ""], [opening, opening + "The tennis final. " * 30]))
    tennis = unit_rows(meaning_vectors(["Tennis final"], [""]))[0]
    assert tennis @ told > tennis @ plain + 0.2


@given(st.lists(st.text(max_size=60), max_size=5))
def test_any_text_becomes_bytes_that_read_back(texts):
    vectors = english_table().encode(texts)
    assert vectors.shape == (len(texts), DIMENSIONS)
    assert np.array_equal(vectors_of([row.tobytes() for row in vectors]), vectors)


def test_an_item_without_a_vector_reads_as_zeros():
    assert not vectors_of([b""]).any()


@pytest.mark.parametrize(
    ("text", "language", "english"),
    [
        ("The house of the rising sun and what they have seen", "", True),
        (
            "Der Bundestag hat das Gesetz mit großer Mehrheit und nicht ohne Streit beschlossen",
            "en-US",
            False,
        ),
        ("Le président est arrivé dans la ville avec une heure de retard", "", False),
        ("Nvidia earnings: live updates", "en-GB", True),
        ("Nvidia earnings: live updates", "", False),
        ("Nvidia earnings: live updates", "de", False),
    ],
)
def test_words_tell_the_language_before_the_feed_does(text, language, english):
    assert is_english(text, language) is english


def test_a_table_whose_parts_do_not_fit_is_refused(tmp_path):
    (tmp_path / "odd-tokenizer.json").write_bytes((FOLDER / "english-tokenizer.json").read_bytes())
    vectors, scales = np.zeros((7, DIMENSIONS), dtype=np.int8), np.ones(7, dtype=np.float16)
    np.savez(tmp_path / "odd.npz", vectors=vectors, scales=scales)
    with pytest.raises(ValueError, match="one vector of 128 numbers for each word piece"):
        MeaningTable.read(tmp_path, "odd")

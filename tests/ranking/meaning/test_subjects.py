"""Names of subjects: what a person would call them, and no words that fit every subject."""

from dataclasses import replace
from datetime import UTC, datetime

import numpy as np
import pytest

from ranking.entities import Candidate
from ranking.meaning.subjects import subjects_among
from ranking.meaning.table import meaning_vectors

NOW = datetime(2026, 3, 2, tzinfo=UTC)
TENNIS = (
    "The champion won the final in straight sets. A rally at the net decided the match of the two players."
)
STARS = "Astronomers found a planet in the orbit of its star. The telescope measured the light of its sun."
BANKS = "The governor raised interest rates. Consumer prices and the central bank follow inflation."


def items_of(*groups: tuple[str, str, list[str]], sources: int = 24) -> list[Candidate]:
    """Return twelve items of each (title with a place for a number, text, categories), of several sources."""
    return [
        Candidate(12 * g + n, f"s{(12 * g + n) % sources}", title.format(n), text, NOW, categories=categories)
        for g, (title, text, categories) in enumerate(groups)
        for n in range(12)
    ]


def names_of(items: list[Candidate]) -> list[str]:
    vectors = meaning_vectors([one.title for one in items], [one.text for one in items])
    return [one.name for one in subjects_among(items, vectors, 16)]


def test_a_category_names_a_subject_as_publishers_spell_it() -> None:
    items = items_of(
        ("Final {}", TENNIS, ["lawn-tennis"]), ("Orbit {}", STARS, ["#NASA"]), ("Rates {}", BANKS, [])
    )
    names = names_of(items)
    assert "Lawn tennis" in names and "NASA" in names


def test_two_words_that_belong_together_name_a_subject() -> None:
    items = items_of(
        ("{}: the win of Jesse Jackson", TENNIS, []), ("Orbit {}", STARS, []), ("Inflation {}", BANKS, [])
    )
    names = names_of(items)
    assert "Jesse Jackson" in names and not {"Jesse", "Jackson"} & set(names)


@pytest.mark.parametrize(
    ("word", "use"),
    [
        ("Tuesdays", "It came out on Tuesdays."),
        ("Stories", "More of the stories."),
        ("March", "In March."),
        ("Review", "Read the review."),
        ("Black", "The black cat saw a black dog."),
        ("Using", "We are using the racket. They try using a net."),
        ("Became", "She became the champion. He became a player."),
        ("Distant", "A distant match was seen by distant players near distant nets."),
        ("Don't", "I don't."),
        ("24", "At 24."),
    ],
)
def test_words_that_fit_every_subject_or_are_no_nouns_name_none(word: str, use: str) -> None:
    items = items_of(
        (f"{word} {{}}", f"{TENNIS} {use}", []), ("Orbit {}", STARS, []), ("Inflation {}", BANKS, [])
    )
    names = names_of(items)
    assert {"Orbit", "Inflation"} <= set(names)
    assert not [name for name in names if word.casefold()[:4] in name.casefold()]


def test_the_first_part_of_compounds_is_no_subject() -> None:
    made = ["hosted", "made", "built", "taught", "driven", "styled", "written", "run", "grown", "cut", "paid"]
    items = items_of(("Self-{}", TENNIS, []), ("Orbit {}", STARS, []), ("Inflation {}", BANKS, []))
    items = [
        replace(one, title=f"Self-{made[n % len(made)]}") if n < 12 else one for n, one in enumerate(items)
    ]
    assert "Self" not in names_of(items)


def test_the_second_part_of_a_compound_can_name_a_subject() -> None:
    items = items_of(
        ("The US-Iran {}", f"{TENNIS} It was Iran. A talk with Iran.", []),
        ("Orbit {}", STARS, []),
        ("Inflation {}", BANKS, []),
    )
    assert "Iran" in names_of(items)


def test_words_without_a_common_meaning_name_nothing() -> None:
    items = items_of(("Match {}", TENNIS, []), ("Orbit {}", STARS, []), ("Inflation {}", BANKS, []))
    mixed = [
        Candidate(one.item_id, one.source, f"{one.title} Copper" if n % 6 == 0 else one.title, one.text, NOW)
        for n, one in enumerate(items)
    ]
    assert "Copper" not in names_of(mixed)


def test_the_series_of_one_source_is_no_subject() -> None:
    items = items_of(("Grapevine {}", TENNIS, []), ("Orbit {}", STARS, []), ("Inflation {}", BANKS, []))
    own = [
        Candidate(one.item_id, "tennis.example" if n < 12 else one.source, one.title, one.text, NOW)
        for n, one in enumerate(items)
    ]
    assert "Grapevine" in names_of(items) and "Grapevine" not in names_of(own)


def test_the_most_typical_items_with_the_name_in_the_title_come_first() -> None:
    items = items_of(("Orbit {}", STARS, []), ("Match {}", TENNIS, []), ("Inflation {}", BANKS, []))
    items += [Candidate(99, "s3", "Light", f"An orbit. {STARS}", NOW)]
    vectors = meaning_vectors([one.title for one in items], [one.text for one in items])
    orbit = next(one for one in subjects_among(items, vectors, 16) if one.name == "Orbit")
    assert set(orbit.rows[:12]) == set(range(12)) and orbit.rows[12:] == (36,)


def test_no_items_have_no_subjects() -> None:
    assert subjects_among([], np.zeros((0, 128), dtype=np.int8), 16) == []

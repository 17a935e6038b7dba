"""Topics that find items which never say their name."""

import numpy as np
import pytest

from ranking.meaning.table import DIMENSIONS, meaning_vectors, usual_spread_inverse
from ranking.meaning.topics import SEEDS_MIN, TopicMeaning, topic_meaning

RNG_SEED = 7


def world(groups: int = 12, size: int = 40) -> tuple[np.ndarray, np.ndarray]:
    """Return vectors (groups × size, 128) around a centre for each group, and the group of each."""
    rng = np.random.default_rng(RNG_SEED)
    centres = rng.normal(size=(groups, DIMENSIONS))
    group = np.repeat(np.arange(groups), size)
    rows = centres[group] + rng.normal(scale=1.2, size=(groups * size, DIMENSIONS))
    return np.round(np.clip(rows * 25, -127, 127)).astype(np.int8), group


def test_ten_seeds_find_the_others_of_their_group_and_nothing_else():
    vectors, group = world()
    seeds = (group == 2) & (np.arange(len(group)) % 40 < 10)
    meaning = topic_meaning(vectors, seeds)
    assert meaning is not None
    found = meaning.about(vectors) & ~seeds
    assert (group[found] == 2).mean() > 0.9
    assert found.sum() > 15


def test_seeds_without_anything_in_common_find_nothing():
    vectors, group = world()
    seeds = np.zeros(len(group), dtype=bool)
    seeds[np.random.default_rng(RNG_SEED).choice(len(group), 12, replace=False)] = True
    assert topic_meaning(vectors, seeds) is None


@pytest.mark.parametrize("count", [0, SEEDS_MIN - 1])
def test_a_topic_with_too_few_seeds_stays_literal(count):
    vectors, group = world()
    seeds = (group == 2) & (np.arange(len(group)) % 40 < count)
    assert topic_meaning(vectors, seeds) is None


def test_a_topic_that_everything_says_stays_literal():
    vectors, group = world()
    assert topic_meaning(vectors, np.ones(len(group), dtype=bool)) is None


def test_items_without_a_vector_are_about_nothing():
    vectors, group = world()
    seeds = (group == 2) & (np.arange(len(group)) % 40 < 10)
    meaning = topic_meaning(vectors, seeds)
    assert meaning is not None
    assert not meaning.about(np.zeros((3, DIMENSIONS), dtype=np.int8)).any()


def test_a_stored_meaning_finds_the_same_items():
    vectors, group = world()
    meaning = topic_meaning(vectors, (group == 1) & (np.arange(len(group)) % 40 < 20))
    assert meaning is not None
    again = TopicMeaning.unpacked(
        meaning.packed(), cut=meaning.cut, seeds=meaning.seeds, steepness=meaning.steepness
    )
    assert np.array_equal(again.worth(vectors), meaning.worth(vectors))


def test_real_headlines_about_tennis_are_found_without_the_word():
    says = [
        "Tennis: Nadal through to the final in Madrid",
        "Injury keeps Osaka away from tennis until spring",
        "Murray says farewell to tennis at the Olympics",
        "How Halep learned her tennis on clay courts",
        "The tennis season ends with a doubles title",
        "Tennis: wild card beats second seed in Rome",
    ]
    about = ["Djokovic wins Wimbledon in straight sets", "Top seed Federer serves out the quarter-final"]
    subjects = ("Parliament", "The central bank", "A chip maker", "The museum", "A volcano", "The airline")
    events = ("announces new rules", "reports losses", "opens again", "surprises experts", "raises prices")
    other = [f"{subject} {event}" for subject in subjects for event in events]
    titles = [*says, *about, *other]
    vectors = meaning_vectors(titles, [""] * len(titles))
    meaning = topic_meaning(vectors, np.array(["ennis" in title for title in titles]))
    assert meaning is not None
    found = {title for title, is_about in zip(titles, meaning.about(vectors), strict=True) if is_about}
    assert set(about) <= found
    assert not found & set(other)


def test_a_word_that_few_items_about_its_subject_say_stays_literal():
    vectors, group = world(size=120)
    assert topic_meaning(vectors, (group == 2) & (np.arange(len(group)) % 120 < 6)) is None
    assert topic_meaning(vectors, (group == 2) & (np.arange(len(group)) % 120 < 40)) is not None


def test_nothing_joins_if_all_items_of_a_subject_say_it():
    vectors, group = world()
    seeds = group == 2
    meaning = topic_meaning(vectors, seeds)
    assert meaning is None or (meaning.about(vectors) & ~seeds).sum() <= 2


def test_an_item_adds_more_the_more_it_is_like_the_seeds_between_a_half_and_one():
    vectors, group = world()
    meaning = topic_meaning(vectors, (group == 2) & (np.arange(len(group)) % 40 < 20))
    assert meaning is not None
    worth, likeness = meaning.worth(vectors), meaning.likeness(vectors)
    joined = meaning.about(vectors)
    assert np.array_equal(worth > 0, joined)
    assert 0.5 < worth[joined].min() <= worth[joined].max() <= 1
    assert (np.diff(worth[joined][np.argsort(likeness[joined])]) >= 0).all()


def test_however_steep_the_curve_is_an_item_adds_at_most_one():
    mean, direction = np.zeros(DIMENSIONS, dtype=np.float32), np.eye(DIMENSIONS, dtype=np.float32)[0]
    meaning = TopicMeaning(mean, direction, -0.5, SEEDS_MIN, 1_000.0)
    assert meaning.worth(np.eye(DIMENSIONS, dtype=np.int8)[:1]).tolist() == [1.0]


def test_what_many_articles_share_counts_less_than_what_sets_the_seeds_apart():
    inverse = usual_spread_inverse()
    values, axes = np.linalg.eigh(inverse)
    assert np.allclose(inverse, inverse.T, atol=1e-3) and values.min() > 0
    usual, rare = axes[:, 0], axes[:, -1]
    assert usual @ inverse @ usual < (rare @ inverse @ rare) / 3

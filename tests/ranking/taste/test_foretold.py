"""Predict thumbs from those of other days: a taste shows, and shuffled thumbs show none."""

from datetime import timedelta

import numpy as np

from ranking.meaning.table import meaning_vectors, usual_centre
from ranking.taste.entities import Example
from ranking.taste.foretold import Foretold, foretold
from tests.support.factories import CLOCK

SUBJECTS = (
    "The harbour reopened to ferries",
    "The opera opens its season",
    "Chip makers report record sales",
)
PACKED = [vector.tobytes() for vector in meaning_vectors(SUBJECTS, [""] * 3)]


def thumbs(likes: list[bool], day_of=lambda n: n % 10) -> list[Example]:
    """Thumbs on three subjects in turn, over ten days."""
    return [
        Example(
            n, f"s{n % 7}", liked, CLOCK - timedelta(days=day_of(n)), SUBJECTS[n % 3], meaning=PACKED[n % 3]
        )
        for n, liked in enumerate(likes)
    ]


def told(examples: list[Example]) -> Foretold:
    return foretold(examples, {}, now=CLOCK, spread=0.2, centre=usual_centre())


def test_thumbs_that_follow_subjects_are_foretold():
    assert told(thumbs([n % 3 == 0 for n in range(60)])).sureness > 4


def test_a_day_does_not_foretell_itself():
    # All likes are of one day and all others of another, so the rest tells nothing about either.
    found = told(thumbs([n < 30 for n in range(60)], day_of=lambda n: n // 30))
    assert found.sureness < 1


def test_shuffled_thumbs_are_foretold_no_better_than_by_chance():
    rng = np.random.default_rng(5)
    scores = [told(thumbs((rng.random(60) < 0.5).tolist())).sureness for _ in range(100)]
    assert abs(np.mean(scores)) < 0.35 and 0.6 < np.std(scores) < 1.5


def test_who_likes_everything_or_nothing_shows_no_taste():
    assert told(thumbs([True] * 20)).sureness == 0
    assert told([]).sureness == 0


def test_named_articles_tell_of_thumbs_and_are_not_told():
    named = [Example(90, "z", True, CLOCK, SUBJECTS[0], meaning=PACKED[0], weight=3.0, named=True)]
    examples = [*named, *thumbs([n % 3 == 0 for n in range(12)])]
    found = told(examples)
    assert len(found.liked) == 12 and found.rows[0] == 1
    assert found.exponents[found.liked > 0].min() > found.exponents[found.liked == 0].max()

"""The mixture of items about a topic and others, from the likenesses of those that say it."""

import numpy as np
import pytest

from ranking.meaning.mixture import mixture_fit


def likenesses(hidden: int, says: int = 60, others: int = 2_000) -> tuple[np.ndarray, np.ndarray]:
    """Return the likenesses of items that say a topic, and of others, of which `hidden` are about it."""
    rng = np.random.default_rng(5)
    own = rng.normal(0.6, 0.08, says)
    rest = np.concatenate([rng.normal(0.6, 0.08, hidden), rng.normal(0.0, 0.12, others)])
    return own.astype(np.float32), rest.astype(np.float32)


@pytest.mark.parametrize("hidden", [0, 30, 60, 240])
def test_the_share_that_says_a_topic_is_found(hidden):
    own, others = likenesses(hidden)
    mixture = mixture_fit(own, others)
    assert mixture is not None
    assert mixture.share == pytest.approx(len(own) / (len(own) + hidden), abs=0.05)


def test_those_that_do_not_say_it_are_found_and_no_others():
    own, others = likenesses(hidden=60)
    mixture = mixture_fit(own, others)
    assert mixture is not None
    found = others >= mixture.likeness_at(0.5)
    assert found[:60].mean() > 0.9 and found[60:].mean() < 0.01


def test_a_higher_probability_needs_more_likeness():
    mixture = mixture_fit(*likenesses(hidden=60))
    assert mixture is not None
    assert mixture.likeness_at(0.15) < mixture.middle == mixture.likeness_at(0.5) < mixture.likeness_at(0.9)


def test_seeds_that_are_like_no_others_have_no_share():
    rng = np.random.default_rng(5)
    own, others = rng.normal(-0.1, 0.1, 30), rng.normal(0.1, 0.1, 1_000)
    mixture = mixture_fit(own.astype(np.float32), others.astype(np.float32))
    assert mixture is None or mixture.share < 0.2


def test_others_that_are_all_alike_have_no_mixture():
    assert mixture_fit(np.ones(5, dtype=np.float32), np.zeros(9, dtype=np.float32)) is None

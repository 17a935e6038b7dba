"""One posterior of sources and topics: it separates them, falls back to nothing, and listens to reasons."""

from dataclasses import replace

import numpy as np
import pytest

from ranking.entities import SourceTally
from suggestions.planner.posterior import attributes_of, design_of, posterior_draws
from tests.support.factories import CLOCK
from tests.support.suggestion_worlds import thumb


def drawn(rated, *, older=(), deviation=None):
    """Posterior means by column name, and the draws."""
    attributes = attributes_of(rated, sources=("a", "b"), topics=("Harbour",), titles={})
    design = design_of(rated, attributes, older=older, deviation=deviation or {}, now=CLOCK)
    draws = posterior_draws(design, 1)
    names = ["base", *attributes.sources, *attributes.topics]
    return dict(zip(names, draws.mean(axis=0), strict=True)), draws


def test_the_same_thumbs_give_the_same_draws():
    rated = [thumb(n, source="ab"[n % 2], useful=n % 3 > 0) for n in range(30)]
    assert np.array_equal(drawn(rated)[1], drawn(rated)[1])


def test_a_topic_takes_the_credit_that_its_source_does_not_deserve():
    # Source a is liked only where it writes about harbours, and so is source b, which seldom does.
    rated = [
        thumb(n, source="a", title="Harbour" if n % 4 else "Plain", useful=n % 4 > 0) for n in range(40)
    ] + [
        thumb(n, source="b", title="Plain" if n % 4 else "Harbour", useful=n % 4 == 0) for n in range(40, 80)
    ]
    mean, draws = drawn(rated)
    assert mean["harbour"] > 1.5
    assert abs(mean["a"]) < 0.6 and abs(mean["b"]) < 0.6
    assert (draws[:, 3] > 0).mean() > 0.97


def test_who_prefers_nothing_is_believed_to_prefer_nothing():
    rng = np.random.default_rng(5)
    rated = [thumb(n, source="ab"[n % 2], useful=bool(rng.random() < 0.5)) for n in range(200)]
    mean, _ = drawn(rated)
    assert abs(mean["a"]) < 0.15 and abs(mean["b"]) < 0.15


def with_reason(rated, tag):
    return [replace(item, tags=(tag,)) for item in rated]


def test_a_reason_says_whether_the_source_or_the_topic_was_meant():
    liked = [thumb(n, source="a", title="Harbour", useful=True) for n in range(12)]
    rest = [thumb(n, source="b", useful=n % 2 == 0) for n in range(12, 36)]
    silent, _ = drawn(liked + rest)
    topic, _ = drawn(with_reason(liked, "on-topic") + rest)
    source, _ = drawn(with_reason(liked, "depth") + rest)
    item, _ = drawn(with_reason(liked, "surprising") + rest)
    assert topic["harbour"] > silent["harbour"] > source["harbour"]
    assert source["a"] > silent["a"] > topic["a"]
    assert item["harbour"] < silent["harbour"] and item["a"] < silent["a"]


@pytest.mark.parametrize("tag", ["hype", "paywall", "clickbait"])
def test_what_a_source_collects_speaks_against_it_and_clears_its_topic(tag):
    disliked = [thumb(n, source="a", title="Harbour", useful=False) for n in range(10)]
    rest = [thumb(n, source="b", useful=n % 2 == 0) for n in range(10, 40)]
    silent, _ = drawn(disliked + rest)
    told, _ = drawn(with_reason(disliked, tag) + rest)
    assert told["a"] < silent["a"] < 0
    assert told["harbour"] > silent["harbour"]


def test_peers_move_a_source_nobody_has_rated_and_thumbs_outweigh_them():
    rated = [thumb(n, source="b", useful=n % 2 == 0) for n in range(40)]
    assert drawn(rated, deviation={"a": 0.2})[0]["a"] > drawn(rated)[0]["a"] + 0.1
    own = [thumb(n, source="a", useful=False) for n in range(40, 80)]
    assert drawn(rated + own, deviation={"a": 0.2})[0]["a"] < 0


def test_what_others_like_makes_nobody_certain():
    rng = np.random.default_rng(5)
    rated = [thumb(n, source="b", useful=bool(rng.random() < 0.5)) for n in range(200)]
    _, draws = drawn(rated, deviation={"a": 0.2, "b": -0.2})
    assert 0.3 < (draws[:, 1] > 0).mean() < 0.75


def test_thumbs_beyond_the_sample_count_by_source():
    rated = [thumb(n, source="b", useful=n % 2 == 0) for n in range(30)]
    older = [SourceTally("a", 300.0, 290.0, 300), SourceTally("b", 300.0, 150.0, 300)]
    assert drawn(rated, older=older)[0]["a"] > 1


def test_reasons_nobody_knows_are_no_observation():
    rated = [thumb(n, source="ab"[n % 2], useful=n % 3 > 0) for n in range(30)]
    assert np.array_equal(drawn(rated)[1], drawn(with_reason(rated, "whatever"))[1])

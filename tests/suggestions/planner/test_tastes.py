"""Leans of one reader: shrunk by the spread of tastes, weighted by age, and by the target of a reason.

The spread of tastes from many readers: bounded contributions, noise, and a prior if nothing is known.
"""

import random
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import expit
from scipy.stats import norm

from ranking.community import EPSILON_SPREAD, SPREAD_ESTIMATES, SPREAD_STEPS, spread_with_noise
from ranking.taste.leans import NOT_NAMED, SPREAD_PRIOR, Tallies
from suggestions.changes.columns import TOPICS, attributes_of
from suggestions.planner.tastes import (
    GAIN_SLOPE,
    LEAN_MIN,
    SURENESS_SLOPE,
    Batch,
    Taste,
    batch_sum,
    contribution_of,
    hits_of,
    others_lean,
    reader_preference,
    spread_of,
    tallies_of,
    tastes_of,
)
from tests.support.factories import CLOCK
from tests.support.suggestion_worlds import thumb

USUAL = 0.2
SOURCES = 10


def tallied(rated) -> tuple[list[str], Tallies]:
    attributes = attributes_of(rated, titles={}, given={TOPICS: ("Harbour",)})
    return [*attributes.sources, *attributes.topics], tallies_of(rated, attributes, CLOCK)


def leans(rated, spread=USUAL) -> dict[str, float]:
    names, tallies = tallied(rated)
    return {name: taste.lean for name, taste in zip(names, tastes_of(tallies, spread), strict=True)}


def one_target(n: float, likes: float, of: float, liked: float) -> Tallies:
    """Return a reader with `n` thumbs on the one source that counts, of `of` in all; nothing decayed."""
    return Tallies(*map(np.array, ([n], [likes], [n])), 1, of, liked, np.array([of]), np.array([liked]))


def test_texts_that_are_searched_once_give_the_tallies_of_every_part():
    rated = [
        thumb(n, source="ab"[n % 2], title="Harbour" if n % 3 else "Rail", useful=n % 5 > 1)
        for n in range(40)
    ]
    attributes = attributes_of(rated, titles={}, given={TOPICS: ("Harbour",)})
    hits, rows = hits_of(rated, attributes), [*range(39, -1, -2)]
    part = [rated[n] for n in rows]
    found, again = tallies_of(part, attributes, CLOCK), tallies_of(part, attributes, CLOCK, hits[rows])
    assert found.thumbs.tolist() == again.thumbs.tolist() and found.likes.tolist() == again.likes.tolist()
    assert reader_preference(part, attributes) == reader_preference(part, attributes, hits[rows])


def test_a_lean_is_the_surplus_of_likes_over_its_variance_and_the_spread():
    # b = 1/2: 15 of 20 likes are 5 more than usual, with a variance of 0.25 x 20 x (1 - 20/98).
    (taste,) = tastes_of(one_target(20, 15, 98, 49), USUAL)
    variance = 0.25 * 20 * (1 - 20 / 98)
    assert taste.lean == pytest.approx(5 / (variance + 5))
    assert taste.sd == pytest.approx((variance + 5) ** -0.5)
    assert taste.reach == pytest.approx(20 / 98 * (1 - 20 / 98))


def test_where_readers_prefer_nothing_nobody_leans():
    (taste,) = tastes_of(one_target(20, 20, 98, 49), 0.0)
    assert (taste.lean, taste.expected_gain, taste.information, taste.p_helps) == (0, 0, 0, 0.5)
    assert not taste.is_clear


def test_the_more_tastes_vary_the_more_the_same_thumbs_say():
    found = [tastes_of(one_target(9, 8, 60, 30), s)[0] for s in (0.01, 0.1, 0.2, 1.0)]
    assert [t.lean for t in found] == sorted(t.lean for t in found)
    assert not found[0].is_clear and found[-1].is_clear


def with_others(likes: float, others: float) -> Taste:
    """Twelve thumbs on a source, `likes` of them up, of 98 half of which are; others differ by `others`."""
    (taste,) = tastes_of(one_target(12, likes, 98, 49), USUAL, np.array([others]))
    return taste


def test_what_others_think_counts_as_much_as_the_readers_thumbs_leave_open():
    variance = 0.25 * 12 * (1 - 12 / 98)
    assert with_others(9, 0.2).lean == pytest.approx((3 + 0.2 / 0.2) / (variance + 5))
    assert with_others(9, 0.2).sd == with_others(9, 0.0).sd


@given(st.floats(0, 12), st.floats(-4, 4))
def test_others_double_a_lean_at_most_or_take_it_back_and_never_turn_it(likes, others):
    alone, together = with_others(likes, 0.0).lean, with_others(likes, others).lean
    assert abs(together) <= 2 * abs(alone) + 1e-12
    assert together * alone >= 0


def test_where_a_readers_thumbs_say_nothing_others_say_nothing_either():
    assert with_others(6, 4.0).lean == 0
    (taste,) = tastes_of(one_target(20, 20, 98, 49), 0.0, np.array([4.0]))
    assert taste.lean == 0


def test_others_are_known_by_source_alone():
    rated = [thumb(n, source="ab"[n % 2], title="Harbour", useful=n % 2 == 0) for n in range(12)]
    attributes = attributes_of(rated, titles={}, given={TOPICS: ("Harbour",)})
    tallies = tallies_of(rated, attributes, CLOCK)
    others = others_lean(attributes, {"b": 0.1, "harbour": 0.2, "unread": 0.2}, tallies)
    rate = tallies.base
    assert dict(zip((*attributes.sources, *attributes.topics), others, strict=True)) == pytest.approx(
        {"a": 0, "b": 0.1 / (rate * (1 - rate)), "harbour": 0}
    )


@pytest.mark.parametrize(("n", "of"), [(2.9, 60), (5, 9.9)])
def test_too_few_thumbs_are_never_clear(n, of):
    (taste,) = tastes_of(one_target(n, n, of, of / 4), 9.0)
    assert taste.lean > LEAN_MIN and not taste.is_clear


@pytest.mark.parametrize("likes", [0, 30])
def test_who_likes_or_dislikes_everything_leans_nowhere(likes):
    (taste,) = tastes_of(one_target(10, likes / 3, 30, likes), USUAL)
    assert abs(taste.lean) < LEAN_MIN


def test_what_is_in_every_item_moves_nothing():
    rare, common, everywhere = (Taste(0.5, 0.3, s * (1 - s), 50, 100) for s in (0.1, 0.5, 1.0))
    assert common.expected_gain > rare.expected_gain > everywhere.expected_gain == 0


def test_likes_and_dislikes_are_told_apart_and_mirror_each_other():
    more, less = Taste(0.5, 0.3, 0.2, 50, 100), Taste(-0.5, 0.3, 0.2, 50, 100)
    assert more.p_helps == pytest.approx(1 - less.p_helps) and more.p_helps > 0.5
    assert more.expected_gain == -less.expected_gain
    assert more.information == pytest.approx(less.information)


def test_knowing_is_worth_most_where_it_could_change_the_decision():
    sure, unsure = Taste(1.0, 0.2, 0.2, 50, 100), Taste(0.05, 0.2, 0.2, 50, 100)
    assert unsure.information > sure.information > 0
    rng = np.random.default_rng(1)
    draws = rng.normal(unsure.lean, unsure.sd, 400_000)
    gained = np.maximum(draws, 0).mean() - unsure.lean
    assert unsure.information / unsure.expected_gain * unsure.lean == pytest.approx(gained, rel=0.02)


@given(lean=st.floats(-4, 4), sd=st.floats(1e-6, 3), reach=st.floats(0, 0.25))
def test_what_knowing_is_worth_is_scipys_expectation(lean, sd, reach):
    """The gain of acting on the true lean rather than on its mean: E|x|'s half of N(lean, sd^2)."""
    taste = Taste(lean, sd, reach, 20, 40)
    better = float(norm.pdf(lean / sd) * sd + lean * norm.cdf(lean / sd)) - max(0.0, lean)
    assert taste.information == pytest.approx(GAIN_SLOPE * reach * better, abs=1e-9)
    assert taste.p_helps == pytest.approx(float(expit(SURENESS_SLOPE * lean / sd)), abs=1e-12)


COLUMN = st.tuples(st.floats(0, 300), st.floats(0, 1), st.floats(0.05, 1))


@given(st.lists(COLUMN, min_size=1, max_size=6), st.floats(0, 1), st.floats(0, 5), st.floats(-2, 2))
def test_whatever_the_thumbs_every_taste_is_a_number(columns, rest, spread, others):
    """One source, no thumbs, only likes, thumbs of a millionth: nothing divides by nothing."""
    thumbs = np.array([n for n, _, _ in columns])
    likes = np.array([n * part for n, part, _ in columns])
    squares = np.array([n * weight for n, _, weight in columns])
    whole, liked = float(thumbs.sum()), float(likes.sum() * rest)
    among, likes_among = (np.full(len(columns), value) for value in (whole, liked))
    tallies = Tallies(thumbs, likes, squares, len(columns), whole, liked, among, likes_among)
    for taste in tastes_of(tallies, spread, others):
        assert np.isfinite([taste.lean, taste.sd, taste.reach, taste.information]).all()
        assert 0 <= taste.p_helps <= 1 and taste.information >= -1e-12
    low, high = SPREAD_ESTIMATES
    assert SPREAD_STEPS * low <= contribution_of(tallies).estimates <= SPREAD_STEPS * high


def test_new_thumbs_outweigh_old_ones_of_the_same_source():
    old = [thumb(n, source="a", useful=False, days_ago=180) for n in range(8)]
    new = [thumb(n, source="a", useful=True, days_ago=1) for n in range(8, 16)]
    rest = [thumb(n, source="b", useful=n % 2 == 0, days_ago=1) for n in range(16, 40)]
    assert leans(old + new + rest)["a"] > LEAN_MIN


def test_old_thumbs_alone_are_too_few():
    old = [thumb(n, source="a", useful=False, days_ago=180) for n in range(8)]
    rest = [thumb(n, source="b", useful=True, days_ago=1) for n in range(8, 40)]
    _, tallies = tallied(old + rest)
    assert not tastes_of(tallies, USUAL)[0].is_clear


def with_reason(rated, tag):
    return [replace(item, tags=(tag,)) for item in rated]


def test_a_reason_says_whether_the_source_or_the_topic_was_meant():
    liked = [thumb(n, source="a", title="Harbour", useful=True) for n in range(12)]
    rest = [thumb(n, source="b", useful=n % 2 == 0) for n in range(12, 36)]
    silent = leans(liked + rest)
    topic, source, item = (leans(with_reason(liked, t) + rest) for t in ("on-topic", "depth", "surprising"))
    assert topic["harbour"] == silent["harbour"] > source["harbour"] == item["harbour"]
    assert source["a"] == silent["a"] > topic["a"] == item["a"] > 0


@pytest.mark.parametrize("tag", ["hype", "paywall", "clickbait"])
def test_what_a_source_collects_speaks_against_it_and_clears_its_topic(tag):
    disliked = [thumb(n, source="a", title="Harbour", useful=False) for n in range(10)]
    rest = [thumb(n, source="b", useful=n % 2 == 0) for n in range(10, 40)]
    told, silent = leans(with_reason(disliked, tag) + rest), leans(disliked + rest)
    assert told["a"] == silent["a"] < 0
    assert silent["harbour"] < told["harbour"] < 0


@pytest.mark.parametrize(("useful", "tag"), [(True, "hype"), (True, "off-topic"), (False, "depth")])
def test_a_reason_that_contradicts_its_thumb_names_nothing(useful, tag):
    rated = [thumb(n, source="a", title="Harbour", useful=useful) for n in range(10)]
    rest = [thumb(n, source="b", useful=n % 2 == 0) for n in range(10, 40)]
    assert leans(with_reason(rated, tag) + rest) == leans(rated + rest)


def test_a_reason_weighs_the_target_and_never_the_usual_rate():
    rated = [thumb(n, source="ab"[n % 2], useful=n % 3 > 0) for n in range(30)]
    _, plain = tallied(rated)
    liked, disliked = ([one for one in rated if one.useful is useful] for useful in (True, False))
    _, told = tallied(with_reason(liked, "surprising") + with_reason(disliked, "shallow"))
    assert told.base == pytest.approx(plain.base)
    assert told.thumbs == pytest.approx(NOT_NAMED * plain.thumbs)


def test_reasons_nobody_knows_and_several_kinds_at_once_change_nothing():
    rated = [thumb(n, source="ab"[n % 2], useful=n % 3 > 0) for n in range(30)]
    both = [replace(item, tags=("on-topic", "depth")) for item in rated]
    assert leans(rated) == leans(with_reason(rated, "whatever")) == leans(both)


def test_dealt_out_at_random_thumbs_spread_as_their_variance_says():
    rng, rated = random.Random(7), [thumb(n, source="abcd"[n % 4], days_ago=n) for n in range(100)]
    found, expected = [], 0.0
    for _ in range(400):
        useful = rng.sample([True] * 40 + [False] * 60, 100)
        _, tallies = tallied([replace(i, useful=u) for i, u in zip(rated, useful, strict=True)])
        found.append(tallies.surplus(tallies.rates)[0] ** 2)
        expected = tallies.variance(tallies.rates)[0]
    assert np.mean(found) == pytest.approx(expected, rel=0.2)


def by_author(likes: dict[str, tuple[int, int]]) -> list:
    """Thumbs on a source of two authors and on another source: (likes, thumbs) by name."""
    rated = []
    for author, (liked, thumbs) in likes.items():
        source = "else" if author == "nobody" else "paper"
        for n in range(thumbs):
            one = thumb(len(rated), source=source, useful=n < liked)
            rated.append(replace(one, author="" if author == "nobody" else author))
    return rated


def author_leans(likes: dict[str, tuple[int, int]]) -> dict[str, float]:
    rated = by_author(likes)
    attributes = attributes_of(rated, titles={})
    tallies = tallies_of(rated, attributes, CLOCK)
    names = [*attributes.sources, *attributes.topics]
    return {name: taste.lean for name, taste in zip(names, tastes_of(tallies, USUAL), strict=True)}


def test_who_likes_a_source_does_not_seem_to_like_its_authors():
    found = author_leans({"Ada Hill": (18, 20), "Ben Low": (18, 20), "nobody": (5, 40)})
    assert found["paper"] > 0.5
    assert abs(found["ada hill"]) < 0.1 > abs(found["ben low"])


def test_an_author_is_judged_beside_the_others_of_their_source():
    found = author_leans({"Ada Hill": (18, 20), "Ben Low": (2, 20), "nobody": (20, 40)})
    assert found["ada hill"] > 0.3 and found["ben low"] < -0.3
    assert abs(found["paper"]) < 0.05


def reader(rng: np.random.Generator, spread: float, thumbs: int = 80, rate: float = 0.0) -> Tallies:
    """Return a reader of ten sources whose true log-odds have this spread."""
    source = rng.integers(0, SOURCES, thumbs)
    taste = rng.normal(rate, spread**0.5, SOURCES)
    liked = rng.random(thumbs) < 1 / (1 + np.exp(-taste[source]))
    counted = np.bincount(source, minlength=SOURCES).astype(float)
    likes = np.bincount(source, weights=liked, minlength=SOURCES)
    return ten_sources(counted, likes, float(thumbs), float(liked.sum()))


def ten_sources(counted: np.ndarray, likes: np.ndarray, thumbs: float, liked: float) -> Tallies:
    everything = np.full(SOURCES, thumbs), np.full(SOURCES, liked)
    return Tallies(counted, likes, counted, SOURCES, thumbs, liked, *everything)


def batch(rng: np.random.Generator, spread: float, readers: int = 500) -> Batch:
    """Return the published sums of this many readers."""
    total = batch_sum([contribution_of(reader(rng, spread)) for _ in range(readers)])
    return Batch(*spread_with_noise(total.estimates, total.weights, 1 - rng.random((2, 2))))


def test_many_readers_tell_how_much_tastes_vary():
    rng = np.random.default_rng(3)
    found = [spread_of([batch(rng, spread)]) for spread in (0.0, 0.1, 0.3)]
    assert found[0] < 0.04
    assert found[1] == pytest.approx(0.1, abs=0.06)
    assert 0.2 < found[2] < 0.5


def test_before_anything_is_published_tastes_vary_as_in_the_prior():
    assert spread_of([]) == spread_of([Batch(0, 0)]) == SPREAD_PRIOR


def test_one_small_batch_moves_the_prior_a_little_and_never_below_zero():
    assert 0 <= spread_of([Batch(-900, 3000)]) < SPREAD_PRIOR
    assert SPREAD_PRIOR < spread_of([Batch(40 * 30, 40 * 80)]) < 2 * SPREAD_PRIOR
    assert spread_of([Batch(-90_000, 30_000)]) == 0


def test_no_reader_adds_more_than_the_bounds_whatever_they_rate():
    rng = np.random.default_rng(4)
    low, high = (round(SPREAD_STEPS * bound) for bound in SPREAD_ESTIMATES)
    for spread, thumbs, rate in ((9.0, 400, 0.0), (0.0, 20, 3.0), (2.0, 25, -2.0), (0.0, 3, 0.0)):
        for _ in range(50):
            found = contribution_of(reader(rng, spread, thumbs, rate))
            assert low <= found.estimates <= high and 0 <= found.weights <= SPREAD_STEPS


def test_a_weight_knows_nothing_of_what_thumbs_say():
    rng = np.random.default_rng(5)
    one = reader(rng, 0.3)
    other = ten_sources(one.thumbs, one.thumbs - one.likes, 80.0, 80.0 - one.likes_all)
    loud = ten_sources(one.thumbs, one.thumbs, 80.0, 80.0)
    weights = {contribution_of(t).weights for t in (one, other, loud)}
    assert len(weights) == 1


def test_the_noise_on_a_sum_hides_the_range_of_one_reader():
    rng = np.random.default_rng(6)
    drawn = np.array([spread_with_noise(0, 0, 1 - rng.random((2, 2)))[0] for _ in range(6000)])
    low, high = SPREAD_ESTIMATES
    step = SPREAD_STEPS * (high - low)
    ratio = (drawn > 0).mean() / (drawn > step).mean()
    assert ratio == pytest.approx(np.exp(EPSILON_SPREAD), rel=0.15)


def test_with_taste_on_the_same_lean_is_a_weaker_promise_and_as_clear():
    off, on = (tastes_of(one_target(20, 15, 98, 49), USUAL, with_taste=level)[0] for level in (False, True))
    assert 0.5 < on.p_helps < off.p_helps
    assert (on.lean, on.is_clear, on.expected_gain) == (off.lean, off.is_clear, off.expected_gain)

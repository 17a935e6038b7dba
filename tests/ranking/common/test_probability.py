"""Our probabilities equal SciPy's, also at the edges. Installations do not need SciPy."""

from math import inf, nextafter

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from scipy.special import betainc, expit, logit
from scipy.stats import hypergeom, norm

from ranking.common.probability import beta_below, drawn_above, log_odds, logistic, normal_above

COUNT = st.floats(min_value=0.01, max_value=50_000)
PROBABILITY = st.floats(min_value=0, max_value=1, exclude_min=True, exclude_max=True)


@given(a=COUNT, b=COUNT, rate=st.floats(min_value=0, max_value=1))
@example(a=0.01, b=50_000, rate=5e-324)
@example(a=0.01, b=50_000, rate=1 - 2**-53)
@example(a=50_000, b=0.01, rate=5e-324)
@example(a=50_000, b=50_000, rate=0.5)
def test_the_incomplete_beta_function_is_scipys(a, b, rate):
    assert beta_below(a, b, rate) == pytest.approx(betainc(a, b, rate), abs=1e-9)


@given(a=COUNT, b=COUNT, off=st.floats(min_value=-5, max_value=5))
def test_it_is_scipys_around_the_mean_too(a, b, off):
    mean = a / (a + b)
    rate = min(1.0, max(0.0, mean + off * (mean * (1 - mean) / (a + b + 1)) ** 0.5))
    assert beta_below(a, b, rate) == pytest.approx(betainc(a, b, rate), abs=1e-9)


@given(a=COUNT, b=COUNT, steps=st.integers(min_value=-4, max_value=4))
def test_it_is_scipys_where_its_two_sides_meet(a, b, steps):
    """There rounding can choose either side, and a call must not alternate between them for ever."""
    rate = (a + 1) / (a + b + 2)
    for _ in range(abs(steps)):
        rate = nextafter(rate, inf if steps > 0 else -inf)
    assert beta_below(a, b, rate) == pytest.approx(betainc(a, b, rate), abs=1e-9)


@pytest.mark.parametrize(("a", "b"), [(0.0, 1.0), (1.0, 0.0), (-1.0, 2.0), (float("nan"), 1.0)])
def test_no_belief_without_a_positive_count(a, b):
    with pytest.raises(ValueError, match="above 0"):
        beta_below(a, b, 0.5)


@given(p=PROBABILITY)
@example(p=5e-324)
@example(p=1 - 2**-53)
def test_log_odds_are_scipys(p):
    assert log_odds(p) == pytest.approx(logit(p), rel=1e-9, abs=1e-9)


@given(x=st.floats(allow_nan=False))
@example(x=1e6)
@example(x=-1e6)
def test_the_way_back_is_scipys(x):
    assert logistic(x) == pytest.approx(expit(x), abs=1e-12)


@given(t=st.floats(allow_nan=False))
def test_the_normal_tail_is_scipys(t):
    assert normal_above(t) == pytest.approx(norm.sf(t), abs=1e-12)


@given(data=st.data(), total=st.integers(min_value=1, max_value=500))
def test_how_often_draws_agree_by_chance_is_scipys(data, total):
    of_kind, drawn = (data.draw(st.integers(min_value=0, max_value=total)) for _ in range(2))
    least = data.draw(st.integers(min_value=0, max_value=drawn))
    wanted = hypergeom.sf(least - 1, total, of_kind, drawn)
    assert drawn_above(least, drawn, of_kind, total) == pytest.approx(wanted, abs=1e-12)

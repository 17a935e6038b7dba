"""Probabilities of our own are those of SciPy, which installations need not have."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import betainc
from scipy.stats import norm

from ranking.common.probability import beta_below, normal_above

COUNT = st.floats(min_value=0.01, max_value=50_000)


@given(a=COUNT, b=COUNT, rate=st.floats(min_value=0, max_value=1))
def test_the_incomplete_beta_function_is_scipys(a, b, rate):
    assert beta_below(a, b, rate) == pytest.approx(betainc(a, b, rate), abs=1e-9)


@given(a=COUNT, b=COUNT, off=st.floats(min_value=-5, max_value=5))
def test_it_is_scipys_around_the_mean_too(a, b, off):
    mean = a / (a + b)
    rate = min(1.0, max(0.0, mean + off * (mean * (1 - mean) / (a + b + 1)) ** 0.5))
    assert beta_below(a, b, rate) == pytest.approx(betainc(a, b, rate), abs=1e-9)


@given(t=st.floats(min_value=-8, max_value=8))
def test_the_normal_tail_is_scipys(t):
    assert normal_above(t) == pytest.approx(norm.sf(t), abs=1e-12)

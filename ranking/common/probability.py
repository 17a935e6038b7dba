"""Compute probabilities and log-odds of single numbers. Pure.

SciPy has all of these, but its import takes 27 MB and a sixth of a second in each process.
"""

from math import comb, erfc, exp, lgamma, log, log1p, sqrt
from sys import float_info

# The most terms of a continued fraction. It converges after O(sqrt(max(a, b))) terms.
TERMS_MAX = 10_000


def log_odds(p: float) -> float:
    """Return the logit of a probability strictly between 0 and 1."""
    return log(p / (1 - p))


def logistic(x: float) -> float:
    """Return the probability whose log-odds are `x`."""
    return 1 / (1 + exp(-x)) if x >= 0 else exp(x) / (1 + exp(x))


def normal_above(t: float) -> float:
    """Return P(x > `t`) of a standard normal x."""
    return erfc(t / sqrt(2)) / 2


def drawn_above(least: int, drawn: int, of_kind: int, total: int) -> float:
    """Return P(`least` or more of a kind among `drawn` of `total`), if `of_kind` of all are of that kind.

    The upper tail of the hypergeometric distribution: how often dealt-out thumbs agree by chance.
    """
    ways = (
        comb(of_kind, n) * comb(total - of_kind, drawn - n) for n in range(least, min(drawn, of_kind) + 1)
    )
    return sum(ways) / comb(total, drawn)


def beta_below(a: float, b: float, rate: float) -> float:
    """Return P(x < `rate`) of x ~ Beta(a, b), the regularised incomplete beta function.

    Computed by its continued fraction (DLMF 8.17.22), which converges fast on one side of the mean. On the
    other side the complement is computed. Raises `ValueError` unless `a` and `b` are above 0.
    """
    if not (a > 0 and b > 0):
        raise ValueError(f"The counts of a Beta distribution are above 0, not {a} and {b}.")
    if rate <= 0 or rate >= 1:
        return float(rate >= 1)
    # Choose the side once. An earlier version chose again for the complement. Near the mean, rounding then
    # sent each side to the other in an endless recursion, for most readers of a single source.
    if rate > (a + 1) / (a + b + 2):
        return 1 - _beta_lower(b, a, 1 - rate, rate)
    return _beta_lower(a, b, rate, 1 - rate)


def _beta_lower(a: float, b: float, x: float, rest: float) -> float:
    """Return P(value < `x`) for Beta(a, b). `x` must be left of the mean; `rest` is 1 - x."""
    log_x = log(x) if x < 0.5 else log1p(-rest)
    log_rest = log(rest) if rest < 0.5 else log1p(-x)
    front = lgamma(a + b) - lgamma(a) - lgamma(b) + a * log_x + b * log_rest
    return exp(front) / a * _beta_fraction(a, b, x)


def _beta_fraction(a: float, b: float, x: float) -> float:
    """Return 1 / (1 + d1 / (1 + d2 / (1 + …))), by Lentz's method as modified by Thompson and Barnett."""
    tiny = float_info.min
    upper, lower, value = 1.0, 0.0, 1.0
    for n in range(TERMS_MAX):
        m = n // 2
        if n == 0:
            term = 1.0
        elif n % 2:
            term = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        else:
            term = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        lower = 1 / (1 + term * lower or tiny)
        upper = 1 + term / upper or tiny
        value *= upper * lower
        if n and abs(1 - upper * lower) < float_info.epsilon:
            break
    return value - 1
